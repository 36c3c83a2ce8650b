"""Two recordings that git made one file of are named as that, and no repair makes a mixture of them."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from openprogram.pipeline.errors import RecordingFileError
from openprogram.pipeline.log.repair import repair_recording
from openprogram.pipeline.log.survey import survey_recording
from tests.pipeline.log.samples import (
    HEADER,
    Lines,
    call_lines,
    check_event,
    end_line,
    event_line,
    refusal,
    request_line,
    write_file,
)

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def git(folder: Path, *arguments: str) -> int:
    """Git without a user's settings."""
    environ = {
        **os.environ,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        **{f"GIT_{who}_{what}": "a@b.test" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }
    return subprocess.run(["git", *arguments], cwd=folder, env=environ, capture_output=True, check=False).returncode


def recorded_anew(text: str, events: int) -> Lines:
    """The session as one side recorded it: the same first call, then its own."""
    ours = [
        request_line(1, text),
        *(event_line(1, index, type="text_delta", delta=f"{text} {index}") for index in range(events)),
    ]
    return [HEADER, *call_lines(0), *ours, end_line(1, events)]


def merged(folder: Path, attributes: str) -> Path:
    """A recording that two branches recorded anew, after git has merged them."""
    folder.mkdir(exist_ok=True)
    path = folder / "a.jsonl"
    git(folder, "init", "-q", "-b", "main")
    (folder / ".gitattributes").write_text(attributes)

    def commit(lines: Lines) -> None:
        write_file(path, lines)
        git(folder, "add", ".")
        git(folder, "commit", "-qm", "record")

    commit([HEADER, *call_lines(0)])
    git(folder, "checkout", "-qb", "theirs")
    commit(recorded_anew("b", 3))
    git(folder, "checkout", "-q", "main")
    commit(recorded_anew("c", 2))
    git(folder, "merge", "theirs")
    return path


@needs_git
def test_conflict_markers_are_named_with_their_line_and_the_way_back(tmp_path: Path) -> None:
    path = merged(tmp_path, "")
    lines = path.read_bytes().splitlines()
    (first, *_) = [number for number, line in enumerate(lines, 1) if line.startswith(b"<<<<<<<")]

    error = refusal(path)

    assert error.reason == f"two recordings were merged into this file: conflict markers from git at line {first}"
    assert error.line_number == first
    assert error.next_step is not None
    assert f"git checkout --ours {path}" in error.next_step
    assert "*.jsonl -merge" in error.next_step
    assert "repair" not in error.next_step


@needs_git
def test_lines_that_the_union_driver_joined_are_named_as_a_merge(tmp_path: Path) -> None:
    error = refusal(merged(tmp_path, "*.jsonl merge=union\n"))
    assert error.reason.endswith(", as where two recordings were merged into one file")
    assert error.next_step is not None
    assert "git checkout --ours" in error.next_step
    assert "recordings repair" in error.next_step


@needs_git
def test_with_the_suggested_attribute_git_leaves_one_side_whole(tmp_path: Path) -> None:
    path = merged(tmp_path, "*.jsonl -text -merge\n")
    assert path.read_bytes() == write_file(tmp_path / "c.jsonl", recorded_anew("c", 2)).read_bytes()
    assert git(tmp_path, "checkout", "--theirs", "a.jsonl") == 0
    assert path.read_bytes() == write_file(tmp_path / "b.jsonl", recorded_anew("b", 3)).read_bytes()


@pytest.mark.parametrize("marker", ["<<<<<<< HEAD\n", "||||||| base\n", "=======\n", ">>>>>>> theirs\r\n"])
@pytest.mark.parametrize("line_number", [1, 2, 5])
def test_every_marker_is_recognised_wherever_it_stands(tmp_path: Path, marker: str, line_number: int) -> None:
    lines: list[Any] = [HEADER, *call_lines(0), *call_lines(1)]
    lines.insert(line_number - 1, marker)
    error = refusal(write_file(tmp_path / "a.jsonl", lines))
    assert (error.line_number, "conflict markers from git" in error.reason) == (line_number, True)


def test_of_merged_recordings_nothing_is_repaired_and_no_file_is_written(tmp_path: Path) -> None:
    lines: list[Any] = [
        HEADER,
        *call_lines(0),
        "<<<<<<< HEAD\n",
        *call_lines(1),
        "=======\n",
        *call_lines(1, 3),
        ">>>>>>> b\n",
    ]
    path = write_file(tmp_path / "a.jsonl", lines)
    with pytest.raises(RecordingFileError, match="two recordings were merged") as failure:
        repair_recording(path, tmp_path / "b.jsonl", check_event)
    assert failure.value.next_step is not None
    assert os.listdir(tmp_path) == ["a.jsonl"]
    with survey_recording(path, check_event) as survey:
        assert survey.merged
        assert survey.damage is not None
        assert "conflict markers from git at line 6" in survey.damage.reason


def test_two_recordings_behind_each_other_are_named_too_and_can_be_repaired(tmp_path: Path) -> None:
    path = write_file(tmp_path / "a.jsonl", [HEADER, *call_lines(0), HEADER, *call_lines(0)])
    assert refusal(path).reason == "a second header, as where two recordings were merged into one file"
    assert repair_recording(path, tmp_path / "b.jsonl", check_event).kept == [0, 0]


def test_a_prompt_that_speaks_of_conflict_markers_is_an_ordinary_text(tmp_path: Path) -> None:
    path = write_file(tmp_path / "a.jsonl", [HEADER, request_line(0, "\n<<<<<<< HEAD\n"), end_line(0, 0)])
    with survey_recording(path, check_event) as survey:
        assert (survey.damage, survey.merged) == (None, False)
