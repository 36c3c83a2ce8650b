"""Opening files in the state folder, and changing a small one: one writer at a time, all of the new content or none.

Anything may stand where a file is expected. `open_regular_file` is the one way to open what may exist already.
"""

import errno
import fcntl
import os
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from openprogram.home import make_private_folder

__all__ = ["LOCK_PATIENCE_S", "exclusive_writer", "open_regular_file", "replace_content"]

#: Seconds to wait for another writer; one takes milliseconds.
LOCK_PATIENCE_S: Final = 10.0
_LOCK_PAUSE_S: Final = 0.02


def open_regular_file(path: Path, flags: int) -> int:
    """A descriptor of `path`, opened with `flags`; a file that these create is 0600. Never waits.

    A named pipe would wait for its other end, and a device such as /dev/zero never ends.
    Raises OSError: it can't be opened, or it isn't a regular file. What a symlink leads to counts, unless `flags`
    hold O_NOFOLLOW.
    """
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC, 0o600)
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    raise OSError(errno.EINVAL, "not a regular file", str(path))


@contextmanager
def exclusive_writer(path: Path) -> Iterator[None]:
    """Hold the right to change `path`, creating its folder where it is missing.

    The lock is on a file of its own, `<path>.lock`, since `path` is replaced and not written into.
    Raises TimeoutError: another process keeps it. OSError: it can't be created.
    """
    make_private_folder(path.parent)
    descriptor = open_regular_file(path.with_name(path.name + ".lock"), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW)
    try:
        _wait_for_lock(descriptor)
        yield
    finally:
        with suppress(OSError):
            os.close(descriptor)  # and with it the lock


def _wait_for_lock(descriptor: int) -> None:
    """Try again with short pauses: a blocking wait could never be given up."""
    deadline = time.monotonic() + LOCK_PATIENCE_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise TimeoutError(
                    0, f"another process has been changing it for {LOCK_PATIENCE_S:.0f} seconds"
                ) from None
            time.sleep(_LOCK_PAUSE_S)
        else:
            return


def replace_content(path: Path, content: bytes) -> None:
    """Make `content` what `path` holds, mode 0600, synced; on any failure the file is as it was.

    A symlink stays one, and what it points to is replaced: some people keep their configuration elsewhere.
    Raises OSError.
    """
    target = Path(os.path.realpath(path))
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}-", suffix=".tmp", dir=target.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as stream:  # mkstemp made it 0600
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(target)
    except BaseException:
        with suppress(OSError):  # what is told is the failure that led here
            temporary.unlink()
        raise
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Make the new entry survive a power cut too. It is in place already: a file system without this is no failure."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
