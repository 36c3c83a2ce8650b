"""Deleting recordings: a plan is a value that can be shown; executing it asks every question again.

Only regular files in the managed folder are deleted, and none that is active or in use.
"""

import stat
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from openprogram.config import LoadedConfig, load_config
from openprogram.errors import RecordingRefused
from openprogram.home import Home
from openprogram.pipeline.errors import RecordingFileError
from openprogram.pipeline.log.files import reason_of
from openprogram.recordings.listing import from_timestamp, is_active, is_in_use, managed_files
from openprogram.recordings.names import find_managed

__all__ = ["Kept", "Removal", "RemovalPlan", "execute", "plan_delete", "plan_prune"]


@dataclass(frozen=True)
class Removal:
    """A file to delete, or deleted. `modified_at`: last written, UTC."""

    path: Path
    size_bytes: int
    modified_at: datetime


@dataclass(frozen=True)
class Kept:
    """A file that isn't deleted, and why."""

    path: Path
    reason: str


@dataclass(frozen=True)
class RemovalPlan:
    """What would be deleted and what not; the result of executing it has the same shape."""

    removals: tuple[Removal, ...]
    kept: tuple[Kept, ...]

    @property
    def size_bytes(self) -> int:
        """What the removals take up together."""
        return sum(removal.size_bytes for removal in self.removals)


def plan_delete(home: Home, given: str) -> RemovalPlan:
    """Delete the recording that `given`, an id or a path into the managed folder, means.

    Raises RecordingNotFound; RecordingRefused: outside the folder, a symlink, active or in use; ConfigError: which
    recording is active can't be told. RecordingFileError: whether it is in use can't be told.
    """
    path = find_managed(home, given)
    config = load_config(home)
    if (reason := _why_kept(path, home, config)) is not None:
        raise RecordingRefused(path=path, reason=reason, next_step=_next_step(path, config))
    return RemovalPlan((_removal(path),), ())


def plan_prune(home: Home, older_than: timedelta, now: datetime) -> RemovalPlan:
    """Delete the recordings last written more than `older_than` before `now`, damaged ones included.

    Old ones that may not be deleted stand in `kept`. Raises ConfigError as `plan_delete`.
    """
    config = load_config(home)
    removals: list[Removal] = []
    kept: list[Kept] = []
    for path in managed_files(home):
        removal = _removal(path)
        if now - removal.modified_at <= older_than:
            continue
        try:
            reason = _why_kept(path, home, config)
        except RecordingFileError as error:
            reason = error.reason
        if reason is None:
            removals.append(removal)
        else:
            kept.append(Kept(path, reason))
    return RemovalPlan(tuple(removals), tuple(kept))


def execute(plan: RemovalPlan, home: Home) -> RemovalPlan:
    """Delete what is planned, except what may no longer be deleted; returns what was done.

    Raises ConfigError as `plan_delete`; then nothing is deleted.
    """
    config = load_config(home)
    removed: list[Removal] = []
    kept = list(plan.kept)
    for removal in plan.removals:
        reason = _remove(removal.path, home, config)
        if reason is None:
            removed.append(removal)
        else:
            kept.append(Kept(removal.path, reason))
    return RemovalPlan(tuple(removed), tuple(kept))


def _remove(path: Path, home: Home, config: LoadedConfig) -> str | None:
    """Why it was kept, or None. A process that starts recording into it this moment notices that it is gone."""
    try:
        reason = _why_kept(path, home, config)
        if reason is None:
            path.unlink()
    except OSError as error:
        return reason_of(error)
    except RecordingFileError as error:
        return error.reason
    return reason


def _why_kept(path: Path, home: Home, config: LoadedConfig) -> str | None:
    """Why it may not be deleted, or None. Raises OSError, RecordingFileError: that can't be told."""
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return "is a symbolic link"
    if not stat.S_ISREG(mode):
        return "is not a regular file"
    if home.recordings_folder.is_symlink():
        return "the recordings folder is a symbolic link"
    if is_active(path, config):
        return f"is the active recording (mode {config.config.record_replay.mode})"
    if is_in_use(path):
        return "is in use by a running process"
    return None


def _next_step(path: Path, config: LoadedConfig) -> str:
    if is_active(path, config):
        return "Turn it off first: openprogram recordings off"
    if is_in_use(path):
        return "End the program that records into it or replays it, then try again."
    return "Commands delete only regular files in the recordings folder. Remove it yourself if you don't need it."


def _removal(path: Path) -> Removal:
    status = path.lstat()
    return Removal(path, status.st_size, from_timestamp(status.st_mtime))
