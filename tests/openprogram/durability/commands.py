# ruff: noqa: T201, BLE001 - printing is how it answers, and whatever is raised is what is asked for
"""Runs commands again and again in a state folder of their own, and lets each time another system call go wrong.

`python -m tests.openprogram.durability.commands FOLDER FAULTS COMMAND…`, with `faults.c` preloaded: one warm process
that forks for each run and prints a JSON object for each. In the first of a command nothing goes wrong.
"""

import ctypes
import errno
import hashlib
import json
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import anyio

from openprogram.cli.app import main as openprogram
from openprogram.pipeline.errors import RecordingFileError
from openprogram.pipeline.log.convert import compress_recording
from openprogram.providers.recording import RecordingProvider
from openprogram.providers.replay import ReplayProvider
from openprogram.recordings.reading import event_check, survey
from tests.benchmarks.workload import MODEL, session
from tests.openprogram.durability.sessions import Answers, Progress, record

__all__ = ["CHANGING", "READING", "Faults"]

#: `reads`: the first look of each kind at each file fails, and the last read of it; `writes`: each change is refused,
#: never done, or done by half.
#: With `all` in front: at every call, once and for good, with more errors, killed before and behind it.
Faults: TypeAlias = Literal["reads", "writes", "all reads", "all writes"]

SESSION = session(3, 20, 200)
OTHER = session(3, 24, 200)
_SECRET = b"the key is sk-ant-api03-" + b"Ab3dE5gH1jK" * 9 + b"AA"


def _command(*arguments: str) -> Callable[[Path], None]:
    return lambda home: openprogram(["recordings", *(each.replace("HOME", str(home)) for each in arguments)])


def _replay(name: str) -> Callable[[Path], None]:
    async def calls(home: Path) -> None:
        with ReplayProvider(home / "recordings" / name) as provider:
            try:
                for context, answer in zip(SESSION.contexts, SESSION.answers, strict=True):
                    assert [event async for event in provider.stream_simple(MODEL, context)] == answer
            except RecordingFileError:
                assert provider.verdict.failed, "it isn't latched"
            provider.assert_consumed()

    return lambda home: anyio.run(calls, home)


def _record(name: str) -> Callable[[Path], None]:
    async def calls(home: Path) -> None:
        provider = RecordingProvider(Answers(SESSION), home / "recordings" / name)
        failure = None
        for context in SESSION.contexts:
            try:
                async for event in provider.stream_simple(MODEL, context):
                    if event.type == "done":
                        print("acknowledged")
            except RecordingFileError as error:
                print(f"error: {error}", file=sys.stderr)
                failure = error
        provider.close()
        if failure is not None:
            raise failure

    return lambda home: anyio.run(calls, home)


_RECORDS = {"record_replay": {"mode": "record", "file": "HOME/recordings/a.jsonl"}}
_REPLAYS = {"record_replay": {"mode": "replay", "file": "HOME/recordings/a.jsonl"}}

READING: dict[str, tuple[Callable[[Path], None], Any]] = {
    "list": (_command("list", "--json"), {}),
    "show": (_command("show", "a", "--content", "--json"), {}),
    "show what is compressed": (_command("show", "c"), {}),
    "show what is damaged": (_command("show", "torn"), {}),
    "check": (_command("check", "HOME/recordings/a.jsonl", "HOME/recordings/c.jsonl.zst"), {}),
    "scan": (_command("scan", "--json"), {}),
    "diff": (_command("diff", "a", "b"), {}),
    "status": (_command("status"), _REPLAYS),
    "status while recording": (_command("status"), _RECORDS),
    "delete": (_command("delete", "a", "--yes"), {}),
    "replay": (_replay("a.jsonl"), {}),
    "replay what is compressed": (_replay("c.jsonl.zst"), {}),
    "record on": (_record("a.jsonl"), {}),
    "record behind a torn line": (_record("torn.jsonl"), {}),
    "record anew": (_record("new.jsonl"), {}),
}
CHANGING: dict[str, tuple[Callable[[Path], None], Any]] = {
    "compress": (_command("compress", "a"), {}),
    "compress and keep": (_command("compress", "a", "--keep"), {}),
    "expand": (_command("expand", "c"), {}),
    "expand and keep": (_command("expand", "c", "--keep"), {}),
    "repair": (_command("repair", "torn"), {}),
    "redact": (_command("redact", "secret"), {}),
}


class _Fault(NamedTuple):
    """As `fault_arm` in faults.c takes it."""

    number: int = -1
    mode: int = 0
    code: int = 0
    lasting: int = 0


_FAIL, _DIE_BEFORE, _DIE_BEHIND, _DIE_HALF, _FAIL_HALF = 1, 2, 3, 4, 5


def _faults(chosen: Faults, operations: list[str]) -> Iterator[_Fault]:
    first = {operation: number for number, operation in reversed(list(enumerate(operations)))}
    last = {operation: number for number, operation in enumerate(operations) if operation.startswith("read ")}
    chosen_reads = {*first.values(), *last.values()}  # of a file the first is in opening, the last in what follows
    for number, operation in enumerate(operations):
        kind, changes, _ = operation.split(" ", 2)
        if chosen == "reads":
            if changes == "0" and number in chosen_reads:
                yield _Fault(number, _FAIL, errno.ESTALE if number % 3 == 0 else errno.EIO)
        elif chosen == "all reads":
            for code in (errno.EIO, errno.ESTALE):
                yield from (_Fault(number, _FAIL, code, lasting) for lasting in (0, 1))
        elif changes == "1" or chosen == "all writes":
            yield _Fault(number, _DIE_BEFORE)
            if chosen == "all writes":
                yield _Fault(number, _DIE_BEHIND)
            yield _Fault(number, _FAIL, errno.EIO)
            if changes == "1" and kind != "unlink":
                yield _Fault(number, _FAIL, errno.ENOSPC, 1)
            if kind == "write":
                yield _Fault(number, _DIE_HALF)
                yield _Fault(number, _FAIL_HALF, errno.ENOSPC)


def main(folder: str, faults: Faults, *names: str) -> None:
    base = Path(folder)
    _build(base / "template" / "recordings")
    for name in names:
        first = _run(base, name, _Fault())
        print(json.dumps(first), flush=True)
        for fault in _faults(faults, first["operations"]):
            print(json.dumps(_run(base, name, fault)), flush=True)


def _build(recordings: Path) -> None:
    recordings.mkdir(parents=True)
    anyio.run(record, SESSION, recordings / "a.jsonl", Progress(3))
    anyio.run(record, OTHER, recordings / "b.jsonl", Progress(3))
    data = (recordings / "a.jsonl").read_bytes()
    (recordings / "torn.jsonl").write_bytes(data[:-30])
    (recordings / "secret.jsonl").write_bytes(data.replace(b"Find out why deliveries are late.", _SECRET))
    compress_recording(recordings / "a.jsonl", recordings / "c.jsonl.zst", event_check())


def _run(base: Path, name: str, fault: _Fault) -> dict[str, Any]:
    home = base / "home"
    run, config = (READING | CHANGING)[name]
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(base / "template", home)
    (home / "config.json").write_text(json.dumps(config).replace("HOME", str(home)))
    begin = _state(home)
    code, out, err = _in_a_fork(base, run, fault)
    end = _state(home)
    again = None
    if name in CHANGING and code == -signal.SIGKILL:
        again = [_in_a_fork(base, run, None)[0], _state(home)]
    operations = (base / "trace").read_text().replace(str(home), "HOME").splitlines() if fault.number < 0 else []
    return {
        "command": name,
        "fault": fault,
        "code": code,
        "out": out.replace(str(home), "HOME"),
        "err": err.replace(str(home), "HOME"),
        "begin": begin,
        "end": end,
        "again": again,
        "whole": {path.name: _whole(path) for path in (home / "recordings").glob("*.jsonl")}
        if "record" in name
        else {},
        "operations": operations,
    }


def _in_a_fork(base: Path, run: Callable[[Path], None], fault: _Fault | None) -> tuple[int, str, str]:
    outputs = [base / name for name in ("out", "err", "trace")]
    child = os.fork()
    if not child:
        _run_and_exit(base / "home", run, fault, outputs)
    _, status = os.waitpid(child, 0)
    out, err = (output.read_text("utf-8", "replace") for output in outputs[:2])
    return os.waitstatus_to_exitcode(status), out, err


def _run_and_exit(home: Path, run: Callable[[Path], None], fault: _Fault | None, outputs: list[Path]) -> None:
    code = 99  # not even an error of ours
    try:
        descriptors = [os.open(output, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600) for output in outputs]
        sys.stdout, sys.stderr = (os.fdopen(descriptor, "w", encoding="utf-8") for descriptor in descriptors[:2])
        os.environ["OPENPROGRAM_HOME"] = str(home)
        if fault is not None:
            ctypes.CDLL(None).fault_arm(str(home).encode(), ctypes.c_long(fault.number), *fault[1:], descriptors[2])
        try:
            run(home)
            code = 0
        except SystemExit as finished:
            code = int(finished.code or 0)
        except RecordingFileError as error:
            print(f"error: {error}", file=sys.stderr)
            code = 1
        except BaseException:
            traceback.print_exc()
        ctypes.CDLL(None).fault_disarm()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _state(home: Path) -> dict[str, str]:
    """Each file by its digest. Not the lock of the configuration: it has no content, and stays."""
    files = (path for path in home.rglob("*") if path.is_file() and path.suffix != ".lock")
    return {str(path.relative_to(home)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def _whole(path: Path) -> int:
    with suppress(RecordingFileError), survey(path) as found:
        return sum(call.outcome == "complete" for call in found.complete)
    return 0


if __name__ == "__main__":
    main(*sys.argv[1:])  # type: ignore[arg-type]
