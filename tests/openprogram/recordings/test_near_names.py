import shlex
from pathlib import Path

import pytest

from openprogram.recordings.near_names import near_names
from tests.openprogram.cli.command import Command
from tests.openprogram.recording_files import write_recording


@pytest.mark.parametrize(
    ("given", "names", "near"),
    [
        ("coat", ["./coat.jsonl", "boat"], ["./coat.jsonl", "boat"]),
        ("coat.jsonl.zst", ["coat.jsonl"], ["coat.jsonl"]),
        ("demo", ["demo-2-ab", "demo-1-ab", "run"], ["demo-1-ab", "demo-2-ab"]),
        ("lapm.jsonl", ["lamp.jsonl", "coat.jsonl"], ["lamp.jsonl"]),
        ("a/Lamp", ["a/lamp.jsonl"], ["a/lamp.jsonl"]),
        ("r", [f"r{number}" for number in range(9)], ["r0", "r1", "r2"]),
        ("20250102-030405-ab12cd", ["20260907-112233-xy34ef"], []),
        ("", ["a"], []),
    ],
)
def test_near_is_the_same_name_then_what_begins_so_then_what_is_spelled_alike(
    given: str, names: list[str], near: list[str]
) -> None:
    assert near_names(given, names) == near


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return Command(tmp_path / "state", monkeypatch, capsys)


@pytest.mark.parametrize("given", ["coat", "./coat", "../work/coat", "caot.jsonl", "my coat"])
def test_what_is_suggested_works_as_it_stands(command: Command, given: str) -> None:
    """Also a name that a shell would take apart, and a path as it was begun."""
    write_recording(Path("my coat.jsonl" if " " in given else "coat.jsonl"))
    for verb in ("show", "replay", "diff", "redact", "repair", "compress"):
        missed = command("recordings", verb, given, *([given] if verb == "diff" else []))
        assert missed.code == 1
        (suggested,) = shlex.split(missed.err.partition("Did you mean ")[2].partition("?")[0])
        assert command.done("recordings", "show", suggested).out
        assert suggested.startswith("../work/") is given.startswith("../work/")


def test_a_managed_recording_is_suggested_by_its_id_also_for_deleting(command: Command) -> None:
    write_recording(command.home.recordings_folder / "weather-tool.jsonl")
    for verb in ("show", "delete"):
        assert "Did you mean weather-tool?" in command("recordings", verb, "weather").err
    nothing = command("recordings", "show", "other").err
    assert "Did you mean" not in nothing
    assert "recordings list" in nothing


def test_a_folder_is_answered_with_a_file_in_it(command: Command) -> None:
    """Where one is asked for; `check` and `scan` take folders."""
    path = write_recording(Path("recordings/lamp one.jsonl").absolute())
    Path("empty").mkdir()
    for given in ("recordings", "./recordings/", "."):
        missed = command("recordings", "show", given)
        assert (missed.code, ": is a folder\n" in missed.err) == (1, True)
    missed = command("recordings", "show", "recordings")
    assert shlex.split(missed.err.partition("such as ")[2])[0].removesuffix(".") == str(path)
    assert command("recordings", "show", "./empty").err.endswith("empty: is a folder\n")


def test_a_file_of_the_current_folder_is_not_deleted_and_the_error_says_so(command: Command) -> None:
    write_recording(Path("lamp.jsonl"))
    for given in ("lamp.jsonl", "./lamp.jsonl"):
        refused = command("recordings", "delete", given, "--yes")
        assert (refused.code, "Commands delete nothing elsewhere" in refused.err) == (1, True)
    assert Path("lamp.jsonl").exists()


def test_what_cannot_be_listed_is_no_other_error(command: Command) -> None:
    Path("file").touch()
    for given in ("none/coat.jsonl", "file/coat.jsonl"):
        missed = command("recordings", "show", given)
        assert (missed.code, f"{given}: no such file" in missed.err) == (1, True)
