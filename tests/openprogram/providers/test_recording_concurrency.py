"""Many calls into one file, consumers that are slower than their source, sources that never wait."""

import asyncio
import sys
import threading
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import fail_after, wait_all_tasks_blocked
from anyio.lowlevel import checkpoint

from openprogram.pipeline.log.writer import RecordingSink
from openprogram.pipeline.streams import EVENTS_PER_BATCH
from openprogram.providers.event_stream import EventStream
from openprogram.providers.recording import RecordingProvider
from openprogram.providers.replay import ReplayProvider, read_recording_file
from openprogram.providers.types import AssistantMessage, Context, EventDone, EventTextDelta, Model, TextContent
from tests.openprogram.left_open import warnings_of_a_loop_left_after
from tests.openprogram.providers.calls import DONE, MODEL, Source, call_ends, collect, lines, text_context

pytestmark = pytest.mark.anyio


class Echo:
    """Answers each call with its own prompt, one character an event, and a turn of the loop between them."""

    async def stream(self, model: Model, context: Context, options: Any = None) -> Any:
        (message,) = context.messages
        assert isinstance(message.content, str)
        for character in message.content:
            await checkpoint()
            yield EventTextDelta(content_index=0, delta=character)
        yield EventDone(reason="stop", message=AssistantMessage(content=[TextContent(text=message.content)]))

    stream_simple = stream


def _prompts(path: Path) -> list[str]:
    """The prompts of the recorded calls, by call_index."""
    return [line["context"]["messages"][0]["content"] for line in lines(path) if line["type"] == "request"]


async def test_calls_of_one_loop_share_a_file_and_keep_the_order_in_which_they_began(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    provider = RecordingProvider(Echo(), path)
    prompts = [f"prompt {index} " + "long " * (index * 7 % 13) for index in range(50)]
    answers: dict[str, str] = {}

    async def call(prompt: str) -> None:
        answers[prompt] = (await provider.stream(MODEL, text_context(prompt))).text

    async with anyio.create_task_group() as group:
        for prompt in prompts:
            group.start_soon(call, prompt)
    assert answers == {prompt: prompt for prompt in prompts}
    assert _prompts(path) == prompts
    order = [line["call_index"] for line in lines(path) if line["type"] == "event"]
    assert order != sorted(order), "the calls were meant to interleave"
    with read_recording_file(path) as recording:
        assert [call.event_count for call in recording.calls] == [len(prompt) + 1 for prompt in prompts]
    for index, prompt in enumerate(prompts):
        own = [line["event"] for line in lines(path) if line["type"] == "event" and line["call_index"] == index]
        assert "".join(event.get("delta", "") for event in own) == prompt


async def test_concurrent_calls_replay_in_the_order_in_which_they_begin(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    prompts = [f"prompt {index}" for index in range(20)]

    async def all_at_once(provider: Any) -> list[list[Any]]:
        received: list[list[Any]] = [[] for _ in prompts]

        async def call(index: int) -> None:
            received[index] = await collect(provider.stream(MODEL, text_context(prompts[index])))

        async with anyio.create_task_group() as group:
            for index in range(len(prompts)):
                group.start_soon(call, index)
        return received

    recorded = await all_at_once(RecordingProvider(Echo(), path))
    with ReplayProvider(path) as provider:
        assert await all_at_once(provider) == recorded
        provider.assert_consumed()


async def test_streams_that_are_entered_in_one_turn_are_numbered_in_that_order(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    provider = RecordingProvider(Echo(), path)
    prompts = ["a" * 5_000, "b", "c" * 1_000, "d"]
    streams = [await provider.stream(MODEL, text_context(prompt)).__aenter__() for prompt in prompts]
    for stream in reversed(streams):
        await stream
    assert _prompts(path) == prompts


def test_loops_in_threads_of_their_own_share_a_file(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    provider = RecordingProvider(Echo(), path)
    failures: list[BaseException] = []

    async def calls(name: str) -> None:
        for index in range(20):
            assert (await provider.stream(MODEL, text_context(f"{name} {index}"))).text == f"{name} {index}"

    def thread(name: str) -> None:
        try:
            asyncio.run(calls(name))
        except BaseException as failure:  # noqa: BLE001 - it is asserted on in the test's own thread
            failures.append(failure)

    threads = [threading.Thread(target=thread, args=(name,)) for name in ("one", "two")]
    for each in threads:
        each.start()
    for each in threads:
        each.join(30)
    assert failures == []
    prompts = _prompts(path)
    assert sorted(prompts) == sorted(f"{name} {index}" for name in ("one", "two") for index in range(20))
    assert [prompt for prompt in prompts if prompt.startswith("one")] == [f"one {index}" for index in range(20)]
    with read_recording_file(path) as recording:
        assert recording.call_count == 40


def test_loops_in_threads_of_their_own_share_a_replay(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"

    async def calls(provider: Any, count: int) -> list[str]:
        return [(await provider.stream(MODEL, text_context("same"))).text for _ in range(count)]

    asyncio.run(calls(RecordingProvider(Echo(), path), 40))
    replay = ReplayProvider(path)
    answers: list[list[str]] = []
    threads = [threading.Thread(target=lambda: answers.append(asyncio.run(calls(replay, 20)))) for _ in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(30)
    assert answers == [["same"] * 20] * 2
    assert sorted(call.call_index for call in replay.verdict.calls) == list(range(40))
    replay.assert_consumed()


async def test_a_consumer_that_does_not_read_holds_its_source_back(tmp_path: Path) -> None:
    source = Source([EventTextDelta(content_index=0, delta=str(index)) for index in range(5_000)] + [DONE])
    async with RecordingProvider(source, tmp_path / "run.jsonl").stream(MODEL, text_context("hi")) as stream:
        await anext(stream)
        await wait_all_tasks_blocked()
        ahead = source.produced
        await wait_all_tasks_blocked()
        assert source.produced == ahead
        assert ahead <= 6 * EVENTS_PER_BATCH  # what may wait behind the source, and a batch in each stage
        for _ in range(500):
            await anext(stream)
        await wait_all_tasks_blocked()
        assert source.produced <= 501 + 6 * EVENTS_PER_BATCH


async def test_a_paced_source_is_not_held_back_for_a_batch(tmp_path: Path) -> None:
    turn = anyio.Event()

    async def answer() -> Any:
        yield EventTextDelta(content_index=0, delta="at once")
        await turn.wait()
        yield DONE

    class Paced(Source):
        def generate(self) -> Any:
            return answer()

    stream = RecordingProvider(Paced([]), tmp_path / "run.jsonl").stream(MODEL, text_context("hi"))
    with fail_after(5):
        first = await anext(stream)
        turn.set()
        await stream
    assert isinstance(first, EventTextDelta)


class CountedSink(RecordingSink):
    """A sink that notes how many events each of its writes holds."""

    def append_events(self, call_index: int, first_index: int, events: Any) -> None:
        super().append_events(call_index, first_index, events)
        sizes.append(len(events))

    def end_call(self, call_index: int, first_index: int, events: Any, *rest: Any) -> None:
        super().end_call(call_index, first_index, events, *rest)
        sizes.append(len(events))


sizes: list[int] = []


async def test_a_source_that_never_waits_is_written_in_batches(tmp_path: Path) -> None:
    sizes.clear()
    events = [EventTextDelta(content_index=0, delta=f"{index} ") for index in range(2_000)]
    with CountedSink(tmp_path / "run.jsonl") as sink:
        stream = RecordingProvider(Source([*events, DONE]), sink).stream(MODEL, text_context("hi"))
        assert await collect(stream) == [*events, DONE]
    assert sum(sizes) == 2_001
    assert len(sizes) <= 2_001 / EVENTS_PER_BATCH * 2


async def test_a_slow_source_is_written_event_by_event(tmp_path: Path) -> None:
    sizes.clear()

    class Slow(Source):
        async def generate(self) -> Any:
            for index in range(5):
                await wait_all_tasks_blocked()
                yield EventTextDelta(content_index=0, delta=f"{index} ")
            await wait_all_tasks_blocked()
            yield DONE

    with CountedSink(tmp_path / "run.jsonl") as sink:
        await RecordingProvider(Slow([]), sink).stream(MODEL, text_context("hi"))
    assert sizes == [1] * 6


async def test_one_call_that_stands_still_holds_back_no_other(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with RecordingSink(path) as sink:
        stuck = RecordingProvider(Source([], anyio.sleep_forever), sink).stream(MODEL, text_context("stuck"))
        waiting = asyncio.create_task(collect(stuck))
        await wait_all_tasks_blocked()
        with fail_after(5):
            assert (await RecordingProvider(Echo(), sink).stream(MODEL, text_context("free"))).text == "free"
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    assert [(end["call_index"], end["outcome"]) for end in call_ends(path)] == [(1, "complete"), (0, "cancelled")]


async def test_a_stream_is_read_by_one_task_at_a_time(tmp_path: Path) -> None:
    stream = RecordingProvider(Source([], anyio.sleep_forever), tmp_path / "run.jsonl").stream(
        MODEL, text_context("hi")
    )
    assert isinstance(stream, EventStream)
    reader = asyncio.create_task(collect(stream))
    await wait_all_tasks_blocked()
    with pytest.raises(RuntimeError, match="read by another task"):
        await anext(stream)
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader


@pytest.mark.parametrize("turns", range(1, 25))
def test_a_loop_that_ends_after_any_number_of_turns_leaves_nothing_open(tmp_path: Path, turns: int) -> None:
    provider = RecordingProvider(Echo(), tmp_path / "run.jsonl")
    call = partial(collect, provider.stream(MODEL, text_context("some words")))
    assert warnings_of_a_loop_left_after(turns, call) == []


@pytest.mark.skipif(sys.version_info < (3, 12), reason="asyncio has eager tasks from 3.12 on")
def test_a_loop_that_starts_its_tasks_eagerly_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    provider = RecordingProvider(Echo(), path)
    prompts = [f"prompt {index}" for index in range(20)]

    async def main() -> None:
        asyncio.get_running_loop().set_task_factory(getattr(asyncio, "eager_task_factory"))  # noqa: B009 - not in 3.11
        async with anyio.create_task_group() as group:
            for prompt in prompts:
                group.start_soon(collect, provider.stream(MODEL, text_context(prompt)))
        async with provider.stream(MODEL, text_context("left at once")):
            pass

    asyncio.run(main())
    assert _prompts(path) == [*prompts, "left at once"]
    assert [end["outcome"] for end in call_ends(path)] == ["complete"] * 20 + ["abandoned"]
