"""Approvals inside a run: bound to exact arguments, decided on scenario time, worth nothing outside the run.

recorded    the scenario configures a decision for these very arguments: it replays as history
pending     nothing is configured: the run pauses with `approval.required`
expired     the decision comes after the contract's time is up: the call is denied
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any, ClassVar, Literal, TypeAlias

from openprogram.contracts.contract import ApprovalRule, Contract
from openprogram.contracts.sensitive import masked
from openprogram.fixtures.errors import RunStopped
from openprogram.pipeline.canonical import digest
from openprogram.scenarios.journal import Journal
from openprogram.scenarios.settings import ApprovalSettings
from openprogram.world.clock import as_text, parse_time
from openprogram.world.world import World

__all__ = ["Approval", "ApprovalRequired", "Approvals", "Decision", "Receipt", "ReceiptRefused"]

Decision: TypeAlias = Literal["approved", "denied", "expired"]


class ApprovalRequired(RunStopped):
    """approval.required: a call needs a decision that the scenario doesn't have; the run pauses there.

    `tool`, `arguments`: the call, without sensitive values. `arguments_digest`: what a decision must be bound to.
    """

    code: ClassVar[str] = "approval.required"

    def __init__(self, *, tool: str, arguments: dict[str, Any], arguments_digest: str, call: int | None = None) -> None:
        super().__init__(
            f"{tool} needs an approval, and the scenario configures none for the arguments {json.dumps(arguments)} "
            f"({arguments_digest})",
            call=call,
            tool=tool,
            arguments=arguments,
            arguments_digest=arguments_digest,
        )
        self.tool, self.arguments, self.arguments_digest = tool, arguments, arguments_digest
        self.add_note("Configure the outcome in scenario.toml: [[approvals]] with this tool and these arguments.")


class ReceiptRefused(RunStopped):
    """approval.receipt: a receipt is of another run, mode, tool or arguments, or its time is up. `reason`: which."""

    code: ClassVar[str] = "approval.receipt"

    def __init__(self, *, reason: str, call: int | None = None) -> None:
        super().__init__(f"the approval's receipt does not count here: {reason}", call=call, reason=reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Receipt:
    """Says that one call was approved. `run`: the run's identity. `expires`: scenario time, as text."""

    run: str
    mode: str
    tool: str
    arguments_digest: str
    expires: str

    def check(self, *, run: str, mode: str, tool: str, arguments: dict[str, Any], now: datetime) -> None:
        """Raises ReceiptRefused: it does not cover this call, here and now."""
        expected = {"run": run, "mode": mode, "tool": tool, "arguments_digest": digest(arguments)}
        for name, value in expected.items():
            if getattr(self, name) != value:
                raise ReceiptRefused(reason=f"its {name} is {getattr(self, name)}, here it is {value}")
        if now > parse_time(self.expires):
            raise ReceiptRefused(reason=f"it expired at {self.expires}, now it is {as_text(now)}")


@dataclass(frozen=True, slots=True)
class Approval:
    """The answer to a request for approval. `receipt`: where it was approved."""

    decision: Decision
    reason: str
    receipt: Receipt | None = None


class Approvals:
    """Decides calls of one run. `run`, `mode`: what receipts are bound to."""

    def __init__(
        self, configured: Sequence[ApprovalSettings], run: str, mode: str, world: World, journal: Journal
    ) -> None:
        self._configured = {(approval.tool, digest(approval.arguments)): approval for approval in configured}
        self._run, self._mode, self._world, self._journal = run, mode, world, journal

    def decide(self, contract: Contract, rule: ApprovalRule, arguments: dict[str, Any], call: int) -> Approval:
        """Ask, and let scenario time pass until there is an answer.

        Raises ApprovalRequired: no outcome is configured for exactly these arguments.
        """
        bound_to = digest(arguments)
        asked = self._world.clock.now
        expires = asked + timedelta(seconds=rule.expires_after_s)
        self._journal.add(
            "approval.request", call=call, tool=contract.name, arguments_digest=bound_to, expires=as_text(expires)
        )
        configured = self._configured.get((contract.name, bound_to))
        if configured is None:
            shown = masked(arguments, contract.sensitive)
            raise ApprovalRequired(tool=contract.name, arguments=shown, arguments_digest=bound_to, call=call)
        wait = timedelta(seconds=configured.after_s)
        self._world.advance(min(wait, expires - asked))
        decision: Decision = configured.decision if asked + wait <= expires else "expired"
        approved = decision == "approved"
        receipt = Receipt(self._run, self._mode, contract.name, bound_to, as_text(expires)) if approved else None
        self._journal.add(
            "approval.decision",
            call=call,
            decision=decision,
            reason=configured.reason,
            receipt=None if receipt is None else asdict(receipt),
        )
        return Approval(decision, configured.reason, receipt)

    def redeem(self, receipt: Receipt, contract: Contract, arguments: dict[str, Any]) -> None:
        """Let a call act under `receipt`. Raises ReceiptRefused: it does not cover this call, here and now."""
        receipt.check(
            run=self._run, mode=self._mode, tool=contract.name, arguments=arguments, now=self._world.clock.now
        )
