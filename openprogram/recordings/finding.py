"""Which files a command that takes many means: ids, paths, and every recording below a folder."""

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from openprogram.errors import RecordingNotFound
from openprogram.home import Home
from openprogram.pipeline.log.beginning import looks_recorded
from openprogram.pipeline.log.files import file_errors
from openprogram.recordings.listing import managed_files
from openprogram.recordings.names import find_recording, recording_id

__all__ = ["Found", "each_once", "find_all", "recordings_below"]

_NEVER_SEARCHED: Final = frozenset({"__pycache__", "node_modules", ".git", ".hg", ".venv", ".tox", ".nox"})


class Found(NamedTuple):
    """`files`: what was named, and the recordings below folders. `skipped`: files below folders that have the name of a
    recording and are none, as `looks_recorded` tells; a file that was named is never skipped. Each once, in order.
    """

    files: list[Path]
    skipped: list[Path]


def find_all(home: Home, given: Sequence[str]) -> Found:
    """The files that ids, paths and folders mean; without any, every managed one.

    Raises RecordingNotFound: one names nothing.
    """
    if not given:
        return Found(managed_files(home), [])
    return each_once(given, lambda one: find_recording(home, one))


def each_once(given: Iterable[str], named: Callable[[str], Path]) -> Found:
    """The recordings below what is a folder, and the file that `named` finds for what is none.

    Raises RecordingNotFound: a folder can't be searched; and what `named` raises.
    """
    files: dict[Path, Path] = {}
    skipped: dict[Path, Path] = {}
    for one in given:
        folder = Path(one)
        if not folder.is_dir():
            path = named(one)
            files.setdefault(_identity(path), path)
            continue
        for path in recordings_below(folder.resolve() if ".." in folder.parts else folder.absolute()):
            chosen = files if looks_recorded(path) else skipped
            chosen.setdefault(_identity(path), path)
    return Found(list(files.values()), [path for key, path in skipped.items() if key not in files])


def _identity(path: Path) -> Path:
    """The same for one file, by whichever way it was found. A link in place of a file stays one: none is followed."""
    return path.parent.resolve() / path.name


def recordings_below(folder: Path) -> Iterator[Path]:
    """Every file below the folder that is named as a recording, sorted; links to folders aren't followed.

    Raises RecordingNotFound: there is no such folder, or one in it can't be read. RecordingFileError: it can't be told.
    """
    with file_errors(folder, "search it"):
        try:
            is_folder = stat.S_ISDIR(folder.stat().st_mode)
        except (FileNotFoundError, NotADirectoryError):
            is_folder = False
    if not is_folder:
        raise RecordingNotFound(f"{folder}: no such folder")

    def refuse(error: OSError) -> None:
        raise RecordingNotFound(f"{error.filename}: cannot be searched: {error.strerror}") from error

    for here, below, names in os.walk(folder, onerror=refuse):
        below[:] = sorted(name for name in below if name not in _NEVER_SEARCHED)
        yield from (Path(here, name) for name in sorted(names) if recording_id(Path(name)) is not None)
