"""Arguments of a call → its request as the text of JSON values, in parts."""

from typing import Any

from anyio.abc import ObjectReceiveStream, ObjectSendStream

from openprogram.pipeline.codec import RequestCodec
from openprogram.pipeline.items import CallOpened
from openprogram.pipeline.json_value import NotJson
from openprogram.pipeline.refusals import refusal
from openprogram.pipeline.request_parts import PartMemo, dump_parts

__all__ = ["normalize", "normalized"]


def normalized(request: Any, codec: RequestCodec, memo: PartMemo) -> CallOpened:
    """The request's parts, dumped where the memo doesn't know them.

    Raises RecordingValueError: strict JSON can't hold it, or not within the limits.
    """
    try:
        return CallOpened(dump_parts(codec.parts(request), memo, codec))
    except NotJson as error:
        raise refusal(error) from None


async def normalize(
    receive: ObjectReceiveStream[Any], send: ObjectSendStream[CallOpened], codec: RequestCodec, memo: PartMemo
) -> None:
    """The stage. Raises as `normalized`."""
    async with receive, send:
        async for request in receive:
            await send.send(normalized(request, codec, memo))
