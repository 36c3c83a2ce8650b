"""Every error that the pipeline raises, in one place.

PipelineError
├── RecordingFileError      a file can't be read, or can't be appended to
├── RecordingValueError     a value can't be written as strict JSON: not live yet, nothing recorded
├── ReplayMismatch          the incoming request isn't the recorded one
│   └── UnconsumedCalls     recorded calls were never asked for
├── RecordedCallError       the recorded call itself didn't complete; replay repeats that
└── StreamIncomplete        an awaited stream ended without a final message

Attributes are the API; `str()` is the sentence; the next step is a note (PEP 678).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from openprogram.pipeline.json_value import Absent, show_difference
from openprogram.pipeline.matching.bindings import Binding
from openprogram.pipeline.matching.policy import MatchingPolicy

__all__ = [
    "PipelineError",
    "RecordedCallError",
    "RecordingFileError",
    "RecordingValueError",
    "ReplayMismatch",
    "StreamIncomplete",
    "UnconsumedCalls",
    "calls_were_recorded",
]


def calls_were_recorded(count: int) -> str:
    """How many calls a recording has, as a clause."""
    return f"{count} {'call was' if count == 1 else 'calls were'} recorded"


class PipelineError(Exception):
    """Base of every error here. Keyword arguments are kept, so that any of them can be pickled."""

    def __init__(self, message: str, **data: Any) -> None:
        super().__init__(message)
        self._data = data

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self._data, list(getattr(self, "__notes__", ())))


def _rebuild(kind: type[PipelineError], data: dict[str, Any], notes: list[str]) -> PipelineError:
    error = kind(**data)
    error.__notes__ = notes
    return error


class RecordingFileError(PipelineError):
    """A recording can't be used: raised when one is opened, appended to, or its lines are decoded.

    `path`: the file. `reason`: what is wrong. `line_number`: from 1, or None where no line is at fault.
    `call_index`: the call that the line belongs to, or None.
    """

    def __init__(
        self,
        *,
        path: Path,
        reason: str,
        line_number: int | None = None,
        call_index: int | None = None,
        next_step: str | None = None,
    ) -> None:
        where = str(path)
        if line_number is not None:
            where += f", line {line_number}"
        if call_index is not None:
            where += f", call {call_index}"
        super().__init__(
            f"{where}: {reason}",
            path=path,
            reason=reason,
            line_number=line_number,
            call_index=call_index,
            next_step=next_step,
        )
        self.path, self.reason = path, reason
        self.line_number, self.call_index = line_number, call_index
        self.next_step = next_step
        if next_step is not None:
            self.add_note(next_step)


class RecordingValueError(PipelineError):
    """A request or event holds what strict JSON can't: NaN, an unknown object, too deep, too large.

    `field_path`: where, in the path syntax of `find_first_difference`. `reason`: what is wrong there.
    """

    def __init__(self, *, field_path: str, reason: str) -> None:
        super().__init__(f"cannot record {field_path or 'the value'}: {reason}", field_path=field_path, reason=reason)
        self.field_path, self.reason = field_path, reason


class ReplayMismatch(PipelineError):
    """The incoming request differs from the recorded one, or no recorded call is left.

    `call_index`: which recorded call it was compared with, from 0. `field_path`: the first field that differs.
    `recorded`, `incoming`: the two values there, redacted, or `ABSENT`. Where the recording has no such call,
    `field_path` is `call_index`, `recorded` how many calls it has, `incoming` the index of the one that came, from 0.
    `event_index`: where a position in the stream diverges, else None. `cause`: a sentence on where
    the difference entered, or None. `policy`: how the recording's calls are matched, where not exactly.
    `bindings`: those that this place contradicts, the last of them the one that stands here, or none.
    `suggested_volatile`: where values differ that are made anew in every run, the rules under which to record again.
    """

    def __init__(
        self,
        *,
        call_index: int,
        field_path: str,
        recorded: JsonValue | Absent,
        incoming: JsonValue | Absent,
        event_index: int | None = None,
        cause: str | None = None,
        next_step: str | None = None,
        policy: MatchingPolicy | None = None,
        bindings: Sequence[Binding] = (),
        suggested_volatile: Sequence[str] = (),
    ) -> None:
        shown = _calls_differ if field_path == "call_index" else show_difference
        shown_recorded, shown_incoming = shown(recorded, incoming)
        where = f"call {call_index}" if event_index is None else f"call {call_index}, event {event_index}"
        message = (
            f"replay mismatch at {where}, field {field_path}:\nrecorded {shown_recorded}, incoming {shown_incoming}"
        )
        for binding in bindings[:-1]:
            message += f"\nbound: {binding}"
        if bindings:
            message += f"\nhere: {bindings[-1]}"
        if policy is not None:
            message += f"\nmatching: {policy}"
        if cause is not None:
            message += f"\ncause: {cause}"
        super().__init__(
            message,
            call_index=call_index,
            field_path=field_path,
            recorded=recorded,
            incoming=incoming,
            event_index=event_index,
            cause=cause,
            next_step=next_step,
            policy=policy,
            bindings=bindings,
            suggested_volatile=suggested_volatile,
        )
        self.call_index, self.field_path, self.event_index = call_index, field_path, event_index
        self.recorded, self.incoming = recorded, incoming
        self.cause, self.policy, self.bindings = cause, policy, tuple(bindings)
        self.suggested_volatile = tuple(suggested_volatile)
        if next_step is not None:
            self.add_note(next_step)


def _calls_differ(count: JsonValue | Absent, index: JsonValue | Absent) -> tuple[str, str]:
    # Side by side, a number of calls and an index from 0 would look like two equal values.
    return f"{count} {'call' if count == 1 else 'calls'}", f"call {index}, counted from 0"


class UnconsumedCalls(ReplayMismatch):
    """The run made fewer calls than were recorded. `call_count`: recorded, `consumed`: asked for. `cause`: as above."""

    def __init__(self, *, call_count: int, consumed: int, cause: str | None = None) -> None:
        super().__init__(
            call_index=consumed, field_path="call_index", recorded=call_count, incoming=consumed, cause=cause
        )
        asked = f"{consumed} {'was' if consumed == 1 else 'were'} asked for"
        told = "" if cause is None else f"\ncause: {cause}"
        self.args = (f"replay incomplete: {calls_were_recorded(call_count)}, {asked}{told}",)
        self._data = {"call_count": call_count, "consumed": consumed, "cause": cause}
        self.call_count, self.consumed = call_count, consumed


class RecordedCallError(PipelineError):
    """The recorded call ended without completing, and so its replay does: raised after its last recorded event.

    `call_index`: from 0. `outcome`: `error`, `cancelled` or `abandoned`. `error_type`, `error_message`: what the
    provider raised when it was recorded, redacted, or None.
    """

    def __init__(
        self, *, call_index: int, outcome: str, error_type: str | None = None, error_message: str | None = None
    ) -> None:
        detail = f": {error_type or 'error'}: {error_message or ''}".rstrip(": ") if error_type or error_message else ""
        super().__init__(
            f"recorded call {call_index} ended with outcome {outcome}{detail}",
            call_index=call_index,
            outcome=outcome,
            error_type=error_type,
            error_message=error_message,
        )
        self.add_note("This is what was recorded, played again: a replay asks no provider and needs no key.")
        self.call_index, self.outcome = call_index, outcome
        self.error_type, self.error_message = error_type, error_message


class StreamIncomplete(PipelineError):
    """An awaited stream has no final message: the provider's stream ended without a `done` or `error` event."""

    def __init__(self, *, event_count: int) -> None:
        super().__init__(
            f"the stream ended after {event_count} events without a final message", event_count=event_count
        )
        self.event_count = event_count
