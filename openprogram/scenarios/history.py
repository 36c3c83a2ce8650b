"""A run's journal, read again: the state it was in at any tool call or user turn."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from pydantic import TypeAdapter

from openprogram.fixtures.errors import RunStopped
from openprogram.fixtures.events import AdapterEvent
from openprogram.fixtures.key import normalised
from openprogram.pipeline.canonical import digest
from openprogram.providers.types import AssistantMessage, Message, TextContent, ToolResultMessage, UserMessage
from openprogram.scenarios.idempotency import Kept
from openprogram.scenarios.journal import encoded
from openprogram.scenarios.scenario import Scenario
from openprogram.scenarios.state import RunState
from openprogram.world.clock import parse_time

__all__ = ["History", "JournalRefused"]

_EVENTS: TypeAdapter[list[AdapterEvent]] = TypeAdapter(list[AdapterEvent])


class JournalRefused(RunStopped):
    """journal.refused: it is damaged, or of another scenario.

    `line_number`: from 1, or None. `reason`: what is wrong.
    """

    code = "journal.refused"

    def __init__(self, *, reason: str, line_number: int | None = None) -> None:
        where = "the journal" if line_number is None else f"line {line_number} of the journal"
        super().__init__(f"{where}: {reason}", reason=reason, line_number=line_number)
        self.reason, self.line_number = reason, line_number


class History:
    """The journal of a run of `scenario`.

    Raises JournalRefused: a line is no canonical JSON or out of sequence, or it is of another scenario.
    """

    def __init__(self, scenario: Scenario, journal: bytes) -> None:
        self._scenario = scenario
        self.lines = _lines(journal)
        header = self.lines[0]
        if header["type"] != "run":
            raise JournalRefused(line_number=1, reason="it does not begin with a run's header")
        if header["scenario"] != scenario.identity:
            changed = sorted(key for key, value in scenario.identity.items() if header["scenario"].get(key) != value)
            raise JournalRefused(line_number=1, reason=f"it is of another scenario: {', '.join(changed)} differ")

    @property
    def turns(self) -> int:
        """User turns in it."""
        return sum(line["type"] == "user" for line in self.lines)

    @property
    def calls(self) -> int:
        """Tool calls in it."""
        return sum(line["type"] == "call" for line in self.lines)

    def before_call(self, call: int) -> RunState:
        """The state in which tool call `call` was made. Raises JournalRefused: there is none of that number."""
        return self._state(self._position("call", call, "call"))

    def before_turn(self, turn: int) -> RunState:
        """The state before user turn `turn`. Raises JournalRefused: there is none of that number."""
        return self._state(self._position("user", turn, "turn"))

    def call_line(self, call: int) -> Mapping[str, Any]:
        """The line with which a tool call begins. Raises JournalRefused: there is no such call."""
        return self.lines[self._position("call", call, "call")]

    def call(self, call: int) -> Sequence[Mapping[str, Any]]:
        """The lines of a tool call, from the call to its observation.

        Raises JournalRefused: there is no such call, or the run stopped in it.
        """
        begin = self._position("call", call, "call")
        return self.lines[begin : self._position("observation", call, "call") + 1]

    def segment(self, first_turn: int, last_turn: int) -> Sequence[Mapping[str, Any]]:
        """The lines of these turns, both included."""
        begin = self._position("user", first_turn, "turn")
        end = self._position("user", last_turn + 1, "turn") if last_turn + 1 < self.turns else len(self.lines)
        return [line for line in self.lines[begin:end] if line["type"] not in ("end", "stopped")]

    def answers(self, first_turn: int, last_turn: int) -> list[AssistantMessage]:
        """What the model answered in these turns, failed attempts included."""
        lines = self.segment(first_turn, last_turn)
        return [AssistantMessage.model_validate(line["message"]) for line in lines if line["type"] == "model"]

    def _position(self, kind: str, number: int, field: str) -> int:
        for position, line in enumerate(self.lines):
            if line["type"] == kind and line[field] == number:
                return position
        raise JournalRefused(reason=f"there is no {kind} {number} in it")

    def _state(self, position: int) -> RunState:
        past, at = self.lines[:position], parse_time(self.lines[position]["at"])
        calls = {line["call"]: line for line in past if line["type"] == "call"}
        draws = [line for line in past if line["type"] == "draw"]
        return RunState(
            at=at,
            events=tuple(line["event"] for line in past if line["type"] == "world"),
            pending=_pending(past, at),
            streams={line["stream"]: line["index"] + 1 for line in draws},
            messages=tuple(_messages(past, calls)),
            turn=sum(line["type"] == "user" for line in past),
            calls=len(calls),
            model_calls=sum(line["type"] == "model" for line in past),
            by_tool=Counter(calls[line["call"]]["tool"] for line in past if line["type"] == "answered"),
            occurrences=self._occurrences(past, calls),
            kept=tuple(_kept(line) for line in past if line["type"] == "kept"),
        )

    def _occurrences(
        self, past: Sequence[Mapping[str, Any]], calls: Mapping[int, Mapping[str, Any]]
    ) -> Counter[tuple[str, str]]:
        found: Counter[tuple[str, str]] = Counter()
        for line in past:
            if line["type"] == "answer" and line["source"].startswith("fixture:"):
                call = calls[line["call"]]
                request = normalised(call["arguments"], self._scenario.contracts[call["tool"]])
                found[call["tool"], digest(request)] += 1
        return found


def _lines(journal: bytes) -> list[dict[str, Any]]:
    lines = []
    for number, raw in enumerate(journal.split(b"\n")[:-1], start=1):
        try:
            line = json.loads(raw)
        except ValueError as error:
            raise JournalRefused(line_number=number, reason=f"not JSON: {error}") from error
        if not isinstance(line, dict) or encoded(line) != raw + b"\n":
            raise JournalRefused(line_number=number, reason="not as a run writes it")
        if line.get("sequence") != number - 1:
            raise JournalRefused(line_number=number, reason=f"its sequence is {line.get('sequence')}, not {number - 1}")
        lines.append(line)
    if not lines or not journal.endswith(b"\n"):
        raise JournalRefused(reason="it is empty, or its last line is cut off")
    return lines


def _pending(past: Sequence[Mapping[str, Any]], at: datetime) -> tuple[Mapping[str, Any], ...]:
    scheduled = [line for line in past if line["type"] == "scheduled"]
    # those that are due have fired, or were passed over
    return tuple(line for line in scheduled if parse_time(line["due"]) > at)


def _messages(past: Sequence[Mapping[str, Any]], calls: Mapping[int, Mapping[str, Any]]) -> list[Message]:
    messages: list[Message] = []
    for line in past:
        time = round(parse_time(line["at"]).timestamp() * 1000)
        if line["type"] == "user":
            messages.append(UserMessage(content=line["text"], timestamp=time))
        elif line["type"] == "model" and line["message"]["stop_reason"] not in ("error", "aborted"):
            messages.append(AssistantMessage.model_validate(line["message"]))
        elif line["type"] == "observation":
            call = calls[line["call"]]
            messages.append(
                ToolResultMessage(
                    tool_call_id=call["id"],
                    tool_name=call["tool"],
                    content=[TextContent(text=line["text"])],
                    is_error=line["outcome"] != "result",
                    timestamp=time,
                )
            )
    return messages


def _kept(line: Mapping[str, Any]) -> Kept:
    return Kept(line["key"], line["arguments"], tuple(_EVENTS.validate_python(line["rest"])))
