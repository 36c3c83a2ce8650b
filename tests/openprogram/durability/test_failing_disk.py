"""Every operation of a recording fails in turn: the call fails by name, and what was acknowledged stays."""

import errno
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import pytest

from openprogram.pipeline.errors import RecordingFileError
from openprogram.providers.recording import RecordingProvider
from openprogram.recordings.repairing import AlreadyWhole, repair_beside
from tests.benchmarks.workload import MODEL, SESSIONS, Session, session
from tests.openprogram.durability.operations import Operation, React, intercepted
from tests.openprogram.durability.sessions import (
    Answers,
    Call,
    Progress,
    check_everything,
    check_readers,
    record,
    record_anew,
)


@pytest.fixture(scope="module")
def small() -> Session:
    return session(*SESSIONS["small"])


@pytest.fixture(scope="module")
def expected(small: Session, tmp_path_factory: pytest.TempPathFactory) -> dict[int, Call]:
    return record_anew(small, tmp_path_factory.mktemp("expected") / "run.jsonl")


def begun(played: Session, calls: int) -> Session:
    return Session(played.contexts[:calls], played.answers[:calls])


def operation_count(played: Session, folder: Path) -> int:
    numbers: list[int] = []

    def note(operation: Operation) -> Any:
        numbers.append(operation.number)
        return operation.do()

    with intercepted(note):
        anyio.run(record, played, folder / "whole.jsonl", Progress(len(played.contexts)))
    (folder / "whole.jsonl").unlink()
    return len(numbers)


async def record_on(played: Session, path: Path, progress: Progress) -> list[RecordingFileError]:
    """As `record`, for an agent that goes on with its next call after one that failed. What failed, call by call."""
    failures = []
    try:
        provider = RecordingProvider(Answers(played), path)
    except RecordingFileError as error:
        return [error] * len(played.contexts)
    for number, context in enumerate(played.contexts):
        try:
            async for event in provider.stream_simple(MODEL, context):
                progress.receive(number, event)
        except RecordingFileError as error:
            failures.append(error)
    provider.close()
    return failures


class Fault(NamedTuple):
    """`code`: of the OSError. `after`: bytes of the write that arrive before it. `lasting`: whether nothing works then.

    A disk that is full cuts a write short, and refuses only the next one: `short`.
    """

    code: int
    after: int = 0
    short: bool = False
    lasting: bool = True

    def at(self, number: int) -> React:
        failing = number

        def react(operation: Operation) -> Any:
            nonlocal failing
            if operation.number < failing or (operation.number > failing and not self.lasting):
                return operation.do()
            if operation.kind == "ftruncate" and self.code in (errno.ENOSPC, errno.EDQUOT):
                return operation.do()  # giving room back always works
            if operation.kind == "write" and operation.number == number and self.after:
                operation.do(self.after)
                if self.short:
                    failing += 1
                    return self.after
            raise OSError(self.code, os.strerror(self.code))

        return react


FAULTS = {
    "the disk is full": (Fault(errno.ENOSPC), 3),
    "the disk is full in the middle of a write": (Fault(errno.ENOSPC, after=20, short=True), 8),
    "the disk is full, and then not": (Fault(errno.ENOSPC, after=20, short=True, lasting=False), 8),
    "the quota is used up": (Fault(errno.EDQUOT), 3),
    "the device fails": (Fault(errno.EIO), 3),
    "the device fails in the middle of a write": (Fault(errno.EIO, after=20), 3),
    "the device fails once": (Fault(errno.EIO, lasting=False), 8),
    "the device fails once in the middle of a write": (Fault(errno.EIO, after=20, lasting=False), 3),
    "the file system becomes read-only": (Fault(errno.EROFS), 3),
}


@pytest.mark.parametrize(("fault", "calls"), FAULTS.values(), ids=FAULTS)
def test_whichever_operation_fails_its_call_fails_by_name_and_what_was_acknowledged_stays(
    tmp_path: Path, small: Session, expected: dict[int, Call], fault: Fault, calls: int
) -> None:
    played, path = begun(small, calls), tmp_path / "run.jsonl"
    count = operation_count(played, tmp_path)
    assert count >= 3 + 4 * calls
    for number in range(count):
        progress = Progress(calls)
        with intercepted(fault.at(number)):
            failures = anyio.run(record_on, played, path, progress)
        acknowledged = progress.acknowledged
        assert failures
        assert len(failures) == calls - len(acknowledged)  # a call is on file, or it failed
        for failure in failures:
            assert failure.reason.startswith("cannot ")
            assert failure.next_step, failure.reason
        if fault.lasting:
            assert acknowledged == list(range(len(acknowledged)))
        check_everything(path, expected, progress.received, acknowledged, small)
        path.unlink(missing_ok=True)


def test_a_call_after_a_disk_that_was_full_once_is_recorded(
    tmp_path: Path, small: Session, expected: dict[int, Call]
) -> None:
    played, path, progress = begun(small, 3), tmp_path / "run.jsonl", Progress(3)
    fault = Fault(errno.ENOSPC, after=20, short=True, lasting=False)
    with intercepted(fault.at(4)):  # 0 to 2 are the header and its syncs, 3 the first request, 4 its first events
        failures = anyio.run(record_on, played, path, progress)
    assert [failure.reason for failure in failures] == ["cannot write an event: no space is left on the device"]
    assert progress.acknowledged == [1, 2]
    assert [call.outcome for call in check_readers(path, expected, progress.received, [1, 2])] == [
        "error",
        "complete",
        "complete",
    ]


# ---- a file system that is mounted read-only


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    problem = "there is no mount" if shutil.which("mount") is None else mount("-t", "tmpfs", "tmpfs", folder)
    if problem:
        if os.environ.get("CI"):
            pytest.fail(f"a file system can't be mounted: {problem}")
        pytest.skip(f"a file system can't be mounted here (it takes root): {problem}")
    yield folder
    subprocess.run(["umount", folder], check=True)


def mount(*arguments: object) -> str:
    """What went wrong, or nothing."""
    return subprocess.run(["mount", *map(str, arguments)], capture_output=True, text=True, check=False).stderr


def test_on_a_file_system_that_was_remounted_read_only_all_that_reads_works_and_recording_says_what_to_do(
    disk: Path, small: Session, expected: dict[int, Call]
) -> None:
    path, played = disk / "run.jsonl", begun(small, 3)
    anyio.run(record, played, path, Progress(3))
    with path.open("ab") as file:
        file.write(b'{"type":"request","call_in')
    assert mount("-o", "remount,ro", disk) == ""
    before = path.read_bytes()
    for place in (path, disk / "new.jsonl"):
        with pytest.raises(RecordingFileError) as failure:
            RecordingProvider(Answers(played), place)
        assert failure.value.reason.endswith("the file system is read-only")
        assert failure.value.next_step
    assert len(check_readers(path, expected, [], range(3))) == 3
    with pytest.raises(RecordingFileError) as failure:
        repair_beside(path)
    assert failure.value.next_step
    assert os.listdir(disk) == ["run.jsonl"]
    assert path.read_bytes() == before
    assert mount("-o", "remount,rw", disk) == ""
    check_everything(path, expected, [], range(3), small)
    assert isinstance(repair_beside(path), AlreadyWhole)


# ---- a path that stops being the file's


@pytest.mark.parametrize("happens", ["it is moved away", "another is put in its place", "it is emptied"])
def test_a_file_that_is_taken_away_before_any_operation_acknowledges_nothing_more(
    tmp_path: Path, small: Session, expected: dict[int, Call], happens: str
) -> None:
    played, path, moved = begun(small, 3), tmp_path / "run.jsonl", tmp_path / "moved.jsonl"
    first = 3 if happens == "it is emptied" else 0  # behind the header and its syncs
    for number in range(first, operation_count(played, tmp_path)):
        progress = Progress(3)
        before: list[int] = []

        def take_away(operation: Operation, number: int = number, before: list[int] = before) -> Any:
            if operation.number == number:
                before[:] = progress.acknowledged  # noqa: B023 - of this turn
                if happens == "it is emptied":
                    os.truncate(path, 0)
                else:
                    path.rename(moved)
                if happens == "another is put in its place":
                    path.write_text("mine\n")
            return operation.do()

        with intercepted(take_away):
            failures = anyio.run(record_on, played, path, progress)
        assert progress.acknowledged == before
        assert len(failures) == 3 - len(before)
        assert all(failure.next_step for failure in failures)
        if happens != "it is emptied":
            check_everything(moved, expected, progress.received, before, small)
            moved.unlink()
            assert path.exists() == (happens == "another is put in its place")
            assert not path.exists() or path.read_text() == "mine\n"
        path.unlink(missing_ok=True)
