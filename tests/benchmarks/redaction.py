"""How fast redaction is on ordinary input, cold, and how many streamed deltas wait."""

import statistics
import time
from collections.abc import Callable
from typing import Any

from openprogram.pipeline.redaction import StreamRedactor, redact
from openprogram.providers.codec import ProviderRequestCodec
from tests.benchmarks.workload import MODEL, session

__all__ = ["redaction_rows"]

_PROSE = (
    "The agent reads the file, counts the tokens it may use, and asks the tool for the rest. A key idea is that the "
    "same request gives the same answer; what differs between two runs is told apart by its path. Nobody has to "
    "remember a password for that, since the session is replayed and the service is never asked.\n"
)


def redaction_rows() -> list[tuple[str, str, str]]:
    """Name, measured, goal."""
    request: Any = ProviderRequestCodec().dump((MODEL, session(40, 300, 1500).contexts[-1], None))
    text = _PROSE * 1500
    size = len(str(request).encode())
    deltas = [text[at : at + 16] for at in range(0, 64_000, 16)]
    waited, longest = _waiting(deltas)
    per_delta = _seconds(lambda: _feed_each(deltas)) / len(deltas)
    return [
        ("redaction, agent-like request", f"{size / _seconds(lambda: redact(request)) / 1e6:.0f} MB/s", "≥ 25 MB/s"),
        ("redaction, prose", f"{len(text) / _seconds(lambda: redact(text)) / 1e6:.0f} MB/s", "≥ 25 MB/s"),
        ("redaction, a delta alone", f"{per_delta * 1e6:.1f} µs", "≤ 50 µs"),
        ("prose deltas that wait", f"{waited:.1%}, {longest} events at the most", "≤ 15 %, ≤ 4"),
    ]


def _seconds(run: Callable[[], object]) -> float:
    times = []
    for _ in range(7):
        started = time.process_time()
        run()
        times.append(time.process_time() - started)
    return statistics.median(times)


def _feed_each(deltas: list[str]) -> None:
    redactor = StreamRedactor()
    for delta in deltas:
        redactor.feed({"type": "text_delta", "content_index": 0, "delta": delta})


def _waiting(deltas: list[str]) -> tuple[float, int]:
    redactor, waited, longest = StreamRedactor(), 0, 0
    for delta in deltas:
        redactor.feed({"type": "text_delta", "content_index": 0, "delta": delta})
        waited += redactor.waiting > 0
        longest = max(longest, redactor.waiting)
    return waited / len(deltas), longest
