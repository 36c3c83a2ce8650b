"""Items → what the consumer gets: the provider's own events in record, events made of the file's lines in replay."""

from collections.abc import Callable
from typing import Any, TypeVar

from anyio.abc import ObjectReceiveStream, ObjectSendStream

from openprogram.pipeline.items import Batch, CallClosed
from openprogram.pipeline.streams import receive_at_once, send_at_once

__all__ = ["decode"]

T = TypeVar("T")


async def decode(
    receive: ObjectReceiveStream[Batch[Any]],
    send: ObjectSendStream[Batch[T]],
    values: Callable[[Batch[Any]], Batch[T]],
) -> None:
    """The stage: `values(items)` of every batch of events; then, where the call closed with a failure, that raised."""
    async with receive, send:
        while (batch := await receive_at_once(receive)) is not None:
            closed = batch.pop() if isinstance(batch[-1], CallClosed) else None
            if batch:
                await send_at_once(send, values(batch))
            if closed is not None and closed.failure is not None:
                raise closed.failure
