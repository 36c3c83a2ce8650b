import json
import os
import re
from pathlib import Path

import pytest

from openprogram.config import load_config
from openprogram.pipeline.log.locks import hold_shared
from tests.openprogram.cli.command import Command, run_process
from tests.openprogram.recording_files import call_lines, header_line, write_lines, write_recording


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return Command(tmp_path / "state", monkeypatch, capsys)


def managed(command: Command, name: str) -> Path:
    return command.home.recordings_folder / f"{name}.jsonl"


def damaged(path: Path) -> Path:
    """One whole call, and one whose second event is missing."""
    return write_lines(path, [header_line(), *call_lines(0), *(line for line in call_lines(1) if not is_second(line))])


def is_second(line: dict[str, object]) -> bool:
    return line.get("event_index") == 1


def test_a_recording_is_made_replayed_and_turned_off_in_fresh_processes(tmp_path: Path) -> None:
    def status() -> dict[str, object]:
        answer: dict[str, object] = json.loads(run_process(tmp_path, "recordings", "status", "--json").out)
        return answer

    path = tmp_path / "recordings" / "first.jsonl"
    assert run_process(tmp_path, "recordings", "record", "--name", "first").out == f"recording into {path}\n"
    assert (status()["mode"], status()["usable"]) == ("record", True)
    write_recording(path, calls=2)
    assert run_process(tmp_path, "recordings", "replay", "first").out == f"replaying {path}: 2 calls\n"
    assert (status()["mode"], status()["call_count"]) == ("replay", 2)
    assert run_process(tmp_path, "recordings", "off").code == 0
    assert (status()["mode"], status()["file"]) == ("off", str(path))


def test_where_the_configuration_cannot_be_written_record_leaves_no_file(tmp_path: Path) -> None:
    (tmp_path / "config.json").mkdir()

    finished = run_process(tmp_path, "recordings", "record", "--name", "first")

    assert (finished.code, finished.out) == (1, "")
    assert f"error: {tmp_path}/config.json: can't be read: Is a directory" in finished.err
    assert not (tmp_path / "recordings").exists()


def test_status_as_json_has_stable_fields(command: Command) -> None:
    assert json.loads(command.done("recordings", "status", "--json").out) == {
        "mode": "off",
        "mode_source": "default",
        "file": None,
        "file_source": "default",
        "usable": None,
        "call_count": None,
        "reason": None,
        "next_step": None,
        "config_path": str(command.home.config_file),
        "unknown_keys": [],
        "home": str(command.home.folder),
        "home_source": "OPENPROGRAM_HOME",
    }


def test_status_says_why_a_file_is_not_usable_and_what_to_do(command: Command) -> None:
    path = write_recording(managed(command, "first"))
    command.done("recordings", "replay", "first")
    path.unlink()

    finished = command.done("recordings", "status")

    assert f"usable  no: {path}: cannot open: no such file" in finished.out
    assert "recordings off" in finished.err


def test_status_and_off_report_a_damaged_configuration(command: Command) -> None:
    command.home.folder.mkdir()
    command.home.config_file.write_text("{ damaged")

    for name in ("status", "off"):
        finished = command("recordings", name)
        assert finished.code == 1
        assert "Correct the file, or delete it to start with defaults (recording off)" in finished.err
    assert command.home.config_file.read_text() == "{ damaged"


def test_the_default_id_is_a_time_and_a_suffix(command: Command) -> None:
    command.done("recordings", "record")

    (path,) = command.home.recordings_folder.iterdir()
    assert re.fullmatch(r"\d{8}-\d{6}-[0-9a-f]{6}\.jsonl", path.name)


def test_recording_under_a_taken_name_fails_and_says_what_to_do(command: Command) -> None:
    command.done("recordings", "record", "--name", "first")

    finished = command("recordings", "record", "--name", "first")

    assert finished.code == 1
    assert "--name" in finished.err


def test_replaying_a_damaged_file_fails_with_the_line_and_changes_nothing(command: Command) -> None:
    path = damaged(command.home.folder.parent / "broken.jsonl")

    finished = command("recordings", "replay", str(path))

    assert finished.code == 1
    assert f"{path}, line 11, call 1: event_index is 2, expected 1" in finished.err
    assert "recordings repair" in finished.err
    assert load_config(command.home).file is None


def test_list_goes_on_past_a_damaged_file(command: Command, tmp_path: Path) -> None:
    write_recording(managed(command, "first"), calls=2)
    damaged(managed(command, "second"))
    managed(command, "third").symlink_to(write_recording(tmp_path / "elsewhere.jsonl"))
    command.done("recordings", "replay", "first")

    listed = {entry["id"]: entry for entry in json.loads(command.done("recordings", "list", "--json").out)}

    assert set(listed) == {"first", "second", "third"}
    assert set(listed["first"]) == {
        "id",
        "path",
        "call_count",
        "size_bytes",
        "modified_at",
        "valid",
        "reason",
        "active",
        "in_use",
    }
    assert (listed["first"]["valid"], listed["first"]["call_count"], listed["first"]["active"]) == (True, 2, True)
    assert listed["second"]["reason"] == "line 11, call 1: event_index is 2, expected 1"
    assert "symbolic link" in listed["third"]["reason"]
    assert "invalid: line 11" in command.done("recordings", "list").out


def test_an_empty_list_says_how_to_record(command: Command) -> None:
    finished = command.done("recordings", "list")

    assert finished.out == ""
    assert "recordings record" in finished.err
    assert json.loads(command.done("recordings", "list", "--json").out) == []
    assert not command.home.folder.exists()


def test_show_prints_metadata_without_content(command: Command) -> None:
    write_recording(managed(command, "first"), prompt="PRIVATE", answer="SECRET")

    finished = command.done("recordings", "show", "first")

    assert "example:small-1" in finished.out
    assert "PRIVATE" not in finished.out
    assert "SECRET" not in finished.out
    assert finished.err == ""


def test_show_with_content_warns_on_stderr(command: Command) -> None:
    write_recording(managed(command, "first"), prompt="PRIVATE", answer="SECRET")

    finished = command.done("recordings", "show", "first", "--content")

    assert "PRIVATE" in finished.out
    assert "SECRET" in finished.out
    assert "personal data" in finished.err


def test_show_as_json_has_stable_fields(command: Command) -> None:
    path = write_recording(managed(command, "first"), calls=2)

    shown = json.loads(command.done("recordings", "show", "first", "--json", "--call", "1", "--content").out)

    assert set(shown) >= {"path", "size_bytes", "line_count", "header", "calls", "left_out", "damage", "content"}
    assert (shown["path"], shown["line_count"], shown["damage"]) == (str(path), 15, None)
    assert shown["calls"] == [
        {
            "call_index": 1,
            "line_number": 9,
            "provider": "example",
            "model": "small-1",
            "api": "scripted",
            "message_count": 1,
            "event_count": 5,
            "outcome": "complete",
            "error": None,
        }
    ]
    (content,) = shown["content"]
    assert (content["call_index"], len(content["events"])) == (1, 5)
    assert content["request"]["context"]["messages"][0]["content"] == "hi"


def test_a_call_that_is_not_there_is_a_wrong_argument(command: Command) -> None:
    write_recording(managed(command, "first"), calls=2)

    finished = command("recordings", "show", "first", "--call", "2")

    assert finished.code == 2
    assert "no call 2" in finished.err


def test_show_of_a_damaged_file_shows_what_is_whole_and_fails(command: Command) -> None:
    damaged(managed(command, "first"))

    finished = command("recordings", "show", "first")

    assert finished.code == 1
    assert "1 whole, 1 not" in finished.out
    assert "call 1, line 9, is not whole" in finished.out
    assert "line 11, call 1: event_index is 2, expected 1" in finished.err
    assert json.loads(command("recordings", "show", "first", "--json").out)["damage"]["line_number"] == 11


def test_escapes_in_a_recording_do_not_reach_the_terminal(command: Command) -> None:
    hostile = "\x1b[2J\x07\x9b31m\u202e\ud800[bold]"
    lines = [header_line(recording_id=hostile), *call_lines(0, prompt=hostile, answer=hostile)]
    lines[1]["model"] = {"id": hostile, "api": hostile, "provider": hostile}
    lines[-1] |= {"outcome": "error", "error": {"type": hostile, "message": hostile}}
    write_lines(managed(command, "first"), lines)

    for extra in ([], ["--content"], ["--content", "--json"]):
        finished = command.done("recordings", "show", "first", *extra)
        assert "[bold]" in finished.out
        assert not set(finished.out) & set("\x1b\x07\x9b\u202e\ud800")


def test_delete_away_from_a_terminal_needs_yes(tmp_path: Path) -> None:
    path = write_recording(tmp_path / "recordings" / "first.jsonl")

    finished = run_process(tmp_path, "recordings", "delete", "first")
    assert (finished.code, path.exists()) == (2, True)
    assert "--yes" in finished.err

    finished = run_process(tmp_path, "recordings", "delete", "first", "--yes")
    assert (finished.code, finished.out, path.exists()) == (0, f"deleted {path}\n", False)


def test_delete_refuses_a_path_outside_the_folder(command: Command) -> None:
    path = write_recording(Path.cwd() / "mine.jsonl")

    finished = command("recordings", "delete", str(path), "--yes")

    assert (finished.code, path.exists()) == (1, True)
    assert "Delete the file yourself" in finished.err


def test_delete_refuses_a_file_in_use(command: Command) -> None:
    path = write_recording(managed(command, "first"))
    descriptor = os.open(path, os.O_RDWR)
    try:
        hold_shared(descriptor)
        finished = command("recordings", "delete", "first", "--yes")
    finally:
        os.close(descriptor)

    assert (finished.code, path.exists()) == (1, True)
    assert "in use" in finished.err


def test_prune_shows_what_it_would_delete_and_deletes_with_yes(command: Command) -> None:
    old, active = write_recording(managed(command, "old")), write_recording(managed(command, "active"))
    new = write_recording(managed(command, "new"))
    for path in (old, active):
        os.utime(path, (0, 0))
    command.done("recordings", "replay", "active")
    prune = ["recordings", "prune", "--older-than-days", "30"]

    finished = command.done(*prune, "--dry-run")
    assert f"would delete {old}" in finished.out
    assert f"kept {active}: is the active recording" in finished.err
    assert old.exists()

    assert command(*prune).code == 2
    assert old.exists()

    assert command.done(*prune, "--yes").out == f"deleted {old}\n"
    assert (old.exists(), active.exists(), new.exists()) == (False, True, True)
    assert "Nothing to delete" in command.done(*prune).err


def test_repair_writes_the_whole_calls_beside_the_file_and_says_what_it_left_out(command: Command) -> None:
    path = damaged(managed(command, "first"))
    content = path.read_bytes()

    finished = command.done("recordings", "repair", "first")

    assert finished.out == f"wrote {managed(command, 'first.repaired')}: 1 call\n"
    assert "left out call 1, line 9" in finished.err
    assert path.read_bytes() == content
    assert ": 1 call\n" in command.done("recordings", "replay", "first.repaired").out


def test_repair_never_overwrites(command: Command) -> None:
    damaged(managed(command, "first"))
    target = write_recording(managed(command, "first.repaired"), calls=3)
    content = target.read_bytes()

    assert command("recordings", "repair", "first").code == 1
    assert target.read_bytes() == content
