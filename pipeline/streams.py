"""Small helpers over anyio's memory object streams, for stages."""

from collections.abc import AsyncIterator
from typing import Final, TypeVar

from anyio import EndOfStream, WouldBlock
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

__all__ = ["EVENTS_PER_BATCH", "Given", "Kept", "merged", "receive_at_once", "send_at_once"]

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


async def receive_at_once(receive: ObjectReceiveStream[T]) -> T | None:
    """Receive without giving other tasks a turn where an item is there already. None: there are no more."""
    try:
        if isinstance(receive, MemoryObjectReceiveStream):
            try:
                item: T = receive.receive_nowait()
            except WouldBlock:
                pass
            else:
                return item
        return await receive.receive()
    except EndOfStream:
        return None


class Given(ObjectReceiveStream[T]):
    """One item that is there already, and then the end."""

    def __init__(self, item: T) -> None:
        self._items = [item]

    async def receive(self) -> T:
        if not self._items:
            raise EndOfStream
        return self._items.pop()

    async def aclose(self) -> None:
        self._items.clear()


class Kept(ObjectSendStream[T]):
    """Keeps the one item that is sent. `item`: that one."""

    item: T

    async def send(self, item: T) -> None:
        self.item = item

    async def aclose(self) -> None:
        pass


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
