"""Every error: its data, its sentence, its next step, and that it survives a pickle and a copy."""

import copy
import pickle
from pathlib import Path

import pytest

from openprogram.pipeline.errors import (
    PipelineError,
    RecordedCallError,
    RecordingFileError,
    RecordingValueError,
    ReplayMismatch,
    StreamIncomplete,
    UnconsumedCalls,
)
from openprogram.pipeline.json_value import ABSENT

MISMATCH = ReplayMismatch(
    call_index=1,
    field_path="context.messages[2].content[0].text",
    recorded="echo:hi",
    incoming="echo:bye",
    cause="the result of tool call t1 reads otherwise",
    next_step="Record again.",
)

EVERY_ERROR: list[tuple[PipelineError, str]] = [
    (
        RecordingFileError(path=Path("a.jsonl"), reason="why", line_number=3, call_index=0, next_step="Do this."),
        "a.jsonl, line 3, call 0: why",
    ),
    (RecordingFileError(path=Path("a.jsonl"), reason="why", line_number=3), "a.jsonl, line 3: why"),
    (RecordingFileError(path=Path("a.jsonl"), reason="why"), "a.jsonl: why"),
    (RecordingValueError(field_path="a.b", reason="why"), "cannot record a.b: why"),
    (RecordingValueError(field_path="", reason="why"), "cannot record the value: why"),
    (
        MISMATCH,
        "replay mismatch at call 1, field context.messages[2].content[0].text:\n"
        "recorded 'echo:hi', incoming 'echo:bye'\n"
        "cause: the result of tool call t1 reads otherwise",
    ),
    (
        ReplayMismatch(call_index=0, field_path="options.a", recorded=None, incoming=ABSENT, event_index=4),
        "replay mismatch at call 0, event 4, field options.a:\nrecorded None, incoming absent",
    ),
    (UnconsumedCalls(call_count=3, consumed=1), "replay incomplete: 3 calls were recorded, 1 was asked for"),
    (UnconsumedCalls(call_count=1, consumed=0), "replay incomplete: 1 call was recorded, 0 were asked for"),
    (
        ReplayMismatch(call_index=1, field_path="call_index", recorded=1, incoming=1),
        "replay mismatch at call 1, field call_index:\nrecorded 1 call, incoming call 1, counted from 0",
    ),
    (
        RecordedCallError(call_index=2, outcome="error", error_type="ValueError", error_message="no"),
        "recorded call 2 ended with outcome error: ValueError: no",
    ),
    (RecordedCallError(call_index=2, outcome="cancelled"), "recorded call 2 ended with outcome cancelled"),
    (
        RecordedCallError(call_index=2, outcome="error", error_type="ValueError"),
        "recorded call 2 ended with outcome error: ValueError",
    ),
    (StreamIncomplete(event_count=5), "the stream ended after 5 events without a final message"),
]

PUBLIC = (
    "path reason line_number call_index next_step field_path recorded incoming event_index cause call_count consumed "
    "outcome error_type error_message event_count"
).split()


@pytest.mark.parametrize(("error", "sentence"), EVERY_ERROR)
def test_the_sentence_names_the_place(error: PipelineError, sentence: str) -> None:
    assert str(error) == sentence
    assert isinstance(error, PipelineError)


@pytest.mark.parametrize("error", [error for error, _ in EVERY_ERROR])
@pytest.mark.parametrize("duplicate", [lambda error: pickle.loads(pickle.dumps(error)), copy.copy, copy.deepcopy])
def test_a_pickle_or_copy_keeps_type_sentence_data_and_notes(error: PipelineError, duplicate: object) -> None:
    assert callable(duplicate)
    again = duplicate(error)
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert getattr(again, "__notes__", []) == getattr(error, "__notes__", [])
    for name in PUBLIC:
        assert getattr(again, name, "no such attribute") == getattr(error, name, "no such attribute")


def test_the_next_step_is_a_note() -> None:
    assert MISMATCH.__notes__ == ["Record again."]
    assert EVERY_ERROR[0][0].__notes__ == ["Do this."]
    assert not hasattr(EVERY_ERROR[2][0], "__notes__")


def test_a_note_that_was_added_later_is_kept_in_a_pickle() -> None:
    error = RecordingFileError(path=Path("a"), reason="why", next_step="Do this.")
    error.add_note("and that")
    assert pickle.loads(pickle.dumps(error)).__notes__ == ["Do this.", "and that"]


def test_absent_stays_absent_in_a_pickle() -> None:
    error = ReplayMismatch(call_index=0, field_path="a", recorded=ABSENT, incoming=None)
    assert pickle.loads(pickle.dumps(error)).recorded is ABSENT


def test_calls_left_over_are_a_mismatch_of_the_call_index() -> None:
    error = UnconsumedCalls(call_count=3, consumed=1)
    assert isinstance(error, ReplayMismatch)
    assert (error.call_index, error.field_path, error.recorded, error.incoming) == (1, "call_index", 3, 1)


def test_the_message_of_a_mismatch_is_printable_and_short_whatever_the_values_are() -> None:
    error = ReplayMismatch(
        call_index=0, field_path="a", recorded="\x1b[2J\ud800" + "x" * 10_000, incoming={"k": ["\x07"] * 10_000}
    )
    assert all(line.isprintable() for line in str(error).splitlines())
    assert len(str(error)) < 600
    str(error).encode()
