"""The airline example: recorded agents, again, in a controlled world."""

import json
import subprocess
import sys
from pathlib import Path

from tests.shared_data import shared

PROGRAM = Path(__file__).parents[2] / "docs/examples/airline/replay.py"


def replay(*arguments: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, PROGRAM, *arguments], capture_output=True, text=True, check=False)


def test_recorded_observations_and_verdicts_come_out_again(tmp_path: Path) -> None:
    trajectories = tmp_path / "some.jsonl"
    lines = shared("airline", "trajectories.jsonl").read_text().splitlines()
    trajectories.write_text("\n".join(lines[::7]))  # all of them: make airline
    done = replay(shared("airline"), trajectories)
    assert done.stderr == ""
    assert done.returncode == 0
    assert f"trajectories          {len(lines[::7])}, 0 different" in done.stdout


def test_without_the_data_the_example_says_what_it_needs_and_what_the_checkout_lacks(tmp_path: Path) -> None:
    done = replay(tmp_path / "airline")
    assert done.returncode == 1
    assert f"there is no {tmp_path}/airline/users.json" in done.stderr
    assert f"no {tmp_path}/airline/trajectories.jsonl" in done.stderr
    assert "The checkout does\nnot hold that data" in done.stderr
    assert "make airline AIRLINE=FOLDER" in done.stderr
    assert "Traceback" not in done.stderr
    only_the_file = replay(shared("airline"), tmp_path / "none.jsonl")
    assert only_the_file.stderr.startswith(f"error: there is no {tmp_path}/none.jsonl\n")
    assert "which folder" in replay().stderr


def test_an_observation_that_was_recorded_otherwise_is_named_and_fails(tmp_path: Path) -> None:
    trajectories = tmp_path / "changed.jsonl"
    first = shared("airline", "trajectories.jsonl").read_text().splitlines()[0]
    assert "total price is 305" in first
    trajectories.write_text(first.replace("total price is 305", "total price is 306"))
    done = replay(shared("airline"), trajectories)
    assert done.returncode == 1
    assert "airline-0-0: observation" in done.stderr
    assert "total price is 305" in done.stderr


def test_a_verdict_that_was_recorded_otherwise_fails(tmp_path: Path) -> None:
    trajectories = tmp_path / "changed.jsonl"
    first = json.loads(shared("airline", "trajectories.jsonl").read_text().splitlines()[0])
    trajectories.write_text(json.dumps(first | {"reward_actions": not first["reward_actions"]}))
    done = replay(shared("airline"), trajectories)
    assert done.returncode == 1
    assert "the verdict is not the recorded one" in done.stderr
