"""Lenient reading: what is whole in a file that may be damaged. For people who look; replay never reads this way."""

import os
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from openprogram.pipeline.errors import RecordingFileError
from openprogram.pipeline.json_value import JsonValue
from openprogram.pipeline.log.files import PathLike, file_errors, open_existing
from openprogram.pipeline.log.lines import (
    CallEndLine,
    CheckEvent,
    EventLine,
    HeaderLine,
    Line,
    LineDefect,
    RequestLine,
    accept_any_event,
    event_payload,
    load_payload,
    parse_line,
)
from openprogram.pipeline.log.reader import CallSummary, parse_raw
from openprogram.pipeline.log.scan import RawLine, scan_lines

__all__ = ["LeftOut", "Survey", "survey_recording"]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A call that isn't whole. `line_number`: of its first line, from 1. `reason`: what is missing or wrong."""

    call_index: int
    line_number: int
    reason: str


class Survey:
    """What was found. Close it, or use it as a context manager.

    `path`; `header`: the header line, or None; `complete`: the whole calls in file order; `left_out`: the others;
    `damage`: the first defect in the file, or None where the strict reader would take it; `line_count`: lines.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self.header: dict[str, Any] | None = None
        self.complete: list[CallSummary] = []
        self.left_out: list[LeftOut] = []
        self.damage: RecordingFileError | None = None
        self.line_count = 0
        self._descriptor = descriptor
        self._close = weakref.finalize(self, os.close, descriptor)

    @property
    def unfinished(self) -> list[int]:
        """The indexes of the calls left out, in file order."""
        return [call.call_index for call in self.left_out]

    def request(self, call: CallSummary) -> dict[str, JsonValue]:
        """`model`, `context` and `options` of a complete call."""
        line = parse_line(call.read_request(self._descriptor), accept_any_event)
        if not isinstance(line, RequestLine):
            raise RecordingFileError(path=self.path, reason="the file changed while it was read")
        return line.request

    def events(self, call: CallSummary) -> Iterator[dict[str, JsonValue]]:
        """The event dumps of a complete call."""
        for batch in call.read_events(self._descriptor):
            for line in batch:
                yield load_payload(event_payload(line))

    def close(self) -> None:
        """Let the file go; safe to call twice."""
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def survey_recording(path: PathLike, check_event: CheckEvent) -> Survey:
    """Read past damage: a call counts as complete when its request, every event in order and its call_end are there.

    Raises RecordingFileError only where the file can't be read at all.
    """
    path = Path(path)
    survey = Survey(path, open_existing(path))
    surveyor = _Surveyor(survey)
    with file_errors(path, "read"):
        for raw in scan_lines(survey._descriptor):
            survey.line_count = raw.number
            try:
                surveyor.take(parse_raw(raw, check_event), raw)
            except LineDefect as defect:
                surveyor.note(defect, raw)
    surveyor.finish()
    return survey


class _Surveyor:
    """Follows each call on its own, so that damage in one doesn't take the others with it."""

    def __init__(self, survey: Survey) -> None:
        self._survey = survey
        self._open: dict[int, CallSummary] = {}
        self._broken: dict[int, LeftOut] = {}
        self._next_call_index = 0

    def take(self, line: Line, raw: RawLine) -> None:
        if isinstance(line, HeaderLine):
            if raw.number != 1:
                raise LineDefect("a second header")
            self._survey.header = line.fields
            return
        if raw.number == 1:
            self.note(LineDefect("the first line is not a header"), raw)
        if isinstance(line, RequestLine):
            self._begin(line, raw)
        elif isinstance(line, EventLine):
            self._event(line, raw)
        else:
            self._end(line)

    def _begin(self, line: RequestLine, raw: RawLine) -> None:
        earlier = self._open.pop(line.call_index, None)
        if earlier is not None:
            self._leave_out(earlier.call_index, earlier.line_number, "another request with its call_index follows")
        self._open[line.call_index] = CallSummary(line.call_index, raw)
        self._broken.pop(line.call_index, None)
        expected, self._next_call_index = self._next_call_index, line.call_index + 1
        if line.call_index != expected:
            raise LineDefect(f"call_index is {line.call_index}, expected {expected}", line.call_index)

    def _event(self, line: EventLine, raw: RawLine) -> None:
        call = self._call(line.call_index, "event")
        if call is None:
            return
        if line.event_index != call.event_count:
            reason = f"event_index is {line.event_index}, expected {call.event_count}"
            self._break(call, reason)
            raise LineDefect(reason, line.call_index)
        call.add_event(raw)

    def _end(self, line: CallEndLine) -> None:
        call = self._call(line.call_index, "call_end")
        if call is None:
            return
        if line.event_count != call.event_count:
            reason = f"event_count is {line.event_count}, but {call.event_count} events are whole"
            self._break(call, reason)
            raise LineDefect(reason, line.call_index)
        del self._open[line.call_index]
        call.end(line)
        self._survey.complete.append(call)

    def _call(self, call_index: int, word: str) -> CallSummary | None:
        call = self._open.get(call_index)
        if call is None and call_index not in self._broken:
            raise LineDefect(f"{word} without an open request before it", call_index)
        return call

    def _break(self, call: CallSummary, reason: str) -> None:
        del self._open[call.call_index]
        self._broken[call.call_index] = self._leave_out(call.call_index, call.line_number, reason)

    def _leave_out(self, call_index: int, line_number: int, reason: str) -> LeftOut:
        left_out = LeftOut(call_index, line_number, reason)
        self._survey.left_out.append(left_out)
        return left_out

    def note(self, defect: LineDefect, raw: RawLine) -> None:
        self._damage(defect.reason, raw.number, defect.call_index)

    def _damage(self, reason: str, line_number: int | None, call_index: int | None) -> None:
        if self._survey.damage is None:
            self._survey.damage = RecordingFileError(
                path=self._survey.path, reason=reason, line_number=line_number, call_index=call_index
            )

    def finish(self) -> None:
        if self._survey.line_count == 0:
            self._damage("the file is empty, it has no header line", None, None)
        for call in self._open.values():
            self._leave_out(call.call_index, call.line_number, "it has no call_end: its recording was interrupted")
            self._damage("the call has no call_end: its recording was interrupted", call.line_number, call.call_index)
