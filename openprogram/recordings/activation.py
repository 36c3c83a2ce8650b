"""Switching between off, record and replay, and saying what is in force. Applied at the next start of a program."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, assert_never

from openprogram.config import LoadedConfig, Mode, Off, Record, Replay, load_config, set_record_replay, update_config
from openprogram.errors import RecordingRefused
from openprogram.home import Home, make_private_folder
from openprogram.pipeline.errors import RecordingFileError
from openprogram.pipeline.json_value import JsonValue
from openprogram.pipeline.log.files import file_errors, is_there
from openprogram.pipeline.log.source import refuse_compressed, stored_path
from openprogram.pipeline.matching.policy import EXACT, MatchingPolicy
from openprogram.recordings.endings import FailedCall, failed_calls
from openprogram.recordings.listing import is_active
from openprogram.recordings.names import managed_path, managed_paths
from openprogram.recordings.reading import read_strictly, survey
from openprogram.recordings.repairing import advised

__all__ = ["Calls", "Status", "read_status", "start_recording", "start_replaying", "turn_off"]


@dataclass(frozen=True)
class Status:
    """What is configured, where each setting comes from, and whether it can work.

    `usable`: None while off. `reason`, `next_step`: why not and what to do, where it isn't usable.
    `file_exists`: None where no file is configured, or that can't be told.
    `call_count`: recorded calls, None where the file is unusable or not in force. `failed_calls`: those of them that
    failed when they were recorded, while replaying.
    """

    config: LoadedConfig
    usable: bool | None
    file_exists: bool | None = None
    call_count: int | None = None
    failed_calls: Sequence[FailedCall] | None = None
    reason: str | None = None
    next_step: str | None = None

    @property
    def mode(self) -> Mode:
        """`off`, `record` or `replay`."""
        return self.config.config.record_replay.mode


class Calls(NamedTuple):
    """What a recording holds. `failed`: calls that failed when they were recorded, None where nobody looked."""

    call_count: int
    failed: Sequence[FailedCall] | None = None


def start_recording(home: Home, name: str, created_at: datetime, policy: MatchingPolicy = EXACT) -> Path:
    """Create the recording `name` in the managed folder and configure it as the one recorded into: both or neither.

    `name`: valid (`check_name`). `created_at`, `policy`: for the header.
    Raises RecordingRefused: the name is taken. ConfigError, RecordingFileError, OSError: nothing has changed.
    """
    from openprogram.pipeline.log.header import create_recording  # not at import: the other commands write none

    path = managed_path(home, name)
    created: list[Path] = []

    def create_and_configure(raw: dict[str, object]) -> None:
        for taken in managed_paths(home, name):
            if is_there(taken):
                raise _name_taken(taken, name, load_config(home))
        if _make_recordings_folder(home):
            created.append(path.parent)
        create_recording(path, _header(name, created_at) | policy.header_fields())
        created.append(path)
        set_record_replay(raw, Record(path))

    try:
        update_config(home, create_and_configure)
    except BaseException:
        _take_back(created)
        raise
    return path


def start_replaying(home: Home, path: Path) -> Calls:
    """Check `path` strictly and configure it as the one replayed from. Returns what calls it holds.

    Raises RecordingFileError: it isn't whole; ConfigError. Then nothing has changed.
    """
    calls = _calls_for_replay(path)
    update_config(home, lambda raw: set_record_replay(raw, Replay(path)))
    return calls


def turn_off(home: Home) -> LoadedConfig:
    """Configure off; the file's name stays in the configuration, and the file isn't looked at.

    Raises ConfigError: the configuration itself is damaged or can't be written.
    """
    return update_config(home, lambda raw: set_record_replay(raw, Off()))


def read_status(home: Home) -> Status:
    """What is configured and whether it can work. Changes nothing. Raises ConfigError."""
    config = load_config(home)
    match config.record_replay:
        case Off():
            return Status(config, usable=None, file_exists=_exists(config.file))
        case Record(file):
            return _check(config, file, _calls_for_appending)
        case Replay(file):
            return _check(config, file, _calls_for_replay)
        case unreachable:
            assert_never(unreachable)


def _header(name: str, created_at: datetime) -> dict[str, JsonValue]:
    from openprogram.pipeline.redaction import REDACTION_VERSION  # not at import: the other commands need no rules

    return {
        "recording_id": name,
        "created_at": created_at.isoformat(timespec="seconds"),
        "redaction_version": REDACTION_VERSION,  # by today's rules: whoever appends later uses the same or newer ones
    }


def _name_taken(path: Path, name: str, config: LoadedConfig) -> RecordingRefused:
    # Whoever records under a name a second time most likely has it in force, and then `delete` refuses it.
    first = "openprogram recordings off; " if is_active(path, config) else ""
    return RecordingRefused(
        path=path,
        reason="a recording of that name exists",
        next_step=f"Choose another with --name, or delete that one: {first}openprogram recordings delete {name}",
    )


def _take_back(created: list[Path]) -> None:
    """Remove what was created, last first; a folder that is no longer empty is another's by now."""
    for path in reversed(created):
        with suppress(OSError):
            if path.is_dir():
                path.rmdir()
            else:
                path.unlink()


def _exists(file: Path | None) -> bool | None:
    """Whether the recording is there, in either form."""
    if file is None:
        return None
    try:
        return is_there(stored_path(file))
    except RecordingFileError:
        return None


def _check(config: LoadedConfig, file: Path, look: Callable[[Path], Calls]) -> Status:
    exists = _exists(file)
    try:
        calls = look(file)
        return Status(config, usable=True, file_exists=exists, call_count=calls.call_count, failed_calls=calls.failed)
    except RecordingFileError as error:
        other = "`openprogram recordings off` turns it off; `record` or `replay` chooses another file."
        return Status(
            config,
            usable=False,
            file_exists=exists,
            reason=str(error),
            next_step=f"{error.next_step} {other}" if error.next_step else other,
        )


def _calls_for_replay(file: Path) -> Calls:
    try:
        with read_strictly(file) as recording:
            return Calls(recording.call_count, failed_calls(recording))
    except RecordingFileError as error:
        raise advised(error) from error.__cause__


def _calls_for_appending(file: Path) -> Calls:
    """Allowed: a missing file (the first call creates it), unfinished calls, a torn last line."""
    refuse_compressed(file)
    if not is_there(file) and is_there(file.parent):
        return Calls(0)
    with survey(file) as found:
        if found.damage is not None and not found.interrupted:
            raise found.damage
        return Calls(len(found.complete) + len(found.left_out))


def _make_recordings_folder(home: Home) -> bool:
    """Whether the managed folder had to be created. Raises RecordingRefused: a symlink; RecordingFileError."""
    folder = home.recordings_folder
    if folder.is_symlink():
        raise RecordingRefused(
            path=folder,
            reason="the recordings folder is a symbolic link, and none is followed",
            next_step="Make it a folder, or set OPENPROGRAM_HOME to where the recordings should be.",
        )
    is_new = not is_there(folder)
    with file_errors(folder, "create the recordings folder"):
        make_private_folder(folder)
    return is_new
