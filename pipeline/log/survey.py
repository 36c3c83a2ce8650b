"""Lenient reading: what is whole in a file that may be damaged. For people who look; replay never reads this way."""

import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from openprogram.pipeline.errors import RecordingFileError
from openprogram.pipeline.json_value import JsonValue
from openprogram.pipeline.log.files import PathLike, file_errors
from openprogram.pipeline.log.lines import (
    CallEndLine,
    CheckEvent,
    EventLine,
    HeaderLine,
    Line,
    LineDefect,
    RequestLine,
    WrongVersion,
)
from openprogram.pipeline.log.merged import MergedRecordings, StandsTwice, take_one_side, told
from openprogram.pipeline.log.reader import CallSummary, parse_raw, unchanged
from openprogram.pipeline.log.scan import LineScan, RawLine
from openprogram.pipeline.log.source import ByteSource, CompressionDefect, open_stored
from openprogram.pipeline.log.strict_json import load_payload

__all__ = ["LeftOut", "Survey", "survey_recording"]

_INTERRUPTED: Final = "has no call_end: its recording was interrupted"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A call that isn't whole. `line_number`: of its first line, from 1. `reason`: what is missing or wrong."""

    call_index: int
    line_number: int
    reason: str


class Survey:
    """What was found. Close it, or use it as a context manager.

    `path`; `header`: the header line, or None; `complete`: the whole calls in the order they begin in the file;
    `left_out`: the others; `damage`: the first defect in the file, or None where the strict reader would take it;
    `interrupted`: the only damage is what a killed writer leaves, calls without an end and a last line without
    one, and so the file may be recorded into; `merged`: git's conflict markers are in it, and no call can be believed;
    `line_count`, `content_bytes`: lines, and their bytes uncompressed; `size_bytes`: of the file as it is.
    """

    def __init__(self, path: Path, source: ByteSource) -> None:
        self.path = path
        self.header: dict[str, Any] | None = None
        self.complete: list[CallSummary] = []
        self.left_out: list[LeftOut] = []
        self.damage: RecordingFileError | None = None
        self.interrupted = False
        self.merged = False
        self.line_count = 0
        self.content_bytes = 0
        self.size_bytes = 0
        self._source = source
        self._close = weakref.finalize(self, source.close)

    @property
    def unfinished(self) -> list[int]:
        """The indexes of the calls left out, in file order."""
        return [call.call_index for call in self.left_out]

    def request(self, call: CallSummary) -> dict[str, JsonValue]:
        """`model`, `context` and `options` of a complete call. Raises RecordingFileError: the file changed."""
        with unchanged(self.path, call):
            return call.read_request(self._source)

    def events(self, call: CallSummary) -> Iterator[dict[str, JsonValue]]:
        """The event dumps of a complete call. Raises as `request`."""
        with unchanged(self.path, call):
            for batch in call.read_events(self._source):
                for texts in batch:
                    yield from map(load_payload, texts.whole())

    def last_event(self, call: CallSummary) -> dict[str, JsonValue] | None:
        """The dump of a complete call's last event, or None where it has none. Raises as `request`."""
        with unchanged(self.path, call):
            return call.read_last_event(self._source)

    def close(self) -> None:
        """Let the file go; safe to call twice."""
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def survey_recording(path: PathLike, check_event: CheckEvent) -> Survey:
    """Read past damage: a call counts as complete when its request, every event in order and its call_end are there.

    In a file of another format version nothing counts: its lines may mean something else.
    Raises RecordingFileError only where the file can't be read at all. Which file a path names: see `stored_path`.
    """
    path, source = open_stored(Path(path))
    survey = Survey(path, source)
    surveyor = _Surveyor(survey)
    with file_errors(path, "read"):
        survey.size_bytes = survey._source.state().size
        for raw in _lines_before_damage(survey._source, surveyor):
            survey.line_count, survey.content_bytes = raw.number, raw.end
            try:
                line = parse_raw(raw, check_event)
            except WrongVersion as defect:
                surveyor.damage(defect, raw.number)
                if raw.number == 1:
                    return survey
            except LineDefect as defect:
                surveyor.unreadable(defect, raw)
            else:
                surveyor.take(line, raw)
    surveyor.finish()
    return survey


def _lines_before_damage(source: ByteSource, surveyor: "_Surveyor") -> Iterator[RawLine]:
    """Every line; of compressed data that is damaged, those that can be decompressed."""
    line_count = 0
    try:
        for raw in LineScan(source.reader()):
            line_count = raw.number
            yield raw
    except CompressionDefect as defect:
        surveyor.damage(LineDefect(str(defect)), line_count + 1)


class _Surveyor:
    """Follows each call on its own, so that damage in one doesn't take the others with it."""

    def __init__(self, survey: Survey) -> None:
        self._survey = survey
        self._open: dict[int, CallSummary] = {}
        self._left_out: set[int] = set()  # calls that are named in the survey: their further lines say nothing new
        self._ended: set[int] = set()
        self._next_call_index = 0
        self._torn: LineDefect | None = None

    def take(self, line: Line, raw: RawLine) -> None:
        """A line that can be read, whether or not it may stand here."""
        if isinstance(line, HeaderLine):
            if raw.number == 1:
                self._survey.header = line.fields
            else:
                self.damage(StandsTwice("a second header"), raw.number)
            return
        if raw.number == 1:
            self.damage(LineDefect("the first line is not a header"), raw.number)
        if isinstance(line, RequestLine):
            self._begin(line, raw)
        elif isinstance(line, EventLine):
            self._event(line, raw)
        else:
            self._end(line, raw)

    def unreadable(self, defect: LineDefect, raw: RawLine) -> None:
        """A line that is none. The call it was of, where that is known, is no longer whole."""
        self._survey.merged = self._survey.merged or isinstance(defect, MergedRecordings)
        if raw.torn and raw.number > 1:
            self._torn = defect  # the last line, and no damage to what was written before it
            return
        self.damage(defect, raw.number)
        call = self._open.get(defect.call_index) if defect.call_index is not None else None
        if call is not None:
            self._break(call, f"line {raw.number}: {defect.reason}")

    def damage(self, defect: LineDefect, line_number: int | None) -> None:
        """Keep the first defect of the file."""
        if self._survey.damage is None:
            self._survey.damage = RecordingFileError(
                path=self._survey.path,
                reason=told(defect),
                line_number=line_number,
                call_index=defect.call_index,
                next_step=take_one_side(self._survey.path) if self._survey.merged else None,
            )

    def finish(self) -> None:
        """Take the end of the file."""
        survey = self._survey
        if survey.line_count == 0:
            self.damage(LineDefect("the file is empty, it has no header line"), None)
        survey.interrupted = survey.damage is None and (self._torn is not None or bool(self._open))
        if self._torn is not None:
            self.damage(self._torn, survey.line_count)
        for call in list(self._open.values()):
            self.damage(LineDefect(f"the call {_INTERRUPTED}", call.call_index), call.line_number)
            self._break(call, f"it {_INTERRUPTED}")
        # A call is complete, or known not to be, at its last line; people and `repair` count calls by their first.
        survey.complete.sort(key=lambda call: call.line_number)
        survey.left_out.sort(key=lambda call: call.line_number)

    def _begin(self, line: RequestLine, raw: RawLine) -> None:
        call_index = line.call_index
        if call_index != self._next_call_index:
            reason = f"call_index is {call_index}, expected {self._next_call_index}"
            kind = StandsTwice if call_index < self._next_call_index else LineDefect
            self.damage(kind(reason, call_index), raw.number)
        self._next_call_index = call_index + 1
        earlier = self._open.get(call_index)
        if earlier is not None:
            self._break(earlier, "another request with its call_index follows")
        self._left_out.discard(call_index)
        self._ended.discard(call_index)
        self._open[call_index] = CallSummary(call_index, raw)

    def _event(self, line: EventLine, raw: RawLine) -> None:
        call = self._call(line, raw, "event")
        if call is None:
            return
        if line.event_index != call.event_count:
            self._refuse(call, f"event_index is {line.event_index}, expected {call.event_count}", raw)
            return
        call.add_events(raw.offset, raw.end, 1, is_canonical=line.is_canonical)

    def _end(self, line: CallEndLine, raw: RawLine) -> None:
        call = self._call(line, raw, "call_end")
        if call is None:
            return
        if line.event_count != call.event_count:
            self._refuse(call, f"event_count is {line.event_count}, but {call.event_count} events are whole", raw)
            return
        del self._open[line.call_index]
        self._ended.add(line.call_index)
        call.end(line)
        self._survey.complete.append(call)

    def _call(self, line: EventLine | CallEndLine, raw: RawLine, word: str) -> CallSummary | None:
        call_index = line.call_index
        call = self._open.get(call_index)
        if call is None and call_index in self._ended:
            self.damage(StandsTwice(f"{word} after the call_end", call_index), raw.number)
        elif call is None and call_index not in self._left_out:
            self.damage(LineDefect(f"{word} without a request before it", call_index), raw.number)
            self._leave_out(LeftOut(call_index, raw.number, "its request is missing or can't be read"))
        return call

    def _refuse(self, call: CallSummary, reason: str, raw: RawLine) -> None:
        self.damage(LineDefect(reason, call.call_index), raw.number)
        self._break(call, f"line {raw.number}: {reason}")

    def _break(self, call: CallSummary, reason: str) -> None:
        del self._open[call.call_index]
        self._leave_out(LeftOut(call.call_index, call.line_number, reason))

    def _leave_out(self, call: LeftOut) -> None:
        self._left_out.add(call.call_index)
        self._survey.left_out.append(call)
