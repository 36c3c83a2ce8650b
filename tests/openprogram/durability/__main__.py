"""`make durability`: what the tests of this folder take samples of, whole. Exits 1 where something does not hold.

`python -m tests.openprogram.durability [KILLS [SEED]]`: every system call of every command fails, once and for good,
and is one at which what writes a new file is killed. A recording of 250 MB is killed at so many random places, by
default 10; the seed is printed, and behind `KILLS` it does the same again.
"""

import io
import random
import sys
import tempfile
import traceback
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path

from tests.benchmarks.workload import SESSIONS, session
from tests.openprogram.durability.commands import CHANGING, READING
from tests.openprogram.durability.sessions import record_anew
from tests.openprogram.durability.test_commands import check_reads, check_writes, preloaded, runs
from tests.openprogram.durability.test_kill import check, kills


def main(count: str = "10", seed: str | None = None) -> int:
    """The exit code."""
    chosen = int(seed) if seed is not None else random.randrange(2**32)
    done = [
        _told("failing calls of what reads and records", _reads),
        _told("failing calls and kills of what writes a new file", _writes),
        _told(f"kills of the large session, seed {chosen}", lambda folder: _large(folder, chosen, int(count))),
    ]
    return 0 if all(done) else 1


def _told(name: str, do: Callable[[Path], int]) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        shown = io.StringIO()
        try:
            with redirect_stdout(shown):
                count = do(Path(folder))
        except AssertionError:
            print(f"{name}: FAILED\n{shown.getvalue()[-2000:]}\n{traceback.format_exc()}")  # noqa: T201
            return False
    print(f"{name}: {count} hold")  # noqa: T201
    return True


def _library(folder: Path) -> Path:
    library = preloaded(folder)
    assert library is not None, "needs Linux and a C compiler"
    return library


def _reads(folder: Path) -> int:
    return check_reads(runs(_library(folder), folder, "all reads", *READING))


def _writes(folder: Path) -> int:
    return check_writes(runs(_library(folder), folder, "all writes", *CHANGING))


def _large(folder: Path, seed: int, count: int) -> int:
    played = session(*SESSIONS["large"])
    expected = record_anew(played, folder / "expected.jsonl")
    checked = 0
    for kill in kills("large", 0, folder, seed, count, len(played.contexts)):
        check(kill, expected, played)
        checked += 1
    assert checked == count
    return checked


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
