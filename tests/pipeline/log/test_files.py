"""Opening a file: errors of the system as RecordingFileError, with what was being done."""

import errno
import os
from pathlib import Path

import pytest

from openprogram.pipeline.errors import RecordingFileError
from openprogram.pipeline.log.files import file_errors, open_existing, open_or_create


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (errno.ENOENT, "no such file"),
        (errno.EACCES, "permission denied"),
        (errno.ENOSPC, "no space is left on the device"),
        (errno.EROFS, "the file system is read-only"),
        (errno.EDQUOT, "the disk quota is used up"),
        (errno.EAGAIN, "another process has held the file's lock for too long"),
        (errno.EIO, os.strerror(errno.EIO)),
    ],
)
def test_an_error_of_the_system_says_what_was_being_done_and_why_it_failed(code: int, reason: str) -> None:
    with pytest.raises(RecordingFileError) as failure, file_errors(Path("a"), "write an event"):
        raise OSError(code, os.strerror(code))
    assert failure.value.reason == f"cannot write an event: {reason}"
    assert failure.value.path == Path("a")
    assert isinstance(failure.value.__cause__, OSError)


def test_only_errors_of_the_system_are_turned() -> None:
    with pytest.raises(ValueError, match="mine"), file_errors(Path("a"), "read"):
        raise ValueError("mine")


def test_a_file_is_created_once(tmp_path: Path) -> None:
    for expected in (True, False):
        descriptor, is_new = open_or_create(tmp_path / "a")
        os.close(descriptor)
        assert is_new is expected


@pytest.mark.parametrize("name", ["a\0b", "\ud800", "x" * 300])
def test_a_name_that_no_file_can_have_is_an_error_of_ours(tmp_path: Path, name: str) -> None:
    with pytest.raises(RecordingFileError):
        open_existing(tmp_path / name)
    with pytest.raises(RecordingFileError):
        open_or_create(tmp_path / name)


def test_a_refused_file_is_not_left_open(tmp_path: Path) -> None:
    before = len(os.listdir("/dev/fd"))
    with pytest.raises(RecordingFileError):
        open_existing(tmp_path)
    assert len(os.listdir("/dev/fd")) == before


def test_a_descriptor_is_not_inherited_by_programs_that_are_started(tmp_path: Path) -> None:
    descriptor, _ = open_or_create(tmp_path / "a")
    assert not os.get_inheritable(descriptor)
    os.close(descriptor)


def test_a_full_disk_says_what_to_do_next(tmp_path: Path) -> None:
    with pytest.raises(RecordingFileError) as failure, file_errors(tmp_path / "run.jsonl", "write an event"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert failure.value.reason == "cannot write an event: no space is left on the device"
    assert failure.value.next_step is not None
    assert failure.value.next_step.startswith("Make room")
