"""A scenario in memory: everything a run depends on, and nothing else."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType

from openprogram.agent.limits import Limits
from openprogram.contracts.contract import Contract
from openprogram.pipeline.canonical import digest
from openprogram.providers.types import Model
from openprogram.scenarios.operations import Operation, PureTool
from openprogram.scenarios.settings import ApprovalSettings, Budgets, InjectSettings
from openprogram.world.clock import as_text
from openprogram.world.world import InitialResources

__all__ = ["Scenario"]


@dataclass(frozen=True)
class Scenario:
    """`turns`: what the user says, one message after the other; the next one follows the agent's answer.

    `contracts`, `operations`, `pure`: by tool name. `ends_after`: tools whose call ends the conversation.
    `start`: scenario time at the beginning, with a zone. `seed`: of all chance. `namespace`: of its fixtures.
    """

    id: str
    version: str
    seed: str
    start: datetime
    model: Model
    turns: tuple[str, ...]
    contracts: Mapping[str, Contract]
    resources: InitialResources
    namespace: str = "default"
    system_prompt: str | None = None
    operations: Mapping[str, Operation] = field(default_factory=lambda: MappingProxyType({}))
    pure: Mapping[str, PureTool] = field(default_factory=lambda: MappingProxyType({}))
    limits: Limits = Limits()  # noqa: RUF009 - immutable
    budgets: Budgets = Budgets()  # noqa: RUF009 - immutable
    ends_after: frozenset[str] = frozenset()
    credentials: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    injections: tuple[InjectSettings, ...] = ()
    approvals: tuple[ApprovalSettings, ...] = ()

    @property
    def identity(self) -> dict[str, object]:
        """What a run's header says of its scenario."""
        return {
            "id": self.id,
            "version": self.version,
            "namespace": self.namespace,
            "seed": self.seed,
            "start": as_text(self.start),
            "model": digest(self.model.model_dump(mode="json")),
            "prompt": digest([self.system_prompt, *self.turns, *sorted(self.ends_after)]),
            "rules": digest(
                [part.model_dump(mode="json") for part in (self.budgets, *self.injections, *self.approvals)]
            ),
            "contracts": {name: contract.digest for name, contract in sorted(self.contracts.items())},
            "resources": self.resources.digest,
        }
