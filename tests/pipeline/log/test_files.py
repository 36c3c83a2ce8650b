"""Opening a file: errors of the system as RecordingFileError, with what was being done."""

import ctypes
import errno
import mmap
import os
import sys
from pathlib import Path

import pytest

from openprogram.pipeline.errors import RecordingFileError
from openprogram.pipeline.log.files import file_errors, forget_cached, open_existing, open_or_create


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


# ---- memory


def held_in_memory(path: Path) -> list[bool]:
    """Which pages of a file the system keeps in memory."""
    size = path.stat().st_size
    told = (ctypes.c_ubyte * -(-size // mmap.PAGESIZE))()
    libc = ctypes.CDLL(None)
    with path.open("r+b") as file, mmap.mmap(file.fileno(), size) as mapped:
        here = ctypes.c_char.from_buffer(mapped)
        failed = libc.mincore(ctypes.c_void_p(ctypes.addressof(here)), ctypes.c_size_t(size), told)
        del here
    assert not failed
    return [bool(page & 1) for page in told]


@pytest.mark.skipif(sys.platform != "linux", reason="the wish is Linux's")
def test_what_is_on_the_device_need_not_stay_in_memory_and_reads_as_before(tmp_path: Path) -> None:
    path, content = tmp_path / "long", bytes(range(256)) * 16384
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    try:
        for at in range(0, len(content), 65536):  # in one write, it might be one piece of memory
            os.write(descriptor, content[at : at + 65536])
        os.fsync(descriptor)
        assert all(held_in_memory(path))
        forget_cached(descriptor, 0, len(content) // 2)
        held = held_in_memory(path)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        if all(held_in_memory(path)):
            pytest.skip("this file system keeps everything in memory")
    finally:
        os.close(descriptor)
    assert not any(held[: len(held) // 4])
    assert all(held[-len(held) // 4 :])
    assert path.read_bytes() == content
