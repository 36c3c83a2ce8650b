"""The managed recordings, each with what a list shows of it."""

from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import assert_never

from openprogram.config import LoadedConfig, Off, Record, Replay
from openprogram.home import Home
from openprogram.pipeline.errors import RecordingFileError
from openprogram.pipeline.log.locks import in_use
from openprogram.pipeline.log.source import is_compressed_name
from openprogram.recordings.names import recording_id
from openprogram.recordings.reading import read_strictly

__all__ = ["ListedRecording", "from_timestamp", "is_active", "is_in_use", "list_recordings", "managed_files"]


@dataclass(frozen=True)
class ListedRecording:
    """One managed file. `call_count`: None where it isn't valid, and `reason` says why it isn't.

    `active`: the configuration records into it or replays it. `in_use`: a running process does.
    """

    path: Path
    size_bytes: int
    modified_at: datetime
    active: bool
    in_use: bool
    call_count: int | None
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

    None is created.
    """
    folder = home.recordings_folder
    return sorted(path for path in folder.iterdir() if recording_id(path) is not None) if folder.is_dir() else []


def list_recordings(home: Home, config: LoadedConfig) -> list[ListedRecording]:
    """Every file in the managed folder; what is wrong with one stands in its `reason` and is never raised."""
    listed = []
    for path in managed_files(home):
        with suppress(FileNotFoundError):  # deleted this moment
            listed.append(_inspect(path, config))
    return listed


def _inspect(path: Path, config: LoadedConfig) -> ListedRecording:
    status = path.lstat()
    call_count, reason = None, None
    try:
        with read_strictly(path) as recording:
            call_count = recording.call_count
    except RecordingFileError as error:
        reason = str(error).removeprefix(str(path)).lstrip(":, ")
    return ListedRecording(
        path=path,
        size_bytes=status.st_size,
        modified_at=from_timestamp(status.st_mtime),
        active=is_active(path, config),
        in_use=is_in_use(path),
        call_count=call_count,
        reason=reason,
    )


def is_active(path: Path, config: LoadedConfig) -> bool:
    """Whether the configuration records into this file or replays it, whatever name it has for it."""
    match config.record_replay:
        case Off():
            return False
        case Record(file) | Replay(file):
            return file.absolute() == path or (path.exists() and file.exists() and path.samefile(file))
        case unreachable:
            assert_never(unreachable)


def is_in_use(path: Path) -> bool:
    """Whether a running process records into the file or replays it. What can't be opened isn't."""
    try:
        return in_use(path)
    except OSError:
        return False


def from_timestamp(seconds: float) -> datetime:
    """Unix seconds as a time in UTC, whole seconds."""
    return datetime.fromtimestamp(int(seconds), UTC)
