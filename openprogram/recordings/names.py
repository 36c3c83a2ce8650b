"""Names of recordings: which are allowed, how one is made, and which file an argument means."""

import os
import re
import shlex
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Final

from openprogram.errors import RecordingNotFound, RecordingRefused, UsageError
from openprogram.home import Home
from openprogram.pipeline.log.files import is_there
from openprogram.pipeline.log.source import COMPRESSED_SUFFIX, stored_path

__all__ = [
    "MAX_NAME_LENGTH",
    "SUFFIX",
    "advice_beside",
    "check_name",
    "find_managed",
    "find_recording",
    "is_managed",
    "managed_path",
    "managed_paths",
    "new_name",
    "recording_id",
]

SUFFIX: Final = ".jsonl"
_SUFFIXES: Final = (SUFFIX, SUFFIX + COMPRESSED_SUFFIX)
MAX_NAME_LENGTH: Final = 100  # with its suffix below the 255 bytes of every file system in use

_ALLOWED: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
_ELSEWHERE: Final = "Commands delete nothing elsewhere. Delete the file yourself if you don't need it."
_LIST: Final = "`openprogram recordings list` shows what there is."
#: Windows opens a device for these, whatever follows the first dot.
_DEVICE: Final = re.compile(r"(?:CON|PRN|AUX|NUL|COM[0-9]|LPT[0-9])(?:\..*)?", re.IGNORECASE)


def check_name(name: str) -> str:
    """`name`, where it can be a file's name on every system and can't leave its folder.

    Raises UsageError that says which rule it breaks.
    """
    if (defect := _defect(name)) is not None:
        raise UsageError(
            f"{name[:MAX_NAME_LENGTH]!r} can't be a recording's name: {defect}",
            next_step="Use letters, digits, `-`, `_` and `.`, such as `--name weather-tool`.",
        )
    return name


def _defect(name: str) -> str | None:
    if not name:
        return "it is empty"
    if len(name) > MAX_NAME_LENGTH:
        return f"it has {len(name)} characters, more than {MAX_NAME_LENGTH}"
    if not _ALLOWED.fullmatch(name):
        return "it may hold letters, digits, `-`, `_` and `.`, and may not start with `-` or `.`"
    if name.endswith("."):
        return "it may not end with `.`"
    for suffix in _SUFFIXES:
        if name.endswith(suffix):
            return f"leave `{suffix}` off"
    if _DEVICE.fullmatch(name):
        return "Windows reserves it for a device"
    return None


def new_name(now: datetime, suffix: str) -> str:
    """The default name: `20250102-030405-ab12cd`. `suffix`: a few random characters."""
    return f"{now:%Y%m%d-%H%M%S}-{suffix}"


def managed_path(home: Home, name: str) -> Path:
    """Where the recording of that valid name stands, or would."""
    return home.recordings_folder / f"{name}{SUFFIX}"


def managed_paths(home: Home, name: str) -> tuple[Path, Path]:
    """Where the recording of that id may stand: plain, and compressed."""
    plain = managed_path(home, name)
    return plain, plain.with_name(plain.name + COMPRESSED_SUFFIX)


def recording_id(path: Path) -> str | None:
    """What commands call a managed file of that name, or None where it isn't a recording's name."""
    for suffix in _SUFFIXES:
        if path.name.endswith(suffix) and path.name != suffix:
            return path.name.removesuffix(suffix)
    return None


def is_managed(home: Home, path: Path) -> bool:
    """Whether the path is that of a recording in the managed folder, which isn't a symlink itself."""
    folder = home.recordings_folder
    return recording_id(path) is not None and path.parent.resolve() == folder.resolve() and not folder.is_symlink()


def find_recording(home: Home, given: str) -> Path:
    """The file that `given`, an id or a path, means; absolute. The file need not be a valid recording.

    With a separator it is a path. Otherwise it is the managed recording of that id or name, or a file in the current
    folder. Where a plain file's compressed form alone is there, it is that: see `stored_path`.
    Raises RecordingNotFound: neither exists, or more than one does. RecordingFileError: that can't be told.
    """
    _refuse_odd(given)
    if _is_path(given):
        path = stored_path(Path(given).absolute())
        if not is_there(path):
            raise RecordingNotFound(f"{path}: no such file", next_step=advice_beside(given))
        return _no_folder(path)
    # By hand, a file may have come into the folder under a name that we wouldn't give: it counts all the same.
    managed = _find_named(home, _stored(home.recordings_folder / given).name)
    local = _stored(Path(given).absolute())
    if not is_there(local) or managed == local:
        if managed is None:
            raise RecordingNotFound(
                f"no recording {given!r} in {home.recordings_folder}, and no such file in the current folder",
                next_step=_advice(given, [*_managed_ids(home), *_files_beside(given)]),
            )
        return managed
    if managed is not None:
        raise RecordingNotFound(
            f"{given!r} is ambiguous: a recording in {home.recordings_folder} and a file in the current folder",
            next_step=f"Write ./{given} for the file, or {managed} for the recording.",
        )
    return _no_folder(local)


def find_managed(home: Home, given: str) -> Path:
    """The managed recording that `given`, an id or a path into the managed folder, means; absolute.

    For what deletes: a file's name is that of this file alone, and not of the recording's other form.
    Raises RecordingNotFound: there is none. RecordingRefused: a path outside the managed folder.
    """
    _refuse_odd(given)
    if _is_path(given):
        # Only the folder is resolved: a symlink in it must stay visible as one.
        path = Path(given).absolute()
        path = path.parent.resolve() / path.name
        if path.parent != home.recordings_folder.resolve() or recording_id(path) is None:
            raise RecordingRefused(
                path=path, reason=f"is not a recording in {home.recordings_folder}", next_step=_ELSEWHERE
            )
        path = home.recordings_folder / path.name
        found = path if is_there(path) else None
    else:
        found = _find_named(home, given)
    if found is None:
        is_elsewhere = not _is_path(given) and is_there(Path(given))
        raise RecordingNotFound(
            f"no recording {given!r} in {home.recordings_folder}",
            next_step=_ELSEWHERE if is_elsewhere else _advice(given, _managed_ids(home)),
        )
    return found


def _stored(path: Path) -> Path:
    """As `stored_path`, where the name is that of a recording's file: `x.zst` is no form of the id `x`."""
    return path if recording_id(path) is None else stored_path(path)


def _no_folder(path: Path) -> Path:
    """`path`. Raises RecordingNotFound: it is a folder, in which recordings may be."""
    if not path.is_dir() or path.is_symlink():
        return path
    names = _names_in(path)
    inside = f"Name a file in it, such as {shlex.quote(str(path / names[0]))}." if names else None
    raise RecordingNotFound(f"{path}: is a folder", next_step=inside)


def advice_beside(given: str) -> str:
    """What to do about a path at which there is nothing: recordings beside it whose names are like it, or a list."""
    return _advice(given, _files_beside(given))


def _advice(given: str, names: Iterable[str]) -> str:
    from openprogram.recordings.near_names import near_names  # not at import: nearly every name is found

    near = " or ".join(map(shlex.quote, near_names(given, names)))
    return f"Did you mean {near}? {_LIST}" if near else _LIST


def _managed_ids(home: Home) -> list[str]:
    return [recording_id(Path(name)) or name for name in _names_in(home.recordings_folder)]


def _files_beside(given: str) -> list[str]:
    """Recordings in the folder of that path, each as the path would have to be written."""
    path = Path(given)
    folder = given.rstrip(os.sep).removesuffix(path.name)  # as it was written, `./` included
    return [folder + name for name in _names_in(path.parent)]


def _names_in(folder: Path) -> list[str]:
    """Names of recordings; none where the folder can't be read: what is told then is that there is no such file."""
    try:
        return sorted(path.name for path in folder.iterdir() if recording_id(path) is not None)
    except OSError:
        return []


def _find_named(home: Home, given: str) -> Path | None:
    """The managed file that an id or a file's name means. Raises RecordingNotFound: it is there in both forms."""
    if recording_id(Path(given)) is not None:
        named: tuple[Path, ...] = (home.recordings_folder / given,)
    else:
        named = managed_paths(home, given)
    found = [path for path in named if is_there(path)]
    if len(found) > 1:
        raise RecordingNotFound(
            f"{given!r} is ambiguous: both a plain and a compressed recording are in {home.recordings_folder}",
            next_step=f"Write {' or '.join(path.name for path in found)}.",
        )
    return found[0] if found else None


def _refuse_odd(given: str) -> None:
    if not given or "\0" in given:
        raise UsageError(f"{given!r} is neither a recording's id nor a path")


def _is_path(given: str) -> bool:
    return os.sep in given or given in {os.curdir, os.pardir}
