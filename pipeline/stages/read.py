"""The replay source: the events of a recorded call, many to a batch, from the file alone."""

from anyio.abc import ObjectReceiveStream, ObjectSendStream

from openprogram.pipeline.errors import RecordedCallError
from openprogram.pipeline.items import Batch, CallClosed, ReadEvent, ServedCall
from openprogram.pipeline.log.reader import CallSummary, Recording

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


async def read(
    receive: ObjectReceiveStream[ServedCall],
    send: ObjectSendStream[Batch[ReadEvent | CallClosed]],
    recording: Recording,
) -> None:
    """The stage. Raises RecordingFileError: the file changed since it was opened."""
    async with receive, send:
        async for served in receive:
            for payloads in recording.event_batches(served.call_index):
                await send.send([ReadEvent(payload) for payload in payloads])
            await send.send([closing(recording.calls[served.call_index])])
