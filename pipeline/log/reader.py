"""Strict reading: a recording is whole and in order, or it isn't opened. In memory stays an index, not the file."""

import os
import weakref
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Self

from openprogram.pipeline.errors import RecordingFileError
from openprogram.pipeline.json_value import MAX_LINE_BYTES, JsonValue
from openprogram.pipeline.log.files import PathLike, file_errors, open_existing
from openprogram.pipeline.log.lines import (
    CallEndLine,
    CheckEvent,
    EventLine,
    HeaderLine,
    Line,
    LineDefect,
    Outcome,
    RequestLine,
    accept_any_event,
    event_payload,
    load_payload,
    parse_line,
)
from openprogram.pipeline.log.order import CallOrder
from openprogram.pipeline.log.scan import RawLine, read_range, scan_lines
from openprogram.pipeline.streams import EVENTS_PER_BATCH

__all__ = ["CallSummary", "Recording", "open_recording", "parse_raw"]

#: Bytes that are read at once for batches of events.
_READ_BYTES: Final = 1 << 16

_REPAIR: Final = "openprogram recordings repair {path} writes a new file with the calls that are whole."


class CallSummary:
    """What the index knows of one call, without its content.

    `call_index`: from 0. `line_number`: of its request line, from 1. `event_count`, `outcome`, `error` (`type` and
    `message`, or None): from its call_end line.
    """

    __slots__ = ("_request", "_runs", "call_index", "error", "event_count", "line_number", "outcome")

    def __init__(self, call_index: int, line: RawLine) -> None:
        self.call_index, self.line_number = call_index, line.number
        self.event_count = 0
        self.outcome: Outcome = "complete"
        self.error: dict[str, Any] | None = None
        self._request = (line.offset, line.end)
        self._runs = array("Q")  # start and end offsets of stretches that hold only event lines of this call

    def add_event(self, line: RawLine) -> None:
        """Index one event line; lines that follow each other share an entry."""
        self.event_count += 1
        if self._runs and self._runs[-1] == line.offset:
            self._runs[-1] = line.end
        else:
            self._runs.extend((line.offset, line.end))

    def end(self, line: CallEndLine) -> None:
        """Take what the call_end line says."""
        self.outcome, self.error = line.outcome, line.error

    def read_request(self, descriptor: int) -> bytes:
        """The request line's bytes."""
        return read_range(descriptor, *self._request)

    def read_events(self, descriptor: int) -> Iterator[list[bytes]]:
        """The event lines' bytes, in batches of EVENTS_PER_BATCH or fewer."""
        for index in range(0, len(self._runs), 2):
            yield from _batches(descriptor, self._runs[index], self._runs[index + 1])


class Recording:
    """An opened recording that passed the strict reader. Close it, or use it as a context manager.

    `path`; `header`: the header line; `calls`: a CallSummary a call, by call_index.
    """

    def __init__(self, path: Path, descriptor: int, header: dict[str, Any], calls: Sequence[CallSummary]) -> None:
        self.path, self.header, self.calls = path, header, calls
        self._descriptor = descriptor
        self._close = weakref.finalize(self, os.close, descriptor)

    @property
    def call_count(self) -> int:
        """How many calls are recorded."""
        return len(self.calls)

    def request(self, call_index: int) -> dict[str, JsonValue]:
        """`model`, `context` and `options` as recorded. Raises RecordingFileError: the file changed underneath."""
        summary = self.calls[call_index]
        with self._unchanged(summary):
            line = parse_line(summary.read_request(self._descriptor), accept_any_event)
            if not isinstance(line, RequestLine) or line.call_index != call_index:
                raise LineDefect("the request is no longer where it was", call_index)
            return line.request

    def event_batches(self, call_index: int) -> Iterator[list[bytes]]:
        """The events' JSON texts, in batches. Raises RecordingFileError: the file changed underneath."""
        summary = self.calls[call_index]
        served = 0
        with self._unchanged(summary):
            for lines in summary.read_events(self._descriptor):
                served += len(lines)
                yield [event_payload(line) for line in lines]
            if served != summary.event_count:
                raise LineDefect(f"{served} events are left of {summary.event_count}", call_index)

    def events(self, call_index: int) -> Iterator[dict[str, JsonValue]]:
        """The events' dumps, one by one. Raises as `event_batches`."""
        for batch in self.event_batches(call_index):
            for payload in batch:
                with self._unchanged(self.calls[call_index]):
                    event = load_payload(payload)
                yield event

    def close(self) -> None:
        """Let the file go; safe to call twice."""
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _unchanged(self, summary: CallSummary) -> "_Unchanged":
        return _Unchanged(self.path, summary)


class _Unchanged:
    """Names the file and the call where bytes that were whole at opening no longer are."""

    def __init__(self, path: Path, summary: CallSummary) -> None:
        self._path, self._summary = path, summary

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, LineDefect | OSError):
            raise RecordingFileError(
                path=self._path,
                reason=f"the file changed after it was opened: {error}",
                line_number=self._summary.line_number,
                call_index=self._summary.call_index,
            ) from error


def open_recording(path: PathLike, check_event: CheckEvent) -> Recording:
    """Read the whole file strictly and keep an index of it.

    `check_event(event)` raises ValueError for a dump that today's event vocabulary can't load.
    Raises RecordingFileError with line number, call index and reason, before any event is served: no such file,
    not a regular file, empty, bad JSON, wrong version, a line out of order, a wrong count, a missing call_end.
    """
    path = Path(path)
    descriptor = open_existing(path)
    try:
        header, calls = _index(path, descriptor, check_event)
    except BaseException:
        os.close(descriptor)
        raise
    return Recording(path, descriptor, header, calls)


def _index(path: Path, descriptor: int, check_event: CheckEvent) -> tuple[dict[str, Any], list[CallSummary]]:
    header: dict[str, Any] | None = None
    calls: list[CallSummary] = []
    order = CallOrder()
    with file_errors(path, "read"):
        for raw in scan_lines(descriptor):
            try:
                line = parse_raw(raw, check_event)
                if header is None:
                    header = _first_line(line)
                else:
                    _add(line, raw, calls, order)
            except LineDefect as defect:
                raise RecordingFileError(
                    path=path,
                    reason=defect.reason,
                    line_number=raw.number,
                    call_index=defect.call_index,
                    next_step=_REPAIR.format(path=path) if header is not None else None,
                ) from None
    if header is None:
        raise RecordingFileError(path=path, reason="the file is empty, it has no header line")
    for call_index in order.open_calls:
        raise RecordingFileError(
            path=path,
            reason="the call has no call_end: its recording was interrupted",
            line_number=calls[call_index].line_number,
            call_index=call_index,
            next_step=_REPAIR.format(path=path),
        )
    return header, calls


def parse_raw(raw: RawLine, check_event: CheckEvent) -> Line:
    """A scanned line as a value. Raises LineDefect: also for a line that is too long or has no end."""
    if raw.too_long:
        raise LineDefect(f"the line is longer than {MAX_LINE_BYTES:,} bytes")
    if not raw.terminated:
        raise LineDefect("the last line is cut off: it has no line end")
    return parse_line(raw.raw, check_event)


def _first_line(line: Line) -> dict[str, Any]:
    if not isinstance(line, HeaderLine):
        raise LineDefect("the first line is not a header; this is not a recording")
    return line.fields


def _add(line: Line, raw: RawLine, calls: list[CallSummary], order: CallOrder) -> None:
    if isinstance(line, HeaderLine):
        raise LineDefect("a second header")
    order.advance(line)
    if isinstance(line, EventLine):
        calls[line.call_index].add_event(raw)
    elif isinstance(line, RequestLine):
        calls.append(CallSummary(line.call_index, raw))
    else:
        calls[line.call_index].end(line)


def _batches(descriptor: int, start: int, end: int) -> Iterator[list[bytes]]:
    """Whole lines of a stretch, read in pieces of _READ_BYTES or, where a line is longer, of one line."""
    size = _READ_BYTES
    while start < end:
        piece = read_range(descriptor, start, min(start + size, end))
        cut = piece.rfind(b"\n") + 1
        if not cut:
            if start + size >= end:
                raise LineDefect("the line no longer ends where it did")
            size *= 2
            continue
        lines = piece[: cut - 1].split(b"\n")
        for index in range(0, len(lines), EVENTS_PER_BATCH):
            yield lines[index : index + EVENTS_PER_BATCH]
        start, size = start + cut, _READ_BYTES
