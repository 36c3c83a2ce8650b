"""Which value of this run stands for which recorded one: one to one, from the first meeting to the session's end."""

from typing import NamedTuple

from openprogram.pipeline.json_value import JsonValue, show_value

__all__ = ["Binding", "Birthplace"]


class Birthplace(NamedTuple):
    """Where a value was first met: in a request, at `field_path`, or in an answer, at `event_index` (from 0)."""

    call_index: int
    field_path: str | None = None
    event_index: int | None = None

    def __str__(self) -> str:
        where = f"event {self.event_index}" if self.field_path is None else self.field_path
        return f"call {self.call_index}, {where}"


class Binding(NamedTuple):
    """`recorded` stands for `incoming` in this run, by the volatile rule `rule`. `born`: where they were first met."""

    rule: str
    recorded: JsonValue
    incoming: JsonValue
    born: Birthplace

    def __str__(self) -> str:
        recorded, incoming = show_value(self.recorded), show_value(self.incoming)
        return f"{self.rule} recorded {recorded} -> incoming {incoming}, born at {self.born}"
