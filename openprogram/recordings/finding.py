"""Which files a command that takes many means: ids, paths, and every recording below a folder."""

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from openprogram.errors import RecordingNotFound
from openprogram.home import Home
from openprogram.pipeline.log.files import file_errors
from openprogram.recordings.listing import managed_files
from openprogram.recordings.names import find_recording, recording_id

__all__ = ["find_all", "recordings_below"]

_NEVER_SEARCHED: Final = frozenset({"__pycache__", "node_modules", ".git", ".hg", ".venv", ".tox", ".nox"})


def find_all(home: Home, given: Iterable[str]) -> list[Path]:
    """The files that ids, paths and folders mean, each once, in their order; without any, every managed one.

    Raises RecordingNotFound: one names nothing.
    """
    found: dict[Path, None] = {}
    for one in given:
        folder = Path(one)
        if folder.is_dir():
            found.update(dict.fromkeys(recordings_below(folder.absolute())))
        else:
            found[find_recording(home, one)] = None
    return list(found) if given else managed_files(home)


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
