"""Compressing a recording and expanding it again: when that may be, and when the file that was read goes away.

Only in the managed folder does the new file take the place of the old one. Elsewhere both stay: commands change and
delete nothing there.
"""

import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from openprogram.config import LoadedConfig, Record, load_config
from openprogram.errors import RecordingRefused
from openprogram.home import Home
from openprogram.pipeline.errors import RecordingFileError
from openprogram.pipeline.log.files import file_errors, is_at, is_there, let_go, open_existing, reason_of, sync_folder
from openprogram.pipeline.log.locks import LockRange, hold_exclusive
from openprogram.pipeline.log.source import COMPRESSED_SUFFIX, is_compressed_name, missing_library
from openprogram.recordings.listing import is_active, is_in_use
from openprogram.recordings.names import find_recording, is_managed
from openprogram.recordings.reading import event_check
from openprogram.recordings.repairing import advised

if TYPE_CHECKING:
    from openprogram.pipeline.log.convert import Converted
    from openprogram.pipeline.log.lines import CheckEvent

__all__ = ["Conversion", "compress", "expand"]

_Convert: TypeAlias = "Callable[[Path, Path, CheckEvent], Converted]"


@dataclass(frozen=True)
class Conversion:
    """What was done. `source` is gone where `removed`. `plain_bytes`, `compressed_bytes`: sizes of the two files."""

    source: Path
    target: Path
    removed: bool
    call_count: int
    plain_bytes: int
    compressed_bytes: int


def compress(home: Home, given: str, *, keep: bool) -> Conversion:
    """Write the recording that `given`, an id or a path, means as `<name>.zst` beside it, and then remove it.

    `keep`, or a path outside the managed folder: it isn't removed. Raises RecordingNotFound; RecordingRefused: it is
    compressed already, a symlink, active, in use, or there is such a file; RecordingFileError: it isn't whole, can't
    be read or written, or what compresses isn't installed; ConfigError. Then nothing has changed.
    """
    path = find_recording(home, given)
    if is_compressed_name(path):
        raise RecordingRefused(path=path, reason="is compressed already")
    with _library(path):
        from openprogram.pipeline.log.convert import compress_recording
    return _convert(home, path, path.with_name(path.name + COMPRESSED_SUFFIX), compress_recording, keep=keep)


def expand(home: Home, given: str, *, keep: bool) -> Conversion:
    """Write the compressed recording that `given` means as it was, beside it, and then remove it. As `compress`."""
    path = find_recording(home, given)
    name = path.name.removesuffix(COMPRESSED_SUFFIX)
    if name in ("", path.name):
        raise RecordingRefused(path=path, reason=f"is not compressed: its name does not end in {COMPRESSED_SUFFIX}")
    with _library(path):
        from openprogram.pipeline.log.convert import expand_recording
    return _convert(home, path, path.with_name(name), expand_recording, keep=keep)


@contextmanager
def _library(path: Path) -> Iterator[None]:
    """For the imports of what compresses: not at the top, since most recordings are plain and it is an extra."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise missing_library(path) from error


def _convert(home: Home, path: Path, target: Path, convert: _Convert, *, keep: bool) -> Conversion:
    removes = not keep and is_managed(home, path)
    _refuse(path, target, load_config(home), removes=removes)
    with _removed(path, target) if removes else nullcontext():
        try:
            done = convert(path, target, event_check())
        except RecordingFileError as error:
            raise advised(error) from error.__cause__
    return Conversion(path, target, removes, *done)


def _refuse(path: Path, target: Path, config: LoadedConfig, *, removes: bool) -> None:
    with file_errors(path, "look at it"):
        mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        raise RecordingRefused(path=path, reason="is a symbolic link", next_step="Name the file itself.")
    if not stat.S_ISREG(mode):
        raise RecordingRefused(path=path, reason="is not a regular file")
    records = isinstance(config.record_replay, Record)
    if is_active(path, config) and (removes or records):
        raise RecordingRefused(
            path=path,
            reason=f"is the active recording (mode {config.config.record_replay.mode})",
            next_step="Turn it off first: openprogram recordings off"
            if records
            else "Add --keep, or turn it off first: openprogram recordings off",
        )
    if is_in_use(path):
        raise RecordingRefused(
            path=path,
            reason="is in use by a running process",
            next_step="End the program that records into it, then try again.",
        )
    if is_there(target):
        raise RecordingRefused(
            path=target,
            reason="the file that would be written exists already",
            next_step="Nothing is overwritten: delete that file or move it, then try again.",
        )


@contextmanager
def _removed(path: Path, target: Path) -> Iterator[None]:
    """Remove the file when the block has written `target`. Until then nobody can begin to record into it.

    Whoever waits for that finds out that the file is gone, and records nothing into it.
    """
    descriptor = open_existing(path, writing=True)
    try:
        with file_errors(path, "replace"):
            hold_exclusive(descriptor, LockRange.IN_USE)
        yield
        try:
            if not is_at(path, descriptor):
                raise RecordingRefused(path=path, reason="another file of that name came meanwhile, and was kept")
            path.unlink()
        except OSError as error:
            raise RecordingFileError(
                path=path,
                reason=f"{target.name} was written and is whole, but this file can't be removed: {reason_of(error)}",
                next_step="Both hold the same lines: delete one of them.",
            ) from error
        with suppress(OSError):  # a power cut may bring the name back, and both hold the same lines
            sync_folder(path)
    finally:
        let_go(descriptor)  # and the lock with it
