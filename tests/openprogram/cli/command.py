"""Running the command line in a test: in this process, or as a user would, in a fresh one."""

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from openprogram.cli.app import main
from openprogram.home import Home, find_home

__all__ = ["Command", "Finished", "run_process"]


@dataclass(frozen=True)
class Finished:
    """How a command ended."""

    code: int
    out: str
    err: str


class Command:
    """`openprogram` with a state folder of its own, in this process."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        monkeypatch.setenv("OPENPROGRAM_HOME", str(folder))
        self.home: Home = find_home(os.environ)
        self._capsys = capsys

    def __call__(self, *arguments: str) -> Finished:
        """Run one command; what it printed before is dropped."""
        self._capsys.readouterr()
        with pytest.raises(SystemExit) as finished:
            main(arguments)
        shown = self._capsys.readouterr()
        return Finished(int(finished.value.code or 0), shown.out, shown.err)

    def done(self, *arguments: str) -> Finished:
        """Run one command that must succeed."""
        finished = self(*arguments)
        assert finished.code == 0, finished.err
        return finished


def run_process(home: Path, *arguments: str, environ: Mapping[str, str] = os.environ) -> Finished:
    """Run `python -m openprogram` in a fresh process, away from a terminal."""
    finished = subprocess.run(
        [sys.executable, "-m", "openprogram", *arguments],
        env={**environ, "OPENPROGRAM_HOME": str(home)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return Finished(finished.returncode, finished.stdout, finished.stderr)
