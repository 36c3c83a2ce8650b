"""kill -9 at every write of a recording: what its consumer had seen is there, and everybody after it can go on."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.openprogram.durability.killed import beginning
from tests.openprogram.durability.sessions import check_everything, record_anew

ROOT = Path(__file__).resolve().parents[3]


def kills(name: str, pause: int, folder: Path, *chosen: int) -> Iterator[dict[str, Any]]:
    """What `killed.py` reports, while it goes on with the next kill."""
    arguments = map(str, (name, pause, folder, *chosen))
    command = [sys.executable, "-m", "tests.openprogram.durability.killed", *arguments]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        yield from map(json.loads, child.stdout)
    assert child.returncode == 0


def check(kill: dict[str, Any], expected: Any, played: Any) -> None:
    sys.stdout.write(f"{kill}\n")  # shown where the test fails
    path = Path(kill["path"])
    check_everything(path, expected, kill["received"], kill["acknowledged"], played)
    path.unlink(missing_ok=True)


@pytest.mark.parametrize("pause", [0, 4], ids=["in bursts, at every place", "four events at a time"])
def test_a_kill_at_any_write_loses_nothing_that_was_seen(tmp_path: Path, pause: int) -> None:
    played = beginning("small")
    expected = record_anew(played, tmp_path / "expected.jsonl")
    seen = []
    for kill in kills("small", pause, tmp_path):
        check(kill, expected, played)
        seen.append((kill["number"], kill["operation"], len(kill["acknowledged"])))
    numbers = {number for number, _, _ in seen}
    assert numbers == set(range(len(numbers)))
    assert {operation for _, operation, _ in seen} == {"write", "fsync"}
    # A header, each call's request, its events and its end, and a sync a call, one for the header, one for its folder.
    assert len(numbers) >= (1 + 8 * 3) + (8 + 2)
    assert {acknowledged for _, _, acknowledged in seen} == set(range(8))


@pytest.mark.parametrize(("name", "count"), [("medium", 4), ("stream-heavy", 2), ("large", 2)])
def test_a_kill_anywhere_in_a_longer_session_loses_nothing_that_was_seen(tmp_path: Path, name: str, count: int) -> None:
    played = beginning(name)
    expected = record_anew(played, tmp_path / "expected.jsonl")
    seed = 20250 if os.environ.get("CI") else random.randrange(2**32)
    checked = 0
    for kill in kills(name, 0, tmp_path, seed, count):
        check(kill, expected, played)
        checked += 1
    assert checked == count
