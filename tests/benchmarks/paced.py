"""What recording adds to an event that the provider sends at its own pace, one every 2 ms."""

import asyncio
import statistics
import time
from collections.abc import AsyncIterator
from pathlib import Path

import anyio

from openprogram.providers.recording import RecordingProvider
from openprogram.providers.types import (
    AssistantMessageEvent,
    Context,
    EventTextDelta,
    Model,
    SimpleStreamOptions,
    StreamOptions,
)
from tests.benchmarks.workload import MODEL, Session, session

__all__ = ["paced_rows"]

_PACE_S = 0.002


class _PacedProvider:
    """Plays one answer at that pace. `sent`: when each event was yielded, in seconds."""

    def __init__(self, played: Session) -> None:
        self._events = played.answers[0]
        self.sent: list[float] = []

    async def stream(
        self, model: Model, context: Context, options: StreamOptions | None = None
    ) -> AsyncIterator[AssistantMessageEvent]:
        for event in self._events:
            await asyncio.sleep(_PACE_S)
            self.sent.append(time.perf_counter())
            yield event

    async def stream_simple(
        self, model: Model, context: Context, options: SimpleStreamOptions | None = None
    ) -> AsyncIterator[AssistantMessageEvent]:
        async for event in self.stream(model, context, options):
            yield event


def paced_rows(folder: Path) -> list[tuple[str, str, str]]:
    """Name, measured, goal. Of events that waited for no undecided secret, terminal ones left out."""
    played = session(1, 1500, 500)
    bare_cpu, bare = _run(played, None)
    cpu, added = _run(played, folder / "paced.jsonl")
    base = statistics.median(bare)
    over = sorted(delay - base for delay in added)
    median, p99 = statistics.median(over), over[int(len(over) * 0.99)]
    per_event = (cpu - bare_cpu) / len(added)
    return [
        ("paced: added at the median", f"{median * 1000:.3f} ms", "≤ 0.25 ms"),
        ("paced: added at p99", f"{p99 * 1000:.3f} ms", "≤ 1 ms"),
        ("paced: CPU added an event", f"{per_event * 1000:.3f} ms", "≤ 0.25 ms"),
    ]


def _run(played: Session, path: Path | None) -> tuple[float, list[float]]:
    """CPU seconds, and how long each text delta took from the provider to the consumer."""
    provider = _PacedProvider(played)

    async def consume() -> list[float]:
        chosen = provider if path is None else RecordingProvider(provider, path)
        delays, index = [], 0
        async for event in chosen.stream_simple(MODEL, played.contexts[0]):
            # An event that was sent after this one arrived together with it: this one had waited.
            if isinstance(event, EventTextDelta) and len(provider.sent) == index + 1:
                delays.append(time.perf_counter() - provider.sent[index])
            index += 1
        return delays

    started = time.process_time()
    delays = anyio.run(consume)
    return time.process_time() - started, delays
