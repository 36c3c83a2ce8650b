import json
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path

import pytest

from openprogram.config import Off, Record, Replay, load_config
from openprogram.errors import ConfigError, RecordingRefused
from openprogram.home import Home
from openprogram.pipeline.errors import RecordingFileError
from openprogram.pipeline.log.lines import CleanRequest
from openprogram.pipeline.log.writer import RecordingSink
from openprogram.recordings.activation import read_status, start_recording, start_replaying, turn_off
from openprogram.recordings.names import managed_path
from tests.openprogram.recording_files import call_lines, header_line, write_lines, write_recording

NOW = datetime(2025, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "state", "OPENPROGRAM_HOME")


def files_below(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")} - {"config.json.lock"}


def test_recording_creates_a_private_file_with_a_header_and_configures_it(home: Home) -> None:
    path = start_recording(home, "first", NOW)

    header = json.loads(path.read_text())
    assert (header["type"], header["recording_id"]) == ("header", "first")
    assert header["created_at"] == "2025-01-02T03:04:05+00:00"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert load_config(home).record_replay == Record(path)


def test_a_taken_name_is_refused_and_nothing_changes(home: Home) -> None:
    path = write_recording(managed_path(home, "first"))
    content = path.read_bytes()

    with pytest.raises(RecordingRefused, match="exists"):
        start_recording(home, "first", NOW)

    assert path.read_bytes() == content
    assert load_config(home).record_replay == Off()


def test_a_dangling_symlink_of_that_name_is_refused(home: Home, tmp_path: Path) -> None:
    managed_path(home, "first").parent.mkdir(parents=True)
    managed_path(home, "first").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(RecordingRefused):
        start_recording(home, "first", NOW)

    assert not (tmp_path / "elsewhere").exists()


def test_where_the_configuration_cannot_be_read_no_recording_is_left(home: Home) -> None:
    home.config_file.mkdir(parents=True)

    with pytest.raises(ConfigError):
        start_recording(home, "first", NOW)

    assert files_below(home.folder) == {"config.json"}


def test_where_the_configuration_cannot_be_written_no_recording_is_left(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(ConfigError, match="No space left"):
        start_recording(home, "first", NOW)

    assert files_below(home.folder) == set()


def test_where_the_recording_cannot_be_created_the_configuration_stays(home: Home) -> None:
    home.folder.mkdir()
    home.recordings_folder.write_text("a file where the folder should be")

    with pytest.raises(RecordingFileError, match="recordings folder"):
        start_recording(home, "first", NOW)

    assert files_below(home.folder) == {"recordings"}
    assert load_config(home).record_replay == Off()


def test_a_symlink_in_place_of_the_managed_folder_is_not_followed(home: Home, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    home.folder.mkdir()
    home.recordings_folder.symlink_to(tmp_path / "elsewhere")

    with pytest.raises(RecordingRefused, match="symbolic link"):
        start_recording(home, "first", NOW)

    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_replaying_checks_the_file_and_configures_it(home: Home, tmp_path: Path) -> None:
    path = write_recording(tmp_path / "one.jsonl", calls=2)

    assert start_replaying(home, path) == (2, [])
    assert load_config(home).record_replay == Replay(path)


def test_a_damaged_file_is_not_configured_for_replay(home: Home, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "one.jsonl", [header_line(), *call_lines(0)[:-1]])

    with pytest.raises(RecordingFileError, match="no call_end"):
        start_replaying(home, path)

    assert not home.folder.exists()


@pytest.mark.parametrize("content", [None, b"damaged\n", b'{"type":"header","format_version":99}\n'])
def test_off_and_status_work_when_the_recording_is_missing_damaged_or_of_another_version(
    home: Home, tmp_path: Path, content: bytes | None
) -> None:
    path = write_recording(tmp_path / "one.jsonl")
    start_replaying(home, path)
    path.unlink()
    if content is not None:
        path.write_bytes(content)

    status = read_status(home)
    assert (status.mode, status.usable, status.config.file) == ("replay", False, path)
    assert status.reason
    assert "recordings off" in (status.next_step or "")
    assert turn_off(home).record_replay == Off()
    assert read_status(home).usable is None


def test_status_of_a_usable_recording_counts_its_calls(home: Home, tmp_path: Path) -> None:
    start_replaying(home, write_recording(tmp_path / "one.jsonl", calls=3))

    status = read_status(home)

    assert (status.usable, status.call_count, status.reason) == (True, 3, None)


@pytest.mark.parametrize(
    ("tail", "usable"),
    [
        ("", True),
        (json.dumps(call_lines(1)[0]) + "\n", True),
        ('{"type":"request","call_ind', True),
        ("damaged\n", False),
        (json.dumps(call_lines(5)[0]) + "\n", False),
    ],
    ids=["whole", "unfinished call", "torn line", "not JSON", "out of order"],
)
def test_status_while_recording_allows_what_a_killed_process_leaves(home: Home, tail: str, usable: bool) -> None:
    path = start_recording(home, "first", NOW)
    write_recording(path)
    with path.open("a") as stream:
        stream.write(tail)

    assert read_status(home).usable is usable


LINES = [json.dumps(line) + "\n" for line in (header_line(), *call_lines(0), *call_lines(1), *call_lines(2))]


@pytest.mark.parametrize("left_out", [(), *combinations(range(len(LINES)), 1), *combinations(range(0, 22, 3), 2)])
@pytest.mark.parametrize("torn", [False, True])
def test_status_while_recording_calls_usable_exactly_what_recording_takes(
    home: Home, left_out: tuple[int, ...], torn: bool
) -> None:
    path = start_recording(home, "first", NOW)
    kept = "".join(line for index, line in enumerate(LINES) if index not in left_out)
    path.write_text(kept[:-5] if torn else kept)
    usable = read_status(home).usable

    try:
        sink = RecordingSink(path)
        try:
            sink.begin_call(CleanRequest({"model": {}, "context": {}, "options": {}}))
        finally:
            sink.close()
    except RecordingFileError:
        taken = False
    else:
        taken = True

    assert usable is taken


def test_status_while_recording_allows_a_file_that_is_not_there_yet(home: Home) -> None:
    start_recording(home, "first", NOW).unlink()

    assert read_status(home).usable is True


def test_status_while_recording_needs_the_files_folder(home: Home) -> None:
    start_recording(home, "first", NOW).unlink()
    home.recordings_folder.rmdir()

    assert read_status(home).usable is False


def test_status_creates_nothing(home: Home) -> None:
    assert read_status(home).mode == "off"
    assert not home.folder.exists()
