"""Tools that a scenario has for the asking."""

from collections.abc import Iterator
from typing import Any, Final

from openprogram.contracts.contract import Contract
from openprogram.fixtures.events import AdapterEvent, Result
from openprogram.scenarios.operations import Operation
from openprogram.world.chance import RandomStream
from openprogram.world.clock import Clock, as_text
from openprogram.world.resources import Resources

__all__ = ["CURRENT_TIME", "CURRENT_TIME_OPERATION"]

CURRENT_TIME: Final = Contract(
    name="current_time",
    revision="1",
    description="The current date and time, in UTC.",
    effect="read",
    arguments={"type": "object", "properties": {}, "additionalProperties": False},
    result={"type": "string"},
)


def _current_time(
    resources: Resources, arguments: dict[str, Any], clock: Clock, random: RandomStream
) -> Iterator[AdapterEvent]:
    yield Result(value=as_text(clock.now))


CURRENT_TIME_OPERATION: Final = Operation("current_time", "1", _current_time)
