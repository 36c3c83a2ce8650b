"""The claims ledger: what a run can and can't say, so that nobody concludes more than that."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

from openprogram.fixtures.registry import FixtureRegistry

__all__ = ["ClaimsLedger", "Property", "ledger_of"]

#: What an evaluator may rely on. `full_content`: nothing that the model saw was cut or substituted.
#: `known_effects`: no call ended without anyone knowing whether it took effect. `captured`: every answer was observed
#: live, none made up.
Property: TypeAlias = Literal["full_content", "known_effects", "captured"]


@dataclass(frozen=True, slots=True)
class ClaimsLedger:
    """Each a list of sentences, in the order of the run.

    `captured`: answers that were observed live. `simulated`: answers that were authored, computed or simulated.
    `denied`: calls that were not allowed. `unknown`: effects that nobody knows of. `substituted`: content that stands
    in for another. `truncated`: content that the model saw only in part.
    """

    captured: tuple[str, ...] = ()
    simulated: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    substituted: tuple[str, ...] = ()
    truncated: tuple[str, ...] = ()

    def lacks(self, wanted: Property) -> str | None:
        """Why `wanted` can't be relied on; None where it can."""
        against = {
            "full_content": (*self.truncated, *self.substituted),
            "known_effects": self.unknown,
            "captured": self.simulated,
        }[wanted]
        return against[0] if against else None

    def as_json(self) -> dict[str, Any]:
        """The ledger in reports."""
        return asdict(self)


def ledger_of(trace: Sequence[Mapping[str, Any]], fixtures: FixtureRegistry) -> ClaimsLedger:
    """What the lines of a journal allow to be said."""
    by_id = {fixture.id: fixture for fixture in fixtures.all()}
    tools = {line["call"]: line["tool"] for line in trace if line["type"] == "call"}
    captured: list[str] = []
    simulated: list[str] = []
    denied, unknown, truncated = [], [], []
    for line in trace:
        name = f"call {line.get('call')} ({tools.get(line.get('call'))})"
        if line["type"] == "answer":
            fixture = by_id.get(line["source"].removeprefix("fixture:"))
            was_captured = fixture is not None and fixture.manifest.source == "captured"
            (captured if was_captured else simulated).append(f"{name} by {line['source']}")
        elif line["type"] == "observation":
            if line["outcome"] == "denied":
                denied.append(f"{name}: {line['category']}")
            elif line["outcome"] in ("dropped", "timeout", "incomplete", "cancelled") and not line["acknowledged"]:
                unknown.append(f"{name} ended as {line['outcome']}")
            if line["truncated"]:
                truncated.append(f"{name} was cut from {line['visible_bytes']} bytes")
    return ClaimsLedger(tuple(captured), tuple(simulated), tuple(denied), tuple(unknown), truncated=tuple(truncated))
