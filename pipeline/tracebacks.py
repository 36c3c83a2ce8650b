"""What a traceback shows of a failure that explains itself: who asked, and not how we found out."""

from types import FrameType, TracebackType
from typing import Final

from openprogram.pipeline.errors import PipelineError

__all__ = ["hide_our_frames"]

_OURS: Final = __name__.partition(".")[0]


def hide_our_frames(failure: PipelineError) -> None:
    """Take the frames of this package out of the failure's traceback so far. Everybody else's stay, in their order.

    For an `except` whose caller is the user, followed by a bare `raise`, which adds no frame: the message names the
    field, both sides and the cause, and dozens of our lines above it would only hide the line that asked.
    """
    kept: TracebackType | None = None
    for entry in reversed(_entries(failure.__traceback__)):
        if not _is_ours(entry.tb_frame):
            kept = TracebackType(kept, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    failure.__traceback__ = kept


def _entries(traceback: TracebackType | None) -> list[TracebackType]:
    entries = []
    while traceback is not None:
        entries.append(traceback)
        traceback = traceback.tb_next
    return entries


def _is_ours(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).partition(".")[0] == _OURS
