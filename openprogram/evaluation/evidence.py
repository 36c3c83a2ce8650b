"""What a run leaves behind to be judged by."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from typing import Any

from openprogram.providers.types import AssistantMessage
from openprogram.scenarios.replay_run import RunResult
from openprogram.scenarios.scenario import Scenario
from openprogram.scenarios.scopes import Aspect
from openprogram.world.values import freeze

__all__ = ["Evidence", "Spent"]


@dataclass(frozen=True, slots=True)
class Spent:
    """What a run used. `cost_usd`: as the answers' usage says. `scenario_seconds`: of scenario time."""

    model_calls: int
    tool_calls: int
    tokens: int
    cost_usd: float
    scenario_seconds: float


@dataclass(frozen=True)
class Evidence:
    """What no expectation can change for the next one.

    `resources`: kind → id → value, at the end. `trace`: the journal's lines. `account`: the last message's text.
    `artifacts`: by name.
    """

    resources: Mapping[str, Mapping[str, Any]]
    trace: Sequence[Mapping[str, Any]]
    account: str
    budgets: Spent
    artifacts: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, scenario: Scenario, result: RunResult, journal: bytes) -> "Evidence":
        """The evidence of a run. `journal`: the bytes of its journal."""
        world = result.world
        answers = [message for message in result.messages if isinstance(message, AssistantMessage)]
        return cls(
            resources={kind: world.kind(kind) for kind in world.kinds()},
            trace=freeze([json.loads(line) for line in journal.splitlines()]),
            account=answers[-1].text if answers else "",
            budgets=Spent(
                model_calls=result.model_calls,
                tool_calls=result.tool_calls,
                tokens=sum(answer.usage.total_tokens for answer in answers),
                cost_usd=sum(answer.usage.cost.total for answer in answers),
                scenario_seconds=(world.clock.now - scenario.start) / timedelta(seconds=1),
            ),
        )

    @property
    def ended(self) -> str | None:
        """Why the run ended: `reason` of a RunResult; None where the trace does not say."""
        return next((line["reason"] for line in self.trace if line["type"] == "end"), None)

    def about(self, aspect: Aspect) -> Any:
        """The aspect as JSON, for a path to look into."""
        match aspect:
            case "resources":
                return {kind: dict(values) for kind, values in self.resources.items()}
            case "trace":
                return list(self.trace)
            case "observation":
                return [line for line in self.trace if line["type"] == "observation"]
            case "artifacts":
                return dict(self.artifacts)
            case "budgets":
                return asdict(self.budgets)
            case "account":
                return {"text": self.account}
