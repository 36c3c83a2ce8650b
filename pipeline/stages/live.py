"""The live source: a provider's own stream, dumped where it is born. Nothing in replay imports this."""

from asyncio import CancelledError
from collections.abc import AsyncIterator, Callable
from typing import Any, Final, TypeVar

from anyio import Event, move_on_after
from anyio.abc import ObjectReceiveStream, ObjectSendStream

from openprogram.pipeline.codec import EventCodec
from openprogram.pipeline.items import Batch, CallClosed, CallEvent, CleanCall
from openprogram.pipeline.json_value import NotJson
from openprogram.pipeline.logs import get_logger
from openprogram.pipeline.refusals import describe_exception, refusal
from openprogram.pipeline.streams import send_at_once
from openprogram.pipeline.tasks import is_cancelled, run_apart

__all__ = ["live"]

T = TypeVar("T")

#: Seconds a provider's stream may take to close.
_CLOSE_S: Final = 5.0

_NO_TERMINAL: Final = {"type": "StreamIncomplete", "message": "the stream ended without a terminal event"}


async def live(
    receive: ObjectReceiveStream[CleanCall],
    send: ObjectSendStream[Batch[CallEvent[T] | CallClosed]],
    open_source: Callable[[], AsyncIterator[T]],
    codec: EventCodec[T],
) -> None:
    """The stage: for each request, open the source and send its events as they come, up to the first terminal one.

    What the provider raises closes the call behind the events that came before it.
    """
    async with receive, send:
        async for _call in receive:
            ended, closing = Event(), Event()
            try:
                await run_apart(_pump(open_source, send, codec, ended, closing), _CLOSE_S, closing.is_set)
            except Exception as failure:  # noqa: BLE001 - whatever it is, it is the consumer's to see
                if not ended.is_set():  # else its closing cancelled itself, which changes nothing any more
                    await send.send([CallClosed("error", failure, describe_exception(failure))])


async def _pump(
    open_source: Callable[[], AsyncIterator[T]],
    send: ObjectSendStream[Batch[CallEvent[T] | CallClosed]],
    codec: EventCodec[T],
    ended: Event,
    closing: Event,
) -> None:
    source = aiter(open_source())  # of what can only be iterated, the iterator is what has to be closed
    try:
        await _send_events(source, send, codec)
        ended.set()
    finally:
        closing.set()
        await _close(source)


async def _send_events(
    source: AsyncIterator[T], send: ObjectSendStream[Batch[CallEvent[T] | CallClosed]], codec: EventCodec[T]
) -> None:
    index = 0
    async for event in source:
        item = CallEvent(event, _dump(event, index, codec))
        if codec.is_terminal(item.dumped):
            # In one batch, so that the call's end is on file before anybody sees the terminal event.
            await send.send([item, CallClosed("complete")])
            return
        batch: Batch[CallEvent[T] | CallClosed] = [item]
        await send_at_once(send, batch)
        index += 1
    await send.send([CallClosed("error", error=dict(_NO_TERMINAL))])


def _dump(event: T, index: int, codec: EventCodec[T]) -> dict[str, Any]:
    try:
        dumped = codec.dump(event)
        codec.check(dumped)  # one event that can't be loaded again would make the whole file unreadable
    except NotJson as error:
        raise refusal(error, f"event {index}") from None
    except ValueError as error:
        raise refusal(NotJson("", str(error)), f"event {index}") from None
    return dumped


async def _close(source: Any) -> None:
    """Close the provider's stream. What that raises comes after the call's end, and changes nothing about it."""
    aclose = getattr(source, "aclose", None)
    if aclose is None:
        return
    try:
        with move_on_after(_CLOSE_S, shield=True):
            await aclose()
    except (Exception, CancelledError) as failure:  # whatever it is, the events decide how the call ended
        if isinstance(failure, CancelledError) and is_cancelled():
            raise
        get_logger().warning("recording.close_failed", error_type=type(failure).__name__)
