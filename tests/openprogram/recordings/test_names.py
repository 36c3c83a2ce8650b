from datetime import UTC, datetime
from pathlib import Path

import pytest

from openprogram.errors import RecordingNotFound, RecordingRefused, UsageError
from openprogram.home import Home
from openprogram.recordings.names import check_name, find_managed, find_recording, managed_path, new_name
from tests.openprogram.recording_files import write_recording


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return Home(tmp_path / "state", "OPENPROGRAM_HOME")


@pytest.mark.parametrize("name", ["a", "weather-tool", "v1.2_final", "_x", "0", "x" * 100, "console", "con-1"])
def test_a_plain_name_is_taken(name: str) -> None:
    assert check_name(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        "../x",
        "a/b",
        "a\\b",
        "/etc/passwd",
        ".",
        "..",
        ".hidden",
        "-rf",
        "a\0b",
        "a b",
        "a\nb",
        "x\n",
        "ä",
        "１",
        "x" * 101,
        "x" * 300,
        "CON",
        "con",
        "nul.txt",
        "LPT1",
        "com9.x",
        "x.",
        "x.jsonl",
        "C:x",
        "\x1b[31m",
    ],
)
def test_a_name_that_could_escape_or_confuse_is_refused(name: str) -> None:
    with pytest.raises(UsageError) as failure:
        check_name(name)

    assert failure.value.next_step
    assert str(failure.value).isprintable()


def test_the_default_name_is_the_time_and_a_suffix() -> None:
    name = new_name(datetime(2025, 1, 2, 3, 4, 5, tzinfo=UTC), "ab12cd")

    assert name == "20250102-030405-ab12cd"
    assert check_name(name) == name


def test_an_id_is_a_file_in_the_managed_folder(home: Home) -> None:
    path = write_recording(managed_path(home, "first"))

    assert find_recording(home, "first") == path
    assert find_recording(home, "first.jsonl") == path
    assert find_managed(home, "first") == path


def test_a_name_without_a_separator_may_be_a_file_in_the_current_folder(home: Home) -> None:
    path = write_recording(Path.cwd() / "local.jsonl")

    assert find_recording(home, "local.jsonl") == path


def test_what_has_a_separator_is_a_path(home: Home) -> None:
    write_recording(managed_path(home, "first"))
    path = write_recording(Path.cwd() / "first")

    assert find_recording(home, "./first") == path
    assert find_recording(home, str(path)) == path


def test_a_name_for_two_files_is_ambiguous_and_the_error_says_how_to_choose(home: Home) -> None:
    managed = write_recording(managed_path(home, "first"))
    write_recording(Path.cwd() / "first.jsonl")

    with pytest.raises(RecordingNotFound, match="ambiguous") as failure:
        find_recording(home, "first.jsonl")

    assert "./first.jsonl" in (failure.value.next_step or "")
    assert str(managed) in (failure.value.next_step or "")


def test_inside_the_managed_folder_a_files_name_is_not_ambiguous(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_recording(managed_path(home, "first"))
    monkeypatch.chdir(home.recordings_folder)

    assert find_recording(home, "first.jsonl") == path


@pytest.mark.parametrize("given", ["nothing", "nothing.jsonl", "./nothing", "/no/such/file.jsonl"])
def test_what_does_not_exist_is_not_found(home: Home, given: str) -> None:
    with pytest.raises(RecordingNotFound) as failure:
        find_recording(home, given)

    assert "recordings list" in (failure.value.next_step or "")


@pytest.mark.parametrize("given", ["", "a\0b"])
def test_what_cannot_be_a_path_is_a_wrong_argument(home: Home, given: str) -> None:
    with pytest.raises(UsageError):
        find_recording(home, given)
    with pytest.raises(UsageError):
        find_managed(home, given)


def test_a_path_into_the_managed_folder_is_managed(home: Home) -> None:
    path = write_recording(managed_path(home, "first"))

    assert find_managed(home, str(path)) == path
    assert find_managed(home, f"{home.folder}/logs/../recordings/first.jsonl") == path


@pytest.mark.parametrize("given", ["../config.json", "./local.jsonl", "../state/recordings/../config.json", "..", "."])
def test_a_path_outside_the_managed_folder_is_refused(home: Home, given: str) -> None:
    write_recording(managed_path(home, "first"))
    write_recording(Path.cwd() / "local.jsonl")
    home.config_file.write_text("{}")

    with pytest.raises(RecordingRefused):
        find_managed(home, given)
