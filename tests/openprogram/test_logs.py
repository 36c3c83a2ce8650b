import fcntl
import json
import logging
import multiprocessing
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from openprogram import logs
from openprogram.home import Home
from openprogram.logs import LogReading, configure_file_log, configure_terminal_log, get_logger, read_log
from openprogram.pipeline.logs import detach_sink
from tests.openprogram.not_regular import NOT_REGULAR


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    yield Home(tmp_path / "state", "OPENPROGRAM_HOME")
    detach_sink("file")
    detach_sink("terminal")


def read_lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_using_the_library_prints_nothing_and_changes_no_global_settings() -> None:
    program = """
import logging, structlog
before = dict(structlog.get_config()), list(logging.getLogger().handlers), logging.getLogger("openprogram").level
from openprogram.pipeline.logs import get_logger
get_logger().info("recording.call_end", call_index=3)
get_logger().warning("replay.mismatch", call_index=3)
after = dict(structlog.get_config()), list(logging.getLogger().handlers), logging.getLogger("openprogram").level
assert before == after and not structlog.is_configured()
"""
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)

    assert (finished.returncode, finished.stdout, finished.stderr) == (0, "", "")


def test_structlog_is_imported_at_the_first_event_only() -> None:
    program = "import sys, openprogram.logs; assert 'structlog' not in sys.modules"

    assert subprocess.run([sys.executable, "-c", program], timeout=60).returncode == 0


def test_an_event_is_one_json_line_in_a_private_file(home: Home) -> None:
    configure_file_log(home)
    get_logger().info("recording.call_end", call_index=3, event_count=17)

    (line,) = read_lines(home.log_file)
    assert line.pop("timestamp")
    assert line == {"level": "info", "event": "recording.call_end", "call_index": 3, "event_count": 17}
    assert home.log_file.stat().st_mode & 0o777 == 0o600
    assert home.log_file.parent.stat().st_mode & 0o777 == 0o700


def test_nothing_is_created_before_there_is_an_event(home: Home) -> None:
    configure_file_log(home)
    get_logger().debug("replay.details", call_index=0)

    assert not home.folder.exists()


def test_configuring_twice_writes_a_line_once(home: Home) -> None:
    configure_file_log(home)
    configure_file_log(home)
    get_logger().warning("runtime.activation_blocked")

    assert len(read_lines(home.log_file)) == 1


def test_a_log_that_cannot_be_written_disturbs_nobody(tmp_path: Path, home: Home) -> None:
    (tmp_path / "file").write_text("in the way")
    configure_file_log(Home(tmp_path / "file" / "state", "default"))

    get_logger().error("replay.mismatch", call_index=0)


def test_a_symlink_in_place_of_the_log_is_not_followed(home: Home, tmp_path: Path) -> None:
    target = tmp_path / "precious"
    target.write_text("untouched")
    home.log_file.parent.mkdir(parents=True)
    home.log_file.symlink_to(target)
    configure_file_log(home)

    get_logger().error("replay.mismatch", call_index=0)

    assert target.read_text() == "untouched"


def test_a_full_file_moves_aside_and_one_old_file_is_kept(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "MAX_LOG_BYTES", 1000)
    configure_file_log(home)
    for number in range(40):
        get_logger().info("recording.call_end", call_index=number)

    older = home.log_file.with_name("openprogram.jsonl.1")
    assert sorted(path.name for path in home.log_file.parent.iterdir()) == ["openprogram.jsonl", "openprogram.jsonl.1"]
    assert max(home.log_file.stat().st_size, older.stat().st_size) <= 1000
    kept = [line["call_index"] for line in read_log(home.log_file, LogReading())]
    assert kept == list(range(40 - len(kept), 40))


def _log_many(folder: Path, process: int) -> None:
    logs.MAX_LOG_BYTES = 40_000  # type: ignore[misc]
    configure_file_log(Home(folder, "default"))
    for number in range(200):
        get_logger().info("recording.call_end", process=process, number=number)


def test_processes_that_log_at_once_write_whole_lines(home: Home) -> None:
    spawn = multiprocessing.get_context("spawn")
    writers = [spawn.Process(target=_log_many, args=(home.folder, n)) for n in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)

    reading = LogReading()
    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    assert list(read_log(home.log_file, reading))
    assert reading.damaged == 0


def test_a_users_logging_settings_decide_what_reaches_the_users_handlers(
    home: Home, caplog: pytest.LogCaptureFixture
) -> None:
    configure_file_log(home)
    get_logger().info("recording.call_end", call_index=0)
    with caplog.at_level(logging.INFO):
        get_logger().info("recording.call_end", call_index=1)

    assert [record.getMessage() for record in caplog.records] == ["recording.call_end call_index=1"]
    assert caplog.records[0].openprogram == {"call_index": 1}  # type: ignore[attr-defined]
    assert len(read_lines(home.log_file)) == 2


def test_a_users_structlog_settings_are_not_asked(home: Home) -> None:
    structlog.configure(processors=[lambda *_: pytest.fail("the user's chain ran")])
    try:
        configure_file_log(home)
        get_logger().info("recording.call_end", call_index=0)
    finally:
        structlog.reset_defaults()

    assert len(read_lines(home.log_file)) == 1


def test_verbose_shows_events_on_stderr_without_raw_escapes(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    configure_terminal_log(verbose=True)
    configure_terminal_log(verbose=True)
    get_logger().debug("replay.mismatch", field_path="\x1b[31mred")
    configure_terminal_log(verbose=False)
    get_logger().error("replay.mismatch")

    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("replay.mismatch") == 1
    assert r"\x1b[31mred" in shown.err
    assert "\x1b" not in shown.err


def test_reading_counts_damaged_lines_and_goes_on(home: Home) -> None:
    home.log_file.parent.mkdir(parents=True)
    good = b'{"timestamp":"t","level":"info","event":"a.b"}\n'
    home.log_file.write_bytes(good + b'{"torn\n\xff\n[]\n{"event":"x"}\n{"event":"x","level":["info"]}\n' + good)
    reading = LogReading()

    assert [line["event"] for line in read_log(home.log_file, reading)] == ["a.b", "a.b"]
    assert reading.damaged == 5


def test_a_missing_log_is_an_empty_one(home: Home) -> None:
    assert list(read_log(home.log_file, LogReading())) == []


@pytest.mark.parametrize("stands", NOT_REGULAR)
def test_where_the_log_is_no_file_a_line_is_dropped_at_once_and_reading_is_an_error(home: Home, stands: str) -> None:
    home.log_file.parent.mkdir(parents=True)
    NOT_REGULAR[stands](home.log_file)
    configure_file_log(home)

    get_logger().error("replay.mismatch", call_index=0)

    with pytest.raises(OSError):
        list(read_log(home.log_file, LogReading()))


def test_a_pipe_with_a_reader_gets_no_line(home: Home) -> None:
    home.log_file.parent.mkdir(parents=True)
    os.mkfifo(home.log_file)
    reader = os.open(home.log_file, os.O_RDONLY | os.O_NONBLOCK)
    configure_file_log(home)

    get_logger().error("replay.mismatch", call_index=0)

    assert os.read(reader, 1) == b""
    os.close(reader)


def test_a_full_file_that_another_program_keeps_locked_delays_nobody(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "MAX_LOG_BYTES", 10)
    home.log_file.parent.mkdir(parents=True)
    home.log_file.write_text("x" * 20 + "\n")
    configure_file_log(home)
    with home.log_file.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        get_logger().error("replay.mismatch", call_index=0)

    assert [line["event"] for line in read_log(home.log_file, LogReading())] == ["replay.mismatch"]


def test_a_line_without_end_is_one_damaged_line_and_not_held_whole(home: Home) -> None:
    home.log_file.parent.mkdir(parents=True)
    home.log_file.write_bytes(b"x" * (20 * logs.MAX_LINE_BYTES) + b"\n")
    configure_file_log(home)
    get_logger().error("replay.mismatch", call_index=0)
    reading = LogReading()

    tracemalloc.start()
    events = [line["event"] for line in read_log(home.log_file, reading)]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert (events, reading.damaged) == (["replay.mismatch"], 1)
    assert peak < 8 * logs.MAX_LINE_BYTES
