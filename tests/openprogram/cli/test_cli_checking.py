import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.openprogram.cli.command import Command, run_process
from tests.openprogram.recording_files import (
    call_lines,
    failed_call_lines,
    header_line,
    raised_call_lines,
    write_lines,
    write_recording,
)

TOKEN = "ghp_" + "Zx4Qm81LwT7vBn2KdP9s"


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return Command(tmp_path / "state", monkeypatch, capsys)


def findings(command: Command, *arguments: str) -> list[dict[str, Any]]:
    finished = command("recordings", "check", *arguments, "--json")
    found = json.loads(finished.out)
    assert set(found) == {"checked", "skipped", "findings", "notes", "ok"}
    assert found["ok"] is (not found["findings"])
    assert finished.code == (0 if found["ok"] else 1)
    listed: list[dict[str, Any]] = found["findings"]
    return listed


def test_recordings_that_are_right_pass(command: Command) -> None:
    for name in ("a.jsonl", "test_x/b.jsonl", "test_x/deeper/c.jsonl"):
        write_recording(Path("recordings") / name)
    done = command.done("recordings", "check", "recordings")
    assert done.out == "3 recordings checked, 0 findings\n"
    assert "pytest --recordings-unused" in done.err
    assert findings(command, "recordings") == []


def test_every_finding_of_every_file_is_listed(command: Command) -> None:
    folder = Path.cwd() / "recordings"
    write_recording(folder / "right.jsonl")
    write_lines(folder / "unfinished.jsonl", [header_line(), *call_lines(0), *call_lines(1)[:-1]])
    write_lines(folder / "later.jsonl", [{**header_line(), "format_version": 2}])
    write_recording(folder / "secret.jsonl", prompt=f"it is {TOKEN}")
    write_recording(folder / "a name.jsonl")
    merged = write_recording(folder / "merged.jsonl")
    merged.write_bytes(merged.read_bytes() + b"<<<<<<< HEAD\n")

    found = findings(command, "recordings")

    assert {(Path(one["path"]).name, one["kind"], one["line_number"], one["call_index"]) for one in found} == {
        ("a name.jsonl", "name", None, None),
        ("later.jsonl", "unreadable", 1, None),
        ("merged.jsonl", "unreadable", 9, None),
        ("secret.jsonl", "secret", 2, 0),
        ("unfinished.jsonl", "unreadable", 9, 1),
    }
    messages = {Path(one["path"]).name: one for one in found}
    assert "format_version 2" in messages["later.jsonl"]["message"]
    assert "conflict markers from git at line 9" in messages["merged.jsonl"]["message"]
    assert messages["secret.jsonl"]["field_path"] == "context.messages[0].content"
    assert "recordings repair" in messages["unfinished.jsonl"]["next_step"]
    assert TOKEN[4:] not in json.dumps(found)
    shown = command("recordings", "check", "recordings")
    assert shown.out.splitlines()[-1] == "6 recordings checked, 5 findings"
    assert TOKEN[4:] not in shown.out + shown.err


def test_calls_that_failed_when_they_were_recorded_are_a_note_which_fails_no_check(command: Command) -> None:
    path = Path.cwd() / "recordings" / "failing.jsonl"
    write_recording(path.with_name("fine.jsonl"))
    write_lines(path, [header_line(), *call_lines(0), *failed_call_lines(1), *raised_call_lines(2)])

    found = json.loads(command.done("recordings", "check", "recordings", "--json").out)

    assert (found["findings"], found["ok"]) == ([], True)
    (noted,) = found["notes"]
    assert (noted["path"], noted["kind"], noted["line_number"], noted["call_index"]) == (
        str(path),
        "failed_calls",
        9,
        1,
    )
    assert noted["message"] == "2 of 3 calls failed: call 1 auth, call 2 MissingExtra; every replay repeats that"
    shown = command.done("recordings", "check", "recordings")
    assert f"{path}, line 9, call 1: failed_calls: {noted['message']} (a note)\n" in shown.out
    assert shown.out.endswith("2 recordings checked, 0 findings, 1 note\n")
    assert "Record it again, unless it is meant" in shown.err
    assert command.done(*shlex.split(noted["next_step"].partition("openprogram ")[2])).out.count("no API key") == 1


def test_a_damaged_file_is_searched_for_secrets_all_the_same(command: Command) -> None:
    write_lines(Path("recordings/a.jsonl"), [header_line(), *call_lines(0, prompt=TOKEN)[:-1]])
    assert [one["kind"] for one in findings(command, "recordings")] == ["unreadable", "secret"]


def test_names_that_are_one_name_on_some_systems_are_found(command: Command) -> None:
    write_recording(Path("recordings/run.jsonl"))
    try:
        write_recording(Path("recordings/Run.jsonl"))
    except OSError:
        pytest.skip("this file system takes them for one")
    write_recording(Path("other/run.jsonl"))
    (found,) = findings(command, ".")
    assert (found["kind"], "same id" in found["message"]) == ("name", True)
    write_recording(Path("recordings/NUL.jsonl"))
    assert [Path(one["path"]).name for one in findings(command, ".")] == ["NUL.jsonl", "run.jsonl"]


def test_files_may_be_named_as_a_hook_does(command: Command) -> None:
    write_recording(Path("recordings/a.jsonl"))
    write_recording(Path("recordings/b.jsonl"), answer=TOKEN)
    assert findings(command, "recordings/a.jsonl") == []
    assert {one["kind"] for one in findings(command, "recordings/a.jsonl", "recordings/b.jsonl")} == {"secret"}


def test_files_below_a_folder_that_are_no_recordings_are_listed_and_fail_nothing(command: Command) -> None:
    """Such as the journal of a scenario's run. Named, such a file is checked like any other, and fails."""
    write_recording(Path("tests/recordings/a.jsonl"))
    others = [Path("data/my users.jsonl"), Path("runs/first/journal.jsonl")]
    write_lines(others[0], [{"type": "event", "name": "click"}, {"type": "header"}])
    write_lines(others[1], [{"type": "run", "sequence": 0, "at": "2025-01-01T00:00:00Z", "format_version": 1}])

    shown = command.done("recordings", "check", ".")

    paths = [str(path.absolute()) for path in others]
    assert shown.out.splitlines() == [
        *(f"{path}: not a recording, skipped" for path in paths),
        "1 recording checked, 0 findings, 2 files skipped",
    ]
    found = json.loads(command.done("recordings", "check", ".", "--json").out)
    assert (found["checked"], found["skipped"], found["ok"]) == (1, paths, True)
    assert {one["kind"] for one in findings(command, ".", str(others[1]))} == {"unreadable"}
    nothing = command("recordings", "check", "data")
    assert (nothing.code, nothing.out, "1 of that name begin otherwise" in nothing.err) == (1, "", True)
    assert command.done("recordings", "scan", ".").out.endswith(
        "1 recording scanned, 0 places found, 2 files skipped\n"
    )
    assert json.loads(command.done("recordings", "scan", "data", "--json").out) == [
        {"path": paths[0], "clean": None, "not_scanned": "not a recording, skipped", "findings": []}
    ]


def test_a_file_that_two_of_the_folders_hold_is_checked_once(command: Command) -> None:
    write_recording(Path("a.jsonl"), prompt=TOKEN)
    Path("data.jsonl").write_text("1\n")
    link = Path.cwd().parent / "link"
    link.symlink_to(Path.cwd(), target_is_directory=True)
    found = json.loads(command("recordings", "check", ".", "..", str(link), "./a.jsonl", "--json").out)
    assert (found["checked"], len(found["skipped"]), len(found["findings"])) == (1, 1, 1)
    shown = json.loads(command("recordings", "check", "..", "--json").out)
    assert (shown["skipped"], shown["findings"][0]["path"]) == ([f"{Path.cwd()}/data.jsonl"], f"{Path.cwd()}/a.jsonl")


def test_a_path_at_which_nothing_is_names_what_is_beside_it(command: Command) -> None:
    write_recording(Path("recordings/lamp.jsonl"))
    finished = command("recordings", "check", "recordings/lamps.jsonl")
    assert (finished.code, "lamps.jsonl: no such file or folder" in finished.err) == (1, True)
    assert "Did you mean recordings/lamp.jsonl?" in finished.err


def test_a_link_is_no_recording(command: Command) -> None:
    write_recording(Path("recordings/a.jsonl"))
    Path("recordings/b.jsonl").symlink_to("a.jsonl")
    (found,) = findings(command, "recordings")
    assert (found["kind"], "symbolic link" in found["message"]) == ("unreadable", True)


def test_a_check_of_nothing_does_not_pass(command: Command) -> None:
    Path("empty").mkdir()
    for folder in ("empty", "none"):
        finished = command("recordings", "check", folder)
        assert (finished.code, finished.out) == (1, "")
        assert finished.err.startswith("error: ")
    assert command("recordings", "check").code == 2


def test_nothing_is_changed(command: Command) -> None:
    path = write_recording(Path("recordings/a.jsonl"), answer=TOKEN)
    before = path.read_bytes()
    command("recordings", "check", "recordings")
    assert (os.listdir("recordings"), path.read_bytes()) == (["a.jsonl"], before)


def test_the_hook_runs_a_command_that_there_is_and_takes_the_folders_of_the_plugin(tmp_path: Path) -> None:
    hooks = (Path(__file__).parents[3] / ".pre-commit-hooks.yaml").read_text("utf-8")
    (entry,) = re.findall(r"entry: openprogram (.*)", hooks)
    (files,) = re.findall(r"files: (.*)", hooks)
    path = write_recording(tmp_path / "recordings" / "test_x" / "test_a.jsonl")
    assert run_process(tmp_path, *entry.split(), str(path)).code == 0
    for name in ("tests/recordings/test_x/test_a.jsonl", "recordings/a.jsonl.zst"):
        assert re.search(files, name)
    for name in ("data/train.jsonl", "recordings/a.jsonl.failed"):
        assert not re.search(files, name)


def test_checking_loads_neither_pytest_nor_anything_live(tmp_path: Path) -> None:
    path = write_recording(tmp_path / "a.jsonl")
    program = (
        "import sys\n"
        "from openprogram.cli.app import main\n"
        "try: main(['recordings', 'check', sys.argv[1]])\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        "loaded = {name.partition('.')[0] for name in sys.modules} | set(sys.modules)\n"
        "live = {'pytest', '_pytest', 'httpx', 'openai', 'anthropic', 'openprogram.providers.runtime'}\n"
        "print(sorted(loaded & live))\n"
    )
    finished = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=False)
    assert finished.stdout.splitlines()[-1] == "[]", finished.stderr


def test_a_recording_in_both_forms_is_found_with_what_to_do(command: Command) -> None:
    write_recording(Path("recordings/run.jsonl"))
    command.done("recordings", "compress", "recordings/run.jsonl")
    (found,) = findings(command, ".")
    assert (found["kind"], found["next_step"]) == ("name", "Delete one of them.")
    assert found["message"] == "stands beside run.jsonl: a recording is in one of the two forms"
