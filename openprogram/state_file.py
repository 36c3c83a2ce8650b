"""Changing a small file in the state folder: one writer at a time, and the whole new content or the old one."""

import fcntl
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from openprogram.home import make_private_folder

__all__ = ["LOCK_PATIENCE_S", "exclusive_writer", "replace_content"]

#: Seconds to wait for another writer; one takes milliseconds.
LOCK_PATIENCE_S: Final = 10.0
_LOCK_PAUSE_S: Final = 0.02


@contextmanager
def exclusive_writer(path: Path) -> Iterator[None]:
    """Hold the right to change `path`, creating its folder where it is missing.

    The lock is on a file of its own, `<path>.lock`, since `path` is replaced and not written into.
    Raises TimeoutError: another process keeps it. OSError: it can't be created.
    """
    make_private_folder(path.parent)
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path.with_name(path.name + ".lock"), flags, 0o600)
    try:
        _wait_for_lock(descriptor)
        yield
    finally:
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
    finally:
        temporary.unlink(missing_ok=True)
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Make the new entry survive a power cut too. It is in place already: a file system without this is no failure."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
