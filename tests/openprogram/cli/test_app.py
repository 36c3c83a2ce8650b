import errno
import os
import pty
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from openprogram import __version__
from openprogram.cli import app as app_module
from openprogram.errors import OpenProgramError, UsageError
from openprogram.pipeline.errors import RecordingFileError
from tests.openprogram.cli.command import Command, run_process
from tests.openprogram.not_regular import NOT_REGULAR
from tests.openprogram.recording_files import write_recording

#: Looks like a vendor's, and opens nothing.
KEY = "sk-proj-abcdEFGH1234567890abcdEFGH1234567890"


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(tmp_path / "state", monkeypatch, capsys)


def make_status_raise(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fail(home: object) -> None:
        raise error

    monkeypatch.setattr("openprogram.recordings.activation.read_status", fail)


def test_the_version_is_printed(tmp_path: Path) -> None:
    assert run_process(tmp_path, "--version").out == f"openprogram {__version__}\n"


def test_help_creates_nothing_and_imports_no_more_than_typer(tmp_path: Path) -> None:
    program = """
import sys
from openprogram.cli.app import main
try:
    main(["--help"])
except SystemExit:
    pass
heavy = {"pydantic", "structlog", "rich", "anyio", "pydantic_ai", "openprogram.providers", "openprogram.config"}
sys.exit(f"imported: {sorted(heavy & set(sys.modules))}" if heavy & set(sys.modules) else 0)
"""
    environ = {**os.environ, "OPENPROGRAM_HOME": str(tmp_path / "state")}
    finished = subprocess.run([sys.executable, "-c", program], env=environ, capture_output=True, text=True, timeout=60)

    assert finished.returncode == 0, finished.stderr
    assert "recordings" in finished.stdout
    assert not (tmp_path / "state").exists()


def every_command() -> Iterator[list[str]]:
    def below(command: Any, words: list[str]) -> Iterator[list[str]]:
        yield words
        for name, child in getattr(command, "commands", {}).items():
            yield from below(child, [*words, name])

    return below(get_command(app_module.app), [])


@pytest.mark.parametrize("words", list(every_command()), ids=" ".join)
def test_every_command_and_group_takes_h_for_help(command: Command, words: list[str]) -> None:
    short = command.done(*words, "-h")

    assert short.out.startswith(f"Usage: {' '.join(['openprogram', *words])} ")
    assert short.out == command.done(*words, "--help").out
    assert not command.home.folder.exists()


def test_management_commands_start_no_runtime_and_import_no_vendor(tmp_path: Path) -> None:
    path = write_recording(tmp_path / "state" / "recordings" / "first.jsonl")
    program = """
import sys
from openprogram.cli.app import main
for line in "status", "list", "show first --content", "replay first", "off", "repair first", "record --name second":
    try:
        main(["recordings", *line.split()])
    except SystemExit as finished:
        assert not finished.code, line
banned = "openprogram.providers.vendors", "pydantic_ai", "anthropic", "openai", "httpx"
found = [name for name in sys.modules if name.startswith(banned)]
assert not found, found
runtime = sys.modules.get("openprogram.providers.runtime")
assert runtime is None or runtime._runtime.state is runtime.RuntimeState.NEW
"""
    environ = {**os.environ, "OPENPROGRAM_HOME": str(path.parents[1])}
    finished = subprocess.run([sys.executable, "-c", program], env=environ, capture_output=True, text=True, timeout=60)

    assert finished.returncode == 0, finished.stderr


@pytest.mark.parametrize(
    ("error", "lines"),
    [
        (OpenProgramError("It broke.", next_step="Mend it."), ["error: It broke.", "Mend it."]),
        (
            RecordingFileError(path=Path("/r.jsonl"), reason="torn", line_number=3, next_step="Mend it."),
            ["error: /r.jsonl, line 3: torn", "Mend it."],
        ),
        (OSError(errno.EACCES, "Permission denied", "/r.jsonl"), ["error: /r.jsonl: Permission denied"]),
    ],
)
def test_an_expected_error_is_a_message_and_the_next_step(
    command: Command, monkeypatch: pytest.MonkeyPatch, error: Exception, lines: list[str]
) -> None:
    make_status_raise(monkeypatch, error)

    finished = command("recordings", "status")

    assert (finished.code, finished.out, finished.err.splitlines()) == (1, "", lines)


def test_debug_shows_the_traceback(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    make_status_raise(monkeypatch, OpenProgramError("It broke.", next_step="Mend it."))

    finished = command("--debug", "recordings", "status")

    assert finished.code == 1
    assert finished.err.startswith("Traceback (most recent call last):\n  File ")
    assert finished.err.endswith("OpenProgramError: It broke.\nMend it.\n")


def test_a_defect_of_ours_is_not_hidden(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    make_status_raise(monkeypatch, ZeroDivisionError("oh"))

    finished = command("recordings", "status")

    assert finished.code == 1
    assert finished.err.startswith("Traceback (most recent call last):\n  File ")
    assert finished.err.endswith("ZeroDivisionError: oh\n")


REFUSED = f"Error code: 401 - {{'error': {{'message': 'Incorrect API key provided: {KEY}. Look it up'}}}}"


@pytest.mark.parametrize("debug", [[], ["--debug"]], ids=["message", "traceback"])
@pytest.mark.parametrize(
    "error",
    [
        OpenProgramError(REFUSED),
        OpenProgramError("It broke.", next_step=REFUSED),
        UsageError(REFUSED),
        RecordingFileError(path=Path("/r.jsonl"), reason=REFUSED),
        OSError(errno.EACCES, REFUSED),
        ValueError(REFUSED),
        ExceptionGroup("several", [ValueError(REFUSED)]),
    ],
    ids=lambda error: type(error).__name__,
)
def test_no_error_shows_a_key_whatever_it_is_and_however_it_is_shown(
    command: Command, monkeypatch: pytest.MonkeyPatch, error: Exception, debug: list[str]
) -> None:
    make_status_raise(monkeypatch, error)

    finished = command(*debug, "recordings", "status")

    assert KEY not in finished.out + finished.err
    assert "Incorrect API key provided: [secret removed]" in finished.err


def run_in_shell(home: Path, command: str) -> tuple[int, str, str]:
    """`openprogram`, in a shell line that may close its streams: the exit code, and what it printed all the same."""
    finished = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m openprogram {command}"],
        env={**os.environ, "OPENPROGRAM_HOME": str(home)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return finished.returncode, finished.stdout, finished.stderr


@pytest.mark.parametrize("closing", [">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("--version", 0),
        ("--help", 0),
        ("config get", 0),
        ("recordings list", 0),
        ("recordings prune --older-than-days 1", 0),
        ("nonsense", 2),
        ("config get nonsense", 2),
        ("recordings show nothing", 1),
        ("--verbose logs", 0),
    ],
)
def test_a_closed_stream_swallows_what_it_would_have_shown_and_changes_nothing_else(
    tmp_path: Path, line: str, code: int, closing: str
) -> None:
    whole = run_in_shell(tmp_path, line)
    expected = (code, "" if ">&-" in closing.split() else whole[1], "" if "2>&-" in closing else whole[2])

    assert whole[0] == code
    assert run_in_shell(tmp_path, f"{line} {closing}") == expected


def test_what_is_printed_to_a_closed_stream_ends_up_in_no_file(tmp_path: Path) -> None:
    """The next file that is opened would get its number."""
    program = """
import os, subprocess, sys
from openprogram.cli import app
with open(sys.argv.pop(1), "w") as first:
    pass
def command():
    with open(sys.argv[1], "w") as file:
        assert file.fileno() > 2, file.fileno()
        os.write(1, b"raw")
        subprocess.run(["echo", "from a child"], check=True)
        print("printed")
app.app = lambda **_: command()
app.main()
"""
    shell = f"{shlex.join([sys.executable, '-c', program, str(tmp_path / 'a'), str(tmp_path / 'b')])} <&- >&-"
    finished = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, timeout=60)

    assert (finished.returncode, finished.stdout, finished.stderr) == (0, "", "")
    assert (tmp_path / "b").read_text() == ""


@pytest.mark.parametrize("arguments", [["config", "path"], ["recordings", "list"], ["logs"]], ids=" ".join)
def test_a_state_folder_that_cannot_be_found_is_a_message_and_the_next_step(arguments: list[str]) -> None:
    finished = run_process(Path("~no-such-user/x"), *arguments)

    assert (finished.code, finished.out) == (1, "")
    assert finished.err.splitlines() == [
        "error: ~no-such-user/x: OPENPROGRAM_HOME names a user without a home folder",
        "Set OPENPROGRAM_HOME to the absolute path of a folder.",
    ]


@pytest.mark.parametrize("stands", NOT_REGULAR)
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("config.json", ["config", "get"]),
        ("config.json", ["config", "set", "record_replay.mode", "off"]),
        ("config.json", ["recordings", "status"]),
        ("config.json.lock", ["recordings", "off"]),
        ("logs/openprogram.jsonl", ["logs"]),
        ("logs/openprogram.jsonl.1", ["logs", "--tail", "1"]),
    ],
)
def test_whatever_stands_where_a_file_should_be_a_command_ends_with_a_message(
    command: Command, name: str, arguments: list[str], stands: str
) -> None:
    path = command.home.folder / name
    path.parent.mkdir(parents=True)
    NOT_REGULAR[stands](path)

    finished = command(*arguments)

    assert finished.code == 1
    assert finished.err.startswith(f"error: {command.home.folder}/")
    assert "Traceback" not in finished.err


def test_an_error_does_not_send_escapes_to_the_terminal(command: Command) -> None:
    finished = command("recordings", "show", "./\x1b[31mred")

    assert finished.code == 1
    assert "\x1b" not in finished.err
    assert r"\x1b[31mred" in finished.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["recordings", "nonsense"],
        ["recordings", "status", "--nonsense"],
        ["recordings", "replay"],
        ["recordings", "prune"],
        ["recordings", "prune", "--older-than-days", "-1"],
        ["recordings", "prune", "--older-than-days", "99999999999999999999"],
        ["recordings", "prune", "--older-than-days", "soon"],
        ["recordings", "show", "x", "--call", "-1"],
        ["recordings", "record", "--name", ""],
        ["recordings", "record", "--name", "-x"],
        ["recordings", "record", "--name", "../x"],
        ["recordings", "record", "--name", "a/b"],
        ["recordings", "record", "--name", "a\0b"],
        ["recordings", "record", "--name", "CON"],
        ["recordings", "record", "--name", "x" * 300],
        ["config", "get", "nonsense"],
        ["config", "set", "record_replay.mode", "on"],
        ["config", "set", "nonsense", "on"],
        ["logs", "--level", "loud"],
        ["logs", "--tail", "0"],
        ["logs", "--call", "-1"],
    ],
)
def test_a_wrong_argument_exits_with_2_and_changes_nothing(command: Command, arguments: list[str]) -> None:
    finished = command(*arguments)

    assert finished.code == 2
    assert finished.err
    assert not command.home.recordings_folder.exists()
    assert not command.home.config_file.exists()


def test_a_reader_that_leaves_early_is_no_error(tmp_path: Path) -> None:
    write_recording(tmp_path / "recordings" / "first.jsonl", calls=3000)
    shell = f"{sys.executable} -m openprogram recordings show first --content | head -n 1; echo ${{PIPESTATUS[0]}} >&2"
    finished = subprocess.run(
        ["bash", "-c", shell],
        env={**os.environ, "OPENPROGRAM_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert finished.stdout.startswith("file ")
    assert [line for line in finished.stderr.splitlines() if "warning:" not in line] == ["1"]


def test_a_full_disk_behind_stdout_is_an_error(tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:
        finished = subprocess.run(
            [sys.executable, "-m", "openprogram", "config", "path"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )

    assert finished.returncode == 1
    assert finished.stderr == "error: No space left on device\n"


def test_an_encoding_without_a_character_gets_its_escape(tmp_path: Path) -> None:
    finished = run_process(tmp_path / "漢", "config", "path", environ={**os.environ, "PYTHONIOENCODING": "latin-1"})

    assert (finished.code, finished.out) == (0, f"{tmp_path}/\\u6f22/config.json\n")


def test_at_a_terminal_deletion_is_asked_for(tmp_path: Path) -> None:
    path = write_recording(tmp_path / "recordings" / "first.jsonl")

    def answer(text: bytes) -> tuple[int, str]:
        master, slave = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", "openprogram", "recordings", "delete", "first"],
            env={**os.environ, "OPENPROGRAM_HOME": str(tmp_path)},
            stdin=slave,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        os.write(master, text)
        _, shown = process.communicate(timeout=60)
        os.close(master)
        os.close(slave)
        return process.returncode, shown.decode()

    code, shown = answer(b"n\n")
    assert (code, path.exists()) == (0, True)
    assert f"Delete {path}" in shown
    assert "Nothing was deleted." in shown
    assert (answer(b"y\n")[0], path.exists()) == (0, False)
