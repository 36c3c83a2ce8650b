"""Items → what the consumer gets: the provider's own events in record, events made of the file's lines in replay."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from anyio.abc import ObjectSendStream

from openprogram.pipeline.items import Batch, CallClosed
from openprogram.pipeline.streams import send_at_once

__all__ = ["Decoded"]

T = TypeVar("T")


class Decoded(ObjectSendStream[Batch[Any]], Generic[T]):
    """The last stage, as the stream that the one before sends to: it waits for nothing, so that it needs no task.

    Sends on `values(items)` of every batch of events; then, where the call closed with a failure, raises that.
    """

    def __init__(self, send: ObjectSendStream[Batch[T]], values: Callable[[Batch[Any]], Batch[T]]) -> None:
        self._send, self._values = send, values

    async def send(self, item: Batch[Any]) -> None:
        closed = item.pop() if isinstance(item[-1], CallClosed) else None
        if item:
            await send_at_once(self._send, self._values(item))
        if closed is not None and closed.failure is not None:
            raise closed.failure

    async def aclose(self) -> None:
        await self._send.aclose()
