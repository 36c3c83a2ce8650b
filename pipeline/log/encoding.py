"""Lines as they are appended, or the RecordingValueError that names the field which a line can't hold."""

from collections.abc import Iterator, Sequence

from openprogram.pipeline.errors import RecordingValueError
from openprogram.pipeline.json_value import JsonValue, NotJson
from openprogram.pipeline.log import lines
from openprogram.pipeline.log.lines import CleanEvent, CleanRequest, Outcome

__all__ = ["encode_call_end", "encode_events", "encode_request_body"]


def encode_request_body(request: CleanRequest) -> bytes:
    """As `lines.encode_request_body`. Raises RecordingValueError."""
    try:
        return lines.encode_request_body(request)
    except NotJson as error:
        raise RecordingValueError(field_path=error.field_path or "the request", reason=error.reason) from None


def encode_events(call_index: int, first_index: int, events: Sequence[CleanEvent]) -> bytes:
    """A line for each event of one call, `first_index` the first one's. Raises RecordingValueError."""
    return b"".join(_event_lines(call_index, first_index, events))


def encode_call_end(call_index: int, event_count: int, outcome: Outcome, error: dict[str, JsonValue] | None) -> bytes:
    """As `lines.encode_call_end`. Raises RecordingValueError."""
    try:
        return lines.encode_call_end(call_index, event_count, outcome, error)
    except NotJson as failure:
        raise RecordingValueError(field_path=failure.field_path or "the call's end", reason=failure.reason) from None


def _event_lines(call_index: int, first_index: int, events: Sequence[CleanEvent]) -> Iterator[bytes]:
    for event_index, event in enumerate(events, first_index):
        try:
            yield lines.encode_event(call_index, event_index, event)
        except NotJson as error:
            field = f"event {event_index} {error.field_path}".rstrip()
            raise RecordingValueError(field_path=field, reason=error.reason) from None
