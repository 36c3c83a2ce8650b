"""A new recording from the whole calls of a damaged one. The damaged file stays as it is."""

import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from openprogram.pipeline.errors import RecordingFileError
from openprogram.pipeline.json_value import NotJson
from openprogram.pipeline.log.files import PathLike
from openprogram.pipeline.log.header import encode_new_header
from openprogram.pipeline.log.lines import (
    CheckEvent,
    CleanEvent,
    CleanRequest,
    encode_call_end,
    encode_event,
    encode_request,
    encode_request_body,
)
from openprogram.pipeline.log.merged import take_one_side
from openprogram.pipeline.log.new_file import new_file, write_lines
from openprogram.pipeline.log.reader import CallSummary, index_lines
from openprogram.pipeline.log.source import PlainSource
from openprogram.pipeline.log.survey import LeftOut, Survey, survey_recording

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

    The new file has its name when it is whole, read strictly and on disk. Raises RecordingFileError: `path` can't be
    read, is no recording at all, or is what git made of two; `target` exists or can't be written. Then no file is left.
    """
    target = Path(target)
    with survey_recording(path, check_event) as survey:
        if survey.merged:
            raise _merged(survey)
        if survey.header is None and not survey.complete:
            # Nothing in it says that it ever was one, or it is of another version.
            raise _hopeless(survey)
        header = encode_new_header(_optional_fields(survey.header or {}))
        with new_file(target, like=survey.path) as descriptor:
            write_lines(descriptor, chain([header], _lines(survey)))
            with closing(PlainSource(os.dup(descriptor))) as written:
                index_lines(target, written, check_event)
        kept = [call.call_index for call in survey.complete]
        return RepairReport(target, kept, survey.left_out, survey.damage)


def _lines(survey: Survey) -> Iterator[bytes]:
    for call_index, call in enumerate(survey.complete):
        try:
            yield from _call_lines(survey, call_index, call)
        except NotJson as error:  # spelled in our way, a line may be longer than it was, and it has a limit
            raise RecordingFileError(
                path=survey.path, reason=f"it can't be written: {error}", line_number=call.line_number
            ) from None


def _call_lines(survey: Survey, call_index: int, call: CallSummary) -> Iterator[bytes]:
    yield encode_request(call_index, encode_request_body(CleanRequest(survey.request(call))))
    for event_index, event in enumerate(survey.events(call)):
        yield encode_event(call_index, event_index, CleanEvent(event))
    yield encode_call_end(call_index, call.event_count, call.outcome, call.error)


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
