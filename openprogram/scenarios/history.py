"""A run's journal, read again: the state it was in at any tool call or user turn."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from pydantic import TypeAdapter

from openprogram.agent.tool_calls import unread
from openprogram.agent.tools import ToolOutput
from openprogram.fixtures.errors import RunStopped
from openprogram.fixtures.events import AdapterEvent
from openprogram.fixtures.key import normalised
from openprogram.pipeline.canonical import digest
from openprogram.providers.types import AssistantMessage, Message, TextContent, ToolCall, ToolResultMessage, UserMessage
from openprogram.scenarios.idempotency import Kept
from openprogram.scenarios.journal import JOURNAL_FORMAT_VERSION, encoded
from openprogram.scenarios.scenario import Scenario
from openprogram.scenarios.scopes import SCENARIO
from openprogram.scenarios.state import MODE, RunState
from openprogram.world.clock import as_ms, parse_time

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
    """The journal of a whole run of `scenario`, perhaps of one that stopped.

    Raises JournalRefused: a line is no canonical JSON or out of sequence, or it is of another scenario, mode or format.
    """

    def __init__(self, scenario: Scenario, journal: bytes) -> None:
        self._scenario = scenario
        self.lines = _lines(journal)
        header = self.lines[0]
        if header["type"] != "run":
            raise JournalRefused(line_number=1, reason="it does not begin with a run's header")
        wanted = {"format_version": JOURNAL_FORMAT_VERSION, "mode": MODE, "scope": SCENARIO.name}
        for name, value in wanted.items():
            if header.get(name) != value:
                raise JournalRefused(line_number=1, reason=f"its {name} is {header.get(name)!r}, not {value!r}")
        if not isinstance(header.get("scenario"), dict) or not isinstance(header.get("branch"), str):
            raise JournalRefused(line_number=1, reason="it does not say of which scenario and branch it is")
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
        """The lines of these turns, both included.

        Raises JournalRefused: there are no such turns, or the last one isn't complete.
        """
        begin, last = self._position("user", first_turn, "turn"), self._position("user", last_turn, "turn")
        for position in range(last + 1, len(self.lines)):
            if self.lines[position]["type"] in ("user", "end"):
                return self.lines[begin:position]
        raise JournalRefused(reason=f"turn {last_turn} is not complete in it: the run stopped there, or it was cut off")

    def answers(self, first_turn: int, last_turn: int) -> list[AssistantMessage]:
        """What the model answered in these turns, failed attempts included."""
        lines = self.segment(first_turn, last_turn)
        with _as_a_run_writes_it():
            return [AssistantMessage.model_validate(line["message"]) for line in lines if line["type"] == "model"]

    def _position(self, kind: str, number: int, field: str) -> int:
        for position, line in enumerate(self.lines):
            if line["type"] == kind and line.get(field) == number:
                return position
        raise JournalRefused(reason=f"there is no {kind} {number} in it")

    def _state(self, position: int) -> RunState:
        with _as_a_run_writes_it():
            return self._read_state(position)

    def _read_state(self, position: int) -> RunState:
        past, at = self.lines[:position], parse_time(self.lines[position]["at"])
        calls = {line["call"]: line for line in past if line["type"] == "call"}
        draws = [line for line in past if line["type"] == "draw"]
        return RunState(
            at=at,
            events=tuple(line["event"] for line in past if line["type"] == "world"),
            pending=_pending(past, at),
            streams={line["stream"]: line["index"] + 1 for line in draws},
            messages=tuple(_messages(past)),
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
            same = isinstance(line, dict) and isinstance(line.get("type"), str) and encoded(line) == raw + b"\n"
        except (ValueError, RecursionError) as error:
            raise JournalRefused(line_number=number, reason=f"not JSON: {error}") from error
        if not same:
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


@contextmanager
def _as_a_run_writes_it() -> Iterator[None]:
    """What is canonical JSON can still have been written by somebody else."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise JournalRefused(reason=f"not as a run writes it: {type(error).__name__}: {error}") from error


def _messages(past: Sequence[Mapping[str, Any]]) -> list[Message]:
    messages: list[Message] = []
    asked: list[ToolCall] = []  # and not answered yet
    for line in past:
        time = as_ms(parse_time(line["at"]))
        if line["type"] == "user":
            messages.append(UserMessage(content=line["text"], timestamp=time))
        elif line["type"] == "model" and line["message"]["stop_reason"] not in ("error", "aborted"):
            answer = AssistantMessage.model_validate(line["message"])
            messages.append(answer)
            asked = answer.tool_calls
        elif line["type"] == "observation":
            output = ToolOutput([TextContent(text=line["text"])], is_error=line["outcome"] != "result")
            messages.append(_result(asked.pop(0), output, time))
        # such a call reaches no tool, so no line of its own tells of it
        while asked and asked[0].arguments_error is not None:
            call = asked.pop(0)
            messages.append(_result(call, unread(call), time))
    return messages


def _result(call: ToolCall, output: ToolOutput, time: int) -> ToolResultMessage:
    return ToolResultMessage(
        tool_call_id=call.id,
        tool_name=call.name,
        content=output.content,
        is_error=output.is_error,
        timestamp=time,
    )


def _kept(line: Mapping[str, Any]) -> Kept:
    return Kept(line["key"], line["arguments"], tuple(_EVENTS.validate_python(line["rest"])))
