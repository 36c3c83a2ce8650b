# ruff: noqa: T201 - a table is what it makes
"""`make bench-peers`: the same session through what people use today, and through us, in the same run.

python -m tests.benchmarks.peers [SESSION …]

Needs the development dependencies (vcrpy, the anthropic SDK). Nothing leaves the machine.
"""

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from openprogram.providers.types import EventTextDelta, EventToolCallDelta
from tests.benchmarks.workload import SESSIONS, Session, session

__all__: list[str] = []

#: Shown name, what `child.py` calls it, and the file it records into or replays.
_ROWS: Final = [
    ("SDK alone, live", "sdk_live", None),
    ("our adapter alone, live", "adapter_live", None),
    ("vcrpy (YAML) records", "vcr_record", "cassette.yaml"),
    ("vcrpy (JSON) records", "vcr_record", "cassette.json"),
    ("openprogram records", "our_record", "run.jsonl"),
    ("vcrpy (YAML) replays", "vcr_replay", "cassette.yaml"),
    ("vcrpy (JSON) replays", "vcr_replay", "cassette.json"),
    ("openprogram replays", "our_replay", "run.jsonl"),
]
#: Rounds of all of them; of the large session fewer.
_ROUNDS: Final = {"large": 3}
_ROUNDS_ELSE: Final = 5
_HEADER: Final = (
    "| session | what | CPU an event | events a CPU second | events/s | first event | extra peak memory | file |\n"
    "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |"
)


class Run(NamedTuple):
    """One process. `seconds`, `cpu`, `first`: seconds; `kib`: peak memory over that of before; `size`: file bytes."""

    seconds: float
    cpu: float
    first: float
    kib: int
    size: int


def main(names: list[str]) -> None:
    unknown = [name for name in names if name not in SESSIONS]
    if unknown:
        sys.exit(f"no such session: {', '.join(unknown)}; there are: {', '.join(SESSIONS)}")
    print(f"medians of {_ROUNDS_ELSE} rounds, of the large session {_ROUNDS['large']} (lowest to highest);")
    print("each figure is a process of its own, and a round has one of each\n")
    print(_HEADER)
    for name in names or SESSIONS:
        with tempfile.TemporaryDirectory() as folder:
            _rows(name, Path(folder))


def _rows(name: str, folder: Path) -> None:
    played = session(*SESSIONS[name])
    count = played.event_count
    runs: dict[str, list[Run]] = {shown: [] for shown, _, _ in _ROWS}
    with _server(name) as url:
        for _ in range(_ROUNDS.get(name, _ROUNDS_ELSE)):  # in turns: a machine that slows down slows all of them
            for shown, way, file in _ROWS:
                runs[shown].append(_run(way, name, played, url, folder / (file or "none")))
    median = {shown: Run(*map(statistics.median, zip(*rounds, strict=True))) for shown, rounds in runs.items()}
    for shown, one in median.items():
        cpu = [run.cpu / count * 1e6 for run in runs[shown]]
        cells = [
            name,
            shown,
            f"{one.cpu / count * 1e6:.1f} µs ({min(cpu):.1f} to {max(cpu):.1f})",
            f"{count / one.cpu:,.0f}",
            f"{count / one.seconds:,.0f}",
            f"{one.first * 1000:,.0f} ms",
            f"{one.kib / 1024:.1f} MiB",
            f"{one.size / 1e6:.1f} MB" if one.size else "",
        ]
        print(f"| {' | '.join(cells)} |", flush=True)
    ours = median["openprogram replays"]
    for peer in ("vcrpy (YAML) replays", "vcrpy (JSON) replays"):
        times, kib = median[peer].cpu / ours.cpu, median[peer].kib
        memory = f"{ours.kib / kib:.2f} of it" if kib > 1024 else ""
        print(f"| {name} | ours to {peer} | 1/{times:.1f} | {times:.1f}× | | | {memory} | |", flush=True)


@contextmanager
def _server(name: str) -> Iterator[str]:
    command = [sys.executable, "-m", "tests.benchmarks.peers.server", name]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        yield server.stdout.readline().strip()
        server.stdin.close()


def _run(way: str, name: str, played: Session, url: str, path: Path) -> Run:
    if "record" in way:
        path.unlink(missing_ok=True)
    command = [sys.executable, "-m", "tests.benchmarks.peers.child", way, name, url, str(path)]
    run: dict[str, Any] = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    expected = sum(isinstance(e, EventTextDelta | EventToolCallDelta) for answer in played.answers for e in answer)
    assert run["deltas"] == expected, f"{way}: {run} are not {expected} deltas"
    size = path.stat().st_size if path.exists() else 0
    return Run(run["seconds"], run["cpu"], run["first"], run["kib"], size)


if __name__ == "__main__":
    main(sys.argv[1:])
