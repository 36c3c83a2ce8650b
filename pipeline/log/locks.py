"""Two locks on a recording: that a process records into it, and that a process writes this moment.

Both are byte-range locks of the open file description: they work across processes and between several opens in
one process, don't vanish when another descriptor of the file is closed, and leave no file beside the recording.
The bytes locked lie far beyond any content. Source: fcntl(2), "Open file description locks".
"""

import errno
import fcntl
import os
import struct
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import IntEnum
from pathlib import Path
from typing import Final

__all__ = ["LockRange", "exclusive", "hold_exclusive", "hold_shared", "in_use"]

#: Seconds to wait for another process's single write before giving up: it was stopped in the middle of one.
_PATIENCE_S: Final = 30.0
_FIRST_PAUSE_S: Final = 0.0002
_LONGEST_PAUSE_S: Final = 0.02


class LockRange(IntEnum):
    """Which byte a lock covers."""

    IN_USE = 2**62  #: shared, for as long as a process records
    APPEND = 2**62 + 1  #: exclusive, for the time of one write


# The numbers and the layout of `struct flock` for F_OFD_SETLK and F_OFD_GETLK, from the systems' <fcntl.h>.
if sys.platform == "darwin":  # pragma: no cover - not this system
    _SET, _GET = 90, 92

    def _flock(kind: int, start: int) -> bytes:
        return struct.pack("qqihh", start, 1, 0, kind, os.SEEK_SET)

    def _kind(answer: bytes) -> int:
        return int(struct.unpack("qqihh", answer)[3])
else:
    _SET, _GET = 37, 36

    def _flock(kind: int, start: int) -> bytes:
        return struct.pack("hhqqi4x", kind, os.SEEK_SET, start, 1, 0)

    def _kind(answer: bytes) -> int:
        return int(struct.unpack("hhqqi4x", answer)[0])


def hold_shared(descriptor: int) -> None:
    """Mark the file as recorded into, until the descriptor is closed.

    Raises OSError: a management command holds it exclusively this moment, for longer than the patience here.
    """
    _patiently(lambda: _set(descriptor, fcntl.F_RDLCK, LockRange.IN_USE))


def hold_exclusive(descriptor: int, what: LockRange) -> None:
    """Hold the lock alone, until the descriptor is closed. It must be open for writing. Raises as `exclusive`."""
    _patiently(lambda: _set(descriptor, fcntl.F_WRLCK, what))


@contextmanager
def exclusive(descriptor: int, what: LockRange) -> Iterator[None]:
    """Hold the lock alone. The descriptor must be open for writing.

    Raises OSError (EAGAIN): another process held it for longer than the patience here.
    """
    hold_exclusive(descriptor, what)
    try:
        yield
    finally:
        _set(descriptor, fcntl.F_UNLCK, what)


def in_use(path: Path) -> bool:
    """Whether a process records into the file. Raises OSError where it can't be opened."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        answer = fcntl.fcntl(descriptor, _GET, _flock(fcntl.F_WRLCK, LockRange.IN_USE))
        return _kind(answer) != fcntl.F_UNLCK
    finally:
        with suppress(OSError):
            os.close(descriptor)


def _set(descriptor: int, kind: int, what: LockRange) -> None:
    fcntl.fcntl(descriptor, _SET, _flock(kind, what))


def _patiently(take: Callable[[], None]) -> None:
    """Try again with short pauses: the lock is held for one write, and a blocking wait could never be given up."""
    deadline = time.monotonic() + _PATIENCE_S
    pause = _FIRST_PAUSE_S
    while True:
        try:
            return take()
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES) or time.monotonic() > deadline:
                raise
        time.sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE_S)
