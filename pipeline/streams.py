"""Small helpers over anyio's memory object streams."""

from collections.abc import AsyncIterator
from typing import Final, TypeVar

from anyio import EndOfStream, WouldBlock
from anyio.abc import ObjectReceiveStream
from anyio.streams.memory import MemoryObjectReceiveStream

__all__ = ["EVENTS_PER_BATCH", "merged"]

T = TypeVar("T")

#: Events a batch holds at most: large enough that a hop between stages costs little an event.
EVENTS_PER_BATCH: Final = 64


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
