"""`make bench`: ratios of CPU time to floors measured in the same run. The result goes to docs/benchmarks.md by hand.

python -m tests.benchmarks [SESSION …]
"""

import math
import os
import statistics
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import anyio

from openprogram.providers.recording import RecordingProvider
from openprogram.providers.replay import ReplayProvider, read_recording_file
from tests.benchmarks.floors import dump_and_write, parse_every_line, validate_every_event
from tests.benchmarks.live import live_rows
from tests.benchmarks.load import load_rows
from tests.benchmarks.measure import Timing, measure
from tests.benchmarks.memory import memory_rows
from tests.benchmarks.paced import paced_rows
from tests.benchmarks.redaction import redaction_rows
from tests.benchmarks.requests import request_rows
from tests.benchmarks.scenarios import scenario_rows
from tests.benchmarks.start import start_rows
from tests.benchmarks.workload import MODEL, SESSIONS, Session, SessionProvider, session

_HEADER = (
    "| session | events | record / write | µs an event | open / parse | ms | replay / validate | replay / parse "
    "| events/s |\n"
    "| --- | ---: | --- | ---: | --- | ---: | --- | --- | ---: |"
)


def main(names: list[str]) -> None:
    """Print the table, a row a session."""
    unknown = [name for name in names if name not in SESSIONS]
    if unknown:
        sys.exit(f"no such session: {', '.join(unknown)}; there are: {', '.join(SESSIONS)}")
    print("medians of five runs (lowest to highest); floors: see tests/benchmarks/floors.py\n")  # noqa: T201
    print(_HEADER)  # noqa: T201
    with tempfile.TemporaryDirectory() as folder:
        for name in names or SESSIONS:
            print(_row(name, session(*SESSIONS[name]), Path(folder)), flush=True)  # noqa: T201
        if not names:
            _print_the_rest(Path(folder))


def _print_the_rest(folder: Path) -> None:
    print("\n| what | measured | goal |\n| --- | --- | --- |")  # noqa: T201
    parts: list[Callable[[], list[tuple[str, str, str]]]] = [
        partial(paced_rows, folder),
        partial(live_rows, folder),
        request_rows,
        partial(_growth_rows, folder),
        redaction_rows,
        partial(memory_rows, folder),
        partial(load_rows, folder),
        start_rows,
        scenario_rows,
    ]
    for rows in parts:
        for name, measured, goal in rows():
            print(f"| {name} | {measured} | {goal} |", flush=True)  # noqa: T201


def _growth_rows(folder: Path) -> list[tuple[str, str, str]]:
    """CPU of recording a session of twice the calls, as an exponent: 1 is linear.

    The kernel's share is shown too, beside what it takes for a plain loop that writes the same bytes and syncs them as
    often: four times the bytes are written, and memory that a virtual machine never touched before costs it several
    times as much as other memory.
    """
    (total, ours, alone), (total_of_twice, ours_of_twice, alone_of_twice) = [
        [statistics.median(seconds) for seconds in zip(*_record_cpu(calls, folder / "growth.jsonl"), strict=True)]
        for calls in (200, 400)
    ]
    measured = f"{math.log2(total_of_twice / total):.2f}, without the kernel {math.log2(ours_of_twice / ours):.2f}"
    kernel = f"{total - ours:.2f} s and {total_of_twice - ours_of_twice:.2f} s ({alone:.2f} and {alone_of_twice:.2f})"
    return [
        ("growth exponent, 200 to 400 calls", measured, "≤ 1.4"),
        ("the kernel's share (of the same bytes written alone)", kernel, ""),
    ]


def _record_cpu(calls: int, path: Path) -> list[tuple[float, float, float]]:
    """CPU seconds of recording, of three runs: all of it, without the kernel's, and of writing the same bytes alone."""
    taken, played = [], session(calls, 600, 2000)
    for _ in range(3):
        before = os.times()
        anyio.run(_record, played, path)
        after = os.times()
        ours = after.user - before.user
        taken.append((ours + after.system - before.system, ours, _write_alone(path)))
        path.unlink()  # a gigabyte: not for nothing, and no part of recording
    return taken


def _write_alone(path: Path) -> float:
    """CPU seconds of the kernel for a file of the same lines, each call's in one write, with a sync behind it."""
    calls, end = [], 0
    with path.open("rb") as recorded:
        for line in recorded:
            end += len(line)
            if line.startswith(b'{"type":"call_end"'):
                calls.append(end)
    content, start = memoryview(path.read_bytes()), 0
    before = os.times()
    with path.with_suffix(".floor").open("wb", buffering=0) as file:
        for end in calls:
            file.write(content[start:end])
            os.fsync(file.fileno())
            start = end
    after = os.times()
    path.with_suffix(".floor").unlink()
    return after.system - before.system


def _row(name: str, played: Session, folder: Path) -> str:
    path, floor_path = folder / f"{name}.jsonl", folder / f"{name}.floor"
    record, written = measure(
        lambda: anyio.run(_record, played, path),
        lambda: dump_and_write(played, floor_path),
        prepare=lambda: path.unlink(missing_ok=True),
    )
    opened, replay, parsed, validated = measure(
        lambda: read_recording_file(path).close(),
        lambda: anyio.run(_replay, played, path),
        lambda: parse_every_line(path),
        lambda: validate_every_event(path),
    )
    count = played.event_count
    cells = [
        name,
        f"{count:,}",
        record.ratio(written),
        f"{_per_event(record, count):.1f}",
        opened.ratio(parsed),
        f"{opened.median * 1000:.0f}",
        replay.ratio(validated),
        replay.ratio(parsed),
        f"{count / replay.median:,.0f}",
    ]
    return f"| {' | '.join(cells)} |"


def _per_event(timing: Timing, count: int) -> float:
    return timing.median / count * 1e6


async def _record(played: Session, path: Path) -> None:
    provider = RecordingProvider(SessionProvider(played), path)
    for context in played.contexts:
        async for _ in provider.stream_simple(MODEL, context):
            pass
    provider.close()


async def _replay(played: Session, path: Path) -> None:
    with ReplayProvider(path) as provider:
        for context in played.contexts:
            async for _ in provider.stream_simple(MODEL, context):
                pass
        provider.assert_consumed()


if __name__ == "__main__":
    main(sys.argv[1:])
