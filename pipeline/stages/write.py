"""The recording sink: requests and events go to the file first, and on from here only then."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from anyio.abc import ObjectReceiveStream, ObjectSendStream

from openprogram.pipeline.items import Batch, CallClosed, CleanCall, WrittenEvent, split_closed
from openprogram.pipeline.log.writer import CallWriter, RecordingSink
from openprogram.pipeline.threads import run_in_thread

__all__ = ["write_events", "write_request"]

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


async def write_events(
    receive: ObjectReceiveStream[Batch[WrittenEvent[T] | CallClosed]],
    send: ObjectSendStream[Batch[WrittenEvent[T] | CallClosed]],
    writer: Callable[[], CallWriter],
) -> None:
    """The stage, for events: one write a batch; the batch that closes the call goes on once it is synced.

    Raises RecordingFileError, RecordingValueError: the events concerned don't reach the consumer.
    """
    async with receive, send:
        async for batch in receive:
            written, closed = split_closed(batch)
            events = [item.clean for item in written]
            if closed is None:
                writer().write(events)
            else:
                writer().end(closed.outcome, closed.error, events)
                await run_in_thread(writer().sync)
            await send.send(batch)
