"""Where structured logs go: a JSON-lines file in the state folder, and pretty lines on a terminal.

Only commands and the runtime lifecycle attach these; a program that merely uses the library gets neither.
A log is about the work and never the work: where a line can't be written it is dropped, and the call goes on.
"""

import fcntl
import json
import os
import stat
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

from openprogram.home import Home, make_private_folder
from openprogram.pipeline.logs import attach_sink, detach_sink, get_logger
from openprogram.state_file import open_regular_file

__all__ = [
    "LEVELS",
    "MAX_LINE_BYTES",
    "MAX_LOG_BYTES",
    "LogReading",
    "configure_file_log",
    "configure_terminal_log",
    "get_logger",
    "read_log",
]

#: Above this many bytes the file becomes `openprogram.jsonl.1`, in place of an earlier one.
MAX_LOG_BYTES: Final = 10 * 1024 * 1024

#: A longer line isn't one of ours: reading counts it as damaged, and holds no more of it than this.
MAX_LINE_BYTES: Final = 1024 * 1024

#: Least important first.
LEVELS: Final = ("debug", "info", "warning", "error", "critical")


def configure_file_log(home: Home) -> None:
    """Append every event from `info` up to the log file of `home` from now on. Calling it again changes nothing.

    Neither file nor folder is created before there is a line to write.
    """
    path = home.log_file

    def write(event: Mapping[str, Any]) -> None:
        if event["level"] != "debug":
            _append(path, _to_json_line(event))

    attach_sink("file", write)
    get_logger()  # imports structlog now, while the program starts, and not in the middle of its first call


def configure_terminal_log(*, verbose: bool) -> None:
    """Show every event on stderr from now on where `verbose`, none otherwise. Calling it again changes nothing."""
    if not verbose:
        detach_sink("terminal")
        return
    import structlog

    # repr_native_str: a field that came from a file can't send escapes to the terminal.
    render = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), repr_native_str=True)

    def show(event: Mapping[str, Any]) -> None:
        with suppress(OSError, ValueError):  # stderr is closed, or its reader has gone: nowhere left to say so
            sys.stderr.write(f"{render(None, event['level'], dict(event))}\n")

    attach_sink("terminal", show)


def _to_json_line(event: Mapping[str, Any]) -> bytes:
    leading = {key: event[key] for key in ("timestamp", "level", "event")}
    fields = {key: value for key, value in event.items() if key != "exc_info"}
    return json.dumps(leading | fields, default=str).encode() + b"\n"


def _append(path: Path, line: bytes) -> None:
    """One whole line in one write. Several processes may append; `logging`'s rotating handler allows only one.

    The file is opened for each line: there are a few lines a call, and nothing stays open across forks.
    """
    # A full disk or a read-only state folder must not fail the call that is being logged.
    with suppress(OSError):
        make_private_folder(path.parent.parent)
        make_private_folder(path.parent)
        _move_aside_if_full(path, len(line))
        descriptor = open_regular_file(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW)
        try:
            os.write(descriptor, line)
        finally:
            os.close(descriptor)


def _move_aside_if_full(path: Path, added: int) -> None:
    try:
        if not _is_full(path.lstat(), added):
            return
        descriptor = open_regular_file(path, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:  # not written yet, or moved a moment ago
        return
    try:
        # Whoever holds the lock is moving the file, or may never let go: a log doesn't wait for either.
        with suppress(BlockingIOError, FileNotFoundError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            opened = os.fstat(descriptor)
            # Else another process has done it in between, and what is open is its new file or the old one.
            if _is_full(opened, added) and opened.st_ino == path.lstat().st_ino:
                path.replace(_older(path))
    finally:
        os.close(descriptor)


def _is_full(status: os.stat_result, added: int) -> bool:
    return stat.S_ISREG(status.st_mode) and status.st_size + added > MAX_LOG_BYTES


def _older(path: Path) -> Path:
    return path.with_name(path.name + ".1")


@dataclass
class LogReading:
    """What `read_log` went past. Filled while its events are consumed. `damaged`: lines that aren't log lines."""

    damaged: int = 0


def read_log(path: Path, reading: LogReading) -> Iterator[dict[str, Any]]:
    """The events in the log, oldest first, the older file included; damaged lines are counted in `reading`.

    A missing file is an empty one. Raises OSError: a file can't be read, or isn't a regular one.
    """
    for part in (_older(path), path):
        try:
            descriptor = open_regular_file(part, os.O_RDONLY)
        except FileNotFoundError:
            continue
        with os.fdopen(descriptor, "rb") as stream:
            for line in _lines(stream):
                event = _parse(line)
                if event is None:
                    reading.damaged += 1
                else:
                    yield event


def _lines(stream: BinaryIO) -> Iterator[bytes]:
    """The lines in `stream`; of one that is too long, its beginning, which is no JSON."""
    while line := stream.readline(MAX_LINE_BYTES):
        yield line
        while line and not line.endswith(b"\n"):
            line = stream.readline(MAX_LINE_BYTES)


def _parse(line: bytes) -> dict[str, Any] | None:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, dict) or not isinstance(event.get("event"), str) or event.get("level") not in LEVELS:
        return None
    return event
