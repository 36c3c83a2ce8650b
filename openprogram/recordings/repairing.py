"""Repairing a recording into a file beside it, and knowing when that is worth saying."""

import shlex
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from openprogram.errors import RecordingRefused
from openprogram.pipeline.errors import RecordingFileError
from openprogram.pipeline.log.files import is_there
from openprogram.recordings.names import SUFFIX, recording_id
from openprogram.recordings.reading import event_check, read_strictly, survey

if TYPE_CHECKING:
    from openprogram.pipeline.log.reader import Recording
    from openprogram.pipeline.log.repair import RepairReport
    from openprogram.pipeline.log.survey import Survey

__all__ = ["AlreadyWhole", "advised", "is_repairable", "read_or_advise", "repair_beside", "repair_hint"]


@dataclass(frozen=True)
class AlreadyWhole:
    """There was nothing to repair, and nothing was written."""

    path: Path
    call_count: int


def repair_beside(path: Path) -> "RepairReport | AlreadyWhole":
    """Write the complete calls of `path` to `<stem>.repaired.jsonl` in the same folder, where `path` is damaged.

    Raises RecordingFileError: `path` can't be read or nothing says that it ever was a recording. RecordingRefused:
    that file exists already. Nothing is written.
    """
    from openprogram.pipeline.log.repair import repair_recording  # not at import: it brings all that recording needs

    target = path.with_name(f"{recording_id(path) or path.stem}.repaired{SUFFIX}")
    with survey(path) as found:
        if found.damage is None:
            return AlreadyWhole(path, len(found.complete))
        if is_repairable(found) and is_there(target):
            raise RecordingRefused(
                path=target,
                reason="the file that the repair would write exists already",
                next_step="Nothing is overwritten: delete that file or move it, then repair again.",
            )
    return repair_recording(path, target, event_check())


def is_repairable(found: "Survey") -> bool:
    """Whether `repair` would write a file: it is damaged, and something in it shows that it is a recording.

    Not an empty file, not one of another format version, whose lines may mean something else, and not what git made of
    two: no side of it can be told from the other.
    """
    return found.damage is not None and not found.merged and (found.header is not None or bool(found.complete))


def repair_hint(path: Path) -> str:
    """What to do about a file that is repairable."""
    return f"openprogram recordings repair {shlex.quote(str(path))}  writes a new file with the calls that are whole."


def advised(error: RecordingFileError) -> RecordingFileError:
    """The error of the strict reader, with repair as the next step where the reader can't know that it would work.

    It stops at the first defect, so of a file without a header it can't say whether calls follow.
    """
    if error.next_step is not None:
        return error
    with suppress(RecordingFileError), survey(error.path) as found:
        if is_repairable(found):
            return RecordingFileError(
                path=error.path,
                reason=error.reason,
                line_number=error.line_number,
                call_index=error.call_index,
                next_step=repair_hint(error.path),
            )
    return error


def read_or_advise(path: Path) -> "Recording":
    """The recording, read strictly. Raises RecordingFileError, which says whether repairing it would help."""
    try:
        return read_strictly(path)
    except RecordingFileError as error:
        raise advised(error) from error.__cause__
