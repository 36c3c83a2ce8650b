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
_RUNS: Final = 3
_HEADER: Final = (
    "| session | what | events/s | CPU an event | first event | extra peak memory | file |\n"
    "| --- | --- | ---: | ---: | ---: | ---: | ---: |"
)


class Found(NamedTuple):
    """Medians. `seconds`, `cpu`, `first`: seconds; `kib`: peak memory over that of before; `size`: the file's bytes."""

    seconds: float
    cpu: float
    first: float
    kib: float
    size: int


def main(names: list[str]) -> None:
    unknown = [name for name in names if name not in SESSIONS]
    if unknown:
        sys.exit(f"no such session: {', '.join(unknown)}; there are: {', '.join(SESSIONS)}")
    print(f"medians of {_RUNS} runs, of the large session one; each run a process of its own\n")
    print(_HEADER)
    for name in names or SESSIONS:
        with tempfile.TemporaryDirectory() as folder:
            _rows(name, Path(folder))


def _rows(name: str, folder: Path) -> None:
    played = session(*SESSIONS[name])
    found: dict[str, Found] = {}
    with _server(name) as url:
        for shown, way, file in _ROWS:
            found[shown] = one = _measured(way, name, played, url, folder / (file or "none"))
            size = f"{one.size / 1e6:.1f} MB" if file else ""
            rate = f"{played.event_count / one.seconds:,.0f}"
            cpu = f"{one.cpu / played.event_count * 1e6:,.0f} µs"
            memory = f"{one.kib / 1024:.0f} MiB"
            print(f"| {name} | {shown} | {rate} | {cpu} | {one.first * 1000:,.0f} ms | {memory} | {size} |", flush=True)
    ours = found["openprogram replays"]
    for peer in ("vcrpy (YAML) replays", "vcrpy (JSON) replays"):
        faster, cheaper = found[peer].seconds / ours.seconds, found[peer].cpu / ours.cpu
        share = f"{ours.kib / found[peer].kib:.2f} of it" if found[peer].kib > 1024 else ""
        print(f"| {name} | ours to {peer} | {faster:.1f}× | 1/{cheaper:.1f} | | {share} | |", flush=True)


@contextmanager
def _server(name: str) -> Iterator[str]:
    command = [sys.executable, "-m", "tests.benchmarks.peers.server", name]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        yield server.stdout.readline().strip()
        server.stdin.close()


def _measured(way: str, name: str, played: Session, url: str, path: Path) -> Found:
    runs = []
    for _ in range(1 if name == "large" else _RUNS):
        if "record" in way:
            path.unlink(missing_ok=True)
        runs.append(_run(way, name, url, path))
    expected = sum(isinstance(e, EventTextDelta | EventToolCallDelta) for answer in played.answers for e in answer)
    assert all(run["deltas"] == expected for run in runs), f"{way}: {runs} are not {expected} deltas"
    keys = ("seconds", "cpu", "first", "kib")
    seconds, cpu, first, kib = (statistics.median(run[key] for run in runs) for key in keys)
    return Found(seconds, cpu, first, kib, path.stat().st_size if path.exists() else 0)


def _run(way: str, name: str, url: str, path: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.benchmarks.peers.child", way, name, url, str(path)]
    answer: dict[str, Any] = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    return answer


if __name__ == "__main__":
    main(sys.argv[1:])
