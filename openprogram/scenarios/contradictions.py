"""Fixtures that say otherwise than the world they are served in.

A fixture's key has the revision of what its contract reads, not the content: with an edited resource file the key stays
what it was. Only where one resource was read, as the world begins with it, are both sides known before a run; and only
values of one JSON type under one name can be compared. A tool may still mean something else by that name, so this is
for a person to look at.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from openprogram.contracts.contract import Contract
from openprogram.fixtures.events import Result
from openprogram.fixtures.fixture import Fixture
from openprogram.world.world import InitialResources

__all__ = ["Contradiction", "contradictions"]

#: Of every resource as the world begins with it.
_FIRST_REVISION = 1


class Contradiction(NamedTuple):
    """`field`: names joined by dots. `served`: in the fixture's result; `held`: in the resource."""

    field: str
    resource: str
    served: Any
    held: Any


def contradictions(fixture: Fixture, contract: Contract, resources: InitialResources) -> Iterator[Contradiction]:
    """Every value of the fixture's result that differs from the resource it reads; none where that can't be told."""
    end = fixture.events[-1]
    if contract.effect != "read" or not isinstance(end, Result) or list(fixture.reads.values()) != [_FIRST_REVISION]:
        return
    (resource,) = fixture.reads
    kind, _, name = resource.partition("/")
    held = resources.kinds.get(kind, {}).get(name)
    for field, one, other in _differing(end.value, held):
        yield Contradiction(field, resource, one, other)


def _differing(served: Any, held: Any, field: str = "") -> Iterator[tuple[str, Any, Any]]:
    if isinstance(served, Mapping) and isinstance(held, Mapping):
        for name in served:
            if name in held:
                yield from _differing(served[name], held[name], f"{field}.{name}" if field else name)
    elif field and _comparable(served, held) and served != held:
        yield field, served, held


def _comparable(one: Any, other: Any) -> bool:
    """Whether both are texts, booleans or numbers, of whatever form. Lists aren't: a tool may pick and sort."""
    if isinstance(one, bool) or isinstance(other, bool):
        return isinstance(one, bool) and isinstance(other, bool)
    return any(isinstance(one, kind) and isinstance(other, kind) for kind in (str, int | float))
