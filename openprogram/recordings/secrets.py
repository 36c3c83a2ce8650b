"""What today's redaction sees in existing recordings, and a cleaned file beside one in which it sees something."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from openprogram.errors import RecordingRefused
from openprogram.pipeline.errors import RecordingFileError
from openprogram.pipeline.log.files import file_errors, is_there
from openprogram.pipeline.log.source import open_source
from openprogram.recordings.names import SUFFIX, recording_id
from openprogram.recordings.reading import event_check
from openprogram.recordings.repairing import advised

if TYPE_CHECKING:
    from openprogram.pipeline.log.cleaning import Cleaned
    from openprogram.pipeline.log.secrets import FoundSecret

__all__ = ["AlreadyClean", "Redaction", "find_secrets", "redact_beside"]


@dataclass(frozen=True)
class AlreadyClean:
    """There was nothing to redact, and nothing was written."""

    path: Path


@dataclass(frozen=True)
class Redaction:
    """A cleaned file was written: `target`. `source` is as it was."""

    source: Path
    target: Path
    cleaned: "Cleaned"


def find_secrets(path: Path) -> Iterator["FoundSecret"]:
    """Every place of a file, whole or damaged, that today's rules would redact. Raises RecordingFileError."""
    from openprogram.pipeline.log.secrets import scan_source  # not at import: it brings all of redaction

    with closing(open_source(path)) as source, file_errors(path, "read"):
        yield from scan_source(source)


def redact_beside(path: Path) -> Redaction | AlreadyClean:
    """Write `path`, redacted by today's rules, to `<stem>.redacted.jsonl` in the same folder, where they see anything.

    Raises RecordingFileError: `path` isn't whole or can't be read. RecordingRefused: that file exists already.
    Nothing is written then.
    """
    from openprogram.pipeline.log.cleaning import clean_recording

    if next(find_secrets(path), None) is None:
        return AlreadyClean(path)
    target = path.with_name(f"{recording_id(path) or path.stem}.redacted{SUFFIX}")
    if is_there(target):
        raise RecordingRefused(
            path=target,
            reason="the file that would be written exists already",
            next_step="Nothing is overwritten: delete that file or move it, then try again.",
        )
    try:
        return Redaction(path, target, clean_recording(path, target, event_check()))
    except RecordingFileError as error:
        raise advised(error) from error.__cause__
