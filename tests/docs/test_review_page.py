"""The page on review and git: its session is recorded, and the commands that it shows say what it shows."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from tests.docs.test_examples import CHECKOUT, blocks, write_named_blocks

PAGE = CHECKOUT / "docs" / "how-to" / "review-and-git.md"


def run(folder: Path, command: str) -> str:
    """A line of a console block, as a user would have its programs."""
    name, *arguments = shlex.split(command)
    program = {"python": [sys.executable], "openprogram": [sys.executable, "-m", "openprogram"]}[name]
    environ = {**os.environ, "OPENPROGRAM_HOME": str(folder / "state"), "PYTHONPATH": str(CHECKOUT)}
    return subprocess.run(
        [*program, *arguments], cwd=folder, env=environ, capture_output=True, text=True, check=False
    ).stdout


def test_the_two_sessions_differ_as_the_page_shows(tmp_path: Path) -> None:
    write_named_blocks(PAGE, tmp_path)
    shown = blocks(PAGE, "console")[0]
    commands = re.split(r"^\$ ", shown, flags=re.MULTILINE)[1:]
    for step in commands:
        command, _, expected = step.partition("\n")
        assert run(tmp_path, command).replace(f"{tmp_path}/", "…/") == expected


def test_the_page_names_commands_that_there_are() -> None:
    shown = PAGE.read_text("utf-8")
    for command in re.findall(r"openprogram (recordings \w+)", shown):
        finished = subprocess.run(
            [sys.executable, "-m", "openprogram", *command.split(), "--help"], capture_output=True, check=False
        )
        assert finished.returncode == 0, command


def test_the_hook_of_the_page_is_one_that_the_repository_offers() -> None:
    (hook,) = re.findall(r"- id: (\S+)", PAGE.read_text("utf-8"))
    assert f"- id: {hook}\n" in (CHECKOUT / ".pre-commit-hooks.yaml").read_text("utf-8")
