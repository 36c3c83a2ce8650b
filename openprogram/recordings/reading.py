"""Opening recordings for the commands: strictly, as replay does, or leniently, to show what is whole.

What reads is imported when something is read: `off`, `record` and most of what `status` says look into no file.
"""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openprogram.pipeline.log.lines import CheckEvent
    from openprogram.pipeline.log.reader import Recording
    from openprogram.pipeline.log.survey import Survey

__all__ = ["event_check", "read_strictly", "survey"]


def event_check() -> "CheckEvent":
    """What decides whether an event's dump is one that today's vocabulary can load."""
    from openprogram.providers.codec import AssistantEventCodec

    return AssistantEventCodec().check


def read_strictly(path: Path) -> "Recording":
    """The recording, where it is whole and in order. Raises RecordingFileError."""
    from openprogram.pipeline.log.reader import open_recording

    return open_recording(path, event_check())


def survey(path: Path) -> "Survey":
    """What is whole in a file that may be damaged. Raises RecordingFileError: it can't be read at all."""
    from openprogram.pipeline.log.survey import survey_recording

    return survey_recording(path, event_check())
