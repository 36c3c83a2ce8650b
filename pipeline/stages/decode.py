"""Items → what the consumer gets: the provider's own events in record, events made of the file's lines in replay."""

from collections.abc import Callable
from typing import Any, TypeVar

from anyio.abc import ObjectReceiveStream, ObjectSendStream

from openprogram.pipeline.items import Batch, CallClosed

__all__ = ["decode"]

T = TypeVar("T")


async def decode(
    receive: ObjectReceiveStream[Batch[Any]], send: ObjectSendStream[Batch[T]], value: Callable[[Any], T]
) -> None:
    """The stage: `value(item)` of every event, then, where the call closed with a failure, that failure raised."""
    async with receive, send:
        async for batch in receive:
            closed = batch.pop() if isinstance(batch[-1], CallClosed) else None
            if batch:
                await send.send([value(item) for item in batch])
            if closed is not None and closed.failure is not None:
                raise closed.failure
