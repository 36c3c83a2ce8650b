"""Strict reading: a recording is whole and in order, or it isn't opened, and the error says where and why."""

import json
import os
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from openprogram.pipeline.errors import RecordingFileError
from openprogram.pipeline.json_value import MAX_DEPTH
from openprogram.pipeline.log.lines import accept_any_event
from openprogram.pipeline.log.reader import open_recording
from openprogram.pipeline.log.writer import RecordingSink
from tests.pipeline.log.samples import (
    HEADER,
    Lines,
    begin,
    call_lines,
    calls_or_refusal,
    check_event,
    delta,
    end_line,
    event_line,
    read_calls,
    refusal,
    request,
    request_line,
    without_waiting,
    write_file,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


def two_calls() -> Lines:
    """Lines 1: header; 2-5: call 0; 6-9: call 1."""
    return [HEADER, *call_lines(0), *call_lines(1)]


# ---- what is read


def test_a_recording_gives_its_header_and_every_call(path: Path) -> None:
    write_file(path, [{**HEADER, "recording_id": "x"}, *call_lines(0, events=3), *call_lines(1, events=0)])
    with open_recording(path, check_event) as recording:
        assert recording.path == path
        assert recording.header["recording_id"] == "x"
        assert recording.call_count == 2
        assert [call.call_index for call in recording.calls] == [0, 1]
        assert [call.line_number for call in recording.calls] == [2, 7]
        assert [call.event_count for call in recording.calls] == [3, 0]
        assert recording.request(1) == request("call 1")
        assert list(recording.events(0)) == [delta("0.0"), delta("0.1"), delta("0.2")]
        assert list(recording.events(1)) == []


def test_a_recording_without_calls_is_valid(path: Path) -> None:
    assert read_calls(write_file(path, [HEADER])) == []


def test_interleaved_calls_are_told_apart(path: Path) -> None:
    first, second = call_lines(0, events=3), call_lines(1, events=3)
    mixed = [line for pair in zip(first, second, strict=True) for line in pair]
    read = read_calls(write_file(path, [HEADER, *mixed]))
    assert [call.events for call in read] == [[line["event"] for line in lines[1:-1]] for lines in (first, second)]


def test_many_calls_interleaved_line_by_line_are_told_apart(path: Path) -> None:
    lines = [HEADER, *(request_line(index) for index in range(12))]
    lines += [event_line(call, index) for index in range(3) for call in range(12)]
    lines += [end_line(index, 3) for index in range(12)]
    read = read_calls(write_file(path, lines))
    assert [call.events for call in read] == [[delta(f"{call}.{index}") for index in range(3)] for call in range(12)]


def test_the_outcome_defaults_to_complete(path: Path) -> None:
    write_file(path, [HEADER, request_line(0), end_line(0, 0)])
    assert read_calls(path)[0].outcome == "complete"


@pytest.mark.parametrize("outcome", ["complete", "error", "cancelled", "abandoned"])
def test_every_outcome_is_read_with_its_error(path: Path, outcome: str) -> None:
    error = {"type": "ValueError", "message": "no"}
    write_file(path, [HEADER, request_line(0), end_line(0, 0, outcome=outcome, error=error)])
    assert (read_calls(path)[0].outcome, read_calls(path)[0].error) == (outcome, error)


def test_crlf_line_ends_are_read_the_same(path: Path, tmp_path: Path) -> None:
    write_file(path, two_calls())
    crlf = tmp_path / "crlf.jsonl"
    crlf.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert read_calls(crlf) == read_calls(path)


def test_any_key_order_and_white_space_is_read_the_same(path: Path, tmp_path: Path) -> None:
    write_file(path, two_calls())
    other = tmp_path / "other.jsonl"
    with other.open("w") as file:
        for line in two_calls():
            file.write(" " + json.dumps(dict(reversed(line.items())), separators=(" ,\t", " : ")) + " \n")
    assert read_calls(other) == read_calls(path)


@pytest.mark.parametrize("tail", [',"note":1}', ',"note":{}}', " }", "\t} ", ',"event_count":[]}'])
def test_an_event_line_may_go_on_after_its_event(path: Path, tail: str) -> None:
    line = json.dumps(event_line(0, 0), separators=(",", ":"))[:-1] + tail + "\n"
    write_file(path, [HEADER, request_line(0), line, event_line(0, 1), end_line(0, 2)])
    assert read_calls(path)[0].events == [delta("0.0"), delta("0.1")]


def test_a_field_of_the_request_that_is_not_known_today_is_kept(path: Path) -> None:
    write_file(path, [HEADER, {**request_line(0), "later": [1]}, end_line(0, 0)])
    assert read_calls(path)[0].request["later"] == [1]


def test_events_come_in_batches_that_join_to_the_whole(path: Path) -> None:
    texts = [f"{index}" * (1 + index % 50) for index in range(1000)]
    texts[500] = "x" * 300_000  # longer than what is read at once
    with RecordingSink(path) as sink:
        writer = begin(sink)
        writer.write([delta(text) for text in texts])
        writer.end("complete")
    with open_recording(path, check_event) as recording:
        batches = [[text for texts in batch for text in texts.whole()] for batch in recording.event_batches(0)]
    assert all(sum(map(len, batch)) <= max(1 << 16, 2 * max(map(len, batch))) for batch in batches)
    assert len(batches) < 40
    assert [json.loads(payload)["delta"] for batch in batches for payload in batch] == texts


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("last_bytes", [1, 65_000, 65_536, 300_000])
@pytest.mark.parametrize("event_count", [0, 1, 2, 3000])
def test_a_calls_last_event_is_read_without_the_others(
    path: Path, event_count: int, last_bytes: int, interleaved: bool
) -> None:
    with RecordingSink(path) as sink:
        writer, other = begin(sink), begin(sink)
        events = [delta(f"{index}") for index in range(event_count)]
        if events:
            events[-1] = delta("x" * last_bytes)
        for batch in (events[:-1], events[-1:]):
            writer.write(batch)
            if interleaved:
                other.write([delta("other"), delta("others last")])
        other.end("complete")
        writer.end("complete")
    with open_recording(path, check_event) as recording:
        assert recording.last_event(0) == (events[-1] if events else None)
        assert recording.last_event(1) == (delta("others last") if interleaved else None)


def test_a_last_event_is_found_whatever_white_space_and_line_ends_stand_around_it(path: Path) -> None:
    lines = [json.dumps(dict(reversed(line.items())), separators=(" ,\t", " : ")) for line in two_calls()]
    path.write_bytes("".join(f" {line} \r\n" for line in lines).encode())
    with open_recording(path, check_event) as recording:
        assert [recording.last_event(index) for index in (0, 1)] == [delta("0.1"), delta("1.1")]


def test_separators_that_only_unicode_knows_do_not_end_a_line(path: Path) -> None:
    text = "a\u2028b\u2029c\u0085d\u000be\u001cf"
    with RecordingSink(path) as sink:
        writer = begin(sink, text)
        writer.write([delta(text)])
        writer.end("complete")
    assert len(path.read_bytes().split(b"\n")) == 5
    assert read_calls(path)[0].events == [delta(text)]


def test_an_opened_recording_keeps_an_index_and_no_content(path: Path) -> None:
    events = [delta("x" * 10_000) for _ in range(200)]
    with RecordingSink(path) as sink:
        writer = begin(sink, "y" * 100_000)
        writer.write(events)
        writer.end("complete")
    with open_recording(path, check_event) as recording:
        (summary,) = recording.calls
        kept = [getattr(summary, name) for name in summary.__slots__]
    assert not any(isinstance(value, str | bytes) and len(value) > 10 for value in kept)
    assert [len(value) for value in kept if isinstance(value, array)] == [2]  # one stretch of bytes for 200 events


def test_close_lets_the_file_go_and_may_come_twice(path: Path) -> None:
    before = len(os.listdir("/dev/fd"))
    recording = open_recording(write_file(path, two_calls()), check_event)
    recording.close()
    recording.close()
    assert len(os.listdir("/dev/fd")) == before


def test_a_refused_file_is_not_held_open(path: Path) -> None:
    before = len(os.listdir("/dev/fd"))
    refusal(write_file(path, [request_line(0)]))
    assert len(os.listdir("/dev/fd")) == before


# ---- what isn't a recording


def test_a_missing_file_is_refused(path: Path) -> None:
    error = refusal(path)
    assert (error.reason, error.line_number, error.call_index) == ("cannot open: no such file", None, None)


def test_an_empty_file_is_refused(path: Path) -> None:
    assert refusal(write_file(path, [])).reason == "the file is empty, it has no header line"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\x7fELF\x02\x01\x01\x00\xff\xfe\n", "not UTF-8 at byte 9 of the line"),
        (b"hello\n", "not a JSON object"),
        (b"[]\n", "not a JSON object"),
        (b"null\n", "not a JSON object"),
        (b"{}\n", "the line has no type"),
        (b"\n", "an empty line"),
        (b'{"type":"header","format_version":1}', "the last line is cut off: it has no line end"),
        (b'\xef\xbb\xbf{"type":"header","format_version":1}\n', "a byte order mark stands before it"),
        ('{"type":"header"}\n'.encode("utf-16"), "not UTF-8 at byte 1 of the line"),
        ('{"type":"header"}\n'.encode("utf-16-le"), "not valid JSON"),
        (b'{"type":"header","type":"header","format_version":1}\n', "the key 'type' stands twice"),
        (b'{"type":"request","call_index":0,"model":1,"context":1,"options":1}\n', "the first line is not a header"),
        (b'{"type":"event","call_index":0,"event_index":0,"event":{"type":"done"}}\n', "the first line is not a"),
    ],
)
def test_what_does_not_begin_as_a_recording_is_refused_at_line_1(path: Path, content: bytes, reason: str) -> None:
    path.write_bytes(content)
    error = refusal(path)
    assert error.line_number == 1
    assert error.reason.startswith(reason)
    assert error.next_step is None  # nothing here that `repair` could save
    assert error.reason.endswith("begins with a header line") is (
        b"format_version" not in content and b"call_" not in content
    )


@pytest.mark.parametrize("version", [0, 2, -1, "1", True, 1.0, None, [1], {"a": 1}, 10**30])
def test_any_other_format_version_is_refused(path: Path, version: Any) -> None:
    error = refusal(write_file(path, [{"type": "header", "format_version": version}, *call_lines(0)]))
    assert error.line_number == 1
    assert error.reason == f"format_version {version!r}; this release reads version 1"


def test_a_header_without_a_version_is_refused(path: Path) -> None:
    assert refusal(write_file(path, [{"type": "header"}])).reason.startswith("no format_version;")


@pytest.mark.parametrize("kind", ["symlink", "dangling symlink", "fifo", "folder", "device", "socket name", "nul"])
def test_only_a_regular_file_is_opened_and_nothing_waits(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "it"
    real = write_file(tmp_path / "real.jsonl", two_calls())
    match kind:
        case "symlink":
            path.symlink_to(real)
            reason = "is a symbolic link; name the file itself"
        case "dangling symlink":
            path.symlink_to(tmp_path / "nothing")
            reason = "is a symbolic link; name the file itself"
        case "fifo":
            os.mkfifo(path)
            reason = "is not a regular file"
        case "folder":
            path.mkdir()
            reason = "is a folder"
        case "device":
            path = Path(os.devnull)
            reason = "is not a regular file"
        case "socket name":
            path = real / "below"
            reason = "Not a directory"
        case _:
            path = tmp_path / "a\0b"
            reason = "no file can have this name"
    with pytest.raises(RecordingFileError) as failure:
        without_waiting(lambda: open_recording(path, check_event))
    assert reason in failure.value.reason


# ---- what is out of order


TWICE = ", as where two recordings were merged into one file"


def changed(line_number: int, *lines: dict[str, Any] | str | bytes) -> list[dict[str, Any] | str | bytes]:
    """The two calls with one line, counted from 1, replaced by others."""
    before, after = two_calls()[: line_number - 1], two_calls()[line_number:]
    return [*before, *lines, *after]


@pytest.mark.parametrize(
    ("lines", "line_number", "call_index", "reason"),
    [
        (changed(3, HEADER), 3, None, f"a second header{TWICE}"),
        (changed(3, {"type": "surprise", "call_index": 0}), 3, None, "unknown line type 'surprise'"),
        (changed(3, {"type": ["event"], "call_index": 0}), 3, None, "unknown line type ['event']"),
        (changed(3, {"call_index": 0}), 3, None, "the line has no type"),
        (changed(3, event_line(7, 0)), 3, 7, "event without a request before it"),
        (changed(5, end_line(7, 0)), 5, 7, "call_end without a request before it"),
        (changed(2), 2, 0, "event without a request before it"),
        (changed(3), 3, 0, "event_index is 1, expected 0"),
        (changed(4, event_line(0, 0)), 4, 0, f"event_index is 0, expected 1{TWICE}"),
        (changed(4, event_line(0, 2)), 4, 0, "event_index is 2, expected 1"),
        (changed(4), 4, 0, "event_count is 2, but the call has 1 events"),
        (changed(5, end_line(0, 3)), 5, 0, "event_count is 3, but the call has 2 events"),
        (changed(6, request_line(0)), 6, 0, f"a second request with this call_index{TWICE}"),
        (changed(4, request_line(0)), 4, 0, f"a second request with this call_index{TWICE}"),
        (changed(6, request_line(2)), 6, 2, "call_index is 2, expected 1"),
        (changed(2, request_line(1)), 2, 1, "call_index is 1, expected 0"),
        (changed(6, event_line(0, 2)), 6, 0, f"event after the call_end{TWICE}"),
        (changed(6, end_line(0, 2)), 6, 0, f"call_end after the call_end{TWICE}"),
        (changed(5), 2, 0, "the call has no call_end: its recording was interrupted"),
        (changed(9), 6, 1, "the call has no call_end: its recording was interrupted"),
        (changed(3, event_line(0, 0, type="telepathy")), 3, 0, "unknown event type 'telepathy'"),
        (changed(3, {**event_line(0, 0), "event": None}), 3, 0, "the event is not an object"),
        (changed(3, {**event_line(0, 0), "event": [{"type": "start"}]}), 3, 0, "the event is not an object"),
        (changed(9, end_line(1, 2, outcome="great")), 9, 1, "unknown outcome 'great'"),
        (changed(9, end_line(1, 2, outcome=None)), 9, 1, "unknown outcome None"),
        (changed(9, end_line(1, 2, error="no")), 9, 1, "error is not an object"),
        (changed(3, {**event_line(0, 0), "call_index": True}), 3, None, "call_index is True, not a count from 0"),
        (changed(3, {**event_line(0, 0), "call_index": 0.0}), 3, None, "call_index is 0.0, not a count from 0"),
        (changed(3, {**event_line(0, 0), "call_index": -1}), 3, None, "call_index is -1, not a count from 0"),
        (changed(3, {**event_line(0, 0), "call_index": "0"}), 3, None, "call_index is '0', not a count from 0"),
        (changed(3, {"type": "event", "event_index": 0, "event": {}}), 3, None, "the line has no call_index"),
        (changed(3, {"type": "event", "call_index": 0, "event": {}}), 3, 0, "the line has no event_index"),
        (changed(3, {**event_line(0, 0), "event_index": 0.0}), 3, 0, "event_index is 0.0, not a count from 0"),
        (changed(5, {"type": "call_end", "call_index": 0}), 5, 0, "the line has no event_count"),
        (changed(2, {"type": "request", "call_index": 0, "model": 1}), 2, 0, "the request has no context"),
        (changed(3, event_line(10**40, 0)), 3, 10**40, "event without a request before it"),
        (changed(3, "\n"), 3, None, "an empty line"),
        (changed(3, " \t\r\n"), 3, None, "an empty line"),
        ([*two_calls(), "\n"], 10, None, "an empty line"),
        ([*two_calls(), '{"type"'], 10, None, "the last line is cut off: it has no line end"),
    ],
)
def test_a_line_out_of_order_is_refused_by_line_call_and_reason(
    path: Path, lines: Lines, line_number: int, call_index: int | None, reason: str
) -> None:
    error = refusal(write_file(path, lines))
    assert (error.line_number, error.call_index, error.reason) == (line_number, call_index, reason)
    assert error.next_step is not None
    assert str(path) in error.next_step
    assert str(error).startswith(f"{path}, line {line_number}")


CANONICAL = '{"type":"event","call_index":0,"event_index":0,"event":'
RESPELLED = '{"type":"event", "call_index":0,"event_index":0,"event":'


@pytest.mark.parametrize("prefix", [CANONICAL, RESPELLED], ids=["canonical", "respelled"])
@pytest.mark.parametrize(
    ("rest", "reason"),
    [
        ('{"type":"start","a":NaN}}', "NaN is not a JSON number"),
        ('{"type":"start","a":[-Infinity]}}', "-Infinity is not a JSON number"),
        ('{"type":"start","a":1e999}}', "a number is beyond what a float can hold"),
        ('{"type":"start","a":-1e999}}', "a number is beyond what a float can hold"),
        ('{"type":"start","a":[{"b":[1,2,1E+400]}]}}', "a number is beyond what a float can hold"),
        ('{"type":"start","a":1' + "0" * 400 + ".0}}", "a number is beyond what a float can hold"),
        ('{"type":"start","a":1' + "0" * 5000 + "}}", "Exceeds the limit"),
        ('{"type":"start"},"event":{"type":"start"}}', "the key 'event' stands twice in one line"),
        ('{"type":"start"},"type":"event"}', "the key 'type' stands twice in one line"),
        ('{"type":"start"},"\\u0074ype":"event"}', "the key 'type' stands twice in one line"),
        ('{"type":"start"}}}', "extra data at column"),
        ('{"type":"start"}} {}', "extra data at column"),
        ('{"type":"start"},}', "expected a key at column"),
        ('{"type":"start"}', "expected ',' or '}' at column"),
        ('{"type":"start"}]', "expected ',' or '}' at column"),
        ('{"type":"start"', "not valid JSON"),
        ("}", "Expecting value at column"),
        ('{"type":"start",}}', "not valid JSON"),
        ("{'type':'start'}}", "not valid JSON"),
        ('{"type":"start","a":01}}', "not valid JSON"),
        ('{"type":"start","a":"\t"}}', "Invalid control character"),
        ('{"type":"start","a":"\\x41"}}', "Invalid \\escape"),
        ('{"type":"start"} // end}', "expected ',' or '}' at column"),
        ("[" * 100_000 + "]" * 100_000 + "}", f"nested deeper than {MAX_DEPTH} levels"),
    ],
)
def test_what_strict_json_does_not_have_is_refused_in_any_spelling(
    path: Path, prefix: str, rest: str, reason: str
) -> None:
    error = refusal(write_file(path, [HEADER, request_line(0), prefix + rest + "\n", end_line(0, 1)]))
    assert error.line_number == 3
    assert reason in error.reason
    if prefix == CANONICAL:
        assert error.call_index == 0


def test_the_column_of_bad_json_counts_from_the_start_of_the_line(path: Path) -> None:
    line = CANONICAL + '{"type":nothing}}'
    error = refusal(write_file(path, [HEADER, request_line(0), line + "\n"]))
    assert error.reason == f"not valid JSON: Expecting value at column {line.index('nothing') + 1}"


@pytest.mark.parametrize("field", ["model", "context", "options", "later"])
@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "[1e999]"])
def test_no_number_that_json_lacks_is_read_in_a_request(path: Path, field: str, number: str) -> None:
    fields = {"model": "1", "context": "1", "options": "1", field: number}
    line = '{"type":"request","call_index":0,' + ",".join(f'"{key}":{value}' for key, value in fields.items()) + "}\n"
    assert refusal(write_file(path, [HEADER, line])).line_number == 2


def test_bytes_that_are_not_utf_8_are_refused_by_position(path: Path) -> None:
    line = CANONICAL.encode() + b'{"type":"start","a":"\xff"}}\n'
    error = refusal(write_file(path, [HEADER, request_line(0), line]))
    assert (error.line_number, error.call_index) == (3, 0)
    assert error.reason == f"not UTF-8 at byte {line.index(0xFF) + 1} of the line"


def test_a_surrogate_encoded_as_utf_8_is_refused(path: Path) -> None:
    line = CANONICAL.encode() + b'{"type":"start","a":"\xed\xa0\x80"}}\n'
    assert "not UTF-8" in refusal(write_file(path, [HEADER, request_line(0), line])).reason


def test_a_byte_order_mark_in_the_middle_is_refused(path: Path) -> None:
    error = refusal(write_file(path, [HEADER, b"\xef\xbb\xbf", request_line(0)]))
    assert error.line_number == 2
    assert "byte order mark" in error.reason


def test_a_small_file_cut_at_any_byte_is_refused_or_shorter_by_whole_calls(path: Path, tmp_path: Path) -> None:
    data = write_file(path, two_calls()).read_bytes()
    whole = read_calls(path)
    cut = tmp_path / "cut.jsonl"
    read = []
    for size in range(len(data)):
        cut.write_bytes(data[:size])
        found = calls_or_refusal(cut)
        if isinstance(found, RecordingFileError):
            assert (found.line_number is None) == (size == 0)
        else:
            read.append((size, found))
    # Only behind the header and behind each call_end is there nothing missing.
    ends = [data.index(b"\n") + 1, data.index(b"\n", data.index(b'"call_end"')) + 1]
    assert read == [(ends[0], []), (ends[1], whole[:1])]


# ---- a file that changes after it was opened


def test_a_file_that_was_removed_is_read_to_the_end(path: Path) -> None:
    with open_recording(write_file(path, two_calls()), check_event) as recording:
        path.unlink()
        assert list(recording.events(1)) == [delta("1.0"), delta("1.1")]


def test_a_file_that_was_appended_to_stays_what_it_was(path: Path) -> None:
    with open_recording(write_file(path, two_calls()), check_event) as recording:
        with path.open("ab") as file:
            file.write(b"anything\n")
        assert list(recording.events(1)) == [delta("1.0"), delta("1.1")]


def test_a_file_that_was_cut_names_the_call_that_is_gone(path: Path) -> None:
    with open_recording(write_file(path, two_calls()), check_event) as recording:
        os.truncate(path, 120)
        for read in (recording.request, lambda call_index: list(recording.events(call_index))):
            with pytest.raises(RecordingFileError) as failure:
                read(1)
            assert (failure.value.path, failure.value.line_number, failure.value.call_index) == (path, 6, 1)
            assert failure.value.reason.startswith("the file changed after it was opened")


@pytest.mark.parametrize("less", range(1, 450, 23))
def test_a_file_cut_anywhere_gives_whole_events_and_then_an_error(path: Path, less: int) -> None:
    with open_recording(write_file(path, [HEADER, *call_lines(0, events=5)]), check_event) as recording:
        end_line_bytes = len(path.read_bytes().splitlines(keepends=True)[-1])
        os.truncate(path, path.stat().st_size - end_line_bytes - less)
        events: list[object] = []
        with pytest.raises(RecordingFileError) as failure:
            events.extend(recording.events(0))
        assert failure.value.call_index == 0
        assert events == [delta(f"0.{index}") for index in range(len(events))]


def write_over_unseen(path: Path, lines: list[Any]) -> None:
    """As a writer does that sets the file's time back: what is read has to tell by itself."""
    before = path.stat()
    write_file(path, lines)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_a_file_whose_lines_moved_is_noticed(path: Path) -> None:
    with open_recording(write_file(path, two_calls()), check_event) as recording:
        write_over_unseen(path, [HEADER, *call_lines(1), *call_lines(0)])  # every line as long as the one it replaces
        for read in (recording.request, lambda call_index: list(recording.events(call_index))):
            with pytest.raises(RecordingFileError) as failure:
                read(0)
            assert "no longer where it was" in failure.value.reason


def test_fewer_lines_in_the_same_bytes_are_noticed(path: Path) -> None:
    one, other = (b" " + json.dumps(event_line(0, index)).encode() + b"\n" for index in range(2))
    write_file(path, [HEADER, request_line(0), one, other, end_line(0, 2)])
    with open_recording(path, check_event) as recording:
        write_over_unseen(path, [HEADER, request_line(0), one[:-1] + b" " * len(other) + b"\n", end_line(0, 2)])
        with pytest.raises(RecordingFileError) as failure:
            list(recording.events(0))
        assert "1 events are left of 2" in failure.value.reason


def test_a_file_overwritten_with_noise_is_noticed(path: Path) -> None:
    with open_recording(write_file(path, two_calls()), check_event) as recording:
        path.write_bytes(b"\xff" * path.stat().st_size)
        for read in (recording.request, lambda call_index: list(recording.events(call_index))):
            with pytest.raises(RecordingFileError):
                read(0)


@pytest.mark.parametrize("read", ["request", "request_text", "events"])
def test_content_written_over_with_other_content_of_the_same_length_is_not_served(path: Path, read: str) -> None:
    """Every line still parses, and every index is right: only the file's time tells."""
    with RecordingSink(path) as sink:
        writer = begin(sink)
        writer.write([delta("hello")])
        writer.end("complete")
    with open_recording(path, accept_any_event) as recording:
        content = path.read_bytes()
        path.write_bytes(content.replace(b'"hello"', b'"HELLO"').replace(b'["hi"]', b'["HI"]'))
        reads: dict[str, Callable[[], object]] = {
            "request": lambda: recording.request(0),
            "request_text": lambda: recording.request_text(0, 0),
            "events": lambda: list(recording.events(0)),
        }
        with pytest.raises(RecordingFileError) as failure:
            reads[read]()
        assert failure.value.reason == "the file changed after it was opened: it was written over"
        assert failure.value.call_index == 0


def test_a_recording_that_another_process_appends_to_is_served_all_the_same(path: Path) -> None:
    with RecordingSink(path) as sink:
        begin(sink).end("complete")
        with open_recording(path, accept_any_event) as recording:
            begin(sink).end("complete")
            assert recording.call_count == 1
            assert recording.request(0)["model"] == {"id": "m"}
