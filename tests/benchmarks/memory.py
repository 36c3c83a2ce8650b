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
import gc, json, sys, time
import anyio
from openprogram.providers.replay import ReplayProvider
from tests.benchmarks.workload import MODEL, SESSIONS, session

path = sys.argv[1]
contexts = session(*SESSIONS["large"]).contexts

def kib(name):
    with open("/proc/self/status") as status:
        return int(next(line for line in status if line.startswith(name)).split()[1])

gc.collect()
with open("/proc/self/clear_refs", "w") as peak:
    peak.write("5")  # the peak starts anew: what made the session is not the replay's
before = kib("VmRSS")

async def main():
    started = time.perf_counter()
    provider = ReplayProvider(path)
    opened = time.perf_counter() - started
    first = None
    for context in contexts:
        async for _ in provider.stream_simple(MODEL, context):
            first = first or time.perf_counter() - started
    provider.assert_consumed()
    print(json.dumps({"kib": kib("VmHWM") - before, "opened": opened, "first": first}))
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
            f"{found['kib'] / 1024:.0f} MiB more than before",
            f"≤ {allowed:.0f} MB",
        ),
        ("large: first event / opening", f"{found['first'] / found['opened']:.2f}", "≤ 1.3"),
    ]
