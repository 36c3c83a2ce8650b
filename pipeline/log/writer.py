"""Appending to a recording: one write of whole lines at a time, safe between tasks, threads and processes."""

import os
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Self

from openprogram.pipeline.errors import RecordingFileError
from openprogram.pipeline.json_value import JsonValue
from openprogram.pipeline.log.encoding import encode_call_end, encode_events, encode_request_body
from openprogram.pipeline.log.files import (
    PathLike,
    file_errors,
    forget_cached,
    is_at,
    let_go,
    open_existing,
    open_or_create,
    remove_empty,
    sync_folder,
    write_whole,
)
from openprogram.pipeline.log.header import asked_policy, new_header, write_header
from openprogram.pipeline.log.lines import (
    CallEndLine,
    CleanEvent,
    CleanRequest,
    EventLine,
    HeaderLine,
    Line,
    LineDefect,
    Outcome,
    RequestLine,
    accept_any_event,
    encode_request,
)
from openprogram.pipeline.log.locks import LockRange, exclusive, hold_shared
from openprogram.pipeline.log.order import CallOrder
from openprogram.pipeline.log.reader import parse_raw
from openprogram.pipeline.log.scan import LineScan, read_from
from openprogram.pipeline.log.source import refuse_compressed, refuse_compressed_beside
from openprogram.pipeline.logs import get_logger
from openprogram.pipeline.matching.policy import EXACT
from openprogram.pipeline.request_parts import CleanBody

__all__ = ["CallWriter", "RecordingSink"]


#: Bytes at the end of a recording that the system may keep in memory. In a long one each request line is megabytes, and
#: a gigabyte of them pushes out the user's own files; memory that it never had before costs it more than the copying.
_KEPT_IN_MEMORY: Final = 64 * 1024 * 1024


class RecordingSink:
    """Appends calls to one recording. Share one between providers, or open several on one file: both work.

    The file is created (0600, header only) or, when it is a valid recording, appended to; calls that another
    process has not finished don't block that. A last line without an end, left by a writer that was killed, is
    cut off. While the sink is open, the file counts as in use.

    `failed_call_count`: calls that ended through this sink, in this process, with an error that the provider answered
    or raised.
    `path`: the file. `header_fields`: for a new file: its policy, and optional metadata, besides the version of
    today's redaction. `match`, `volatile`: the policy to record under; None leaves each to the file, or to
    `header_fields`. `policy`: what came of it.
    Raises RecordingFileError: not a recording, damaged, compressed, can't be opened for writing, or of another policy
    than the one given. RecordingValueError: the metadata isn't strict JSON, or the policy can't be written.
    """

    _is_lost = False  # a sync failed: of what was written before it, any part may be missing on the device
    _forked = threading.Lock()  # of the class: a sink's own may have been held by another thread when it forked

    def __init__(
        self,
        path: PathLike,
        header_fields: dict[str, JsonValue] | None = None,
        *,
        match: str | None = None,
        volatile: Sequence[str] | None = None,
    ) -> None:
        self.path = Path(path)
        self.policy = EXACT  # until a header says otherwise
        refuse_compressed(self.path)
        self._forget()
        header = new_header(header_fields or {}, match, volatile)
        self._descriptor, is_new = open_or_create(self.path)
        self._hold()
        try:
            if is_new:
                refuse_compressed_beside(self.path)
            with file_errors(self.path, "lock"):
                hold_shared(self._descriptor)
            with self._appending("read"):
                if self._line_count == 0:
                    write_header(self.path, self._descriptor, header)
                    self._catch_up()
                else:  # whoever created the file may have been killed before its name was safe
                    sync_folder(self.path)
            self.require_policy(match, volatile)
        except BaseException:
            if is_new and self._line_count == 0:
                remove_empty(self.path, self._descriptor)
            self.close()
            raise

    @property
    def call_count(self) -> int:
        """The calls in the file, as far as this sink has seen it: all up to its own last one."""
        return self._order.next_call_index

    def begin_call(self, request: CleanRequest | CleanBody) -> "CallWriter":
        """Append a request line, of values or of their text, under the next call_index.

        Raises RecordingFileError: can't be written. RecordingValueError: what strict JSON or a line can't hold.
        """
        body = request if isinstance(request, tuple) else (encode_request_body(request),)
        with self._appending("write the request"):
            call_index = self._order.next_call_index
            self._append([encode_request(call_index, body[0]), *body[1:]], RequestLine(call_index, {}))
        return CallWriter(self, call_index)

    def append_events(self, call_index: int, first_index: int, events: Sequence[CleanEvent]) -> None:
        """Append event lines in one write. Raises as `begin_call`; then none of them is on file."""
        if not events:
            return
        data = encode_events(call_index, first_index, events)
        with self._appending("write an event"):
            self._append([data], EventLine(call_index, first_index, events[0]), len(events) - 1)

    def end_call(
        self,
        call_index: int,
        first_index: int,
        events: Sequence[CleanEvent],
        outcome: Outcome,
        error: dict[str, JsonValue] | None,
    ) -> None:
        """Append the last event lines, if any, and the call_end line in one write. Raises as `append_events`."""
        count = first_index + len(events)
        data = encode_events(call_index, first_index, events)
        data += encode_call_end(call_index, count, outcome, error)
        end = CallEndLine(call_index, count, outcome, error)
        with self._appending("write the call's end"):
            if events:
                self._append([data], EventLine(call_index, first_index, events[0]), len(events) - 1, end)
            else:
                self._append([data], end)
            # A call's last event is written with its end.
            if outcome == "error" or (events and events[-1].get("type") == "error"):
                self.failed_call_count += 1

    def sync(self) -> None:
        """Wait until what was written survives a power cut. Blocks: call it off the event loop.

        Raises RecordingFileError: it can't be synced, and then nothing more is written through this sink; or the
        file is no longer at its path, or no longer that long.
        """
        self._leave_parent()
        with file_errors(self.path, "sync"):
            with self._mutex:
                self._refuse_closed("sync")
                # A copy: the wait must hold up no append, and `close` may not take the descriptor away meanwhile.
                descriptor, end = os.dup(self._descriptor), self._known_end
            try:
                self._sync_through(end, descriptor)
                self._refuse_replaced(descriptor)
                self._refuse_cut(descriptor, end)
            finally:
                let_go(descriptor)

    def close(self) -> None:
        """Let the file go; safe to call twice. Calls still running then fail to write."""
        if os.getpid() != self._pid:
            self._release()
            return
        with self._mutex:  # not in the middle of an append: the number would soon be another file's
            self._release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def require_policy(self, match: str | None, volatile: Sequence[str] | None) -> None:
        """Check that the file is recorded under this policy; None asks for nothing. Raises as the constructor."""
        asked = asked_policy(match, volatile, self.policy)
        if asked != self.policy:
            raise RecordingFileError(
                path=self.path,
                reason=f"it was begun under another policy: {self.policy}; this run asks for {asked}",
                line_number=1,
                next_step="Record into a new file, or leave match and volatile out to append under the file's own.",
            )

    # ---- the file

    def _forget(self) -> None:
        """Know nothing of the file's content: the next append reads it all."""
        self._mutex = threading.Lock()
        self._syncing = threading.Lock()
        self._synced_end = 0
        self._forgotten_end = 0  # before it, the system was asked to keep nothing in memory
        self._known_end = 0  # bytes of the file that this sink has seen, its own and those of others
        self._line_count = 0
        self._order = CallOrder()
        self.failed_call_count = 0

    def _hold(self) -> None:
        self._pid = os.getpid()
        self._release = weakref.finalize(self, let_go, self._descriptor)

    @contextmanager
    def _appending(self, doing: str) -> Iterator[None]:
        """Alone in this process and among processes, up to date with what others appended."""
        self._leave_parent()
        with self._mutex:
            self._refuse_closed(doing)
            self._refuse_lost(doing)
            with file_errors(self.path, doing), exclusive(self._descriptor, LockRange.APPEND):
                self._refuse_replaced(self._descriptor)
                self._refuse_cut(self._descriptor, self._known_end)
                self._catch_up()
                yield

    def _sync_through(self, end: int, descriptor: int) -> None:
        """One at a time: the system tells of lost writes once, to one of those that wait, and then syncs gladly."""
        with self._syncing:
            self._refuse_lost("sync")
            if self._synced_end >= end:
                return
            covered = self._known_end
            try:
                os.fsync(descriptor)
            except OSError:
                self._is_lost = True
                raise
            self._synced_end = covered
            if (forgotten := covered - _KEPT_IN_MEMORY) > self._forgotten_end:
                forget_cached(descriptor, self._forgotten_end, forgotten)
                self._forgotten_end = forgotten

    def _refuse_closed(self, doing: str) -> None:
        if not self._release.alive:
            raise RecordingFileError(path=self.path, reason=f"cannot {doing}: the recording was closed")

    def _refuse_lost(self, doing: str) -> None:
        if self._is_lost:
            raise RecordingFileError(
                path=self.path,
                reason=f"cannot {doing}: an earlier sync failed, and what the device holds since is unknown",
                next_step="Check the device, then start the program again to record into a new file.",
            )

    def _leave_parent(self) -> None:
        """Give a forked child an open file description of its own: with the parent's it shares the locks too.

        What the sink knew is read again: the fork may have copied it in the middle of another thread's append.
        """
        if os.getpid() == self._pid:
            return
        with RecordingSink._forked:
            if os.getpid() == self._pid or not self._release.alive:
                return
            self._release()
            self._forget()
            self._descriptor = open_existing(self.path, writing=True)
            self._hold()
            with file_errors(self.path, "lock"):
                hold_shared(self._descriptor)

    def _refuse_replaced(self, descriptor: int) -> None:
        is_there = is_at(self.path, descriptor)
        if not is_there:
            happened = "removed" if is_there is None else "replaced"
            raise RecordingFileError(
                path=self.path,
                reason=f"the file was {happened} while it was recorded into",
                next_step="Start the program again to record into a new file.",
            )

    def _refuse_cut(self, descriptor: int, end: int) -> None:
        if os.fstat(descriptor).st_size < end:
            raise RecordingFileError(
                path=self.path,
                reason="the file was cut shorter while it was recorded into",
                next_step="Start the program again to record into a new file.",
            )

    def _catch_up(self) -> None:
        """Read what others appended since. Linear in that: nothing is read twice."""
        if os.fstat(self._descriptor).st_size == self._known_end:
            return
        for raw in LineScan(read_from(self._descriptor, self._known_end), self._known_end, self._line_count + 1):
            if raw.torn and raw.number > 1:
                # Appends are whole lines under the lock we hold, so whoever wrote this was killed in the middle.
                os.ftruncate(self._descriptor, raw.offset)
                get_logger().warning("recording.torn_line_cut", line_number=raw.number, bytes=raw.end - raw.offset)
                break
            try:
                self._take(parse_raw(raw, accept_any_event), raw.number)
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

    def _take(self, line: Line, number: int) -> None:
        if isinstance(line, HeaderLine) != (number == 1):
            raise LineDefect("the first line is not a header" if number == 1 else "a second header")
        if isinstance(line, HeaderLine):
            self.policy = line.policy
        else:
            self._order.advance(line)

    def _append(
        self,
        pieces: Sequence[bytes],
        first: RequestLine | EventLine | CallEndLine,
        more_events: int = 0,
        end: CallEndLine | None = None,
    ) -> None:
        """Write the lines of one call, if they may stand here: the first, so many more events behind it, its end.

        Raises RecordingFileError, OSError; nothing written.
        """
        try:
            self._order.check(first)  # the others follow from it
        except LineDefect as defect:
            raise RecordingFileError(path=self.path, reason=defect.reason, call_index=defect.call_index) from None
        write_whole(self._descriptor, pieces, self._known_end)
        self._order.advance(first)
        if more_events:
            self._order.advance_events(first.call_index, more_events)
        if end is not None:
            self._order.advance(end)
        self._known_end += sum(map(len, pieces))
        self._line_count += 1 + more_events + (end is not None)


class CallWriter:
    """Writes the lines of one call, in order. Only in the process that began the call: a fork has a copy of it.

    `call_index`: from 0; `event_count`: events written so far; `outcome`: None until the call_end line is written.
    """

    def __init__(self, sink: RecordingSink, call_index: int) -> None:
        self._sink, self._pid = sink, os.getpid()
        self.call_index = call_index
        self.event_count = 0
        self.outcome: Outcome | None = None

    @property
    def is_ours(self) -> bool:
        """Whether this process began the call. A forked child that tears down what it inherited must not end it."""
        return self._pid == os.getpid()

    def write(self, events: Sequence[CleanEvent]) -> None:
        """Append events. Raises RecordingFileError, RecordingValueError; then none of them is on file."""
        self._refuse_inherited()
        self._sink.append_events(self.call_index, self.event_count, events)
        self.event_count += len(events)

    def end(
        self, outcome: Outcome, error: dict[str, JsonValue] | None = None, events: Sequence[CleanEvent] = ()
    ) -> None:
        """Append the last events and the call's end. Once: a second time does nothing. Raises as `write`."""
        if self.outcome is not None:
            return
        self._refuse_inherited()
        self._sink.end_call(self.call_index, self.event_count, events, outcome, error)
        self.event_count += len(events)
        self.outcome = outcome

    def sync(self) -> None:
        """As `RecordingSink.sync`."""
        self._sink.sync()

    def _refuse_inherited(self) -> None:
        if not self.is_ours:
            raise RecordingFileError(
                path=self._sink.path,
                reason="the call was begun by another process, of which this one is a fork",
                call_index=self.call_index,
                next_step="Make the call anew in this process: it is recorded into the same file.",
            )
