import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from openprogram.logs import LEVELS, configure_file_log, get_logger
from openprogram.pipeline.logs import detach_sink
from tests.openprogram.cli.command import Command


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Command]:
    command = Command(tmp_path / "state", monkeypatch, capsys)
    configure_file_log(command.home)
    yield command
    detach_sink("file")


def log_some() -> None:
    log = get_logger()
    log.info("recording.call_end", call_index=0, event_count=5)
    log.info("recording.call_end", call_index=1, event_count=7)
    log.warning("replay.mismatch", call_index=1, field_path="context")
    log.error("runtime.activation_blocked", stage="open")


def events(command: Command, *filters: str) -> list[tuple[str, int | None]]:
    lines = [json.loads(line) for line in command.done("logs", "--json", *filters).out.splitlines()]
    return [(line["event"], line.get("call_index")) for line in lines]


def test_without_a_log_it_says_who_would_write_one(command: Command) -> None:
    finished = command.done("logs", "--json")

    assert finished.out == ""
    assert finished.err.startswith(f"no log yet: {command.home.log_file} is written by programs that start with")
    assert "RecordingProvider" in finished.err


def test_a_filter_that_nothing_passes_is_not_a_missing_log(command: Command) -> None:
    log_some()

    finished = command.done("logs", "--event", "nonsense")

    assert (finished.out, finished.err) == ("", f"no event in {command.home.log_file} is one of these\n")


def test_an_event_is_one_line_with_its_fields(command: Command) -> None:
    log_some()

    first = command.done("logs").out.splitlines()[0]

    assert first.endswith("  info      recording.call_end  call_index=0  event_count=5")


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (["--call", "1"], [("recording.call_end", 1), ("replay.mismatch", 1)]),
        (["--level", "warning"], [("replay.mismatch", 1), ("runtime.activation_blocked", None)]),
        (["--event", "recording.call_end"], [("recording.call_end", 0), ("recording.call_end", 1)]),
        (["--event", "replay"], [("replay.mismatch", 1)]),
        (["--event", "rep"], []),
        (["--tail", "1"], [("runtime.activation_blocked", None)]),
        (["--call", "1", "--tail", "1"], [("replay.mismatch", 1)]),
    ],
)
def test_filters_combine(command: Command, filters: list[str], expected: list[tuple[str, int | None]]) -> None:
    log_some()

    assert events(command, *filters) == expected


def test_damaged_lines_are_skipped_and_counted_on_stderr(command: Command) -> None:
    log_some()
    with command.home.log_file.open("a") as stream:
        stream.write('{"torn\n')

    finished = command.done("logs", "--json")

    assert len(finished.out.splitlines()) == 4
    assert finished.err == f"skipped 1 damaged line in {command.home.log_file}\n"


def test_escapes_in_a_log_do_not_reach_the_terminal(command: Command) -> None:
    command.home.log_file.parent.mkdir(parents=True)
    line = {"timestamp": "\x1b[2J", "level": "info", "event": "\x1b]0;x\x07", "\x9b1m": "\u202e"}
    command.home.log_file.write_text(json.dumps(line, ensure_ascii=False) + "\n", encoding="utf-8")

    for arguments in (["logs"], ["logs", "--json"]):
        assert not set(command.done(*arguments).out) & set("\x1b\x07\x9b\u202e")


def test_the_help_names_every_level(command: Command) -> None:
    shown = command.done("logs", "--help").out
    assert all(level in shown for level in LEVELS)
