"""Two hundred calls at once in one event loop, into one recording and into one each, beside one after the other."""

import time
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import TypeAlias

import anyio

from openprogram.providers.recording import RecordingProvider
from openprogram.providers.replay import ReplayProvider
from openprogram.providers.types import (
    AssistantMessageEvent,
    Context,
    Model,
    SimpleStreamOptions,
    StreamOptions,
    UserMessage,
)
from tests.benchmarks.workload import MODEL, Session, session

__all__ = ["load_rows"]

Providers: TypeAlias = Sequence[RecordingProvider] | Sequence[ReplayProvider]

_CALLS = 200
_EVENTS = 100


class _ByPrompt:
    """Answers each prompt with its own events, always ready."""

    def __init__(self, answers: Sequence[list[AssistantMessageEvent]]) -> None:
        self._answers = answers

    async def stream(
        self, model: Model, context: Context, options: StreamOptions | None = None
    ) -> AsyncIterator[AssistantMessageEvent]:
        for event in self._answers[int(str(context.messages[0].content))]:
            yield event

    async def stream_simple(
        self, model: Model, context: Context, options: SimpleStreamOptions | None = None
    ) -> AsyncIterator[AssistantMessageEvent]:
        async for event in self.stream(model, context, options):
            yield event


def load_rows(folder: Path) -> list[tuple[str, str, str]]:
    """Name, measured, goal: µs of CPU an event. That no event is lost or crossed is checked in every run."""
    played = session(_CALLS, _EVENTS, 0)
    live = _ByPrompt(played.answers)
    one, own = folder / "load.jsonl", [folder / f"load-{number}.jsonl" for number in range(_CALLS)]
    after = folder / "load-after.jsonl"
    rows = [
        ("recorded, one after the other", _microseconds(played, lambda: [RecordingProvider(live, after)], limit=1)),
        ("recorded at once, one file", _microseconds(played, lambda: [RecordingProvider(live, one)])),
        ("recorded at once, a file each", _microseconds(played, lambda: [RecordingProvider(live, p) for p in own])),
        ("replayed, one after the other", _microseconds(played, lambda: [ReplayProvider(after)], limit=1)),
        ("replayed at once, one file", _microseconds(played, lambda: [ReplayProvider(one)])),
        ("replayed at once, a file each", _microseconds(played, lambda: [ReplayProvider(p) for p in own])),
    ]
    return [(f"{_CALLS} calls {name}", f"{cost:.1f} µs CPU an event", "") for name, cost in rows]


def _microseconds(played: Session, open_all: Callable[[], Providers], limit: int = _CALLS) -> float:
    started = time.process_time()
    anyio.run(_run, played, open_all, limit)
    return (time.process_time() - started) / played.event_count * 1e6


async def _run(played: Session, open_all: Callable[[], Providers], limit: int) -> None:
    providers = open_all()
    turns = anyio.CapacityLimiter(limit)

    async def call(number: int) -> None:
        async with turns:
            context = Context(messages=[UserMessage(content=str(number), timestamp=1)])
            stream = providers[number % len(providers)].stream_simple(MODEL, context)
            assert [event async for event in stream] == played.answers[number]

    async with anyio.create_task_group() as group:
        for number in range(_CALLS):
            group.start_soon(call, number)
    for provider in providers:
        provider.close()
