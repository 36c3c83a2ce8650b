"""Lenient reading: what is whole around damage, and the name and reason of what isn't."""

from pathlib import Path
from typing import Any

import pytest

from openprogram.pipeline.errors import RecordingFileError
from openprogram.pipeline.log.reader import open_recording
from openprogram.pipeline.log.survey import LeftOut, survey_recording
from tests.pipeline.log.samples import (
    HEADER,
    Lines,
    call_lines,
    check_event,
    delta,
    end_line,
    event_line,
    read_calls,
    refusal,
    request,
    request_line,
    surveyed_calls,
    write_file,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


def three_calls() -> Lines:
    """Lines 1: header; 2-5, 6-9, 10-13: calls 0, 1, 2."""
    return [HEADER, *call_lines(0), *call_lines(1), *call_lines(2)]


def changed(line_number: int, *lines: dict[str, Any] | str | bytes) -> list[dict[str, Any] | str | bytes]:
    """The three calls with one line, counted from 1, replaced by others."""
    return [*three_calls()[: line_number - 1], *lines, *three_calls()[line_number:]]


def test_a_healthy_file_is_surveyed_as_the_strict_reader_reads_it(path: Path) -> None:
    write_file(path, [{**HEADER, "note": 1}, *three_calls()[1:]])
    with survey_recording(path, check_event) as survey:
        assert (survey.path, survey.line_count) == (path, 13)
        assert survey.header == {**HEADER, "note": 1}
        assert [found.call_index for found in survey.complete] == [0, 1, 2]
        assert (survey.left_out, survey.unfinished, survey.damage, survey.interrupted) == ([], [], None, False)
    assert surveyed_calls(path) == read_calls(path)


def test_interleaved_calls_are_listed_in_the_order_they_begin(path: Path) -> None:
    lines = [HEADER, request_line(0, "a"), request_line(1, "b"), end_line(1, 0), end_line(0, 0)]
    write_file(path, lines)
    assert [found.request for found in surveyed_calls(path)] == [request("a"), request("b")]


IN_CALL_1 = [
    (changed(6), "its request is missing or can't be read"),
    (changed(6, "noise\n"), "its request is missing or can't be read"),
    (changed(6, request_line(1), event_line(1, 0), request_line(1)), "another request with its call_index follows"),
    (changed(7), "line 7: event_index is 1, expected 0"),
    (changed(7, "noise\n"), "line 8: event_index is 1, expected 0"),
    (changed(7, event_line(1, 5)), "line 7: event_index is 5, expected 0"),
    (changed(7, event_line(1, 0, type="telepathy")), "line 7: unknown event type 'telepathy'"),
    (
        changed(7, '{"type":"event","call_index":1,"event_index":0,"event":{"type":NaN}}\n'),
        "line 7: not valid JSON: NaN is not a JSON number",
    ),
    (changed(8, "noise\n"), "line 9: event_count is 2, but 1 events are whole"),
    (changed(9, end_line(1, 7)), "line 9: event_count is 7, but 2 events are whole"),
    (changed(9, end_line(1, 2, outcome="great")), "line 9: unknown outcome 'great'"),
    (changed(9), "it has no call_end: its recording was interrupted"),
]


@pytest.mark.parametrize(("lines", "reason"), IN_CALL_1)
def test_damage_in_one_call_leaves_out_that_call_alone_and_says_why(path: Path, lines: Lines, reason: str) -> None:
    write_file(path, lines)
    with survey_recording(path, check_event) as survey:
        kept = [found.call_index for found in survey.complete]
        if "another request" in reason:
            assert kept == [0, 1, 2]  # the second attempt is whole
        else:
            assert kept == [0, 2]
        assert [(left.call_index, left.reason) for left in survey.left_out] == [(1, reason)]
        assert survey.unfinished == [1]
        assert survey.left_out[0].line_number in (6, 7)
        assert survey.damage is not None
    assert surveyed_calls(path)[0].events == [delta("0.0"), delta("0.1")]
    assert surveyed_calls(path)[-1].events == [delta("2.0"), delta("2.1")]


@pytest.mark.parametrize("lines", [lines for lines, _ in IN_CALL_1])
def test_the_damage_is_the_one_that_the_strict_reader_names(path: Path, lines: Lines) -> None:
    strict = refusal(write_file(path, lines))
    with survey_recording(path, check_event) as survey:
        assert survey.damage is not None
        assert (survey.damage.line_number, survey.damage.call_index) == (strict.line_number, strict.call_index)


@pytest.mark.parametrize(
    ("lines", "line_number", "reason"),
    [
        (changed(6, HEADER, request_line(1)), 6, "a second header"),
        (changed(6, "noise\n", request_line(1)), 6, "not a JSON object"),
        (changed(6, b"\xff\n", request_line(1)), 6, "not UTF-8 at byte 1 of the line"),
        (changed(6, "\n", request_line(1)), 6, "an empty line"),
        (changed(6, event_line(0, 2), request_line(1)), 6, "event after the call_end"),
        (changed(6, end_line(0, 2), request_line(1)), 6, "call_end after the call_end"),
        (changed(6, {"type": "header", "format_version": 9}, request_line(1)), 6, "format_version 9; this release"),
        (changed(1), 1, "the first line is not a header"),
        (changed(1, "noise\n"), 1, "not a JSON object; a recording begins with a header line"),
        ([*three_calls(), '{"type":"requ'], 14, "the last line is cut off: it has no line end"),
    ],
)
def test_damage_between_calls_leaves_every_call_whole(path: Path, lines: Lines, line_number: int, reason: str) -> None:
    write_file(path, lines)
    with survey_recording(path, check_event) as survey:
        assert [found.call_index for found in survey.complete] == [0, 1, 2]
        assert survey.left_out == []
        assert survey.damage is not None
        assert survey.damage.line_number == line_number
        assert survey.damage.reason.startswith(reason)
        assert survey.line_count == len(lines)


def test_every_call_left_out_is_named_once_in_file_order(path: Path) -> None:
    lines = [
        HEADER,
        request_line(0),
        request_line(1),
        event_line(1, 3),
        event_line(1, 4),
        event_line(2, 0),
        event_line(2, 1),
        end_line(2, 2),
        event_line(0, 0),
    ]
    with survey_recording(write_file(path, lines), check_event) as survey:
        assert survey.left_out == [
            LeftOut(0, 2, "it has no call_end: its recording was interrupted"),
            LeftOut(1, 3, "line 4: event_index is 3, expected 0"),
            LeftOut(2, 6, "its request is missing or can't be read"),
        ]


@pytest.mark.parametrize(
    ("lines", "interrupted"),
    [
        (three_calls(), False),
        (three_calls()[:-1], True),
        (three_calls()[:-3], True),
        ([*three_calls(), "torn"], True),
        ([*three_calls()[:-1], "torn"], True),
        ([HEADER, "torn"], True),
        ([], False),
        (["torn"], False),
        (['{"type":"header","format_version":1}'], False),
        (changed(6), False),
        ([*changed(7), "torn"], False),
        ([HEADER, *call_lines(0)[1:], *call_lines(1)], False),
        ([*changed(6, "noise\n", request_line(1))[:-1]], False),
        ([{"type": "header", "format_version": 2}, "torn"], False),
        (three_calls()[1:-1], False),
    ],
)
def test_interrupted_is_what_a_killed_writer_leaves_and_nothing_else(
    path: Path, lines: Lines, interrupted: bool
) -> None:
    with survey_recording(write_file(path, lines), check_event) as survey:
        assert survey.interrupted is interrupted


@pytest.mark.parametrize("version", [0, 2, "1", True, 1.0, None])
def test_nothing_in_a_file_of_another_version_counts(path: Path, version: Any) -> None:
    write_file(path, [{"type": "header", "format_version": version}, *three_calls()[1:]])
    with survey_recording(path, check_event) as survey:
        assert (survey.header, survey.complete, survey.left_out) == (None, [], [])
        assert survey.damage is not None
        assert survey.damage.line_number == 1


@pytest.mark.parametrize("content", [b"", b"\x7fELF\xff\x00\n\xfe", b"hello\nworld\n"])
def test_what_is_no_recording_is_all_damage(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with survey_recording(path, check_event) as survey:
        assert (survey.header, survey.complete, survey.left_out) == (None, [], [])
        assert survey.damage is not None


def test_only_a_file_that_can_not_be_read_at_all_is_an_error(path: Path, tmp_path: Path) -> None:
    for missing in (path, tmp_path):
        with pytest.raises(RecordingFileError):
            survey_recording(missing, check_event)


def test_a_file_that_changes_while_it_is_surveyed_is_an_error(path: Path) -> None:
    with survey_recording(write_file(path, three_calls()), check_event) as survey:
        path.write_bytes(b"\xff" * 2000)
        for read in (survey.request, lambda found: list(survey.events(found))):
            with pytest.raises(RecordingFileError) as failure:
                read(survey.complete[1])
            assert (failure.value.call_index, failure.value.line_number) == (1, 6)


def test_surveying_changes_nothing(path: Path) -> None:
    before = write_file(path, [*changed(7, "noise\n"), "torn"]).read_bytes()
    surveyed_calls(path)
    assert path.read_bytes() == before


def test_a_survey_agrees_with_the_strict_reader_on_a_file_cut_anywhere(path: Path, tmp_path: Path) -> None:
    data = write_file(path, three_calls()).read_bytes()
    cut = tmp_path / "cut.jsonl"
    for size in range(0, len(data), 3):
        cut.write_bytes(data[:size])
        ends = [data.index(b"\n", at) + 1 for at in _call_end_offsets(data)]
        assert len(surveyed_calls(cut)) == sum(size >= end for end in ends)
        with survey_recording(cut, check_event) as survey:
            try:
                open_recording(cut, check_event).close()
                refused = None
            except RecordingFileError as error:
                refused = error
            assert (survey.damage is None) == (refused is None)


def _call_end_offsets(data: bytes) -> list[int]:
    return [at for at in range(len(data)) if data.startswith(b'{"type":"call_end"', at)]
