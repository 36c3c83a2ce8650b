import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from openprogram.credentials import load_keys
from tests.openprogram.cli.command import Command


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(tmp_path / "state", monkeypatch, capsys)


def test_path_prints_where_the_file_would_be_and_creates_nothing(command: Command) -> None:
    assert command.done("config", "path").out == f"{command.home.config_file}\n"
    assert not command.home.folder.exists()


def test_a_value_that_was_set_is_got(command: Command) -> None:
    command.done("config", "set", "record_replay.file", "/r/x.jsonl")
    command.done("config", "set", "record_replay.mode", "replay")

    assert command.done("config", "get", "record_replay.mode").out == "replay\n"
    assert command.done("config", "get", "record_replay.file").out == "/r/x.jsonl\n"


def test_a_relative_path_at_the_terminal_starts_at_the_current_folder(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command.done("config", "set", "record_replay.file", "x.jsonl")

    assert command.done("config", "get", "record_replay.file").out == f"{tmp_path}/x.jsonl\n"


def test_get_shows_every_setting_and_where_it_comes_from(command: Command) -> None:
    command.done("config", "set", "record_replay.file", "/r/x.jsonl")

    lines = [line.split() for line in command.done("config", "get").out.splitlines()]

    assert lines == [
        ["setting", "value", "source"],
        ["record_replay.mode", "off", "default"],
        ["record_replay.file", "/r/x.jsonl", "config", "file"],
    ]


def test_get_as_json_has_stable_fields(command: Command) -> None:
    command.home.folder.mkdir()
    command.home.config_file.write_text('{"later": 1}')

    assert json.loads(command.done("config", "get", "--json").out) == {
        "path": str(command.home.config_file),
        "settings": {
            "record_replay.mode": {"value": "off", "source": "default"},
            "record_replay.file": {"value": None, "source": "default"},
        },
        "unknown_keys": ["later"],
    }


def test_unknown_keys_are_reported_and_kept(command: Command) -> None:
    command.home.folder.mkdir()
    command.home.config_file.write_text('{"later": 1}')

    assert "later" in command.done("config", "get").err
    assert "later" in command.done("config", "set", "record_replay.mode", "off").err
    assert json.loads(command.home.config_file.read_text())["later"] == 1


@pytest.mark.parametrize("arguments", [["get"], ["set", "record_replay.mode", "off"]])
def test_a_damaged_file_is_an_error_with_file_line_and_next_step(command: Command, arguments: list[str]) -> None:
    command.home.folder.mkdir()
    command.home.config_file.write_text("{\n damaged")

    finished = command("config", *arguments)

    assert (finished.code, finished.out) == (1, "")
    assert f"{command.home.config_file}, line 2: not valid JSON" in finished.err
    assert "Correct the file, or delete it" in finished.err
    assert command.home.config_file.read_text() == "{\n damaged"


def set_key(home: Path, provider: str, typed: bytes) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(
        [sys.executable, "-m", "openprogram", "config", "set-key", provider],
        env={**os.environ, "OPENPROGRAM_HOME": str(home)},
        input=typed,
        capture_output=True,
        timeout=60,
    )


def test_a_key_is_read_from_stdin_and_shown_by_nothing(command: Command) -> None:
    finished = set_key(command.home.folder, "groq", b" the-key\r\n")
    assert (finished.returncode, finished.stderr) == (0, b"")
    assert load_keys(command.home) == {"groq": "the-key"}

    shown = command.done("config", "show")
    assert "key of groq" in shown.out
    described = json.loads(command.done("config", "show", "--json").out)
    assert described["stored_keys"] == {"path": str(command.home.credentials_file), "providers": ["groq"]}
    assert set(described["settings"]) == {"record_replay.mode", "record_replay.file"}
    for output in (finished.stdout.decode(), shown.out, str(described), command.done("config", "get").out):
        assert "the-key" not in output

    command.done("config", "remove-key", "groq")
    assert load_keys(command.home) == {}
    assert command.done("config", "remove-key", "groq").err == "no key of groq was stored\n"


@pytest.mark.parametrize("typed", [b"", b"\n", b"two words", b"\xff\xfe", b"x" * 20_000])
def test_what_is_no_key_is_a_usage_error(command: Command, typed: bytes) -> None:
    finished = set_key(command.home.folder, "groq", typed)
    assert finished.returncode == 2
    assert b"Traceback" not in finished.stderr
    assert not command.home.credentials_file.exists()


def test_a_key_is_no_argument_and_a_provider_is_a_known_one(command: Command) -> None:
    assert command("config", "set-key", "groq", "the-key").code == 2
    assert command("config", "set-key", "nobody").code == 2
    assert command("config", "remove-key", "nobody").code == 2


def test_a_key_is_asked_for_at_a_terminal(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("getpass.getpass", lambda prompt: "typed-key")
    command.done("config", "set-key", "groq")
    assert load_keys(command.home) == {"groq": "typed-key"}
