"""A program that is replayed from outside, by configuration, is told how it went when it ends."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import asyncio, sys
from openprogram.providers.api_registry import register_api_provider
from openprogram.providers.scripted import ScriptedProvider
from openprogram.providers.stream import stream_simple
from openprogram.providers.types import Context, Model, UserMessage

async def main(questions):
    for question in questions:
        context = Context(messages=[UserMessage(content=question)])
        try:
            print((await stream_simple(Model(id="m", api="scripted", provider="p"), context)).text)
        except Exception:
            print("sorry")

register_api_provider("scripted", ScriptedProvider(["one", "two"]))
asyncio.run(main(sys.argv[1:]))
"""


def configure(home: Path, mode: str) -> None:
    settings = {"record_replay": {"mode": mode, "file": str(home / "run.jsonl")}}
    (home / "config.json").write_text(json.dumps(settings))


def run(home: Path, *questions: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "OPENPROGRAM_HOME": str(home)}
    command = [sys.executable, "-c", PROGRAM, *questions]
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=True)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A state folder that replays a run of two questions."""
    configure(tmp_path, "record")
    assert run(tmp_path, "first", "second").stdout == "one\ntwo\n"
    configure(tmp_path, "replay")
    return tmp_path


def test_a_replay_that_matched_says_nothing(home: Path) -> None:
    finished = run(home, "first", "second")
    assert (finished.stdout, finished.stderr) == ("one\ntwo\n", "")


def test_a_mismatch_that_the_program_swallowed_is_told_at_its_end(home: Path) -> None:
    finished = run(home, "first", "third", "second")
    assert finished.stdout == "one\nsorry\ntwo\n"
    assert "openprogram: replay failed" in finished.stderr
    assert "recorded 'second', incoming 'third'" in finished.stderr
    assert str(home / "run.jsonl") in finished.stderr


def test_calls_that_were_left_over_are_told_at_the_programs_end(home: Path) -> None:
    finished = run(home, "first")
    assert "openprogram: replay incomplete" in finished.stderr
    assert "recorded calls not used: 1 of 2" in finished.stderr
