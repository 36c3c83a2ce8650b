"""A new recording from the whole calls of a damaged one. The damaged file stays as it is."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from openprogram.pipeline.errors import RecordingFileError
from openprogram.pipeline.log.files import PathLike
from openprogram.pipeline.log.lines import CheckEvent, CleanEvent, CleanRequest
from openprogram.pipeline.log.merged import take_one_side
from openprogram.pipeline.log.reader import CallSummary
from openprogram.pipeline.log.survey import LeftOut, Survey, survey_recording
from openprogram.pipeline.log.writer import RecordingSink, create_recording
from openprogram.pipeline.streams import EVENTS_PER_BATCH

__all__ = ["RepairReport", "repair_recording"]


@dataclass(frozen=True, slots=True)
class RepairReport:
    """What a repair did.

    `target`: the new file; `kept`: old call indexes, in their new order from 0; `left_out`: the calls that weren't
    whole; `damage`: the first defect of the old file, or None where it had none.
    """

    target: Path
    kept: list[int]
    left_out: list[LeftOut]
    damage: RecordingFileError | None


def repair_recording(path: PathLike, target: PathLike, check_event: CheckEvent) -> RepairReport:
    """Copy the complete calls of `path` to the new file `target`, renumbered from 0. Never overwrites.

    Raises RecordingFileError: `path` can't be read, is no recording at all, or is what git made of two; `target` exists
    or can't be written, and then no file is left there.
    """
    target = Path(target)
    with survey_recording(path, check_event) as survey:
        if survey.merged:
            raise _merged(survey)
        if survey.header is None and not survey.complete:
            # Nothing in it says that it ever was one, or it is of another version.
            raise _hopeless(survey)
        create_recording(target, _optional_fields(survey.header or {}))
        try:
            _copy(survey, target)
        except BaseException:
            target.unlink(missing_ok=True)
            raise
        kept = [call.call_index for call in survey.complete]
        return RepairReport(target, kept, survey.left_out, survey.damage)


def _copy(survey: Survey, target: Path) -> None:
    with RecordingSink(target) as sink:
        for call in survey.complete:
            writer = sink.begin_call(CleanRequest(survey.request(call)))
            for batch in _batches(survey, call):
                writer.write(batch)
            writer.end(call.outcome, call.error)
        sink.sync()


def _batches(survey: Survey, call: CallSummary) -> Iterator[list[CleanEvent]]:
    events = iter(survey.events(call))
    while batch := [CleanEvent(event) for event in islice(events, EVENTS_PER_BATCH)]:
        yield batch


def _optional_fields(header: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in header.items() if key not in ("type", "format_version")}


def _merged(survey: Survey) -> RecordingFileError:
    """What is whole in it is partly one recording's and partly the other's: a mixture that nobody recorded."""
    return RecordingFileError(
        path=survey.path,
        reason="two recordings were merged into this file: git's conflict markers are in it",
        next_step=take_one_side(survey.path),
    )


def _hopeless(survey: Survey) -> RecordingFileError:
    """The damage, as the error of a file of which nothing can be saved."""
    damage = survey.damage
    return RecordingFileError(
        path=survey.path,
        reason="this is not a recording" if damage is None else damage.reason,
        line_number=None if damage is None else damage.line_number,
        call_index=None if damage is None else damage.call_index,
        next_step="Nothing can be saved: it has neither a header of this format version nor a whole call.",
    )
