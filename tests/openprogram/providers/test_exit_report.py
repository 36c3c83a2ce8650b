"""A program that is replayed from outside, by configuration, is told how it went when it ends."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.openprogram.cli.command import run_process

PROGRAM = """
import asyncio, sys
from openprogram.providers.api_registry import register_api_provider
from openprogram.providers.scripted import ScriptedProvider
from openprogram.providers.stream import stream_simple
from openprogram.providers.types import AssistantMessage, Context, Model, UserMessage

async def main(questions):
    for question in questions:
        context = Context(messages=[UserMessage(content=question)])
        try:
            print((await stream_simple(Model(id="m", api="scripted", provider="p"), context)).text)
        except Exception:
            print("sorry")

class Keyless(ScriptedProvider):
    async def stream(self, model, context, options=None):
        if context.messages[0].content == "raise":
            raise LookupError("no such model")
        async for event in super().stream(model, context, options):
            yield event

    stream_simple = stream

error = {"stop_reason": "error", "error_reason": "auth", "error_message": "no API key"}
failed = AssistantMessage(content=[], api="scripted", provider="p", model="m", **error)
answers = {"fail": failed, "second": "two"}
register_api_provider("scripted", Keyless([answers.get(word, "one") for word in sys.argv[1:]]))
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


def test_calls_that_failed_while_they_were_recorded_are_told_in_one_line_at_the_programs_end(tmp_path: Path) -> None:
    configure(tmp_path, "record")
    finished = run(tmp_path, "fail", "first", "raise")
    assert finished.stdout == "\none\nsorry\n"
    (line,) = finished.stderr.splitlines()
    told, _, look = line.rpartition(": ")
    assert told == "openprogram: 2 calls failed, and will in every replay of this recording"
    assert shlex.split(look) == ["openprogram", "recordings", "show", str(tmp_path / "run.jsonl")]
    assert "2 of 3 calls failed: call 0 auth, call 2 LookupError" in run_process(tmp_path, *shlex.split(look)[1:]).out


def test_failed_calls_of_earlier_runs_are_not_told_again(tmp_path: Path) -> None:
    configure(tmp_path, "record")
    assert "1 call failed" in run(tmp_path, "fail").stderr
    assert run(tmp_path, "first").stderr == ""


@pytest.mark.parametrize("file", ["missing", "damaged", "of another version"])
@pytest.mark.parametrize("questions", [("first",), ("first", "second", "third")])
def test_calls_that_were_refused_are_told_at_the_end_of_a_program_that_swallowed_it(
    home: Path, file: str, questions: tuple[str, ...]
) -> None:
    path = home / "run.jsonl"
    if file == "missing":
        path.unlink()
    elif file == "damaged":
        path.write_bytes(path.read_bytes()[:-20])
    else:
        path.write_text('{"type":"header","format_version":99}\n')
    finished = run(home, *questions)
    assert finished.stdout == "sorry\n" * len(questions)
    refused = "1 call was refused" if len(questions) == 1 else "3 calls were refused"
    assert finished.stderr.startswith(f"openprogram: {refused}: provider calls are blocked: replay could not be activ")
    assert str(path) in finished.stderr
    assert "openprogram recordings status" in finished.stderr


def test_a_recording_that_could_not_begin_is_told_alike(tmp_path: Path) -> None:
    configure(tmp_path, "record")
    (tmp_path / "run.jsonl").write_text("not a recording\n")
    finished = run(tmp_path, "first")
    assert (finished.stdout, "1 call was refused" in finished.stderr) == ("sorry\n", True)


def test_a_blocked_program_that_made_no_call_says_nothing(home: Path) -> None:
    (home / "run.jsonl").unlink()
    assert run(home).stderr == ""


def test_what_the_command_run_says_of_a_block_is_said_once(home: Path) -> None:
    (home / "run.jsonl").unlink()
    finished = run_process(home, "run", "hi", "--model", "anthropic:claude-haiku-4-5")
    assert finished.code == 1
    assert finished.err.count("provider calls are blocked") == 1, finished.err


def test_failures_that_a_replay_repeated_are_told_as_recorded_ones(tmp_path: Path) -> None:
    """The program shows `no API key`, of a replay that needs none."""
    configure(tmp_path, "record")
    run(tmp_path, "fail", "first", "raise")
    configure(tmp_path, "replay")
    finished = run(tmp_path, "fail", "first", "raise")
    assert finished.stdout == "\none\nsorry\n"
    (line,) = finished.stderr.splitlines()
    told, _, look = line.rpartition(": ")
    assert told.startswith("openprogram: 2 calls were answered with the failure that was recorded")
    assert "no key" in told
    assert shlex.split(look) == ["openprogram", "recordings", "show", str(tmp_path / "run.jsonl")]
    partly = run(tmp_path, "fail", "second").stderr
    assert "openprogram: 1 call was answered with the failure that was recorded" in partly
    assert "openprogram: replay failed" in partly


def test_a_replay_that_matched_says_nothing(home: Path) -> None:
    finished = run(home, "first", "second")
    assert (finished.stdout, finished.stderr) == ("one\ntwo\n", "")


def test_a_mismatch_that_the_program_swallowed_is_told_at_its_end(home: Path) -> None:
    finished = run(home, "first", "third", "second")
    assert finished.stdout == "one\nsorry\ntwo\n"
    assert "openprogram: replay failed" in finished.stderr
    assert "recorded 'second', incoming 'third'" in finished.stderr
    assert str(home / "run.jsonl") in finished.stderr
    assert finished.stderr.endswith("switched on for all programs. To switch it off: openprogram recordings off\n")


def test_calls_that_were_left_over_are_told_at_the_programs_end(home: Path) -> None:
    finished = run(home, "first")
    assert "openprogram: replay incomplete" in finished.stderr
    assert "recorded calls not used: 1 of 2" in finished.stderr
