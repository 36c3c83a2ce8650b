"""Sizes are bounded where input isn't ours: a line, a number, a depth; and memory with them."""

import os
from pathlib import Path

import pytest

from openprogram.pipeline.errors import RecordingFileError
from openprogram.pipeline.json_value import MAX_DEPTH, MAX_LINE_BYTES
from openprogram.pipeline.log.lines import CleanEvent, accept_any_event
from openprogram.pipeline.log.reader import open_recording
from openprogram.pipeline.log.scan import LineScan, read_from
from openprogram.pipeline.log.survey import survey_recording
from openprogram.pipeline.log.writer import RecordingSink
from tests.pipeline.log.children import peak_while_opening, start
from tests.pipeline.log.samples import (
    HEADER,
    begin,
    call_lines,
    check_event,
    delta,
    end_line,
    read_calls,
    refusal,
    request_line,
    write_file,
)

MEBIBYTE = 1024 * 1024


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


def opened_in_a_child(path: Path) -> tuple[str, float, int]:
    """Why it is refused, seconds, and bytes by which the peak of memory grew."""
    with start(peak_while_opening, path) as child:
        output, _ = child.communicate(timeout=60)
    reason, seconds, grown = output.splitlines()
    return reason, float(seconds), int(grown)


def test_a_line_without_an_end_does_not_fill_the_memory_nor_take_its_size_in_time(path: Path) -> None:
    write_file(path, [HEADER])
    with path.open("ab") as file:
        file.truncate(100 * 1024 * MEBIBYTE)  # sparse: takes no space
    reason, seconds, grown = opened_in_a_child(path)
    assert reason == f"2: the line is longer than {MAX_LINE_BYTES:,} bytes"
    assert grown < 3 * MAX_LINE_BYTES
    assert seconds < 10


def test_a_large_valid_recording_takes_little_memory(path: Path) -> None:
    with RecordingSink(path) as sink:
        writer = begin(sink)
        for _ in range(40):
            writer.write([delta("x" * MEBIBYTE)] * 2)
        writer.end("complete")
    reason, _, grown = opened_in_a_child(path)
    assert reason == "none"
    assert path.stat().st_size > 80 * MEBIBYTE
    assert grown < 24 * MEBIBYTE


@pytest.mark.parametrize("above", [0, 1])
def test_an_event_line_of_exactly_the_limit_is_read_and_one_above_is_not(path: Path, above: int) -> None:
    begun, end = b'{"type":"event","call_index":0,"event_index":0,"event":{"type":"start","a":"', b'"}}\n'
    line = begun + b"x" * (MAX_LINE_BYTES + above - len(begun) - len(end)) + end
    write_file(path, [HEADER, request_line(0), line, end_line(0, 1)])
    if above:
        assert refusal(path).reason == f"the line is longer than {MAX_LINE_BYTES:,} bytes"
    else:
        assert len(read_calls(path)) == 1


@pytest.mark.parametrize("line_end", [b"}\n", b"}\r\n"])
@pytest.mark.parametrize("above", [0, 1])
def test_a_line_of_exactly_the_limit_is_read_and_one_above_is_not(path: Path, line_end: bytes, above: int) -> None:
    begun = b'{"type":"call_end","call_index":0,"event_count":0'
    space = b" " * (MAX_LINE_BYTES + above - len(begun) - len(line_end))
    write_file(path, [HEADER, request_line(0), begun + space + line_end, *call_lines(1)])
    if not above:
        assert len(read_calls(path)) == 2
        return
    error = refusal(path)
    assert (error.line_number, error.reason) == (3, f"the line is longer than {MAX_LINE_BYTES:,} bytes")
    before = path.stat().st_size
    with pytest.raises(RecordingFileError) as failure:
        RecordingSink(path)
    assert failure.value.line_number == 3
    assert path.stat().st_size == before
    with survey_recording(path, check_event) as survey:
        assert survey.damage is not None
        assert survey.damage.line_number == 3
        assert [found.call_index for found in survey.complete] == [1]
        assert survey.line_count == 7


def test_a_line_that_is_too_long_and_has_no_end_is_not_taken_for_a_torn_one(path: Path) -> None:
    write_file(path, [HEADER])
    with path.open("ab") as file:
        file.truncate(MAX_LINE_BYTES + 1000)
    with pytest.raises(RecordingFileError):
        RecordingSink(path)
    assert path.stat().st_size == MAX_LINE_BYTES + 1000


def test_the_largest_event_that_can_be_written_is_read(path: Path) -> None:
    event = delta("x" * (MAX_LINE_BYTES - 200))
    with RecordingSink(path) as sink:
        writer = begin(sink)
        writer.write([event])
        writer.end("complete")
    with open_recording(path, check_event) as recording:
        assert list(recording.events(0)) == [event]


def test_lines_behind_one_that_is_too_long_keep_their_number_and_place(path: Path) -> None:
    path.write_bytes(b"x" * (MAX_LINE_BYTES + 300_000) + b"\nsecond\nthird")
    descriptor = os.open(path, os.O_RDONLY)
    try:
        lines = LineScan(read_from(descriptor))
        found = [(line.number, line.offset, line.too_long, line.torn, line.raw[:6]) for line in lines]
    finally:
        os.close(descriptor)
    start_of_second = MAX_LINE_BYTES + 300_001
    assert found == [
        (1, 0, True, False, b"xxxxxx"),
        (2, start_of_second, False, False, b"second"),
        (3, start_of_second + 7, False, True, b"third"),
    ]


@pytest.mark.parametrize("space", ["", " "], ids=["canonical", "respelled"])
@pytest.mark.parametrize(("levels", "allowed"), [(MAX_DEPTH - 2, True), (MAX_DEPTH - 1, False), (5000, False)])
def test_the_depth_limit_is_the_same_in_every_spelling(path: Path, space: str, levels: int, allowed: bool) -> None:
    # The line is one level, the event the second.
    event = '{"type":"start","a":' + "[" * levels + "]" * levels + "}"
    line = f'{{"type":"event",{space}"call_index":0,"event_index":0,"event":{event}}}\n'
    write_file(path, [HEADER, request_line(0), line, end_line(0, 1)])
    if allowed:
        assert len(read_calls(path)) == 1
    else:
        assert refusal(path).reason == f"nested deeper than {MAX_DEPTH} levels"


def test_nesting_in_a_request_counts_from_the_line(path: Path) -> None:
    for levels, allowed in ((MAX_DEPTH - 1, True), (MAX_DEPTH, False)):
        context = "[" * levels + "]" * levels
        line = f'{{"type":"request","call_index":0,"model":1,"context":{context},"options":1}}\n'
        write_file(path, [HEADER, line, end_line(0, 0)])
        if allowed:
            assert len(read_calls(path)) == 1
        else:
            assert refusal(path).line_number == 2


def test_whole_numbers_keep_every_digit_up_to_the_limit_of_python(path: Path) -> None:
    number = 10**4300 - 1
    with RecordingSink(path) as sink:
        writer = begin(sink)
        writer.write([CleanEvent({"type": "start", "n": number, "m": -number, "small": -(2**63)})])
        writer.end("complete")
    assert read_calls(path)[0].events == [{"type": "start", "n": number, "m": -number, "small": -(2**63)}]


def test_reading_is_linear_in_the_lines(path: Path) -> None:
    with RecordingSink(path) as sink:
        for _ in range(20):
            writers = [begin(sink) for _ in range(10)]
            for index in range(10):
                for writer in writers:
                    writer.write([delta(f"{index}")])
            for writer in writers:
                writer.end("complete")
    with open_recording(path, accept_any_event) as recording:
        assert recording.call_count == 200
        assert list(recording.events(199)) == [delta(f"{index}") for index in range(10)]
