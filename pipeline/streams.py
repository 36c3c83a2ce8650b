"""Small helpers over anyio's memory object streams, for stages."""

from collections.abc import AsyncIterator
from typing import Final, TypeVar

from anyio import EndOfStream, WouldBlock
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

__all__ = ["EVENTS_PER_BATCH", "merged", "send_at_once"]

T = TypeVar("T")

#: Events a batch holds at most: large enough that a hop between stages costs little an event.
EVENTS_PER_BATCH: Final = 64


async def send_at_once(send: ObjectSendStream[T], item: T) -> None:
    """Send without giving other tasks a turn while there is room: a source that is always ready fills a batch."""
    if isinstance(send, MemoryObjectSendStream):
        try:
            return send.send_nowait(item)
        except WouldBlock:
            pass
    return await send.send(item)


async def merged(receive: ObjectReceiveStream[list[T]]) -> AsyncIterator[list[T]]:
    """Batches, those that already wait joined into one: a burst costs one hop, a paced stream waits for nothing."""
    while True:
        try:
            batch = await receive.receive()
        except EndOfStream:
            return
        if isinstance(receive, MemoryObjectReceiveStream):
            _take_waiting(receive, batch)
        yield batch


def _take_waiting(receive: MemoryObjectReceiveStream[list[T]], batch: list[T]) -> None:
    while len(batch) < EVENTS_PER_BATCH:
        try:
            batch.extend(receive.receive_nowait())
        except (WouldBlock, EndOfStream):
            return
