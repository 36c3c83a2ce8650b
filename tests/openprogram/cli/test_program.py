"""What a printed command begins with."""

import shlex
import sys
from pathlib import Path

import pytest

from openprogram.cli.program import program_name


def executable(folder: Path, name: str = "openprogram") -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The one folder on the PATH."""
    folder = tmp_path / "path"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.chdir(tmp_path)
    return folder


def test_on_the_path_it_is_its_name(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [str(executable(path)), "demo"])
    assert program_name() == "openprogram"


def test_through_a_link_on_the_path_it_is_its_name(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = executable(tmp_path / "bin")
    (path / "openprogram").symlink_to(started)
    monkeypatch.setattr(sys, "argv", [str(started)])
    assert program_name() == "openprogram"


def test_away_from_the_path_it_is_what_was_typed(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executable(tmp_path / "bin")
    monkeypatch.setattr(sys, "argv", ["bin/openprogram"])
    assert program_name() == "bin/openprogram"


def test_where_another_openprogram_is_on_the_path_it_is_not_taken_for_this_one(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    executable(path)
    started = executable(tmp_path / "my bin")
    monkeypatch.setattr(sys, "argv", [str(started)])
    assert shlex.split(program_name()) == [str(started)]


@pytest.mark.parametrize("started_as", ["openprogram/__main__.py", "-c", "pytest"])
def test_started_otherwise_it_is_a_module_of_this_interpreter(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, started_as: str
) -> None:
    python = executable(tmp_path / "some env", "python")
    monkeypatch.setattr(sys, "executable", str(python))
    monkeypatch.setattr(sys, "argv", [started_as])
    assert shlex.split(program_name()) == [str(python), "-m", "openprogram"]

    monkeypatch.setenv("PATH", str(executable(python.parent).parent))
    assert program_name() == "openprogram"
