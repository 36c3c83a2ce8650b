"""However a call ends, its file says so, its source is closed, nothing is left running, and replay repeats it."""

import asyncio
import contextlib
import gc
import subprocess
import sys
import textwrap
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import fail_after, move_on_after, wait_all_tasks_blocked
from anyio.lowlevel import checkpoint

from openprogram.pipeline.errors import RecordingValueError, StreamIncomplete
from openprogram.providers.api_registry import ApiProvider
from openprogram.providers.event_stream import EventStream, as_event_stream
from openprogram.providers.recording import RecordingProvider
from openprogram.providers.replay import RecordedCallError, ReplayProvider
from openprogram.providers.types import AssistantMessage, AssistantMessageEvent, EventDone, EventError
from tests.openprogram.providers.calls import (
    CONTEXT,
    DONE,
    MODEL,
    TEXT,
    Source,
    all_calls_over,
    call_ends,
    collect,
    collect_failing,
    lines,
    own_tasks,
)

pytestmark = pytest.mark.anyio

POSITIONS = range(len(TEXT) + 1)


class Broken(Exception):
    """What a provider raises here."""


async def _break() -> None:
    raise Broken("the line went dead")


async def _raise_cancelled() -> None:
    raise asyncio.CancelledError


async def _cancel_self() -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await checkpoint()


async def _replayed(path: Path) -> tuple[list[AssistantMessageEvent], RecordedCallError]:
    """The events of the first recorded call, and how its replay ended."""
    with ReplayProvider(path) as provider:
        events, failure = await collect_failing(provider.stream(MODEL, CONTEXT), RecordedCallError)
        assert provider.verdict.consumed == 1
        provider.assert_consumed()
    return events, failure


# ---- the provider ends it


@pytest.mark.parametrize("position", POSITIONS)
async def test_what_a_provider_raises_reaches_the_consumer_after_the_events_before_it(
    tmp_path: Path, position: int
) -> None:
    path, source = tmp_path / "run.jsonl", Source(TEXT[:position], _break)
    events, failure = await collect_failing(RecordingProvider(source, path).stream(MODEL, CONTEXT), Broken)
    assert events == TEXT[:position]
    assert (str(failure), failure.__cause__) == ("the line went dead", None)
    assert source.log == ["begun", "closed"]
    error = {"type": "Broken", "message": "the line went dead"}
    (end,) = call_ends(path)
    assert (end["outcome"], end["event_count"], end["error"]) == ("error", position, error)
    assert own_tasks() == set()

    replayed, again = await _replayed(path)
    assert replayed == events
    assert (again.outcome, again.error_type, again.error_message) == ("error", "Broken", "the line went dead")


async def test_a_provider_that_raises_when_it_is_called_fails_the_call(tmp_path: Path) -> None:
    class Refuses(Source):
        def stream(self, *arguments: Any) -> Any:
            raise Broken("no such model")

    path = tmp_path / "run.jsonl"
    with pytest.raises(Broken):
        await RecordingProvider(Refuses([]), path).stream(MODEL, CONTEXT)
    assert [line["type"] for line in lines(path)] == ["header", "request", "call_end"]
    events, error = await _replayed(path)
    assert (events, error.error_message) == ([], "no such model")


class OnlyIterable(Source):
    """Its streams are no iterators: iterating one gives the iterator, which takes its time to close."""

    def stream(self, *arguments: Any) -> Any:
        class Stream:
            __aiter__ = staticmethod(self.generate)

        return Stream()

    async def generate(self) -> AsyncGenerator[AssistantMessageEvent, None]:
        try:
            for event in self.events:
                yield event
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(0.3)  # longer than the call's end takes to be on file
            self.log.append("closed")


@pytest.mark.parametrize("position", range(6))
@pytest.mark.parametrize("is_recorded", [False, True])
async def test_a_stream_that_can_only_be_iterated_is_read_and_closed(
    tmp_path: Path, is_recorded: bool, position: int
) -> None:
    source = OnlyIterable([*TEXT, DONE])
    provider = RecordingProvider(source, tmp_path / "run.jsonl") if is_recorded else source
    async with as_event_stream(provider.stream(MODEL, CONTEXT), MODEL) as stream:
        await _take(stream, position)
    assert source.log == ["closed"] * (position > 0), "only what has begun is closed, and nobody goes on before that"
    assert await as_event_stream(provider.stream(MODEL, CONTEXT), MODEL) == DONE.message


@pytest.mark.parametrize("is_recorded", [False, True])
@pytest.mark.parametrize("events", [[*TEXT, DONE], TEXT])
async def test_a_provider_that_is_done_closes_in_peace_and_its_consumer_waits_for_it(
    tmp_path: Path, events: list[AssistantMessageEvent], is_recorded: bool
) -> None:
    source = OnlyIterable(events)
    provider = RecordingProvider(source, tmp_path / "run.jsonl") if is_recorded else source
    stream = as_event_stream(provider.stream(MODEL, CONTEXT), MODEL)
    assert await collect(stream) == events
    assert source.log == ["closed"]


async def test_what_comes_after_the_terminal_event_is_not_read(tmp_path: Path) -> None:
    path, source = tmp_path / "run.jsonl", Source([*TEXT, DONE, *TEXT], _break)
    assert await collect(RecordingProvider(source, path).stream(MODEL, CONTEXT)) == [*TEXT, DONE]
    assert source.produced == 6
    assert source.log == ["begun", "closed"]
    assert [(end["outcome"], end["event_count"]) for end in call_ends(path)] == [("complete", 6)]


@pytest.mark.parametrize("second", [DONE, EventError(reason="error", error=AssistantMessage(stop_reason="error"))])
async def test_of_two_terminal_events_the_first_counts(tmp_path: Path, second: AssistantMessageEvent) -> None:
    path = tmp_path / "run.jsonl"
    first = EventDone(reason="stop", message=AssistantMessage(error_message="first"))
    assert await collect(RecordingProvider(Source([first, second]), path).stream(MODEL, CONTEXT)) == [first]
    with ReplayProvider(path) as provider:
        assert await collect(provider.stream(MODEL, CONTEXT)) == [first]


async def test_a_provider_that_never_ends_after_done_is_closed(tmp_path: Path) -> None:
    path, source = tmp_path / "run.jsonl", Source([*TEXT, DONE], anyio.sleep_forever)
    with fail_after(5):
        assert (await RecordingProvider(source, path).stream(MODEL, CONTEXT)).text == "ab"
    assert source.log == ["begun", "closed"]
    assert [end["outcome"] for end in call_ends(path)] == ["complete"]
    assert own_tasks() == set()


@pytest.mark.parametrize("position", POSITIONS)
async def test_a_stream_without_a_terminal_event_ends_with_outcome_error(tmp_path: Path, position: int) -> None:
    path, source = tmp_path / "run.jsonl", Source(TEXT[:position])
    stream = RecordingProvider(source, path).stream(MODEL, CONTEXT)
    assert await collect(stream) == TEXT[:position]
    with pytest.raises(StreamIncomplete):
        await stream
    (end,) = call_ends(path)
    assert (end["outcome"], end["event_count"], end["error"]["type"]) == ("error", position, "StreamIncomplete")
    replayed, error = await _replayed(path)
    assert (replayed, error.outcome, error.error_type) == (TEXT[:position], "error", "StreamIncomplete")


async def test_a_provider_that_raises_cancelled_by_itself_fails_the_call_and_cancels_nobody(tmp_path: Path) -> None:
    async def cancelled() -> None:
        raise asyncio.CancelledError("from a library")

    path, source = tmp_path / "run.jsonl", Source(TEXT[:2], cancelled)
    events, failure = await collect_failing(RecordingProvider(source, path).stream(MODEL, CONTEXT), RuntimeError)
    await checkpoint()
    assert events == TEXT[:2]
    assert "cancelled from inside" in str(failure)
    assert [(end["outcome"], end["event_count"]) for end in call_ends(path)] == [("error", 2)]
    assert source.log == ["begun", "closed"]


async def test_a_provider_that_cancels_its_own_task_fails_the_call(tmp_path: Path) -> None:
    path, source = tmp_path / "run.jsonl", Source(TEXT[:2], _cancel_self)
    with fail_after(5), pytest.raises(RuntimeError, match="cancelled from inside"):
        await RecordingProvider(source, path).stream(MODEL, CONTEXT)
    assert [end["outcome"] for end in call_ends(path)] == ["error"]
    assert source.log == ["begun", "closed"]


async def test_a_provider_may_use_timeouts_of_its_own(tmp_path: Path) -> None:
    async def answer() -> Any:
        for event in TEXT:
            with move_on_after(0.001):
                await anyio.sleep_forever()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.001):
                    await anyio.sleep_forever()
            yield event
        yield DONE

    class Slow(Source):
        def generate(self) -> Any:
            return answer()

    path = tmp_path / "run.jsonl"
    assert (await RecordingProvider(Slow([]), path).stream(MODEL, CONTEXT)).text == "ab"


@pytest.mark.parametrize("events", [[*TEXT, DONE], TEXT], ids=["complete", "incomplete"])
async def test_what_a_provider_raises_while_it_is_closed_changes_nothing(tmp_path: Path, events: list[Any]) -> None:
    class RaisesOnClose(Source):
        async def generate(self) -> Any:
            try:
                for event in self.events:
                    yield event
                await anyio.sleep_forever()
            finally:
                raise Broken("while closing")

    path = tmp_path / "run.jsonl"
    stream = RecordingProvider(RaisesOnClose(events), path).stream(MODEL, CONTEXT)
    received = []
    with fail_after(5):
        async for event in stream:
            received.append(event)
            if event == events[-1]:
                break
        await stream.aclose()
    assert received == events
    outcome = "complete" if DONE in events else "abandoned"
    assert [(end["outcome"], end["event_count"]) for end in call_ends(path)] == [(outcome, len(events))]


class ClosesWith(Source):
    """Gives each event in a turn of its own, and does what `closing` does while it is closed."""

    def __init__(self, events: list[Any], closing: Callable[[], Awaitable[None]]) -> None:
        super().__init__(events)
        self.closing = closing

    async def generate(self) -> Any:
        try:
            for event in self.events:
                yield event
                await checkpoint()
        finally:
            await self.closing()


@pytest.mark.parametrize("closing", [_break, _raise_cancelled, _cancel_self])
async def test_a_consumer_that_reads_late_gets_all_whatever_a_provider_raises_while_it_is_closed(
    tmp_path: Path, closing: Callable[[], Awaitable[None]]
) -> None:
    path, received = tmp_path / "run.jsonl", list[AssistantMessageEvent]()
    stream = RecordingProvider(ClosesWith([*TEXT, DONE], closing), path).stream(MODEL, CONTEXT)
    with fail_after(5):
        async for event in stream:
            received.append(event)
            await wait_all_tasks_blocked()  # the source is far ahead, and has come to its end
    assert received == [*TEXT, DONE]
    assert [(end["outcome"], end["event_count"]) for end in call_ends(path)] == [("complete", len(received))]


@pytest.mark.parametrize("closing", [_break, _raise_cancelled])
async def test_what_a_provider_raises_is_not_hidden_by_what_it_raises_while_it_is_closed(
    tmp_path: Path, closing: Callable[[], Awaitable[None]]
) -> None:
    class Other(Exception):
        pass

    class Iterator(Source):
        """Closed apart from being read: a generator's `finally` would replace what it raised itself."""

        def generate(self) -> Any:
            return self

        def __aiter__(self) -> Any:
            return self

        async def __anext__(self) -> Any:
            raise Other

        async def aclose(self) -> None:
            await closing()

    path = tmp_path / "run.jsonl"
    with fail_after(5), pytest.raises(Other):
        await RecordingProvider(Iterator([]), path).stream(MODEL, CONTEXT)
    assert [end["error"]["type"] for end in call_ends(path)] == ["Other"]


async def test_an_error_message_is_recorded_without_its_secret(tmp_path: Path) -> None:
    async def leak() -> None:
        raise Broken("401 for Authorization: Bearer sk-ant-api03-4fQ9xZrT7mN2vB8kL5wJ1cY6hD3gS0pA-secretsecret")

    path = tmp_path / "run.jsonl"
    with pytest.raises(Broken, match="sk-ant"):
        await RecordingProvider(Source([], leak), path).stream(MODEL, CONTEXT)
    assert b"4fQ9xZrT7mN2vB8kL5wJ1cY6hD3gS0pA" not in path.read_bytes()


# ---- the consumer ends it, at every position

Leave = Callable[[EventStream, int], Awaitable[None]]


async def _take(stream: EventStream, count: int) -> None:
    for _ in range(count):
        await anext(stream)


async def _close(stream: EventStream, count: int) -> None:
    await _take(stream, count)
    await stream.aclose()
    await stream.aclose()


async def _break_out(stream: EventStream, count: int) -> None:
    async with stream:
        await _take(stream, count)


async def _raise_out(stream: EventStream, count: int) -> None:
    with contextlib.suppress(ZeroDivisionError):
        async with stream:
            await _take(stream, count)
            raise ZeroDivisionError


async def _time_out(stream: EventStream, count: int) -> None:
    await _take(stream, count)
    with move_on_after(0.01) as scope:
        await anext(stream)
    assert scope.cancelled_caught


async def _time_out_in_asyncio(stream: EventStream, count: int) -> None:
    await _take(stream, count)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await anext(stream)


async def _wait_for(stream: EventStream, count: int) -> None:
    async def wait() -> None:
        await stream

    await _take(stream, count)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(wait(), 0.01)


async def _cancel_task(stream: EventStream, count: int) -> None:
    async def read() -> None:
        async for _ in stream:
            pass

    task = asyncio.create_task(read())
    await wait_all_tasks_blocked()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def _cancel_scope(stream: EventStream, count: int) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(collect, stream)
        await wait_all_tasks_blocked()
        group.cancel_scope.cancel()


async def _cancel_while_an_event_is_held(stream: EventStream, count: int) -> None:
    async def hold() -> None:
        async with stream:
            await _take(stream, count)
            await anyio.sleep_forever()

    task = asyncio.create_task(hold())
    await wait_all_tasks_blocked()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def _cancel_twice(stream: EventStream, count: int) -> None:
    task = asyncio.create_task(collect(stream))
    await wait_all_tasks_blocked()
    task.cancel()
    await checkpoint()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


LEAVING: dict[str, tuple[Leave, str]] = {
    "closes": (_close, "abandoned"),
    "breaks out": (_break_out, "abandoned"),
    "raises": (_raise_out, "abandoned"),
    "times out": (_time_out, "cancelled"),
    "times out in asyncio": (_time_out_in_asyncio, "cancelled"),
    "times out in wait_for": (_wait_for, "cancelled"),
    "is cancelled as a task": (_cancel_task, "cancelled"),
    "is cancelled with its scope": (_cancel_scope, "cancelled"),
    "is cancelled while it holds an event": (_cancel_while_an_event_is_held, "cancelled"),
    "is cancelled twice": (_cancel_twice, "cancelled"),
}


#: A stream that is closed before its first iteration never begins, or never goes live: see further down.
PLACES = [
    pytest.param(leave, outcome, position, id=f"{name} after {position} events")
    for name, (leave, outcome) in LEAVING.items()
    for position in POSITIONS
    if position or leave not in (_close, _break_out, _raise_out)
]


@pytest.mark.parametrize(("leave", "outcome", "position"), PLACES)
async def test_a_consumer_that_leaves_ends_the_call_where_it_stands(
    tmp_path: Path, leave: Leave, outcome: str, position: int
) -> None:
    path, source = tmp_path / "run.jsonl", Source(TEXT[:position], anyio.sleep_forever)
    with fail_after(5):
        await leave(RecordingProvider(source, path).stream(MODEL, CONTEXT), position)
        if leave is _cancel_twice:
            await all_calls_over()  # the second cancellation ends the wait for the call's end
    assert source.log == ["begun", "closed"]
    assert [(end["outcome"], end["event_count"]) for end in call_ends(path)] == [(outcome, position)]
    assert own_tasks() == set()
    gc.collect()  # whatever was not closed warns now, and warnings are errors

    replayed, error = await _replayed(path)
    assert (replayed, error.outcome) == (TEXT[:position], outcome)


@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize("ends", ["with the frame", "by collection"])
async def test_a_consumer_that_drops_the_stream_ends_the_call_where_it_stands(
    tmp_path: Path, ends: str, position: int
) -> None:
    path, source = tmp_path / "run.jsonl", Source(TEXT[:position], anyio.sleep_forever)

    async def begin() -> EventStream:
        stream = await RecordingProvider(source, path).stream(MODEL, CONTEXT).__aenter__()
        await _take(stream, position)
        await wait_all_tasks_blocked()
        return stream

    if ends == "with the frame":
        await begin()
    else:
        holder: list[Any] = [await begin()]
        holder.append(holder)
        del holder
        gc.collect()
    await all_calls_over()
    assert source.log == ["begun", "closed"]
    assert [(end["outcome"], end["event_count"]) for end in call_ends(path)] == [("abandoned", position)]
    assert own_tasks() == set()
    replayed, error = await _replayed(path)
    assert (replayed, error.outcome) == (TEXT[:position], "abandoned")


async def test_a_source_that_waits_for_nothing_but_itself_is_closed_after_its_consumer_is_gone(tmp_path: Path) -> None:
    closed: list[str] = []

    class ClosesSlowly(Source):
        async def generate(self) -> Any:
            try:
                yield TEXT[0]
                await anyio.Event().wait()
            finally:
                with anyio.CancelScope(shield=True):
                    waker = anyio.Event()
                    asyncio.get_running_loop().call_later(0.01, waker.set)
                    await waker.wait()
                closed.append("closed")

    path = tmp_path / "run.jsonl"
    stream = RecordingProvider(ClosesSlowly([]), path).stream(MODEL, CONTEXT)
    await anext(stream)
    del stream
    gc.collect()
    await checkpoint()
    gc.collect()
    await all_calls_over()
    assert closed == ["closed"]
    assert [end["outcome"] for end in call_ends(path)] == ["abandoned"]


async def test_a_stream_may_be_dropped_in_another_thread(tmp_path: Path) -> None:
    path, source = tmp_path / "run.jsonl", Source(TEXT[:2], anyio.sleep_forever)
    holder = [RecordingProvider(source, path).stream(MODEL, CONTEXT)]
    await _take(holder[0], 2)
    await anyio.to_thread.run_sync(holder.clear)
    await all_calls_over()
    assert [(end["outcome"], end["event_count"]) for end in call_ends(path)] == [("abandoned", 2)]


@pytest.mark.parametrize("position", range(7))
async def test_a_replay_may_be_left_at_any_event(tmp_path: Path, position: int) -> None:
    path = tmp_path / "run.jsonl"
    await RecordingProvider(Source([*TEXT, DONE]), path).stream(MODEL, CONTEXT)
    for leave in (_close, _break_out, _raise_out):
        with ReplayProvider(path) as provider:
            await leave(provider.stream(MODEL, CONTEXT), position)
            assert own_tasks() == set()
            if position:
                provider.assert_consumed()
    with ReplayProvider(path) as provider:
        stream = provider.stream(MODEL, CONTEXT)
        await _take(stream, position)
        del stream
        gc.collect()
        await all_calls_over()
    with ReplayProvider(path) as provider, anyio.CancelScope() as scope:
        async with provider.stream(MODEL, CONTEXT) as stream:
            await _take(stream, position)
            scope.cancel()
            await checkpoint()
    assert own_tasks() == set()
    gc.collect()


async def test_a_replay_whose_consumer_is_cancelled_while_it_waits_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    await RecordingProvider(Source([*TEXT, DONE]), path).stream(MODEL, CONTEXT)
    for turns in range(30):
        with ReplayProvider(path) as provider:
            task = asyncio.create_task(collect(provider.stream(MODEL, CONTEXT)))
            for _ in range(turns):
                await checkpoint()
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            await all_calls_over()  # a cancellation during the stream's own closing does not wait for it
    gc.collect()


# ---- the moment of beginning


async def test_a_call_that_is_left_in_the_turn_in_which_it_begins_is_on_file_and_never_live(tmp_path: Path) -> None:
    path, source = tmp_path / "run.jsonl", Source([*TEXT, DONE])
    async with RecordingProvider(source, path).stream(MODEL, CONTEXT):
        pass
    assert source.log == []
    assert [line["type"] for line in lines(path)] == ["header", "request", "call_end"]
    assert [(end["outcome"], end["event_count"]) for end in call_ends(path)] == [("abandoned", 0)]
    with ReplayProvider(path) as provider:
        async with provider.stream(MODEL, CONTEXT):
            pass
        provider.assert_consumed()


async def test_a_call_whose_time_is_up_before_it_begins_is_on_file_and_never_live(tmp_path: Path) -> None:
    path, source = tmp_path / "run.jsonl", Source([*TEXT, DONE])
    with move_on_after(0):
        await RecordingProvider(source, path).stream(MODEL, CONTEXT)
    assert source.log == []
    assert [(end["outcome"], end["event_count"]) for end in call_ends(path)] == [("cancelled", 0)]
    assert own_tasks() == set()


async def test_a_mismatch_counts_even_where_the_consumer_leaves_in_the_turn_in_which_it_begins(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    await RecordingProvider(Source([DONE]), path).stream(MODEL, CONTEXT)
    with ReplayProvider(path) as provider:
        async with provider.stream(MODEL.model_copy(update={"id": "other"}), CONTEXT):
            pass
        assert provider.verdict.failed


# ---- the loop ends it


async def test_reading_on_after_the_end_gives_nothing_more(tmp_path: Path) -> None:
    stream = RecordingProvider(Source([*TEXT, DONE]), tmp_path / "run.jsonl").stream(MODEL, CONTEXT)
    assert len(await collect(stream)) == 6
    assert await collect(stream) == []


def _run_to_the_end(path: Path, main: Callable[[ApiProvider], Coroutine[Any, Any, object]], source: Source) -> None:
    provider = RecordingProvider(source, path)
    asyncio.run(main(provider))
    gc.collect()


@pytest.mark.parametrize("position", POSITIONS)
def test_a_loop_that_ends_with_an_open_stream_ends_its_call(tmp_path: Path, position: int) -> None:
    path, source = tmp_path / "run.jsonl", Source(TEXT[:position], anyio.sleep_forever)
    kept: list[EventStream] = []

    async def main(provider: ApiProvider) -> None:
        stream = provider.stream(MODEL, CONTEXT)
        assert isinstance(stream, EventStream)
        kept.append(await stream.__aenter__())
        await _take(stream, position)
        await wait_all_tasks_blocked()

    _run_to_the_end(path, main, source)
    assert source.log == ["begun", "closed"]
    assert [(end["outcome"], end["event_count"]) for end in call_ends(path)] == [("abandoned", position)]


def test_a_loop_that_ends_while_a_task_waits_for_an_event_ends_its_call(tmp_path: Path) -> None:
    path, source = tmp_path / "run.jsonl", Source(TEXT[:3], anyio.sleep_forever)
    kept: list[asyncio.Task[Any]] = []

    async def main(provider: ApiProvider) -> None:
        kept.append(asyncio.create_task(collect(provider.stream(MODEL, CONTEXT))))
        await wait_all_tasks_blocked()

    _run_to_the_end(path, main, source)
    assert source.log == ["begun", "closed"]
    (end,) = call_ends(path)
    assert end["event_count"] == 3
    assert end["outcome"] in ("cancelled", "abandoned")


@pytest.mark.parametrize("turns", range(2, 40))
def test_a_loop_that_ends_soon_after_a_call_begins_leaves_a_file_that_can_be_read(tmp_path: Path, turns: int) -> None:
    path, source = tmp_path / "run.jsonl", Source(TEXT[:3], anyio.sleep_forever)
    kept: list[Any] = []

    async def main(provider: ApiProvider) -> None:
        stream = provider.stream(MODEL, CONTEXT)
        assert isinstance(stream, EventStream)
        kept.append(await stream.__aenter__())
        for _ in range(turns):
            await checkpoint()

    _run_to_the_end(path, main, source)
    with ReplayProvider(path) as replay:
        assert replay.call_count >= len(source.log) // 2
    assert [end["outcome"] for end in call_ends(path)] == ["abandoned"] * (len(lines(path)) > 1)


def test_a_program_that_is_interrupted_leaves_a_file_that_can_be_read(tmp_path: Path) -> None:
    program = """
        import asyncio, os, signal, sys
        import anyio
        from openprogram.providers.recording import RecordingProvider
        from tests.openprogram.providers.calls import CONTEXT, MODEL, TEXT, Source

        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's job in the background ignores it

        async def interrupt():
            os.kill(os.getpid(), signal.SIGINT)
            await anyio.sleep_forever()

        async def main():
            async for event in RecordingProvider(Source(TEXT[:2], interrupt), sys.argv[1]).stream(MODEL, CONTEXT):
                pass

        asyncio.run(main())
    """
    path = tmp_path / "run.jsonl"
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(program), str(path)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.stderr.splitlines()[-1] == "KeyboardInterrupt"
    (end,) = call_ends(path)
    assert (end["event_count"], end["outcome"]) == (2, "cancelled")


# ---- the replay of a file that changes


async def test_a_recorded_call_error_is_raised_once_and_the_stream_is_over(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with pytest.raises(Broken):
        await RecordingProvider(Source(TEXT, _break), path).stream(MODEL, CONTEXT)
    with ReplayProvider(path) as provider:
        stream = provider.stream(MODEL, CONTEXT)
        with pytest.raises(RecordedCallError):
            await stream
        assert await collect(stream) == []


async def test_a_provider_closes_its_connection_with_awaits_whoever_ends_the_call(tmp_path: Path) -> None:
    closed: list[str] = []

    class Careful:
        async def stream(self, model: Any, context: Any, options: Any = None) -> AsyncIterator[Any]:
            try:
                yield TEXT[0]
                await anyio.sleep_forever()
            finally:
                await asyncio.sleep(0)
                closed.append("closed")

        stream_simple = stream

    for number, leave in enumerate(("close", "cancel", "drop")):
        stream = RecordingProvider(Careful(), tmp_path / f"{leave}.jsonl").stream(MODEL, CONTEXT)
        with fail_after(5):
            await anext(stream)
            if leave == "close":
                await stream.aclose()
            elif leave == "cancel":
                with anyio.move_on_after(0.01):
                    await anext(stream)
            else:
                del stream
                gc.collect()
                while own_tasks():  # noqa: ASYNC110 - nobody is left who could tell
                    await asyncio.sleep(0)
        assert len(closed) == number + 1


async def test_a_providers_own_exception_group_is_one_exception(tmp_path: Path) -> None:
    class Grouping:
        async def stream(self, model: Any, context: Any, options: Any = None) -> AsyncIterator[Any]:
            yield TEXT[0]
            raise ExceptionGroup("provider's own", [ValueError("v"), KeyError("k")])

        stream_simple = stream

    with pytest.raises(ExceptionGroup, match="provider's own"):
        await RecordingProvider(Grouping(), tmp_path / "run.jsonl").stream(MODEL, CONTEXT)


@pytest.mark.parametrize("event", [None, 3, "text", {"type": "start"}])
async def test_what_is_no_event_fails_the_call_by_name(tmp_path: Path, event: Any) -> None:
    class Odd:
        async def stream(self, model: Any, context: Any, options: Any = None) -> AsyncIterator[Any]:
            yield TEXT[0]
            yield event

        stream_simple = stream

    with pytest.raises(RecordingValueError) as failure:
        await RecordingProvider(Odd(), tmp_path / "run.jsonl").stream(MODEL, CONTEXT)
    assert failure.value.field_path == "event 1"
    assert "is not an event" in failure.value.reason


async def test_an_exception_that_cannot_be_printed_is_raised_as_itself(tmp_path: Path) -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no words")

    class Failing:
        async def stream(self, model: Any, context: Any, options: Any = None) -> AsyncIterator[Any]:
            yield TEXT[0]
            raise Mute

        stream_simple = stream

    with pytest.raises(Mute):
        await RecordingProvider(Failing(), tmp_path / "run.jsonl").stream(MODEL, CONTEXT)
