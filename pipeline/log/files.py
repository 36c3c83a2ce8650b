"""Files of recordings: never through a symlink, never anything but a regular file, errors as RecordingFileError."""

import errno
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from openprogram.pipeline.errors import RecordingFileError

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = [
    "PathLike",
    "file_errors",
    "forget_cached",
    "is_at",
    "is_there",
    "let_go",
    "open_existing",
    "open_or_create",
    "reason_of",
    "remove_empty",
    "sync_folder",
    "write_whole",
]

PathLike: TypeAlias = str | os.PathLike[str]

_SAFE: Final = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK  # O_NONBLOCK: opening a FIFO must not wait

#: Pieces that one write may have on Linux and macOS (IOV_MAX).
_PIECES_A_WRITE: Final = 1024

_REASONS: Final = {
    errno.ENOENT: "no such file",
    errno.ELOOP: "is a symbolic link; name the file itself",
    errno.EACCES: "permission denied",
    errno.EAGAIN: "another process has held the file's lock for too long",
    errno.ENOSPC: "no space is left on the device",
    errno.EROFS: "the file system is read-only",
    errno.EISDIR: "is a folder",
    errno.EDQUOT: "the disk quota is used up",
}


_ROOM: Final = "Make room, or record on another device, and start again. Calls that had ended are on file."
_NEXT_STEPS: Final = {
    errno.ENOSPC: _ROOM,
    errno.EDQUOT: _ROOM,
    errno.EIO: "The device failed: check it, or record on another. Calls that had ended before are on file.",
    errno.ESTALE: "The file system no longer knows the file: mount it anew. Calls that had ended before are on file.",
    errno.EROFS: "Record into a folder that can be written to.",
}


@contextmanager
def file_errors(path: Path, doing: str) -> Iterator[None]:
    """Turn an OSError inside into a RecordingFileError that says what was being done."""
    try:
        yield
    except OSError as error:
        raise RecordingFileError(
            path=path, reason=f"cannot {doing}: {reason_of(error)}", next_step=_NEXT_STEPS.get(error.errno or 0)
        ) from error


def reason_of(error: OSError) -> str:
    """What the system says, in our words where we have some."""
    return _REASONS.get(error.errno or 0, error.strerror or str(error))


def is_there(path: Path) -> bool:
    """Whether the path names anything, be it a link to nothing. Raises RecordingFileError: that can't be told.

    `os.path.lexists` says no then, and a device that fails would pass for a file that isn't there.
    """
    with file_errors(path, "look for it"):
        try:
            path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return False
        except ValueError:  # a NUL or a lone surrogate in the name
            return False
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                return False
            raise
    return True


def let_go(descriptor: int) -> None:
    """Close it. A failure is none of ours: what must stay was synced before, and nobody was told of more."""
    with suppress(OSError):
        os.close(descriptor)


def open_existing(path: Path, *, writing: bool = False) -> int:
    """A descriptor of an existing recording, for reading or for reading and appending. Raises RecordingFileError."""
    with file_errors(path, "open"):
        descriptor = _open(path, os.O_RDWR | os.O_APPEND if writing else os.O_RDONLY)
    return _regular(descriptor, path)


def open_or_create(path: Path) -> tuple[int, bool]:
    """A descriptor for appending, and whether the file is new (mode 0600). Raises RecordingFileError."""
    try:
        with file_errors(path, "create"):
            return _open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL), True
    except RecordingFileError as error:
        if not isinstance(error.__cause__, FileExistsError):
            raise
    return open_existing(path, writing=True), False


def sync_folder(path: Path) -> None:
    """Make a new name in the folder of `path` survive a power cut."""
    descriptor = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        let_go(descriptor)


def remove_empty(path: Path, descriptor: int) -> None:
    """Leave no file where none was. One that another process put there, or has begun to record into, stays.

    Raises nothing: what is told is the failure that led here, and an empty file is in nobody's way.
    """
    with suppress(OSError):
        if os.fstat(descriptor).st_size == 0 and is_at(path, descriptor):
            path.unlink()


def is_at(path: Path, descriptor: int) -> bool | None:
    """Whether the path still names the open file; None where it names nothing."""
    ours = os.fstat(descriptor)
    try:
        there = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino)


def forget_cached(descriptor: int, start: int, end: int) -> None:
    """Let the system give back the memory in which it keeps a part of the file that is on the device already.

    A wish, which changes nothing that is read: at most, it comes from the device then.
    """
    if sys.platform == "linux":
        with suppress(OSError):
            os.posix_fadvise(descriptor, start, end - start, os.POSIX_FADV_DONTNEED)


def write_whole(descriptor: int, pieces: "Sequence[Buffer]", end: int) -> None:
    """All of the pieces at `end` of the file, in one write, or nothing: what a full disk cut short is taken back.

    Raises OSError.
    """
    views = [memoryview(piece) for piece in pieces]
    try:
        while views := _unwritten(views, os.writev(descriptor, views[:_PIECES_A_WRITE])):
            pass
    except BaseException:
        if os.fstat(descriptor).st_size > end:
            os.ftruncate(descriptor, end)
        raise


def _unwritten(views: list[memoryview], written: int) -> list[memoryview]:
    """What is left once so many bytes were written."""
    for at, view in enumerate(views):
        if written < len(view):
            return [view[written:], *views[at + 1 :]]
        written -= len(view)
    return []


def _open(path: Path, flags: int) -> int:
    try:
        return os.open(path, flags | _SAFE, 0o600)
    except ValueError as error:  # a NUL or a lone surrogate in the name
        raise OSError(errno.EINVAL, f"no file can have this name: {error}") from None


def _regular(descriptor: int, path: Path) -> int:
    try:
        with file_errors(path, "open"):
            mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise RecordingFileError(path=path, reason="is a folder" if stat.S_ISDIR(mode) else "is not a regular file")
    except BaseException:
        let_go(descriptor)
        raise
    return descriptor
