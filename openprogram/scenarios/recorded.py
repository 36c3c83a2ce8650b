"""A scenario beside a recording that answers for its model: what of the two has to be equal, and where that is set."""

from collections.abc import Mapping, Sequence
from typing import Final

from openprogram.contracts.contract import Contract
from openprogram.pipeline.errors import ReplayMismatch

__all__ = ["in_recorded_order", "where_it_is_set"]

#: Where a scenario has what a request consists of, by the beginning of the field's path.
_PLACES: Final = {
    "call_index": "turns in scenario.toml, of which there are more than were recorded",
    "model": "[model] in scenario.toml",
    "context.system_prompt": "system_prompt in scenario.toml",
    "context.tools": "the contracts (name, description, arguments), and `tools` in scenario.toml for their order",
    "context.messages": "turns in scenario.toml, or what the tools answer: fixtures and operations",
    "options": "nowhere: a scenario's agent gives no options, so the session has to be recorded without them",
}


def in_recorded_order(contracts: Mapping[str, Contract], recorded: Sequence[str]) -> dict[str, Contract]:
    """`contracts` as the recorded request has them; those that it lacks come last, in their own order."""
    order = {name: position for position, name in enumerate(recorded)}
    return dict(sorted(contracts.items(), key=lambda item: order.get(item[0], len(order))))


def where_it_is_set(mismatch: ReplayMismatch) -> str | None:
    """Where the scenario has the field that differs, in a sentence; None where that isn't known."""
    path = mismatch.field_path
    places = (place for field, place in _PLACES.items() if path == field or path.startswith((f"{field}.", f"{field}[")))
    place = next(places, None)
    return None if place is None else f"In the scenario: {place}."
