"""The replay source: the events of a recorded call, many to a batch, from the file alone."""

from collections.abc import Iterable

from anyio.abc import ObjectReceiveStream, ObjectSendStream

from openprogram.pipeline.errors import RecordedCallError
from openprogram.pipeline.items import Batch, CallClosed, ServedCall
from openprogram.pipeline.log.event_lines import EventTexts
from openprogram.pipeline.log.reader import CallSummary, Recording
from openprogram.pipeline.streams import EVENTS_PER_BATCH, send_at_once

__all__ = ["closing", "read"]


def closing(summary: CallSummary) -> CallClosed:
    """How the replay of a call ends: as its recording did."""
    if summary.outcome == "complete":
        return CallClosed("complete")
    error = summary.error or {}
    failure = RecordedCallError(
        call_index=summary.call_index,
        outcome=summary.outcome,
        error_type=error.get("type"),
        error_message=error.get("message"),
    )
    return CallClosed(summary.outcome, failure, summary.error)


def _batches(served: ServedCall, recording: Recording) -> Iterable[list[EventTexts]]:
    if served.payloads is None:
        return recording.event_batches(served.call_index)
    whole = served.payloads
    starts = range(0, len(whole), EVENTS_PER_BATCH)
    return [[EventTexts(b"", whole[start : start + EVENTS_PER_BATCH])] for start in starts]


async def read(
    receive: ObjectReceiveStream[ServedCall],
    send: ObjectSendStream[Batch[EventTexts | CallClosed]],
    recording: Recording,
) -> None:
    """The stage. Raises RecordingFileError: the file changed since it was opened."""
    async with receive, send:
        async for served in receive:
            batch: Batch[EventTexts | CallClosed]
            for texts in _batches(served, recording):
                batch = [*texts]
                await send_at_once(send, batch)
            batch = [closing(recording.calls[served.call_index])]
            await send_at_once(send, batch)
