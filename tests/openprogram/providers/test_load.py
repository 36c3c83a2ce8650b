"""Two hundred calls at once, recorded and replayed: none loses an event to another, and none runs away."""

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import wait_all_tasks_blocked
from anyio.lowlevel import checkpoint

from openprogram.pipeline.log.event_lines import EventTexts
from openprogram.pipeline.log.reader import Recording
from openprogram.pipeline.log.writer import RecordingSink
from openprogram.pipeline.streams import EVENTS_PER_BATCH
from openprogram.providers.event_stream import EventStream
from openprogram.providers.recording import RecordingProvider
from openprogram.providers.replay import ReplayProvider, read_recording_file
from openprogram.providers.types import (
    AssistantMessage,
    AssistantMessageEvent,
    Context,
    EventDone,
    EventTextDelta,
    Model,
    TextContent,
)
from tests.openprogram.providers.calls import MODEL, collect, text_context

pytestmark = pytest.mark.anyio

CALLS = 200
EVENTS = 40
PROMPTS = [str(number) for number in range(CALLS)]


class Numbered:
    """Answers prompt `n` with the deltas `n.0`, `n.1`, …, with a pause of another length after each other event.

    `produced`: events taken so far, by prompt.
    """

    def __init__(self, events: int = EVENTS, *, pausing: bool = True, padding: str = "") -> None:
        self._events, self._pausing, self._padding = events, pausing, padding
        self.produced: Counter[str] = Counter()

    async def stream(self, model: Model, context: Context, options: Any = None) -> AsyncIterator[AssistantMessageEvent]:
        prompt = context.messages[0].content
        assert isinstance(prompt, str)
        for event in answer(prompt, self._events, self._padding):
            self.produced[prompt] += 1
            yield event
            for _ in range(self._pausing * (self.produced[prompt] * int(prompt) % 3)):
                await checkpoint()

    stream_simple = stream


def answer(prompt: str, events: int = EVENTS, padding: str = "") -> list[AssistantMessageEvent]:
    """A little longer for each call than for the one before."""
    deltas = [f"{prompt}.{index} {padding}" for index in range(events + int(prompt) % 7)]
    message = AssistantMessage(content=[TextContent(text="".join(deltas))])
    return [
        *(EventTextDelta(content_index=0, delta=delta) for delta in deltas),
        EventDone(reason="stop", message=message),
    ]


async def all_at_once(call: Callable[[str], Awaitable[list[Any]]]) -> dict[str, list[Any]]:
    received: dict[str, list[Any]] = {}

    async def one(prompt: str) -> None:
        received[prompt] = await call(prompt)

    async with anyio.create_task_group() as group:
        for prompt in PROMPTS:
            group.start_soon(one, prompt)
    return received


EXPECTED = {prompt: answer(prompt) for prompt in PROMPTS}


async def test_calls_at_once_into_one_file_lose_and_cross_no_event(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    provider = RecordingProvider(Numbered(), path)
    received = await all_at_once(lambda prompt: collect(provider.stream(MODEL, text_context(prompt))))
    assert received == EXPECTED
    with read_recording_file(path) as recording:
        assert recording.call_count == CALLS
        for call in recording.calls:
            request: Any = recording.request(call.call_index)
            prompt = request["context"]["messages"][0]["content"]
            deltas = [event["delta"] for event in recording.events(call.call_index) if event["type"] == "text_delta"]
            assert deltas == [event.delta for event in EXPECTED[prompt] if isinstance(event, EventTextDelta)]
    with ReplayProvider(path) as replay:
        assert await all_at_once(lambda prompt: collect(replay.stream(MODEL, text_context(prompt)))) == EXPECTED
        replay.assert_consumed()


async def test_calls_at_once_into_files_of_their_own_lose_and_cross_no_event(tmp_path: Path) -> None:
    async def recorded(prompt: str) -> list[AssistantMessageEvent]:
        with RecordingSink(tmp_path / prompt) as sink:
            return await collect(RecordingProvider(Numbered(), sink).stream(MODEL, text_context(prompt)))

    async def replayed(prompt: str) -> list[AssistantMessageEvent]:
        with ReplayProvider(tmp_path / prompt) as provider:
            events = await collect(provider.stream(MODEL, text_context(prompt)))
            provider.assert_consumed()
            return events

    assert await all_at_once(recorded) == EXPECTED
    assert await all_at_once(replayed) == EXPECTED


LONG = 500


async def stall_then_read_on(stream: EventStream, resume: anyio.Event) -> list[AssistantMessageEvent]:
    received = [await anext(stream)]
    await resume.wait()
    return received + await collect(stream)


async def stalled(
    open_stream: Callable[[str], EventStream], look: Callable[[], None], prompts: list[str]
) -> dict[str, list[AssistantMessageEvent]]:
    """Read one event of each call, wait until nothing moves any more, look, and read on."""
    resume, received = anyio.Event(), {}

    async def one(prompt: str) -> None:
        received[prompt] = await stall_then_read_on(open_stream(prompt), resume)

    async with anyio.create_task_group() as group:
        for prompt in prompts:
            group.start_soon(one, prompt)
        await wait_all_tasks_blocked()
        look()
        resume.set()
    return received


async def test_a_recorded_call_whose_consumer_stops_reading_holds_a_batch_a_stage(tmp_path: Path) -> None:
    source = Numbered(LONG, pausing=False)
    provider = RecordingProvider(source, tmp_path / "run.jsonl")
    prompts = PROMPTS[:50]

    def look() -> None:
        assert set(source.produced) == set(prompts)
        # Behind the source, in redaction, in writing, in decoding, and at the consumer; one event is on its way.
        assert max(source.produced.values()) <= 5 * EVENTS_PER_BATCH + 1

    received = await stalled(lambda prompt: provider.stream(MODEL, text_context(prompt)), look, prompts)
    assert received == {prompt: answer(prompt, LONG) for prompt in prompts}


@pytest.fixture
def batches_read(monkeypatch: pytest.MonkeyPatch) -> Counter[int]:
    """Batches of events that were read from files so far, by call_index."""
    count: Counter[int] = Counter()
    event_batches = Recording.event_batches

    def counting(recording: Recording, call_index: int) -> Iterator[list[EventTexts]]:
        for batch in event_batches(recording, call_index):
            count[call_index] += 1
            payloads = [payload for texts in batch for payload in texts.whole()]
            assert sum(map(len, payloads)) <= 1 << 16 or len(payloads) == 1  # a long line is a batch of its own
            yield batch

    monkeypatch.setattr(Recording, "event_batches", counting)
    return count


async def test_a_replayed_call_whose_consumer_stops_reading_holds_a_batch_a_stage(
    tmp_path: Path, batches_read: Counter[int]
) -> None:
    path, prompts, padding = tmp_path / "run.jsonl", PROMPTS[:20], "and so on " * 100
    with RecordingSink(path) as sink:
        for prompt in prompts:
            source = Numbered(LONG, pausing=False, padding=padding)
            await RecordingProvider(source, sink).stream(MODEL, text_context(prompt))

    def look() -> None:
        assert len(batches_read) == len(prompts)
        assert max(batches_read.values()) <= 3  # in reading, in decoding, and at the consumer

    with ReplayProvider(path) as provider:
        received = await stalled(lambda prompt: provider.stream(MODEL, text_context(prompt)), look, prompts)
        provider.assert_consumed()
    assert received == {prompt: answer(prompt, LONG, padding) for prompt in prompts}
    assert min(batches_read.values()) > 6
