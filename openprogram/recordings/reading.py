"""Opening recordings for the commands: strictly, as replay does, or leniently, to show what is whole."""

from pathlib import Path

from openprogram.pipeline.log.lines import CheckEvent
from openprogram.pipeline.log.reader import Recording, open_recording
from openprogram.pipeline.log.survey import Survey, survey_recording

__all__ = ["event_check", "read_strictly", "survey"]


def event_check() -> CheckEvent:
    """What decides whether an event's dump is one that today's vocabulary can load."""
    # Not at import: `off` and `record` read no event, and should be quick and work whatever the providers need.
    from openprogram.providers.codec import AssistantEventCodec

    return AssistantEventCodec().check


def read_strictly(path: Path) -> Recording:
    """The recording, where it is whole and in order. Raises RecordingFileError."""
    return open_recording(path, event_check())


def survey(path: Path) -> Survey:
    """What is whole in a file that may be damaged. Raises RecordingFileError: it can't be read at all."""
    return survey_recording(path, event_check())
