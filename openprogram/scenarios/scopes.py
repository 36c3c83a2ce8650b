"""How much of a scenario a replay reconstructs, and which conclusions that supports.

Every result stands beside its scope: a tool that answers as recorded says nothing about the agent, and an agent that
did well from a checkpoint on says nothing about how it came there.
"""

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

__all__ = ["CONTRACT", "SCENARIO", "SCOPES", "SEGMENT", "Aspect", "Scope", "ScopeName"]

#: What is looked at. `observation`: what tools answered. `trace`: what happened, in order. `resources`: the world at
#: the end. `artifacts`: files. `budgets`: what was used. `account`: the agent's last message.
Aspect: TypeAlias = Literal["observation", "trace", "resources", "artifacts", "budgets", "account"]
ScopeName: TypeAlias = Literal["contract", "segment", "scenario"]


@dataclass(frozen=True, slots=True)
class Scope:
    """`reconstructs`: in a sentence. `supports`: aspects about which a result of this scope says something."""

    name: ScopeName
    reconstructs: str
    supports: frozenset[Aspect]


CONTRACT: Final = Scope(
    "contract",
    "one tool call, in the world as it was when it was made",
    frozenset({"observation"}),
)
SEGMENT: Final = Scope(
    "segment",
    "the conversation and the world from one checkpoint to another; what came before is taken from the journal",
    frozenset({"observation", "trace", "resources"}),
)
SCENARIO: Final = Scope(
    "scenario",
    "the whole run, from the scenario's beginning to its end",
    frozenset({"observation", "trace", "resources", "artifacts", "budgets", "account"}),
)

SCOPES: Final = {scope.name: scope for scope in (CONTRACT, SEGMENT, SCENARIO)}
