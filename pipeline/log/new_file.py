"""A file that gets its name when it is whole and on disk. Until then there is no such file, whatever happens."""

import glob
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from openprogram.pipeline.errors import RecordingFileError
from openprogram.pipeline.log.files import file_errors, sync_folder
from openprogram.pipeline.log.locks import hold_shared, in_use

__all__ = ["new_file"]

_PARTIAL: Final = ".partial"


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
        finally:
            os.close(descriptor)
            Path(name).unlink(missing_ok=True)
        sync_folder(target)


def _remove_left_behind(target: Path) -> None:
    """Remove what a killed process was writing for this target."""
    for left in target.parent.glob(f".{glob.escape(target.name)}.*{_PARTIAL}"):
        with suppress(OSError):
            if not in_use(left):
                left.unlink()
