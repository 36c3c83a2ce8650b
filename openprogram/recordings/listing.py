"""The managed recordings, each with what a list shows of it."""

import errno
import os
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, assert_never

from openprogram.config import LoadedConfig, Off, Record, Replay
from openprogram.home import Home
from openprogram.pipeline.errors import RecordingFileError
from openprogram.pipeline.log.files import file_errors
from openprogram.pipeline.log.locks import in_use
from openprogram.pipeline.log.source import is_compressed_name, stored_path
from openprogram.recordings.endings import failed_calls
from openprogram.recordings.names import recording_id
from openprogram.recordings.reading import read_strictly

__all__ = ["ListedRecording", "from_timestamp", "is_active", "is_in_use", "list_recordings", "managed_files"]


_LEADS_NOWHERE: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})
#: Not recorded into: what isn't there, a link, what can't be opened, what is no file, one without such locks.
_NEVER_IN_USE: Final = _LEADS_NOWHERE | {
    errno.EACCES,
    errno.EPERM,
    errno.EISDIR,
    errno.ENXIO,
    errno.ENODEV,
    errno.EINVAL,
    errno.ENOLCK,
    errno.ENOSYS,
    errno.EOPNOTSUPP,
}


@dataclass(frozen=True)
class ListedRecording:
    """One managed file. `call_count`: None where it isn't valid, and `reason` says why it isn't.

    `failed_call_count`: those of them that failed when they were recorded; None with `call_count`.

    `active`: the configuration records into it or replays it. `in_use`: a running process records into it.
    `size_bytes`, `modified_at`, `in_use`: None where that can't be told, and `reason` says why it can't.
    """

    path: Path
    size_bytes: int | None
    modified_at: datetime | None
    active: bool
    in_use: bool | None
    call_count: int | None
    failed_call_count: int | None
    reason: str | None

    @property
    def id(self) -> str:
        """What commands call it: the file's name without `.jsonl` or `.jsonl.zst`."""
        return recording_id(self.path) or self.path.name

    @property
    def compressed(self) -> bool:
        """Whether its content is; `size_bytes` is that of the file as it is."""
        return is_compressed_name(self.path)


def managed_files(home: Home) -> list[Path]:
    """Every `*.jsonl` and `*.jsonl.zst` in the managed folder, symlinks and folders of that name included; sorted.

    None is created. Raises RecordingFileError: the folder can't be read.
    """
    folder = home.recordings_folder
    with file_errors(folder, "list the recordings"):
        try:
            return sorted(path for path in folder.iterdir() if recording_id(path) is not None)
        except (FileNotFoundError, NotADirectoryError):
            return []


def list_recordings(home: Home, config: LoadedConfig) -> list[ListedRecording]:
    """Every file in the managed folder; what is wrong with one stands in its `reason` and is never raised."""
    listed = []
    for path in managed_files(home):
        with suppress(FileNotFoundError):  # deleted this moment
            listed.append(_inspect(path, config))
    return listed


def _inspect(path: Path, config: LoadedConfig) -> ListedRecording:
    status, used, call_count, failed_call_count, reason = None, None, None, None, None
    try:
        with file_errors(path, "look at it"):
            status = path.lstat()
        used = is_in_use(path)
        with read_strictly(path) as recording:
            failed_call_count = len(failed_calls(recording))
            call_count = recording.call_count
    except RecordingFileError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            raise error.__cause__ from None
        reason = str(error).removeprefix(str(path)).lstrip(":, ")
    return ListedRecording(
        path=path,
        size_bytes=None if status is None else status.st_size,
        modified_at=None if status is None else from_timestamp(status.st_mtime),
        active=is_active(path, config),
        in_use=used,
        call_count=call_count,
        failed_call_count=failed_call_count,
        reason=reason,
    )


def is_active(path: Path, config: LoadedConfig) -> bool:
    """Whether the configuration records into this file or replays it, whatever name it has for it."""
    match config.record_replay:
        case Off():
            return False
        case Record(file):
            return _is_same(path, file)
        case Replay(file):
            return _is_same(path, stored_path(file))
        case unreachable:
            assert_never(unreachable)


def _is_same(path: Path, file: Path) -> bool:
    if file.absolute() == path:
        return True
    with file_errors(path, "look at it"):
        try:
            return os.path.samestat(path.stat(), file.stat())
        except OSError as error:
            if error.errno in _LEADS_NOWHERE:
                return False
            raise


def is_in_use(path: Path) -> bool:
    """Whether a running process records into the file. Not one that this user can't open, or without such locks.

    Raises RecordingFileError: that can't be told.
    """
    with file_errors(path, "see whether it is in use"):
        try:
            return in_use(path)
        except OSError as error:
            if error.errno in _NEVER_IN_USE:
                return False
            raise


def from_timestamp(seconds: float) -> datetime:
    """Unix seconds as a time in UTC, whole seconds."""
    return datetime.fromtimestamp(int(seconds), UTC)
