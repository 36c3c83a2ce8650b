"""The recording sink: requests and events go to the file first, and on from here only then."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from anyio.abc import ObjectReceiveStream, ObjectSendStream

from openprogram.pipeline.items import Batch, CallClosed, CleanCall, WrittenEvent, split_closed
from openprogram.pipeline.log.writer import CallWriter, RecordingSink
from openprogram.pipeline.threads import run_in_thread

__all__ = ["Written", "write_request"]

T = TypeVar("T")


async def write_request(
    receive: ObjectReceiveStream[CleanCall],
    send: ObjectSendStream[CleanCall],
    sink: RecordingSink,
    began: Callable[[CleanCall, CallWriter], Awaitable[None]],
) -> None:
    """The stage, for requests. `began` learns the writer of the call. Raises RecordingFileError: nothing goes live."""
    async with receive, send:
        async for call in receive:
            await began(call, sink.begin_call(call.request.body()))
            await send.send(call)


class Written(ObjectSendStream[Batch[WrittenEvent[T] | CallClosed]]):
    """The stage for events, as the stream that redaction sends to: writing waits for nothing, so it needs no task.

    One write a batch; the batch that closes the call goes on once it is synced. Sending raises RecordingFileError,
    RecordingValueError: the events concerned don't reach the consumer.
    """

    def __init__(
        self, send: ObjectSendStream[Batch[WrittenEvent[T] | CallClosed]], writer: Callable[[], CallWriter]
    ) -> None:
        self._send, self._writer = send, writer

    async def send(self, item: Batch[WrittenEvent[T] | CallClosed]) -> None:
        written, closed = split_closed(item)
        events = [event.clean for event in written]
        writer = self._writer()
        if closed is None:
            writer.write(events)
        else:
            writer.end(closed.outcome, closed.error, events)
            await run_in_thread(writer.sync)
        await self._send.send(item)

    async def aclose(self) -> None:
        await self._send.aclose()
