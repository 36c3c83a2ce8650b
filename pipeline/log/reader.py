"""Strict reading: a recording is whole and in order, or it isn't opened. In memory stays an index, not the file."""

import weakref
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Self

from openprogram.pipeline.errors import RecordingFileError
from openprogram.pipeline.json_value import MAX_LINE_BYTES, JsonValue
from openprogram.pipeline.log.event_lines import EventTexts, event_texts, find_deltas, whole_lines
from openprogram.pipeline.log.files import PathLike, file_errors, reason_of
from openprogram.pipeline.log.growing import GrowingRequests
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
    parse_line,
)
from openprogram.pipeline.log.merged import MergedRecordings, StandsTwice, is_conflict_marker, take_one_side, told
from openprogram.pipeline.log.order import CallOrder
from openprogram.pipeline.log.scan import LineScan, RawLine
from openprogram.pipeline.log.source import ByteSource, CompressionDefect, FileState, open_stored
from openprogram.pipeline.log.strict_json import field_text, load_payload
from openprogram.pipeline.matching.policy import MatchingPolicy

__all__ = ["CallSummary", "Recording", "index_lines", "open_recording", "parse_raw", "unchanged"]

#: Bytes that are read at once for batches of events: some 200, whose objects are too few to make the collector look at
#: them, where the consumer lets them go.
_READ_BYTES: Final = 24 << 10

_REPAIR: Final = "openprogram recordings repair {path} writes a new file with the calls that are whole."


class CallSummary:
    """What the index knows of one call, without its content.

    `call_index`: from 0. `line_number`: of its request line, from 1. `event_count`, `outcome`, `error` (`type` and
    `message`, or None): from its call_end line. `shared_bytes`: of its request line, behind the call_index, so many are
    those of the request line before, as it was when the file was opened.
    """

    __slots__ = (
        "_is_canonical",
        "_request",
        "_runs",
        "call_index",
        "error",
        "event_count",
        "line_number",
        "outcome",
        "shared_bytes",
    )

    def __init__(self, call_index: int, line: RawLine) -> None:
        self.call_index, self.line_number = call_index, line.number
        self.event_count = 0
        self.outcome: Outcome = "complete"
        self.error: dict[str, Any] | None = None
        self.shared_bytes = 0
        self._request = (line.offset, line.end)
        self._runs = array("Q")  # start and end offsets of stretches that hold only event lines of this call
        self._is_canonical = True  # of every event line

    def add_events(self, start: int, end: int, count: int, *, is_canonical: bool) -> None:
        """Index event lines that stand between these offsets; lines that follow each other share an entry."""
        self.event_count += count
        if not is_canonical:
            self._is_canonical = False
        if self._runs and self._runs[-1] == start:
            self._runs[-1] = end
        else:
            self._runs.extend((start, end))

    def end(self, line: CallEndLine) -> None:
        """Take what the call_end line says."""
        self.outcome, self.error = line.outcome, line.error

    def read_request(self, source: ByteSource) -> dict[str, JsonValue]:
        """`model`, `context` and `options`. Raises LineDefect: the file changed. OSError: it can't be read."""
        line = parse_line(source.read_range(*self._request), accept_any_event)
        if not isinstance(line, RequestLine) or line.call_index != self.call_index:
            raise LineDefect("the request is no longer where it was", self.call_index)
        return line.request

    def read_request_text(self, source: ByteSource, skipped: int) -> bytes | None:
        """The request line behind its call_index and so many bytes more, or None where it doesn't begin as we write it.

        `skipped`: 0, or no more than `shared_bytes`. Raises OSError: it can't be read.
        """
        start, end = self._request
        begin = b'{"type":"request","call_index":%d,' % self.call_index
        if skipped:
            return source.read_range(start + len(begin) + skipped, end)
        line = source.read_range(start, end)
        return line[len(begin) :] if line.startswith(begin) else None

    def read_events(self, source: ByteSource) -> Iterator[list[EventTexts]]:
        """The events, in batches: as many as are read at once. Raises as `read_request`."""
        served = 0
        for index in range(0, len(self._runs), 2):
            for lines in _batches(source, self._runs[index], self._runs[index + 1]):
                if self._is_canonical:
                    yield event_texts(lines, self.call_index, served)
                else:
                    yield [EventTexts(b"", [field_text(line, "event") for line in lines])]
                served += len(lines)
        if served != self.event_count:
            raise LineDefect(f"{served} events are left of {self.event_count}", self.call_index)

    def read_last_event(self, source: ByteSource) -> dict[str, JsonValue] | None:
        """The last event, without the others; None where there is none. Raises as `read_request`."""
        if not self._runs:
            return None
        start, end = self._runs[-2:]
        size = _READ_BYTES
        while True:
            first = max(start, end - size)
            lines = source.read_range(first, end).split(b"\n")
            if len(lines) > 2 or first == start:  # behind the last line's end stands an empty one
                event: dict[str, JsonValue] = load_payload(field_text(lines[-2], "event"))
                return event
            size *= 2


class Recording:
    """An opened recording that passed the strict reader. Close it, or use it as a context manager.

    `path`; `header`: the header line; `policy`: how it says that calls are matched; `calls`: a CallSummary a call, by
    call_index.
    """

    def __init__(
        self,
        path: Path,
        source: ByteSource,
        opened: FileState,
        header: dict[str, Any],
        calls: Sequence[CallSummary],
    ) -> None:
        self.path, self.header, self.calls = path, header, calls
        self.policy = MatchingPolicy.from_header(header)
        self._source = source
        self._opened = opened
        self._close = weakref.finalize(self, source.close)

    @property
    def call_count(self) -> int:
        """How many calls are recorded."""
        return len(self.calls)

    def request(self, call_index: int) -> dict[str, JsonValue]:
        """`model`, `context` and `options` as recorded. Raises RecordingFileError: the file changed underneath."""
        summary = self.calls[call_index]
        with unchanged(self.path, summary):
            self._refuse_rewritten()
            return summary.read_request(self._source)

    def request_text(self, call_index: int, skipped: int) -> bytes | None:
        """As `CallSummary.read_request_text`. Raises RecordingFileError: the file changed underneath."""
        summary = self.calls[call_index]
        with unchanged(self.path, summary):
            self._refuse_rewritten()
            return summary.read_request_text(self._source, skipped)

    def shared_bytes(self, call_index: int) -> int:
        """As in CallSummary; 0 once the file was written to, since others may have done more than append to it.

        Raises RecordingFileError: it can't be read.
        """
        summary = self.calls[call_index]
        with unchanged(self.path, summary):
            return summary.shared_bytes if self._source.state() == self._opened else 0

    def event_batches(self, call_index: int) -> Iterator[list[EventTexts]]:
        """The events, in batches. Raises RecordingFileError: the file changed underneath."""
        summary = self.calls[call_index]
        with unchanged(self.path, summary):
            self._refuse_rewritten()
            yield from summary.read_events(self._source)

    def events(self, call_index: int) -> Iterator[dict[str, JsonValue]]:
        """The events' dumps, one by one. Raises as `event_batches`."""
        for payload in self.payloads(call_index):
            with unchanged(self.path, self.calls[call_index]):
                event = load_payload(payload)
            yield event

    def payloads(self, call_index: int) -> Iterator[bytes]:
        """The events' JSON texts, one by one. Raises as `event_batches`."""
        for batch in self.event_batches(call_index):
            for texts in batch:
                yield from texts.whole()

    def last_event(self, call_index: int) -> dict[str, JsonValue] | None:
        """The dump of a call's last event, without reading the others; None where it has none. Raises as `request`."""
        summary = self.calls[call_index]
        with unchanged(self.path, summary):
            self._refuse_rewritten()
            return summary.read_last_event(self._source)

    def _refuse_rewritten(self) -> None:
        """Raises LineDefect where the file was written since it was opened, other than by appending to it."""
        now = self._source.state()
        if now.changed_ns != self._opened.changed_ns and now.size <= self._opened.size:
            raise LineDefect("it was written over")

    def close(self) -> None:
        """Let the file go; safe to call twice."""
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@contextmanager
def unchanged(path: Path, summary: CallSummary) -> Iterator[None]:
    """Names file and call where bytes that were whole when they were indexed no longer are, or can't be read."""
    try:
        yield
    except (LineDefect, OSError) as error:
        reason = f"the file changed after it was opened: {error}"
        if isinstance(error, OSError) and not isinstance(error, CompressionDefect):
            reason = f"cannot read: {reason_of(error)}"
        raise RecordingFileError(
            path=path,
            reason=reason,
            line_number=summary.line_number,
            call_index=summary.call_index,
        ) from error


def open_recording(path: PathLike, check_event: CheckEvent) -> Recording:
    """Read the whole file strictly and keep an index of it. Which file a path names: see `stored_path`.

    `check_event(event)` raises ValueError for a dump that today's event vocabulary can't load.
    Raises RecordingFileError with line number, call index and reason, before any event is served: no such file,
    not a regular file, empty, bad JSON, wrong version, a line out of order, a wrong count, a missing call_end.
    """
    path, source = open_stored(Path(path))
    try:
        with file_errors(path, "read"):
            opened = source.state()  # before the first line is read, so that no write goes unnoticed
        header, calls = index_lines(path, source, check_event)
    except BaseException:
        source.close()
        raise
    return Recording(path, source, opened, header, calls)


def index_lines(path: Path, source: ByteSource, check_event: CheckEvent) -> tuple[dict[str, Any], list[CallSummary]]:
    """The header line and the index of the calls. Raises RecordingFileError, as `open_recording`."""
    header: dict[str, Any] | None = None
    calls: list[CallSummary] = []
    order = CallOrder()
    deltas, requests = _DeltaIndexer(calls, order, check_event), GrowingRequests()
    with file_errors(path, "read"):
        scan = LineScan(source.reader())
        while True:
            if deltas.take(scan):
                continue
            grown = requests.take(scan)
            raw = grown[0] if grown is not None else next(scan, None)
            if raw is None:
                break
            try:
                line = grown[1] if grown is not None else parse_raw(raw, check_event)
                if header is None:
                    header = _first_line(line)
                else:
                    _add(line, raw, calls, order)
                if isinstance(line, RequestLine):
                    calls[-1].shared_bytes = requests.shared_bytes
                    requests.remember(raw)
            except LineDefect as defect:
                raise RecordingFileError(
                    path=path,
                    reason=told(defect),
                    line_number=raw.number,
                    call_index=defect.call_index,
                    next_step=_next_step(path, defect, has_header=header is not None),
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


def _next_step(path: Path, defect: LineDefect, *, has_header: bool) -> str | None:
    if isinstance(defect, MergedRecordings):
        return take_one_side(path)
    if not has_header:
        return None
    repair = _REPAIR.format(path=path)
    return f"{take_one_side(path)}\nOtherwise: {repair}" if isinstance(defect, StandsTwice) else repair


def parse_raw(raw: RawLine, check_event: CheckEvent) -> Line:
    """A scanned line as a value. Raises LineDefect: also for a line that is too long or has no end."""
    try:
        if raw.too_long:
            raise LineDefect(f"the line is longer than {MAX_LINE_BYTES:,} bytes")
        if raw.torn:
            raise LineDefect("the last line is cut off: it has no line end")
        if is_conflict_marker(raw.raw):
            raise MergedRecordings(raw.number)
        return parse_line(raw.raw, check_event)
    except LineDefect as defect:
        if raw.number == 1 and type(defect) is LineDefect and b'"format_version"' not in raw.raw:
            # Most likely another file, whose first line may be fine as what it is.
            raise LineDefect(f"{defect.reason}; a recording begins with a header line", defect.call_index) from None
        raise


def _first_line(line: Line) -> dict[str, Any]:
    if not isinstance(line, HeaderLine):
        raise LineDefect("the first line is not a header; this is not a recording")
    return line.fields


def _add(line: Line, raw: RawLine, calls: list[CallSummary], order: CallOrder) -> None:
    if isinstance(line, HeaderLine):
        raise StandsTwice("a second header")
    order.advance(line)
    if isinstance(line, RequestLine):
        calls.append(CallSummary(line.call_index, raw))
    elif isinstance(line, EventLine):
        calls[line.call_index].add_events(raw.offset, raw.end, 1, is_canonical=line.is_canonical)
    else:
        calls[line.call_index].end(line)


class _DeltaIndexer:
    """Indexes deltas many at a time. What it leaves, because it is no delta or not right, is read line by line."""

    def __init__(self, calls: Sequence[CallSummary], order: CallOrder, check_event: CheckEvent) -> None:
        self._calls, self._order, self._check_event = calls, order, check_event
        self._known: set[str] = set()  # types of deltas that the vocabulary has

    def take(self, scan: LineScan) -> bool:
        """Whether the next lines were deltas of an open call; then they are indexed and skipped."""
        deltas = find_deltas(scan.block, scan.at)
        if deltas is None or not self._is_known(deltas.delta_type):
            return False
        if self._order.next_event_index(deltas.call_index) != deltas.first_index:
            return False
        start, count = scan.offset, deltas.next_index - deltas.first_index
        scan.skip(deltas.end, count)
        self._order.advance_events(deltas.call_index, count)
        self._calls[deltas.call_index].add_events(start, scan.offset, count, is_canonical=True)
        return True

    def _is_known(self, delta_type: str) -> bool:
        if delta_type not in self._known:
            try:
                self._check_event({"type": delta_type, "content_index": 0, "delta": ""})
            except ValueError:
                return False  # and the file is refused for its first one
            self._known.add(delta_type)
        return True


def _batches(source: ByteSource, start: int, end: int) -> Iterator[list[bytes]]:
    """Whole lines of a stretch, read in pieces of _READ_BYTES or, where a line is longer, of one line."""
    size = _READ_BYTES
    while start < end:
        piece = source.read_range(start, min(start + size, end))
        lines = whole_lines(piece)
        if not lines:
            if start + size >= end:
                raise LineDefect("the line no longer ends where it did")
            size *= 8
            continue
        yield lines
        start, size = start + piece.rfind(b"\n") + 1, _READ_BYTES
