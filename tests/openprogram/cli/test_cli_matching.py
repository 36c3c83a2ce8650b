"""Matching policies at the terminal: chosen by `record`, printed by `show` and by what is replayed."""

import json
from pathlib import Path

import pytest

from tests.openprogram.cli.command import Command, run_process
from tests.openprogram.cli.test_cli_run import run

ID, OTHER = "0a0a0a0a-0000-4000-8000-000000000001", "0e0e0e0e-0000-4000-8000-00000000000e"


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return Command(tmp_path / "state", monkeypatch, capsys)


def header(command: Command, name: str) -> dict[str, object]:
    first, _, _ = (command.home.recordings_folder / f"{name}.jsonl").read_text().partition("\n")
    fields: dict[str, object] = json.loads(first)
    return fields


@pytest.mark.parametrize(
    ("options", "match", "volatile"),
    [
        ([], None, None),
        (["--match", "order"], None, None),
        (["--match", "content"], "content", None),
        (["--volatile", "uuid"], None, ["uuid"]),
        (
            ["--match", "content", "--volatile", r"uuid,iso-time,tmp-path,regex:order-(\d+)"],
            "content",
            ["uuid", "iso-time", "tmp-path", r"regex:order-(\d+)"],
        ),
        (["--volatile", r"regex:a{1,3}-([x,y]{2})\,,uuid"], None, [r"regex:a{1,3}-([x,y]{2})\,", "uuid"]),
        (["--volatile", "uuid", "--volatile", "tmp-path"], None, ["uuid", "tmp-path"]),
        (["--volatile", 'field:options.metadata["a,b"],uuid'], None, ['field:options.metadata["a,b"]', "uuid"]),
    ],
)
def test_record_writes_the_policy_into_the_header(
    command: Command, options: list[str], match: str | None, volatile: list[str] | None
) -> None:
    command.done("recordings", "record", "--name", "first", *options)
    assert (header(command, "first").get("match"), header(command, "first").get("volatile")) == (match, volatile)
    shown = json.loads(command.done("recordings", "show", "first", "--json").out)
    assert (shown["match"], shown["volatile"]) == (match or "order", volatile or [])


def test_record_and_show_print_the_policy(command: Command) -> None:
    recorded = command.done("recordings", "record", "--name", "first", "--match", "content", "--volatile", "uuid")
    assert "It is to be replayed with: match content, volatile uuid." in recorded.err
    assert "replay  match content, volatile uuid\n" in command.done("recordings", "show", "first").out
    command.done("recordings", "record", "--name", "second")
    assert "replay  match order, volatile nothing\n" in command.done("recordings", "show", "second").out


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--match", "fuzzy"], "unknown match 'fuzzy'; this release knows order, content"),
        (["--volatile", "near"], "unknown volatile rule 'near'"),
        (["--volatile", "regex:(a+)+b"], "a group can't be repeated"),
    ],
)
def test_a_policy_that_is_not_known_is_a_usage_error_and_nothing_is_made(
    command: Command, options: list[str], reason: str
) -> None:
    finished = command("recordings", "record", "--name", "first", *options)
    assert (finished.code, finished.out) == (2, "")
    assert reason in finished.err
    assert not command.home.folder.exists()


def test_what_is_given_counts_before_what_the_project_sets(command: Command) -> None:
    Path("pyproject.toml").write_text('[tool.openprogram]\nmatch = "content"\nvolatile = ["uuid"]\n')
    command.done("recordings", "record", "--name", "first")
    assert (header(command, "first")["match"], header(command, "first")["volatile"]) == ("content", ["uuid"])
    command.done("recordings", "record", "--name", "second", "--match", "order")
    assert "match" not in header(command, "second")
    assert header(command, "second")["volatile"] == ["uuid"]


def test_a_project_file_that_cannot_be_used_is_named_and_nothing_is_made(command: Command) -> None:
    Path("pyproject.toml").write_text('[tool.openprogram]\nmatsch = "content"\n')
    finished = command("recordings", "record", "--name", "first")
    assert finished.code == 1
    assert "pyproject.toml, field tool.openprogram: unknown setting 'matsch'" in finished.err
    assert not command.home.folder.exists()


def test_a_run_replays_with_its_own_values_and_says_so(tmp_path: Path) -> None:
    run_process(tmp_path, "recordings", "record", "--name", "first", "--volatile", "uuid")
    assert run(tmp_path, f"About {ID}", [f"'It is {ID}.'"]).out == f"It is {ID}.\n"
    run_process(tmp_path, "recordings", "replay", "first")
    replayed = run(tmp_path, f"About {OTHER}", [])
    assert (replayed.code, replayed.out) == (0, f"It is {OTHER}.\n")
    note = "replayed 1 of 1 recorded calls, offline (match order, volatile uuid; symbol-bound, 1 value bound)"
    assert note in replayed.err


def test_a_run_that_diverges_says_what_was_volatile(tmp_path: Path) -> None:
    run_process(tmp_path, "recordings", "record", "--name", "first", "--match", "content", "--volatile", "uuid")
    run(tmp_path, f"About {ID}", ["'It is.'"])
    run_process(tmp_path, "recordings", "replay", "first")
    replayed = run(tmp_path, f"Regarding {ID}", [])
    assert replayed.code == 1
    assert "matching: match content, volatile uuid" in replayed.err


def test_a_recording_of_an_unknown_policy_is_refused_by_name(command: Command) -> None:
    command.done("recordings", "record", "--name", "first")
    path = command.home.recordings_folder / "first.jsonl"
    path.write_text(json.dumps({**header(command, "first"), "match": "fuzzy"}) + "\n")
    for arguments in (["show", "first"], ["replay", "first"], ["repair", str(path)]):
        finished = command("recordings", *arguments)
        assert finished.code == 1, arguments
        assert "unknown match 'fuzzy'; this release knows order, content" in finished.err
    listed = json.loads(command.done("recordings", "list", "--json").out)
    assert "unknown match 'fuzzy'" in listed[0]["reason"]
