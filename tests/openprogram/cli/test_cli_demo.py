"""`openprogram demo`: what it promises, and what it prints to be typed."""

import os
import shlex
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from openprogram.demo import story
from openprogram.demo.story import DemoRun
from tests.openprogram.cli.command import Command


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(tmp_path / "state", monkeypatch, capsys)


def printed_commands(out: str) -> list[str]:
    """Each line at the end, as far as the command goes; the hints of the mismatch."""
    lines = out.splitlines()
    (hint,) = (line for line in lines if "To see what was recorded: " in line)
    return [
        hint.split("To see what was recorded: ")[1],
        *(line.split("    ")[0] for line in lines if line.startswith("  ") and line[2] != " "),
    ]


def test_every_command_that_it_prints_can_be_pasted_where_openprogram_is_not_on_the_path(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", os.defpath)

    commands = printed_commands(command.done("demo").out)

    assert len(commands) == 4
    for line in commands:
        finished = subprocess.run(shlex.split(line), capture_output=True, text=True, timeout=60)
        assert finished.returncode == 0, (line, finished.stderr)


def test_a_key_in_the_file_fails_it(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(story, "API_KEY", "Has order A-17 been shipped?")  # the prompt, which surely is in the file

    finished = command("demo")

    assert finished.code == 1
    assert "the API key is not in the file" not in finished.out
    assert "error: the API key is in " in finished.err


@pytest.mark.parametrize("change", ["one fewer", "another order"])
def test_other_events_than_the_recorded_ones_fail_it(
    command: Command, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    right = story.replay

    async def wrong(path: Path, base_url: str) -> DemoRun:
        run = await right(path, base_url)
        return replace(run, events=run.events[:-1] if change == "one fewer" else run.events[::-1])

    monkeypatch.setattr(story, "replay", wrong)

    finished = command("demo")

    assert finished.code == 1
    assert "all equal" not in finished.out
    assert "are not the recorded ones" in finished.err
