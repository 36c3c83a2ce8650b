"""What replaying a large recording takes, in a process of its own: peak memory over an idle one, first event."""

import json
import subprocess
import sys
from pathlib import Path

import anyio

from openprogram.providers.recording import RecordingProvider
from tests.benchmarks.workload import MODEL, SESSIONS, SessionProvider, session

__all__ = ["memory_rows"]

_CHILD = """
import json, resource, sys, time
import anyio
from openprogram.providers.replay import ReplayProvider
from tests.benchmarks.workload import MODEL, SESSIONS, session

path = sys.argv[1]
contexts = session(*SESSIONS["large"]).contexts
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
async def main():
    started = time.perf_counter()
    provider = ReplayProvider(path)
    opened = time.perf_counter() - started
    first = None
    for context in contexts:
        async for _ in provider.stream_simple(MODEL, context):
            first = first or time.perf_counter() - started
    provider.assert_consumed()
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"kib": after - before, "opened": opened, "first": first}))
anyio.run(main)
"""


def memory_rows(folder: Path) -> list[tuple[str, str, str]]:
    """Name, measured, goal."""
    path = folder / "memory.jsonl"
    played = session(*SESSIONS["large"])

    async def record() -> None:
        provider = RecordingProvider(SessionProvider(played), path)
        for context in played.contexts:
            await provider.stream_simple(MODEL, context)
        provider.close()

    anyio.run(record)
    command = [sys.executable, "-c", _CHILD, str(path)]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    lines = played.event_count + 2 * len(played.contexts) + 1
    allowed = 40 + 24 * lines / 1e6
    return [
        (
            "large: peak memory of a replay",
            f"{found['kib'] / 1024:.0f} MiB over an idle process",
            f"≤ {allowed:.0f} MB",
        ),
        ("large: first event / opening", f"{found['first'] / found['opened']:.2f}", "≤ 1.3"),
    ]
