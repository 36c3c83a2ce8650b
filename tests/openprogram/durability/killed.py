# ruff: noqa: T201 - printing is how it answers
"""Records a session again and again, and is killed each time at another place of another write.

`python -m tests.openprogram.durability.killed SESSION PAUSE FOLDER [SEED COUNT [CALLS]]`: a warm process that forks
for each kill, and prints a JSON object for each: what was killed where, the file, and what had reached the consumer.
Without a seed, every operation is killed: `PAUSE` 0 is a source that is always ready, and then each is killed at every
place; otherwise the source pauses after so many events, and the places take turns. With a seed, `COUNT` random ones, of
the first 60 calls or `CALLS`.
"""

import gc
import itertools
import json
import os
import random
import signal
import sys
from pathlib import Path
from typing import Any

import anyio

from tests.benchmarks.workload import SESSIONS, Session, session
from tests.openprogram.durability.operations import Operation, intercepted
from tests.openprogram.durability.sessions import Progress, record

__all__ = ["PLACES", "beginning"]

_CALLS = 60


def _line_end(data: bytes) -> int:
    """Behind a line within the write, or in the middle of its only one."""
    return data.find(b"\n", 0, -1) + 1 or len(data) // 2


#: Where in a write of `data` the process dies: after how many of its bytes.
PLACES = {
    "before": lambda data: 0,
    "after a byte": lambda data: 1,
    "at a line's end": _line_end,
    "in the middle": lambda data: len(data) * 2 // 3,
    "before the last byte": lambda data: len(data) - 1,
    "after": len,
}


def beginning(name: str, calls: int = _CALLS) -> Session:
    """The session, but of the large one the first calls only: its file would be 250 MB, read several times."""
    played = session(*SESSIONS[name])
    return Session(played.contexts[:calls], played.answers[:calls])


def main(
    name: str, pause: str, folder: str, seed: str | None = None, count: str = "0", calls: str = str(_CALLS)
) -> None:
    played, pause_every = beginning(name, int(calls)), int(pause) or None
    kinds = _operations(played, Path(folder) / "whole.jsonl", pause_every)
    kills = [(number, place) for number, kind in enumerate(kinds) for place in _places(kind)]
    if seed is not None:
        kills = random.Random(int(seed)).sample(kills, int(count))
    elif pause_every is not None:
        turns = itertools.cycle(PLACES)
        kills = [(number, next(turns) if kind == "write" else "before") for number, kind in enumerate(kinds)]
    gc.freeze()  # what is here stays: the forks need not look at it
    for number, place in kills:
        path = Path(folder) / f"{number}-{place.replace(' ', '-')}.jsonl"
        print(json.dumps({"operation": kinds[number], **_kill(played, path, pause_every, number, place)}), flush=True)


def _places(kind: str) -> list[str]:
    return list(PLACES) if kind == "write" else ["before", "after"]


def _operations(played: Session, path: Path, pause_every: int | None) -> list[str]:
    kinds: list[str] = []

    def note(operation: Operation) -> Any:
        kinds.append(operation.kind)
        return operation.do()

    with intercepted(note):
        anyio.run(record, played, path, Progress(len(played.contexts)), pause_every)
    path.unlink()
    return kinds


def _kill(played: Session, path: Path, pause_every: int | None, number: int, place: str) -> dict[str, Any]:
    progress = Progress(len(played.contexts))
    child = os.fork()
    if not child:
        _record_until_killed(played, path, progress, pause_every, number, place)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL, f"operation {number} {place}: it lived on"
    return {
        "number": number,
        "place": place,
        "path": str(path),
        "received": progress.received,
        "acknowledged": progress.acknowledged,
    }


def _record_until_killed(
    played: Session, path: Path, progress: Progress, pause_every: int | None, number: int, place: str
) -> None:
    def die(operation: Operation) -> Any:
        if operation.number != number:
            return operation.do()
        if length := PLACES[place](operation.data) if operation.kind == "write" else place == "after":
            operation.do(length)
        return os.kill(os.getpid(), signal.SIGKILL)

    try:
        with intercepted(die):
            anyio.run(record, played, path, progress, pause_every)
    finally:
        os._exit(1)  # never back into the loop of the parent


if __name__ == "__main__":
    main(*sys.argv[1:])
