"""Appending to a recording: one write of whole lines at a time, safe between tasks, threads and processes."""

import os
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from openprogram.pipeline.errors import RecordingFileError, RecordingValueError
from openprogram.pipeline.json_value import JsonValue, NotJson
from openprogram.pipeline.log.files import PathLike, file_errors, open_existing, open_or_create, sync_folder
from openprogram.pipeline.log.lines import (
    CallEndLine,
    CleanEvent,
    CleanRequest,
    EventLine,
    HeaderLine,
    LineDefect,
    Outcome,
    RequestLine,
    accept_any_event,
    encode_call_end,
    encode_event,
    encode_header,
    encode_request,
    encode_request_body,
)
from openprogram.pipeline.log.locks import LockRange, exclusive, hold_shared
from openprogram.pipeline.log.order import CallOrder
from openprogram.pipeline.log.reader import parse_raw
from openprogram.pipeline.log.scan import scan_lines
from openprogram.pipeline.logs import get_logger

__all__ = ["CallWriter", "RecordingSink", "create_recording"]


def create_recording(path: PathLike, header_fields: dict[str, JsonValue]) -> None:
    """A new recording with only its header, mode 0600, synced. `header_fields`: optional metadata.

    Raises RecordingFileError: the file exists, or can't be written; then no file is left.
    """
    path = Path(path)
    descriptor, is_new = open_or_create(path)
    try:
        if not is_new:
            raise RecordingFileError(path=path, reason="the file exists already")
        try:
            _write_header(path, descriptor, header_fields)
        except BaseException:
            path.unlink(missing_ok=True)  # no partial file is left where none was
            raise
    finally:
        os.close(descriptor)


class RecordingSink:
    """Appends calls to one recording. Share one between providers, or open several on one file: both work.

    The file is created (0600, header only) or, when it is a valid recording, appended to; calls that another
    process has not finished don't block that. A last line without an end, left by a writer that was killed, is
    cut off. While the sink is open, the file counts as in use.

    `path`: the file. `header_fields`: optional metadata for a new file.
    Raises RecordingFileError: not a recording, damaged, or can't be opened for writing.
    """

    def __init__(self, path: PathLike, header_fields: dict[str, JsonValue] | None = None) -> None:
        self.path = Path(path)
        self._mutex = threading.Lock()
        self._known_end = 0  # bytes of the file that this sink has seen, its own and those of others
        self._line_count = 0
        self._order = CallOrder()
        self._open(header_fields or {})

    def begin_call(self, request: CleanRequest) -> "CallWriter":
        """Append a request line under the next call_index.

        Raises RecordingFileError: can't be written. RecordingValueError: what strict JSON or a line can't hold.
        """
        body = _encode_body(request)
        with self._appending("write the request"):
            call_index = self._order.next_call_index
            self._append(encode_request(call_index, body), 1)
            self._order.advance(RequestLine(call_index, request))
        return CallWriter(self, call_index)

    def append_events(self, call_index: int, first_index: int, events: Sequence[CleanEvent]) -> None:
        """Append event lines in one write. Raises as `begin_call`."""
        data = b"".join(_encode_events(call_index, first_index, events))
        with self._appending("write an event"):
            self._append(data, len(events))
            for offset, event in enumerate(events):
                self._order.advance(EventLine(call_index, first_index + offset, event))

    def end_call(
        self,
        call_index: int,
        first_index: int,
        events: Sequence[CleanEvent],
        outcome: Outcome,
        error: dict[str, JsonValue] | None,
    ) -> None:
        """Append the last event lines, if any, and the call_end line in one write. Raises as `begin_call`."""
        count = first_index + len(events)
        data = b"".join(_encode_events(call_index, first_index, events))
        data += encode_call_end(call_index, count, outcome, error)
        with self._appending("write the call's end"):
            self._append(data, len(events) + 1)
            for offset, event in enumerate(events):
                self._order.advance(EventLine(call_index, first_index + offset, event))
            self._order.advance(CallEndLine(call_index, count, outcome, error))

    def sync(self) -> None:
        """Wait until what was written survives a power cut. Blocks: call it off the event loop.

        Raises RecordingFileError.
        """
        with file_errors(self.path, "sync"):
            os.fsync(self._descriptor)

    def close(self) -> None:
        """Let the file go; safe to call twice. Calls still running then fail to write."""
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- the file

    def _open(self, header_fields: dict[str, JsonValue]) -> None:
        self._descriptor, is_new = open_or_create(self.path)
        self._pid = os.getpid()
        self._close = weakref.finalize(self, os.close, self._descriptor)
        try:
            with file_errors(self.path, "lock"):
                hold_shared(self._descriptor)
            with self._appending("read"):
                if self._line_count == 0:
                    _write_header(self.path, self._descriptor, header_fields)
                    self._catch_up()
        except BaseException:
            if is_new and self._line_count == 0:
                self.path.unlink(missing_ok=True)  # no partial file is left where none was
            self._close()
            raise

    @contextmanager
    def _appending(self, doing: str) -> Iterator[None]:
        """Alone in this process and among processes, up to date with what others appended."""
        with self._mutex:
            if os.getpid() != self._pid:
                self._reopen_after_fork()
            with file_errors(self.path, doing), exclusive(self._descriptor, LockRange.APPEND):
                self._refuse_replaced()
                self._catch_up()
                yield

    def _reopen_after_fork(self) -> None:
        # A forked child shares the parent's open file description, and so its locks: it needs one of its own.
        descriptor = open_existing(self.path, writing=True)
        self._close()
        self._descriptor, self._pid = descriptor, os.getpid()
        self._close = weakref.finalize(self, os.close, descriptor)
        hold_shared(descriptor)

    def _refuse_replaced(self) -> None:
        ours = os.fstat(self._descriptor)
        try:
            there = os.stat(self.path, follow_symlinks=False)  # noqa: PTH116 - one call for the path, none for an object
        except FileNotFoundError:
            there = None
        if there is None or (there.st_dev, there.st_ino) != (ours.st_dev, ours.st_ino):
            happened = "removed" if there is None else "replaced"
            raise RecordingFileError(
                path=self.path,
                reason=f"the file was {happened} while it was recorded into",
                next_step="Start the program again to record into a new file.",
            )
        if ours.st_size < self._known_end:
            raise RecordingFileError(path=self.path, reason="the file was cut shorter while it was recorded into")

    def _catch_up(self) -> None:
        """Read what others appended since. Linear in that: nothing is read twice."""
        if os.fstat(self._descriptor).st_size == self._known_end:
            return
        for raw in scan_lines(self._descriptor, self._known_end, self._line_count + 1):
            if not raw.terminated and raw.number > 1:
                # Appends are whole lines under the lock we hold, so whoever wrote this was killed in the middle.
                os.ftruncate(self._descriptor, raw.offset)
                get_logger().warning("recording.torn_line_cut", line_number=raw.number, bytes=raw.end - raw.offset)
                break
            try:
                line = parse_raw(raw, accept_any_event)
                if isinstance(line, HeaderLine) != (raw.number == 1):
                    raise LineDefect("the first line is not a header" if raw.number == 1 else "a second header")
                if not isinstance(line, HeaderLine):
                    self._order.advance(line)
            except LineDefect as defect:
                raise RecordingFileError(
                    path=self.path,
                    reason=defect.reason,
                    line_number=raw.number,
                    call_index=defect.call_index,
                    next_step="Nothing was appended. Record into a new file, or repair this one: "
                    f"openprogram recordings repair {self.path}",
                ) from None
            self._known_end, self._line_count = raw.end, raw.number

    def _append(self, data: bytes, line_count: int) -> None:
        _write_whole(self._descriptor, data, self._known_end)
        self._known_end += len(data)
        self._line_count += line_count


class CallWriter:
    """Writes the lines of one call, in order.

    `call_index`: from 0; `event_count`: events written so far; `outcome`: None until the call_end line is written.
    """

    def __init__(self, sink: RecordingSink, call_index: int) -> None:
        self._sink = sink
        self.call_index = call_index
        self.event_count = 0
        self.outcome: Outcome | None = None

    def write(self, events: Sequence[CleanEvent]) -> None:
        """Append events. Raises RecordingFileError, RecordingValueError; then none of them is on file."""
        self._sink.append_events(self.call_index, self.event_count, events)
        self.event_count += len(events)

    def end(
        self, outcome: Outcome, error: dict[str, JsonValue] | None = None, events: Sequence[CleanEvent] = ()
    ) -> None:
        """Append the last events and the call's end. Once: a second time does nothing. Raises as `write`."""
        if self.outcome is not None:
            return
        self._sink.end_call(self.call_index, self.event_count, events, outcome, error)
        self.event_count += len(events)
        self.outcome = outcome

    def sync(self) -> None:
        """As `RecordingSink.sync`."""
        self._sink.sync()


def _encode_body(request: CleanRequest) -> bytes:
    try:
        return encode_request_body(request)
    except NotJson as error:
        raise RecordingValueError(field_path=error.field_path or "the request", reason=error.reason) from None


def _encode_events(call_index: int, first_index: int, events: Sequence[CleanEvent]) -> Iterator[bytes]:
    for index, event in enumerate(events, first_index):
        yield _encode_event(call_index, index, event)


def _encode_event(call_index: int, event_index: int, event: CleanEvent) -> bytes:
    try:
        return encode_event(call_index, event_index, event)
    except NotJson as error:
        raise RecordingValueError(
            field_path=f"event {event_index} {error.field_path}".rstrip(), reason=error.reason
        ) from None


def _write_header(path: Path, descriptor: int, header_fields: dict[str, JsonValue]) -> None:
    with file_errors(path, "write the header"):
        _write_whole(descriptor, encode_header(header_fields), 0)
        os.fsync(descriptor)
        sync_folder(path)


def _write_whole(descriptor: int, data: bytes, end: int) -> None:
    """All of `data` at `end` of the file, or nothing: what a full disk cut short is taken back. Raises OSError."""
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(descriptor, view) :]
    except BaseException:
        if len(view) < len(data):
            os.ftruncate(descriptor, end)
        raise
