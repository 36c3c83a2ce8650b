import json
from pathlib import Path

import pytest

from openprogram.recordings.names import managed_path
from tests.openprogram.cli.command import Command, run_process
from tests.openprogram.recording_files import call_lines, header_line, write_lines, write_recording

TOKEN = "ghp_" + "Zx4Qm81LwT7vBn2KdP9s"


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return Command(tmp_path / "state", monkeypatch, capsys)


def test_a_scan_says_where_and_by_which_rule_and_never_what(command: Command) -> None:
    path = write_recording(managed_path(command.home, "first"), calls=7, prompt=f"it is {TOKEN}")

    finished = command("recordings", "scan", "first")

    assert finished.code == 1
    assert TOKEN[4:] not in finished.out + finished.err
    assert finished.out.splitlines() == [
        f"{path}: lines 2, 9, 16, 23, 30, …: context.messages[0].content: github-token, 7 places",
        "1 recording scanned, 7 places found",
    ]
    assert "recordings redact" in finished.err


def test_the_json_has_every_place_and_no_value(command: Command) -> None:
    path = write_recording(managed_path(command.home, "first"), answer=f"it is {TOKEN}")
    clean = write_recording(managed_path(command.home, "second"))

    finished = command("recordings", "scan", "--json")

    assert finished.code == 1
    assert TOKEN[4:] not in finished.out
    first, second = json.loads(finished.out)
    assert second == {"path": str(clean), "clean": True, "not_scanned": None, "findings": []}
    assert (first["path"], first["clean"]) == (str(path), False)
    assert first["findings"][0] == {
        "line_number": 5,
        "call_index": 0,
        "field_path": "event.delta",
        "rule": "github-token",
        "places": 1,
    }


def test_clean_recordings_exit_with_0_and_say_how_many_they_are(command: Command) -> None:
    write_recording(Path("a/one.jsonl"))
    write_recording(Path("a/two.jsonl"))
    assert command.done("recordings", "scan", "a").out == "2 recordings scanned, 0 places found\n"
    assert command.done("recordings", "scan").out == "0 recordings scanned, 0 places found\n"


def test_what_cannot_be_read_is_no_clean_file(command: Command) -> None:
    write_recording(Path("real.jsonl"))
    Path("link.jsonl").symlink_to("real.jsonl")
    finished = command("recordings", "scan", "link.jsonl")
    assert finished.code == 1
    assert "link.jsonl: not scanned: cannot open: is a symbolic link" in finished.out
    assert finished.out.endswith("1 recording scanned, 0 places found, 1 not read\n")
    assert command("recordings", "scan", "nothing").code == 1


def test_a_key_that_steers_a_terminal_is_shown_as_an_escape(command: Command) -> None:
    lines = [header_line(**{"a\x1b[31mb": TOKEN}), *call_lines(0)]
    write_lines(Path("a.jsonl"), lines)
    shown = command("recordings", "scan", "a.jsonl").out
    assert "\x1b" not in shown
    assert "github-token" in shown


def test_redact_writes_a_new_file_and_the_old_one_stays(command: Command) -> None:
    path = write_recording(managed_path(command.home, "first"), answer=f"it is {TOKEN}")
    before = path.read_bytes()

    done = command.done("recordings", "redact", "first")

    target = path.with_name("first.redacted.jsonl")
    assert done.out == f"wrote {target}: 1 call, 3 places redacted\n"
    assert f"The old file stays as it is, with what was found in it: {path}" in done.err
    assert path.read_bytes() == before
    assert command.done("recordings", "scan", "first.redacted").code == 0
    assert command.done("recordings", "show", "first.redacted").code == 0
    assert command.done("recordings", "redact", "first.redacted").out == f"{target} is clean: nothing to redact\n"
    again = command("recordings", "redact", "first")
    assert (again.code, again.out) == (1, "")
    assert "exists already" in again.err


def test_a_path_elsewhere_gets_its_new_file_beside_it(command: Command) -> None:
    path = write_recording(Path.cwd() / "here" / "a.jsonl", answer=TOKEN)
    command.done("recordings", "redact", "here/a.jsonl")
    assert sorted(file.name for file in path.parent.iterdir()) == ["a.jsonl", "a.redacted.jsonl"]


def test_the_commands_work_in_a_fresh_process(tmp_path: Path) -> None:
    write_recording(tmp_path / "recordings" / "first.jsonl", answer=TOKEN)
    assert run_process(tmp_path, "recordings", "scan").code == 1
    assert run_process(tmp_path, "recordings", "redact", "first").code == 0
    assert run_process(tmp_path, "recordings", "scan", "first.redacted").code == 0
