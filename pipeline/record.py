"""Record: request ─▶ normalize ─▶ redact ─▶ write ─▶ live ─▶ redact ─▶ write ─▶ decode ─▶ consumer."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any, Final, Generic, TypeVar

from anyio import move_on_after
from anyio.streams.memory import MemoryObjectSendStream

from openprogram.pipeline.call import CallHost, CallStream, Stage, run_stages
from openprogram.pipeline.codec import EventCodec, RequestCodec
from openprogram.pipeline.errors import PipelineError
from openprogram.pipeline.items import Batch, CleanCall, WrittenEvent
from openprogram.pipeline.log.lines import Outcome
from openprogram.pipeline.log.source import recording_name
from openprogram.pipeline.log.writer import CallWriter, RecordingSink
from openprogram.pipeline.logs import get_logger
from openprogram.pipeline.refusals import describe_exception
from openprogram.pipeline.request_parts import PartMemo
from openprogram.pipeline.stages.decode import Decoded
from openprogram.pipeline.stages.live import live
from openprogram.pipeline.stages.normalize import normalize
from openprogram.pipeline.stages.redact import EventRedaction, redact_events, redact_request
from openprogram.pipeline.stages.write import Written, write_request
from openprogram.pipeline.streams import EVENTS_PER_BATCH
from openprogram.pipeline.threads import run_in_thread

__all__ = ["Recorder"]

T = TypeVar("T")

#: Seconds that the last sync of a call that was left may take.
_SYNC_S: Final = 5.0


class Recorder(Generic[T]):
    """Records calls into one sink. `clock`: seconds, for durations in the log only."""

    def __init__(
        self,
        sink: RecordingSink,
        requests: RequestCodec,
        events: EventCodec[T],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._sink, self._requests, self._events, self._clock = sink, requests, events, clock
        self._memo = PartMemo()

    def call(self, request: Any, open_source: Callable[[], AsyncIterator[T]]) -> CallStream[T]:
        """One call, not begun yet. `open_source()` starts the provider, once the request is on file."""
        return CallStream(partial(self._run, request, open_source))

    async def _run(
        self,
        request: Any,
        open_source: Callable[[], AsyncIterator[T]],
        send: MemoryObjectSendStream[Batch[T]],
        host: CallHost[T],
    ) -> None:
        call = _RecordedCall[T](self._sink, self._clock, host.begun)
        opening = [
            Stage(partial(normalize, codec=self._requests, memo=self._memo)),
            Stage(partial(redact_request, memo=self._memo)),
            Stage(partial(write_request, sink=self._sink, began=call.began)),
        ]
        stages = [
            Stage(partial(live, open_source=open_source, codec=self._events), waiting=EVENTS_PER_BATCH),
            Stage(partial(redact_events, redaction=call.redaction)),
        ]
        failure: BaseException | None = None
        try:
            await run_stages(request, stages, Written(Decoded(send, _live_events), call.writer), opening)
        except BaseException as error:
            failure = error
            raise
        finally:
            await call.ended(host.leaving, failure)


class _RecordedCall(Generic[T]):
    """What a call in the making owns: its writer, once the request is on file, and what still waits in redaction."""

    def __init__(self, sink: RecordingSink, clock: Callable[[], float], begun: Callable[[], Awaitable[None]]) -> None:
        self.redaction = EventRedaction[T]()
        self._sink, self._clock, self._started = sink, clock, clock()
        self._begun = begun
        self._writer: CallWriter | None = None
        self._redacted_requests = 0

    async def began(self, call: CleanCall, writer: CallWriter) -> None:
        self._redacted_requests, self._writer = call.request.count, writer
        await self._begun()

    def writer(self) -> CallWriter:
        assert self._writer is not None  # events follow the request through the same chain
        return self._writer

    async def ended(self, leaving: Outcome | None, failure: BaseException | None) -> None:
        """Write the end of a call that the stages didn't end, before any await; then sync, shielded and bounded.

        Not in a forked child, which ends with copies of its parent's calls: there they go on.
        """
        if self._writer is None or not self._writer.is_ours:
            return
        if self._writer.outcome is None:
            outcome = leaving or ("error" if isinstance(failure, Exception) else "abandoned")
            try:
                self._writer.end(outcome, describe_exception(failure) if isinstance(failure, Exception) else None)
                with move_on_after(_SYNC_S, shield=True):
                    await run_in_thread(self._writer.sync, abandon_on_cancel=True)
            except PipelineError as error:
                # The consumer has left or gets the failure that came first; the file says by itself what it lacks.
                get_logger().error("recording.call_end_failed", reason=type(error).__name__, **self._counts())
                return
        get_logger().info("recording.call_end", outcome=self._writer.outcome, **self._counts())

    def _counts(self) -> dict[str, Any]:
        assert self._writer is not None
        return {
            "mode": "record",
            "recording_id": recording_name(self._sink.path),
            "call_index": self._writer.call_index,
            "event_count": self._writer.event_count,
            "redactions": self._redacted_requests + self.redaction.count,
            "duration_ms": round((self._clock() - self._started) * 1000, 3),
        }


def _live_events(items: Batch[WrittenEvent[T]]) -> Batch[T]:
    return [item.event for item in items]
