"""Opening recordings for the commands: strictly, as replay does, or leniently, to show what is whole."""

from pathlib import Path

from openprogram.pipeline.log.lines import CheckEvent
from openprogram.pipeline.log.reader import Recording, open_recording
from openprogram.pipeline.log.survey import Survey, survey_recording

__all__ = ["event_check", "is_interruption", "read_strictly", "survey"]


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


def is_interruption(found: Survey) -> bool:
    """Whether the only damage is what a killed process leaves: calls without an end, a last line without one.

    The strict reader refuses such a file; recording into it is allowed.
    """
    damage = found.damage
    if damage is None or found.header is None or not _is_contiguous(found):
        return False
    if any((damage.call_index, damage.line_number) == (call.call_index, call.line_number) for call in found.left_out):
        return True
    return damage.line_number == found.line_count and _is_torn(found.path)


def _is_contiguous(found: Survey) -> bool:
    indexes = [call.call_index for call in found.complete] + found.unfinished
    return sorted(indexes) == list(range(len(indexes)))


def _is_torn(path: Path) -> bool:
    with path.open("rb") as stream:
        stream.seek(-1, 2)
        return stream.read() != b"\n"
