"""What commands, replay and recording do where a system call fails beneath them, or kills them.

Below Python, by a library in C that is preloaded: it needs Linux and a C compiler.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.openprogram.durability.commands import CHANGING, READING, Faults

__all__ = ["check_reads", "check_writes", "preloaded", "runs"]

ROOT = Path(__file__).resolve().parents[3]
SOURCE = Path(__file__).with_name("faults.c")

#: What the system calls the errors that are put in.
REASONS = ("Input/output error", "Stale file handle", "no space is left on the device")


def preloaded(folder: Path) -> Path | None:
    """The library, built; None where it can't be."""
    compiler = shutil.which("cc")
    if compiler is None or not sys.platform.startswith("linux"):
        return None
    library = folder / "faults.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, SOURCE, "-ldl"], check=True)
    return library


def runs(library: Path, folder: Path, faults: Faults, *names: str) -> Iterator[dict[str, Any]]:
    """What `commands.py` reports, while it goes on with the next run."""
    command = [sys.executable, "-m", "tests.openprogram.durability.commands", str(folder), faults, *names]
    environ = {**os.environ, "LD_PRELOAD": str(library)}
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=environ) as child:
        assert child.stdout is not None
        yield from map(json.loads, child.stdout)
    assert child.returncode == 0


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = preloaded(tmp_path_factory.mktemp("library"))
    if built is None:
        pytest.skip("needs Linux and a C compiler")
    return built


def show(run: dict[str, Any], model: dict[str, Any]) -> None:
    """Where the test fails, the last one is seen."""
    operation = model["operations"][run["fault"][0]]
    sys.stdout.write(f"{run['command']} {run['fault']} {operation}: {run['code']}\n{run['out'][:300]}{run['err']}")


def without_partial(state: dict[str, str]) -> dict[str, str]:
    return {name: digest for name, digest in state.items() if not name.endswith(".partial")}


def check_reads(found: Iterator[dict[str, Any]]) -> int:
    """How many runs went wrong in some way, of all that are checked. The first of a command is its model."""
    went_wrong = 0
    for run in found:
        if run["fault"][0] < 0:
            model = run
            assert run["operations"], "nothing is intercepted"
            continue
        show(run, model)
        if (run["code"], run["out"], run["end"]) == (model["code"], model["out"], model["end"]):
            assert not re.match(r"(open|read|lock) \d .*\.jsonl", model["operations"][run["fault"][0]])
            continue  # it makes no difference, such as to a close
        went_wrong += 1
        told = run["out"] + run["err"]
        assert "Traceback" not in told
        assert any(reason in told for reason in REASONS)
        assert "the file changed" not in told
        assert "HOME" in told
        if "record" in run["command"] and run["command"] != "status while recording":
            assert run["code"] == 1
            before = 2 if "torn" in run["command"] else 3 if run["command"] == "record on" else 0
            assert max(run["whole"].get(name, 0) for name in ("a.jsonl", "torn.jsonl", "new.jsonl")) >= before
            name = {"record on": "a.jsonl", "record anew": "new.jsonl"}.get(run["command"], "torn.jsonl")
            assert run["whole"].get(name, 0) >= before + run["out"].count("acknowledged")
            continue
        assert run["code"] == 1 or run["command"] in ("list", "status", "status while recording")
        assert run["end"] == run["begin"]
    return went_wrong


def check_writes(found: Iterator[dict[str, Any]]) -> int:
    """As `check_reads`, of commands that write: nothing is lost or half, and the next run does what this one didn't."""
    went_wrong = 0
    for run in found:
        if run["fault"][0] < 0:
            model = run
            written = model["end"].keys() - model["begin"].keys()
            removed = model["begin"].keys() - model["end"].keys()
            assert len(written) == 1
            continue
        show(run, model)
        there = without_partial(run["end"])
        assert there.items() <= (model["begin"] | model["end"]).items()
        is_written = written <= there.keys()
        assert model["begin"].keys() - there.keys() <= (removed if is_written else set())
        if run["code"] == -signal.SIGKILL:
            went_wrong += 1
            code, state = run["again"]
            if not is_written:
                assert (code, state) == (model["code"], model["end"])  # what was left behind is gone as well
            else:  # there is the file already
                assert code == 1
                assert without_partial(state) == there
        elif run["code"] == 1:
            went_wrong += 1
            assert "Traceback" not in run["err"]
            assert any(reason in run["err"] for reason in REASONS)
            assert "HOME" in run["err"]
            assert not is_written or "was written and is whole" in run["err"]
        else:
            assert run["code"] == 0
            assert there == model["end"]
    return went_wrong


def test_what_cannot_be_read_is_named_with_the_reason_and_nothing_is_changed(tmp_path: Path, library: Path) -> None:
    assert check_reads(runs(library, tmp_path, "reads", *READING)) > 100


def test_a_command_that_writes_and_fails_or_is_killed_leaves_the_old_or_the_new_whole(
    tmp_path: Path, library: Path
) -> None:
    assert check_writes(runs(library, tmp_path, "writes", *CHANGING)) > 100
