"""Names of recordings: which are allowed, how one is made, and which file an argument means."""

import os
import re
from datetime import datetime
from pathlib import Path
from typing import Final

from openprogram.errors import RecordingNotFound, RecordingRefused, UsageError
from openprogram.home import Home

__all__ = ["MAX_NAME_LENGTH", "SUFFIX", "check_name", "find_managed", "find_recording", "managed_path", "new_name"]

SUFFIX: Final = ".jsonl"
MAX_NAME_LENGTH: Final = 100  # with its suffix below the 255 bytes of every file system in use

_ALLOWED: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
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
    if name.endswith(SUFFIX):
        return f"leave `{SUFFIX}` off"
    if _DEVICE.fullmatch(name):
        return "Windows reserves it for a device"
    return None


def new_name(now: datetime, suffix: str) -> str:
    """The default name: `20250102-030405-ab12cd`. `suffix`: a few random characters."""
    return f"{now:%Y%m%d-%H%M%S}-{suffix}"


def managed_path(home: Home, name: str) -> Path:
    """Where the recording of that valid name stands, or would."""
    return home.recordings_folder / f"{name}{SUFFIX}"


def find_recording(home: Home, given: str) -> Path:
    """The file that `given`, an id or a path, means; absolute. The file need not be a valid recording.

    With a separator it is a path. Otherwise it is the managed recording of that id, or a file in the current folder.
    Raises RecordingNotFound: neither exists, or both do.
    """
    _refuse_odd(given)
    if _is_path(given):
        path = Path(given).absolute()
        if not os.path.lexists(path):
            raise RecordingNotFound(f"{path}: no such file", next_step=_LIST)
        return path
    # By hand, a file may have come into the folder under a name that we wouldn't give: it counts all the same.
    managed, local = managed_path(home, given.removesuffix(SUFFIX)), Path(given).absolute()
    found = [path for path in (managed, local) if os.path.lexists(path)]
    if not found:
        raise RecordingNotFound(
            f"no recording {given!r} in {home.recordings_folder}, and no such file in the current folder",
            next_step=_LIST,
        )
    if len(found) == 2 and managed != local:
        raise RecordingNotFound(
            f"{given!r} is ambiguous: a recording in {home.recordings_folder} and a file in the current folder",
            next_step=f"Write ./{given} for the file, or {managed} for the recording.",
        )
    return found[0]


def find_managed(home: Home, given: str) -> Path:
    """The managed recording that `given`, an id or a path into the managed folder, means; absolute.

    Raises RecordingNotFound: there is none. RecordingRefused: a path outside the managed folder.
    """
    _refuse_odd(given)
    if _is_path(given):
        # Only the folder is resolved: a symlink in it must stay visible as one.
        path = Path(given).absolute()
        path = path.parent.resolve() / path.name
        if path.parent != home.recordings_folder.resolve() or path.suffix != SUFFIX:
            raise RecordingRefused(
                path=path,
                reason=f"is not a recording in {home.recordings_folder}",
                next_step="Commands delete nothing elsewhere. Delete the file yourself if you don't need it.",
            )
        path = home.recordings_folder / path.name
    else:
        path = managed_path(home, given.removesuffix(SUFFIX))
    if not os.path.lexists(path):
        raise RecordingNotFound(f"no recording {given!r} in {home.recordings_folder}", next_step=_LIST)
    return path


def _refuse_odd(given: str) -> None:
    if not given or "\0" in given:
        raise UsageError(f"{given!r} is neither a recording's id nor a path")


def _is_path(given: str) -> bool:
    return os.sep in given or given in {os.curdir, os.pardir}
