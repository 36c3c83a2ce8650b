"""A file that gets its name when it is whole and on disk. Until then there is no such file, whatever happens."""

import glob
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from openprogram.pipeline.errors import RecordingFileError
from openprogram.pipeline.log.files import file_errors, let_go, sync_folder, write_whole
from openprogram.pipeline.log.locks import hold_shared, in_use

__all__ = ["new_file", "write_lines"]

_PARTIAL: Final = ".partial"

#: Bytes of lines that are gathered for one write; a line is never cut.
_WRITE_BYTES: Final = 1 << 20


@contextmanager
def new_file(target: Path, *, like: Path) -> Iterator[int]:
    """A descriptor of a file without a name, as it were; when the block ends well, it is on disk as `target`.

    Mode 0600, as old as `like`. Never overwrites. Raises RecordingFileError: `target` exists or can't be written.
    """
    with file_errors(target, "write"):
        _remove_left_behind(target)
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=_PARTIAL, dir=target.parent)
        try:
            hold_shared(descriptor)  # whoever looks for what was left behind sees that this wasn't
            yield descriptor
            times = like.stat()
            os.utime(descriptor, ns=(times.st_atime_ns, times.st_mtime_ns))  # `prune` goes by when it was recorded
            os.fsync(descriptor)
            os.link(name, target)  # a rename would replace a file that has come there meanwhile
        except FileExistsError:
            raise RecordingFileError(path=target, reason="the file exists already") from None
        except FileNotFoundError as error:  # it was taken for what a killed process had left, before it was locked
            raise RecordingFileError(
                path=target, reason="another process is writing the same file", next_step="Try again when it is done."
            ) from error
        finally:
            let_go(descriptor)
            with suppress(OSError):  # what can't be removed is in nobody's way, and goes with the next attempt
                Path(name).unlink()
        try:
            sync_folder(target)
        except BaseException:
            with suppress(OSError):
                target.unlink()  # whole, but nobody is told of it
            raise


def write_lines(descriptor: int, lines: Iterable[bytes]) -> None:
    """Write a new file's content, many lines at a time. Raises OSError, and what `lines` raises."""
    pieces: list[bytes] = []
    end = size = 0
    for line in lines:
        pieces.append(line)
        size += len(line)
        if size >= _WRITE_BYTES:
            write_whole(descriptor, pieces, end)
            end, size = end + size, 0
            pieces.clear()
    write_whole(descriptor, pieces, end)


def _remove_left_behind(target: Path) -> None:
    """Remove what a killed process was writing for this target."""
    for left in target.parent.glob(f".{glob.escape(target.name)}.*{_PARTIAL}"):
        with suppress(OSError):
            if not in_use(left):
                left.unlink()
