"""Repairing a recording into a file beside it."""

from pathlib import Path

from openprogram.pipeline.log.repair import RepairReport, repair_recording
from openprogram.recordings.names import SUFFIX
from openprogram.recordings.reading import event_check

__all__ = ["repair_beside"]


def repair_beside(path: Path) -> RepairReport:
    """Write the complete calls of `path` to `<stem>.repaired.jsonl` in the same folder.

    Raises RecordingFileError: `path` can't be read or is no recording; that file exists already. Nothing is written.
    """
    return repair_recording(path, path.with_name(f"{path.stem}.repaired{SUFFIX}"), event_check())
