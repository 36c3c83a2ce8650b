"""Requests and events → the same without secrets. The only maker of clean parts and events; no off switch."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Generic, TypeAlias, TypeVar

from anyio.abc import ObjectReceiveStream, ObjectSendStream

from openprogram.pipeline.items import Batch, CallClosed, CallEvent, CallOpened, CleanCall, WrittenEvent, split_closed
from openprogram.pipeline.json_value import JsonValue, NotJson, join_path
from openprogram.pipeline.log.lines import CleanEvent
from openprogram.pipeline.part_lists import CleanPart, KnownList, KnownPart
from openprogram.pipeline.redaction import StreamRedactor, redact
from openprogram.pipeline.refusals import refusal
from openprogram.pipeline.request_parts import DumpedList, DumpedPart, PartMemo, RequestText, clean_part
from openprogram.pipeline.stages.compare import FREE_FORM_FIELD_NAMES, NON_DETERMINISTIC_FIELD_NAMES
from openprogram.pipeline.streams import merged

__all__ = ["EventRedaction", "IsRecorded", "clean_request", "redact_events", "redact_request"]

T = TypeVar("T")

#: Whether an item of a list as it came stands in the recording that answers: asked for the new ones, in their order.
IsRecorded: TypeAlias = Callable[[CleanPart], bool]


def clean_request(opened: CallOpened, memo: PartMemo, is_recorded: IsRecorded | None = None) -> CleanCall:
    """The request without secrets. Its new parts are in the memo from now on, as they came out.

    `is_recorded`: in replay. What stands in the recording as it came is taken for redacted, as that is: a secret that
    somebody put into both by hand stays in it.
    Raises RecordingValueError: a number has more digits than can be written.
    """
    parts: list[bytes | CleanPart | KnownList] = []
    for part in opened.parts:
        if isinstance(part, bytes):
            parts.append(part)
        elif isinstance(part, DumpedList):
            parts += _clean_list(part, memo, is_recorded)
        else:
            parts.append(_clean(part, memo, is_recorded).clean)
    return CleanCall(RequestText(parts))


def _clean_list(dumped: DumpedList, memo: PartMemo, is_recorded: IsRecorded | None) -> list[KnownList]:
    """The list, or none where it is empty."""
    known = dumped.known
    if dumped.items:
        items = [_clean(item, memo, is_recorded) for item in dumped.items]
        known, known_bytes = (KnownList(items), 0) if known is None else (known.extended(items), known.size)
        memo.keep_list(dumped.name, known, known.size - known_bytes, dumped.first)
    return [] if known is None else [known]


def _clean(part: DumpedPart | KnownPart, memo: PartMemo, is_recorded: IsRecorded | None) -> KnownPart:
    if isinstance(part, KnownPart):
        return part
    name = part.part.name
    stamps = frozenset() if name in FREE_FORM_FIELD_NAMES else NON_DETERMINISTIC_FIELD_NAMES
    clean = None
    if is_recorded is not None and part.text is not None and part.part.position is not None:
        as_it_came = clean_part(part.value, 0, stamps, part.text)
        clean = as_it_came if is_recorded(as_it_came) else None
    known = KnownPart(part.part.source, part.snapshot, _redacted(part, stamps) if clean is None else clean)
    memo.keep(part.part, part.key, known)
    return known


def _redacted(part: DumpedPart, stamps: frozenset[str]) -> CleanPart:
    # Under its name, as it stands in the request: that a tool's schema is one shows in the key above it.
    name = part.part.name
    value = {name: part.value}
    redacted = redact(value)
    assert isinstance(redacted.value, dict)
    text = part.text if redacted.value is value else None
    try:
        return clean_part(redacted.value[name], redacted.count, stamps, text)
    except NotJson as error:
        position = part.part.position
        raise refusal(error, name if position is None else join_path(name, position)) from None


async def redact_request(
    receive: ObjectReceiveStream[CallOpened],
    send: ObjectSendStream[CleanCall],
    memo: PartMemo,
    is_recorded: IsRecorded | None = None,
) -> None:
    """The stage, for requests. Arguments and errors: see `clean_request`."""
    async with receive, send:
        async for opened in receive:
            await send.send(clean_request(opened, memo, is_recorded))


class EventRedaction(Generic[T]):
    """The rule for the events of one call: an event waits while its text may be the start of a secret.

    The redactor sees dumps alone and gives them back in order, so the live events wait in line beside it.
    """

    def __init__(self) -> None:
        self._redactor = StreamRedactor()
        self._waiting: deque[T] = deque()

    @property
    def count(self) -> int:
        """Places redacted so far."""
        return self._redactor.count

    def feed(self, items: Sequence[CallEvent[T] | CallClosed]) -> list[WrittenEvent[T] | CallClosed]:
        """What is decided now, in order."""
        events, closed = split_closed(items)
        self._waiting.extend([event for event, _ in events])
        decided: list[WrittenEvent[T] | CallClosed] = [*self._pair(self._redactor.feed_all([d for _, d in events]))]
        if closed is not None:
            decided += [*self.close(), _clean_closed(closed)]
        return decided

    def close(self) -> list[WrittenEvent[T]]:
        """The stream is over: decide what still waits."""
        return self._pair(self._redactor.close())

    def _pair(self, dumps: Iterable[dict[str, JsonValue]]) -> list[WrittenEvent[T]]:
        return [WrittenEvent(self._waiting.popleft(), CleanEvent(dump)) for dump in dumps]


def _clean_closed(closed: CallClosed) -> CallClosed:
    error = redact(closed.error).value
    return replace(closed, error=error) if isinstance(error, dict) else closed


async def redact_events(
    receive: ObjectReceiveStream[Batch[CallEvent[T] | CallClosed]],
    send: ObjectSendStream[Batch[WrittenEvent[T] | CallClosed]],
    redaction: EventRedaction[T],
) -> None:
    """The stage, for events."""
    async with receive, send:
        async for batch in merged(receive):
            if decided := redaction.feed(batch):
                await send.send(decided)
