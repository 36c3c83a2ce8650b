"""What `stream()` returns: iterate it, enter it, await it, drop it, at any position."""

import asyncio
import gc
import weakref
from collections.abc import AsyncGenerator, AsyncIterator
from types import TracebackType
from typing import Self

import anyio
import pytest
from anyio.lowlevel import checkpoint
from anyio.streams.memory import MemoryObjectSendStream

from openprogram.pipeline.call import CallHost, CallStream
from openprogram.pipeline.errors import StreamIncomplete
from openprogram.providers.event_stream import EventStream, as_event_stream
from openprogram.providers.types import (
    AssistantMessage,
    AssistantMessageEvent,
    EventDone,
    EventError,
    EventStart,
    EventTextDelta,
    EventTextEnd,
    EventTextStart,
    Model,
    TextContent,
)

pytestmark = pytest.mark.anyio

MODEL = Model(id="m", api="scripted", provider="test")
MESSAGE = AssistantMessage(content=[TextContent(text="ab")], api="scripted", provider="test", model="m")
FAILED = MESSAGE.model_copy(update={"stop_reason": "error", "error_reason": "overloaded", "error_retryable": True})
TEXT: list[AssistantMessageEvent] = [
    EventStart(),
    EventTextStart(content_index=0),
    EventTextDelta(content_index=0, delta="a"),
    EventTextDelta(content_index=0, delta="b"),
    EventTextEnd(content_index=0, content="ab"),
]
DONE = EventDone(reason="stop", message=MESSAGE)


class Source:
    """A live source as a plain async generator, and what happened to it."""

    def __init__(self, *events: AssistantMessageEvent, ends_with: BaseException | None = None) -> None:
        self.events, self.ends_with = events, ends_with
        self.log: list[str] = []

    async def generate(self) -> AsyncGenerator[AssistantMessageEvent, None]:
        self.log.append("begun")
        try:
            for event in self.events:
                await checkpoint()
                yield event
            self.log.append("exhausted")
            if self.ends_with is not None:
                raise self.ends_with
        finally:
            with anyio.CancelScope(shield=True):
                await checkpoint()
            self.log.append("closed")


class ObjectSource:
    """A source that is an object with `aclose()` and waits for its event to be let go."""

    def __init__(self) -> None:
        self.release = anyio.Event()
        self.log: list[str] = []

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> AssistantMessageEvent:
        self.log.append("waiting")
        await self.release.wait()
        return DONE

    async def aclose(self) -> None:
        await checkpoint()
        self.log.append("closed")


async def test_iterating_gives_the_events_of_the_source_and_closes_it() -> None:
    source = Source(*TEXT, DONE)
    assert [event async for event in EventStream(source.generate(), MODEL)] == [*TEXT, DONE]
    assert source.log == ["begun", "closed"]


async def test_nothing_after_the_terminal_event_is_read() -> None:
    source = Source(DONE, *TEXT, DONE)
    stream = EventStream(source.generate(), MODEL)
    assert await anext(stream) == DONE
    assert source.log == ["begun", "closed"]
    with pytest.raises(StopAsyncIteration):
        await anext(stream)


async def test_awaiting_gives_the_final_message_and_gives_it_again() -> None:
    stream = EventStream(Source(*TEXT, DONE).generate(), MODEL)
    assert await stream is MESSAGE
    assert await stream is MESSAGE
    assert [event async for event in stream] == []


async def test_awaiting_reads_what_is_left() -> None:
    stream = EventStream(Source(*TEXT, DONE).generate(), MODEL)
    await anext(stream)
    assert await stream is MESSAGE


async def test_a_failure_of_the_provider_is_a_message() -> None:
    stream = EventStream(Source(*TEXT, EventError(reason="error", error=FAILED)).generate(), MODEL)
    assert await stream is FAILED


@pytest.mark.parametrize("count", [0, 1, 3])
async def test_awaiting_a_stream_without_a_terminal_event_says_how_far_it_came(count: int) -> None:
    stream = EventStream(Source(*TEXT[:count]).generate(), MODEL)
    for _ in range(2):
        with pytest.raises(StreamIncomplete) as failure:
            await stream
        assert failure.value.event_count == count


async def test_partial_is_the_message_so_far() -> None:
    stream = EventStream(Source(*TEXT, DONE).generate(), MODEL)
    assert stream.partial.content == []
    seen = [(event.type, stream.partial.text) async for event in stream]
    assert seen == [
        ("start", ""),
        ("text_start", ""),
        ("text_delta", "a"),
        ("text_delta", "ab"),
        ("text_end", "ab"),
        ("done", "ab"),
    ]
    assert stream.partial is MESSAGE


async def test_an_exception_of_the_source_arrives_as_itself() -> None:
    failure = ZeroDivisionError("a programming error")
    source = Source(*TEXT, ends_with=failure)
    stream = EventStream(source.generate(), MODEL)
    with pytest.raises(ZeroDivisionError) as raised:
        await stream
    assert raised.value is failure
    assert source.log[-1] == "closed"
    with pytest.raises(StopAsyncIteration):
        await anext(stream)


async def test_nothing_begins_before_the_first_event_is_asked_for() -> None:
    source = Source(*TEXT, DONE)
    stream = EventStream(source.generate(), MODEL)
    await checkpoint()
    assert source.log == []
    await anext(stream)
    assert source.log == ["begun"]
    await stream.aclose()


async def test_a_stream_closed_before_the_first_event_never_begins() -> None:
    source = Source(*TEXT, DONE)
    stream = EventStream(source.generate(), MODEL)
    await stream.aclose()
    assert [event async for event in stream] == []
    assert source.log == []


@pytest.mark.parametrize("position", range(1, len(TEXT) + 2))
async def test_closing_closes_the_source_at_every_position(position: int) -> None:
    source = Source(*TEXT, DONE)
    stream = EventStream(source.generate(), MODEL)
    for _ in range(position):
        await anext(stream)
    await stream.aclose()
    await stream.aclose()
    assert source.log == ["begun", "closed"]
    with pytest.raises(StopAsyncIteration):
        await anext(stream)


@pytest.mark.parametrize("position", range(len(TEXT) + 2))
async def test_leaving_the_context_closes_the_source_at_every_position(position: int) -> None:
    source = Source(*TEXT, DONE)
    async with EventStream(source.generate(), MODEL) as stream:
        for _ in range(position):
            await anext(stream)
    assert source.log == (["begun", "closed"] if position else [])


@pytest.mark.parametrize("position", range(len(TEXT) + 2))
async def test_a_dropped_stream_leaves_its_source_to_the_finalizer_without_a_warning(position: int) -> None:
    source = Source(*TEXT, DONE)
    stream = EventStream(source.generate(), MODEL)
    for _ in range(position):
        await anext(stream)
    del stream
    gc.collect()
    await anyio.wait_all_tasks_blocked()
    assert source.log == (["begun", "closed"] if position else [])


async def test_an_exception_in_the_context_is_not_replaced_by_one_from_closing() -> None:
    class Stubborn(ObjectSource):
        async def aclose(self) -> None:
            raise OSError("cannot close")

    with pytest.raises(ZeroDivisionError):
        async with EventStream(Stubborn(), MODEL):
            raise ZeroDivisionError
    with pytest.raises(OSError, match="cannot close"):
        await EventStream(Stubborn(), MODEL).aclose()


async def test_cancelling_the_wait_closes_the_source() -> None:
    source = ObjectSource()
    stream = EventStream(source, MODEL)
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as group:
            group.start_soon(_drain, stream)
            await anyio.wait_all_tasks_blocked()
            scope.cancel()
    assert scope.cancelled_caught
    assert source.log == ["waiting", "closed"]
    with pytest.raises(StopAsyncIteration):
        await anext(stream)


async def test_cancelling_the_task_as_asyncio_does_closes_the_source() -> None:
    source = ObjectSource()
    task = asyncio.create_task(_drain(EventStream(source, MODEL)))
    await anyio.wait_all_tasks_blocked()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert source.log == ["waiting", "closed"]


async def test_a_source_that_will_not_close_holds_a_cancelled_reader_for_a_bounded_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("openprogram.providers.event_stream.CLOSE_TIMEOUT_S", 0.01)

    class Stuck(ObjectSource):
        async def aclose(self) -> None:
            self.log.append("closing")
            await anyio.sleep_forever()

    source = Stuck()
    with anyio.fail_after(5), anyio.CancelScope() as scope:
        async with anyio.create_task_group() as group:
            group.start_soon(_drain, EventStream(source, MODEL))
            await anyio.wait_all_tasks_blocked()
            scope.cancel()
    assert source.log == ["waiting", "closing"]


async def test_a_wait_that_ends_with_its_event_loop_awaits_nothing_more() -> None:
    source = ObjectSource()
    waiting = EventStream(source, MODEL).__anext__()
    waiting.send(None)
    waiting.close()
    assert source.log == ["waiting"]


async def test_two_tasks_cannot_read_one_stream() -> None:
    source = ObjectSource()
    stream = EventStream(source, MODEL)
    async with anyio.create_task_group() as group:
        group.start_soon(_drain, stream)
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(RuntimeError, match="read by another task"):
            await anext(stream)
        with pytest.raises(RuntimeError, match="read by another task"):
            await stream.aclose()
        source.release.set()
    assert source.log == ["waiting", "closed"]
    assert await stream is MESSAGE


async def test_a_plain_iterator_without_aclose_will_do() -> None:
    class Bare:
        def __aiter__(self) -> AsyncIterator[AssistantMessageEvent]:
            return self

        async def __anext__(self) -> AssistantMessageEvent:
            return DONE

    stream = EventStream(Bare(), MODEL)
    assert await stream is MESSAGE


# ---- a source that gives many events at once


class Batches:
    """A call whose events come in these batches. `log`: how it ended."""

    def __init__(self, *batches: list[AssistantMessageEvent], ends_with: Exception | None = None) -> None:
        self.batches, self.ends_with = [[*batch] for batch in batches], ends_with
        self.log: list[str | None] = []

    async def _work(
        self, send: MemoryObjectSendStream[list[AssistantMessageEvent]], host: CallHost[AssistantMessageEvent]
    ) -> None:
        await host.begun()
        try:
            while self.batches:
                await send.send(self.batches.pop(0))
            if self.ends_with is not None:
                raise self.ends_with
        finally:
            self.log.append(host.leaving)

    def stream(self) -> EventStream:
        return EventStream(CallStream(self._work), MODEL)


CUTS = [[[*TEXT, DONE]], [TEXT, [DONE]], [TEXT[:2], TEXT[2:3], [*TEXT[3:], DONE]], [[event] for event in (*TEXT, DONE)]]


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("position", range(len(TEXT) + 2))
async def test_a_batch_is_handed_out_as_its_events_are_read(
    cut: list[list[AssistantMessageEvent]], position: int
) -> None:
    """The same events, message so far, count and end, wherever the batches are cut and the reader leaves."""
    batches, single = Batches(*cut), EventStream(Source(*TEXT, DONE).generate(), MODEL)
    stream = batches.stream()
    for _ in range(position):
        assert await anext(stream) is await anext(single)
        assert stream.partial == single.partial
    await stream.aclose()
    assert stream.partial == single.partial
    assert [event async for event in stream] == []
    if position <= len(TEXT):
        with pytest.raises(StreamIncomplete) as failure:
            await stream
        assert failure.value.event_count == position
    else:
        assert await stream is MESSAGE
    assert batches.log == ([] if position == 0 else batches.log[:1])


async def test_nothing_behind_the_terminal_event_of_a_batch_is_handed_out_or_folded() -> None:
    batches = Batches([*TEXT, DONE, *TEXT, EventError(reason="error", error=FAILED)], TEXT)
    stream = batches.stream()
    assert [event async for event in stream] == [*TEXT, DONE]
    assert stream.partial is MESSAGE
    assert await stream is MESSAGE
    assert batches.log == ["abandoned"]


async def test_a_failure_comes_behind_the_events_of_the_batch_before_it() -> None:
    failure = ZeroDivisionError("afterwards")
    stream = Batches(TEXT, ends_with=failure).stream()
    assert [await anext(stream) for _ in TEXT] == TEXT
    with pytest.raises(ZeroDivisionError) as raised:
        await anext(stream)
    assert raised.value is failure
    assert stream.partial.text == "ab"
    with pytest.raises(StopAsyncIteration):
        await anext(stream)


@pytest.mark.parametrize("position", range(1, len(TEXT) + 1))
async def test_a_stream_dropped_in_a_batch_is_noticed_without_the_collector(position: int) -> None:
    batches = Batches(TEXT, TEXT, TEXT, [DONE])
    stream = batches.stream()
    for _ in range(position):
        await anext(stream)
    gc.disable()
    try:
        del stream
        await anyio.wait_all_tasks_blocked()
    finally:
        gc.enable()
    assert batches.log == ["abandoned"]


async def test_an_event_that_was_handed_out_long_ago_is_let_go() -> None:
    deltas: list[AssistantMessageEvent] = [EventTextDelta(content_index=0, delta=str(n)) for n in range(1000)]
    dropped = weakref.ref(deltas[0])
    stream = Batches(deltas[:500], deltas[500:], [DONE]).stream()
    text = "".join(str(n) for n in range(1000))
    deltas.clear()
    for _ in range(1000):
        await anext(stream)
    assert stream.partial.text == text
    assert dropped() is None, "a long answer is not kept as its events"
    await stream.aclose()


async def test_entering_begins_a_source_that_can_be_entered() -> None:
    class Entered(ObjectSource):
        async def __aenter__(self) -> Self:
            self.log.append("entered")
            return self

        async def __aexit__(
            self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
        ) -> None:
            raise AssertionError("left by aclose() alone")

    source = Entered()
    async with EventStream(source, MODEL):
        assert source.log == ["entered"]
    assert source.log == ["entered", "closed"]


async def test_a_source_that_cannot_be_entered_is_closed() -> None:
    class Broken(ObjectSource):
        async def __aenter__(self) -> Self:
            raise ZeroDivisionError

        async def __aexit__(self, *_: object) -> None: ...

    source = Broken()
    with pytest.raises(ZeroDivisionError):
        async with EventStream(source, MODEL):
            pass
    assert source.log == ["closed"]


async def test_an_event_stream_is_not_wrapped_twice() -> None:
    stream = as_event_stream(Source(DONE).generate(), MODEL)
    assert as_event_stream(stream, MODEL) is stream
    assert await stream is MESSAGE


async def _drain(stream: EventStream) -> None:
    async for _ in stream:
        await checkpoint()
