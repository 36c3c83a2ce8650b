import json
import os
import re
import shlex
from pathlib import Path

import pytest

from openprogram.config import load_config
from openprogram.pipeline.log.locks import hold_shared
from openprogram.providers.replay import COMPARISON_RULES
from tests.openprogram.cli.command import Command, run_process
from tests.openprogram.recording_files import (
    call_lines,
    failed_call_lines,
    header_line,
    raised_call_lines,
    write_lines,
    write_recording,
)


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
        "file_exists": None,
        "usable": None,
        "call_count": None,
        "failed_call_count": None,
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


def test_status_says_in_every_mode_that_the_file_is_gone(command: Command) -> None:
    """Also while off, where the setting keeps the name: it would be taken for a recording that is there."""
    path = write_recording(managed(command, "first"))
    command.done("recordings", "replay", "first")
    assert "no such file" not in command.done("recordings", "status").out
    command.done("recordings", "off")
    assert "no such file" not in command.done("recordings", "status").out
    path.unlink()
    (line,) = [line for line in command.done("recordings", "status").out.splitlines() if line.startswith("file")]
    assert (line.startswith(f"file    {path}  ("), line.endswith(": no such file")) == (True, True)
    assert json.loads(command.done("recordings", "status", "--json").out)["file_exists"] is False
    command.done("config", "set", "record_replay.mode", "replay")
    assert "): no such file\n" in command.done("recordings", "status").out
    command.done("config", "set", "record_replay.mode", "record")
    assert "): not there yet, the first call creates it\n" in command.done("recordings", "status").out
    path.parent.rmdir()
    assert "): no such file\n" in command.done("recordings", "status").out


def test_whoever_switches_to_a_replay_of_failures_is_told_that_it_repeats_them(command: Command) -> None:
    write_lines(managed(command, "failing"), [header_line(), *failed_call_lines(0), *call_lines(1)])
    warning = "warning: 1 of 2 calls failed: call 0 auth; the replay repeats that, though it needs no key itself."
    assert warning in command.done("recordings", "replay", "failing").err
    assert warning in command.done("recordings", "status").err
    assert json.loads(command.done("recordings", "status", "--json").out)["failed_call_count"] == 1
    command.done("recordings", "off")
    assert command.done("recordings", "status").err == ""


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
    said = finished.err.rstrip().split("delete that one: ")[1]
    for line in said.split("; "):  # what it says to do, done to the letter
        command.done(*line.split()[1:], *(["--yes"] if "delete" in line else []))
    command.done("recordings", "record", "--name", "first")


def test_a_taken_name_that_is_not_in_force_is_deleted_without_turning_anything_off(command: Command) -> None:
    write_recording(managed(command, "first"))

    finished = command("recordings", "record", "--name", "first")

    assert finished.err.rstrip().endswith("delete that one: openprogram recordings delete first")


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
        "failed_call_count",
        "size_bytes",
        "modified_at",
        "valid",
        "reason",
        "active",
        "compressed",
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
            "ended": {"type": "done", "reason": "stop"},
            "outcome": "complete",
            "error": None,
        }
    ]
    (content,) = shown["content"]
    assert (content["call_index"], len(content["events"])) == (1, 5)
    assert content["request"]["context"]["messages"][0]["content"] == "hi"


def test_show_of_one_call_says_that_the_file_holds_more(command: Command) -> None:
    write_recording(managed(command, "first"), calls=2)
    assert (
        "calls   1 whole, 0 not, of 2 in the file\n" in command.done("recordings", "show", "first", "--call", "1").out
    )
    assert "calls   2 whole, 0 not\n" in command.done("recordings", "show", "first").out


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


#: Defects, each with the lines of its file; `repair` recovers something from those in the first table.
REPAIRABLE = {
    "a call without its end": [header_line(), *call_lines(0), *call_lines(1)[:-1]],
    "only the header and half a call": [header_line(), call_lines(0)[0]],
    "no header, but a whole call": call_lines(0),
    "a second header": [header_line(), *call_lines(0), header_line()],
}
NOT_REPAIRABLE = {
    "empty": [],
    "another format version": [{**header_line(), "format_version": 2}, *call_lines(0)],
    "no header and no whole call": call_lines(0)[:-1],
    "something else": [{"name": "package", "version": "1.0.0"}],
}


def said_to_repair(err: str) -> list[str]:
    """The arguments of the repair that the message names, or none."""
    start = err.find("openprogram recordings repair ")
    return shlex.split(err[start:].splitlines()[0])[1:4] if start >= 0 else []


@pytest.mark.parametrize("act", ["show", "replay", "status"])
@pytest.mark.parametrize(
    ("lines", "repairable"),
    [*((lines, True) for lines in REPAIRABLE.values()), *((lines, False) for lines in NOT_REPAIRABLE.values())],
    ids=[*REPAIRABLE, *NOT_REPAIRABLE],
)
def test_repair_is_offered_where_it_works_and_nowhere_else(
    command: Command, act: str, lines: list[dict[str, object]], repairable: bool
) -> None:
    path = write_recording(managed(command, "first"))
    if act == "status":
        command.done("recordings", "replay", "first")
    write_lines(path, lines)

    finished = command("recordings", act, *(["first"] if act != "status" else []))

    assert finished.code == (0 if act == "status" else 1)
    assert bool(said_to_repair(finished.err)) is repairable
    assert command("recordings", "repair", "first").code == (0 if repairable else 1)
    shown = json.loads(command("recordings", "show", "first", "--json").out)
    assert shown["damage"]["repairable"] is repairable


def test_the_repair_that_is_offered_can_be_pasted_whatever_the_file_is_called(command: Command) -> None:
    write_lines(Path.cwd() / "my run (old).jsonl", call_lines(0))

    for act in ("show", "replay"):
        arguments = said_to_repair(command("recordings", act, "./my run (old).jsonl").err)
        command.done(*arguments)
        (Path.cwd() / "my run (old).repaired.jsonl").unlink()


def ended_by(event: dict[str, object] | None) -> list[dict[str, object]]:
    """A recording of one call whose last event is that one."""
    lines: list[dict[str, object]] = [header_line(), *call_lines(0)]
    if event is None:
        del lines[-2]
        lines[-1]["event_count"] = 4
    else:
        lines[-2]["event"] = event
    return lines


@pytest.mark.parametrize(
    ("event", "ended"),
    [
        ({"type": "done", "reason": "toolUse", "message": {"role": "assistant"}}, ("done", "toolUse")),
        (
            {"type": "error", "reason": "error", "error": {"error_reason": "auth", "error_message": "PRIVATE"}},
            ("error", "auth"),
        ),
        ({"type": "error", "reason": "aborted", "error": {"error_message": "PRIVATE"}}, ("error", "aborted")),
        ({"type": "error", "reason": "error", "error": {"error_reason": "PRIVATE: is"}}, ("error", "unknown")),
        ({"type": "error", "reason": "error", "error": {"error_reason": "x" * 41}}, ("error", "unknown")),
        (None, None),
    ],
)
def test_show_says_how_the_provider_ended_each_call_and_never_the_message(
    command: Command, event: dict[str, object] | None, ended: tuple[str, str] | None
) -> None:
    write_lines(managed(command, "first"), ended_by(event))

    (call,) = json.loads(command.done("recordings", "show", "first", "--json").out)["calls"]
    assert call["outcome"] == "complete"
    assert call["ended"] == (None if ended is None else {"type": ended[0], "reason": ended[1]})

    finished = command.done("recordings", "show", "first")
    lines = finished.out.splitlines()
    header, row = next((line, lines[n + 1]) for n, line in enumerate(lines) if line.split()[:1] == ["call"])
    assert row[header.index("ended") : header.index("outcome")].strip() == (": ".join(ended) if ended else "-")
    assert "PRIVATE" not in finished.out


def test_what_is_not_compared_is_one_short_line_about_a_healthy_recording(command: Command) -> None:
    def lines_shown(content: list[dict[str, object]]) -> list[str]:
        write_lines(managed(command, "first"), content)
        shown = command("recordings", "show", "first").out.splitlines()
        return [line for line in shown if "not compared" in line]

    (line,) = lines_shown([header_line(), *call_lines(0)])
    assert len(line) < 120
    for field in COMPARISON_RULES.ignored_paths:
        assert field in line
    named = line.removeprefix("not compared: ").split(" more")[0].split(", ")
    whole = json.loads(command.done("recordings", "show", "first", "--json").out)["not_compared"]
    assert (whole, len(named) - 1 + int(named[-1])) == (COMPARISON_RULES.not_compared(), len(whole))
    write_lines(managed(command, "second"), [header_line(), *call_lines(0, prompt="other")])
    assert command("recordings", "diff", "first", "second").err == f"{line}\n"
    assert lines_shown([header_line()]) == []
    for content in (*REPAIRABLE.values(), *NOT_REPAIRABLE.values()):
        assert lines_shown(content) == []


def test_calls_that_failed_when_they_were_recorded_are_listed_and_shown(command: Command) -> None:
    write_recording(managed(command, "fine"))
    damaged(managed(command, "damaged"))
    failing = [header_line(), *failed_call_lines(0), *call_lines(1), *raised_call_lines(2)]
    write_lines(managed(command, "failing"), failing)

    listed = json.loads(command.done("recordings", "list", "--json").out)
    assert {one["id"]: one["failed_call_count"] for one in listed} == {"fine": 0, "failing": 2, "damaged": None}
    lines = {line.split()[0]: line for line in command.done("recordings", "list").out.splitlines()}
    assert "2 failed calls" in lines["failing"]
    assert "failed" not in lines["fine"]

    assert json.loads(command.done("recordings", "show", "failing", "--json").out)["failed_call_count"] == 2
    assert json.loads(command.done("recordings", "show", "fine", "--json").out)["failed_call_count"] == 0
    shown = command.done("recordings", "show", "failing").out
    assert "note    2 of 3 calls failed: call 0 auth, call 2 MissingExtra; every replay repeats that\n" in shown
    assert "calls failed" not in command.done("recordings", "show", "fine").out


def test_of_many_failed_calls_five_are_named(command: Command) -> None:
    write_lines(managed(command, "a"), [header_line(), *(line for n in range(7) for line in failed_call_lines(n))])
    shown = command.done("recordings", "show", "a").out
    assert "7 of 7 calls failed: call 0 auth, call 1 auth, call 2 auth, call 3 auth, call 4 auth, 2 more;" in shown


def test_a_name_that_is_found_nowhere_says_both_places(command: Command) -> None:
    for act in ("show", "replay", "repair"):
        finished = command("recordings", act, "lamp.jsonl")

        assert finished.code == 1
        assert f"in {command.home.recordings_folder}, and no such file in the current folder" in finished.err


def test_a_recording_without_calls_is_replayed_with_a_warning(command: Command) -> None:
    write_recording(managed(command, "empty"), calls=0)
    write_recording(managed(command, "full"), calls=1)

    for name, warned in (("empty", True), ("full", False)):
        replayed = command.done("recordings", "replay", name)
        status = command.done("recordings", "status")
        for finished in (replayed, status):
            assert ("any call that a program makes will be a mismatch" in finished.err) is warned

    command.done("recordings", "record", "--name", "new")
    assert command.done("recordings", "status").err == ""


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

    finished = command("recordings", "repair", "first")

    assert finished.code == 1
    assert f"error: {target}: " in finished.err
    assert "delete that file or move it" in finished.err
    assert target.read_bytes() == content
    target.unlink()
    command.done("recordings", "repair", "first")


@pytest.mark.parametrize("calls", [0, 2])
def test_repair_of_a_whole_file_says_so_and_writes_nothing(command: Command, calls: int) -> None:
    path = write_recording(managed(command, "first"), calls=calls)
    before = {entry: entry.read_bytes() for entry in path.parent.iterdir()}

    finished = command.done("recordings", "repair", "first")

    assert finished.out.startswith(f"{path} is whole: {calls} calls")
    assert {entry: entry.read_bytes() for entry in path.parent.iterdir()} == before
