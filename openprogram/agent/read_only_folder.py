"""Reading below one folder and nowhere else."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Final

__all__ = ["MAX_ENTRIES", "MAX_FILE_BYTES", "PathRefused", "ReadOnlyFolder"]

#: Bytes of a file that may be read: what reasonably fits into a model's context.
MAX_FILE_BYTES: Final = 256 * 1024
#: Entries of a folder that are listed.
MAX_ENTRIES: Final = 1000


class PathRefused(ValueError):
    """A path that leads out of the folder, over a symbolic link, or to what is no plain text file.

    `str()` names the path as it was asked for, never where the folder stands: a model reads it.
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path!r}: {reason}")
        self.path, self.reason = path, reason


class ReadOnlyFolder:
    """The files below `root`. Paths are relative to it; symbolic links are not followed, wherever they lead.

    Every part of a path is opened relative to the part before it and refused if it is a link, so a file that is
    replaced by a link between a check and its use is refused too. Needs POSIX (`dir_fd`, `O_NOFOLLOW`).
    Every method raises OSError where `root` itself cannot be opened.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def read_text_file(self, path: str) -> str:
        """Read a UTF-8 text file.

        Raises PathRefused: outside the folder, not there, not a text file, or larger than MAX_FILE_BYTES.
        """
        with self._opened(path) as descriptor:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise PathRefused(path, "is not a file")
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                data = file.read(MAX_FILE_BYTES + 1)
        if len(data) > MAX_FILE_BYTES:
            raise PathRefused(path, f"has {status.st_size} bytes; at most {MAX_FILE_BYTES} can be read")
        if b"\0" in data:
            raise PathRefused(path, "is not a text file")
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise PathRefused(path, "is not a UTF-8 text file") from error

    def list_files(self, path: str = ".") -> str:
        """List a folder: one name a line, sorted, folders with a slash at the end.

        Raises PathRefused: outside the folder, not there, or not a folder.
        """
        with self._opened(path) as descriptor:
            if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
                raise PathRefused(path, "is not a folder")
            with os.scandir(descriptor) as entries:
                names = sorted(
                    f"{entry.name}/" if entry.is_dir(follow_symlinks=False) else entry.name for entry in entries
                )
        if len(names) > MAX_ENTRIES:
            names[MAX_ENTRIES:] = [f"({len(names) - MAX_ENTRIES} more)"]
        return "\n".join(names)

    @contextmanager
    def _opened(self, path: str) -> Iterator[int]:
        """A descriptor of what `path` names, opened part by part."""
        asked = PurePosixPath(path)
        if asked.is_absolute() or ".." in asked.parts:
            raise PathRefused(path, "leads out of the folder: give a path relative to it, without '..'")
        descriptor = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            for part in asked.parts:
                # O_NONBLOCK: opening a named pipe would wait for a writer
                inner = os.open(part, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = inner
        except (OSError, ValueError) as error:  # ValueError: characters that no file name can have
            os.close(descriptor)
            raise PathRefused(path, _reason(error)) from error
        try:
            yield descriptor
        finally:
            os.close(descriptor)


def _reason(error: OSError | ValueError) -> str:
    match error:
        case FileNotFoundError() | NotADirectoryError() | ValueError():
            return "is not there"
        case OSError(errno=errno.ELOOP):
            return "is a symbolic link, or behind one: links are not followed"
        case _:
            return os.strerror(error.errno or 0)
