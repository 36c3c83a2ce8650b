"""Appending: whole lines, in order, into a file that is what it was, or nothing at all."""

import errno
import json
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from openprogram.pipeline.errors import RecordingFileError, RecordingValueError
from openprogram.pipeline.json_value import MAX_DEPTH, MAX_LINE_BYTES
from openprogram.pipeline.log import files
from openprogram.pipeline.log.header import create_recording
from openprogram.pipeline.log.lines import CleanEvent, CleanRequest
from openprogram.pipeline.log.locks import LockRange, exclusive, in_use
from openprogram.pipeline.log.writer import CallWriter, RecordingSink
from openprogram.pipeline.redaction import REDACTION_VERSION
from tests.pipeline.log.samples import (
    HEADER,
    begin,
    call,
    call_lines,
    delta,
    end_line,
    event_line,
    read_calls,
    refusal,
    request,
    request_line,
    surveyed_calls,
    without_waiting,
    write_file,
)

NEW_HEADER = b'{"type":"header","format_version":1,"redaction_version":%d}\n' % REDACTION_VERSION


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# ---- creating and opening


def test_a_new_recording_has_its_header_and_is_readable_by_its_owner_only(path: Path) -> None:
    old = os.umask(0)
    try:
        create_recording(path, {"recording_id": "x"})
    finally:
        os.umask(old)
    assert path.read_bytes() == b'{"type":"header","format_version":1,"recording_id":"x"}\n'
    assert mode_of(path) == 0o600


def test_creating_never_overwrites(path: Path) -> None:
    path.write_text("mine")
    with pytest.raises(RecordingFileError) as failure:
        create_recording(path, {})
    assert failure.value.reason == "the file exists already"
    assert path.read_text() == "mine"


def test_a_sink_creates_its_file_with_the_header_only(path: Path) -> None:
    with RecordingSink(path, {"mode": "record"}):
        assert path.read_bytes() == NEW_HEADER.replace(b"}", b',"mode":"record"}')
        assert mode_of(path) == 0o600


@pytest.mark.parametrize("create", [create_recording, RecordingSink])
def test_header_metadata_can_not_replace_type_or_version(path: Path, create: Any) -> None:
    create(path, {"type": "request", "format_version": 2, "note": "kept"})
    written = json.loads(path.read_bytes())
    assert (written["type"], written["format_version"], written["note"]) == ("header", 1, "kept")


@pytest.mark.parametrize("create", [create_recording, RecordingSink])
def test_header_metadata_that_json_can_not_hold_leaves_no_file(path: Path, create: Any) -> None:
    with pytest.raises(RecordingValueError) as failure:
        create(path, {"a": {"b": float("nan")}})
    assert failure.value.field_path == "a.b"
    assert not path.exists()


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RecordingFileError) as failure:
        RecordingSink(tmp_path / "no" / "run.jsonl")
    assert failure.value.reason == "cannot create: no such file"


def test_the_mode_of_a_checkout_is_accepted_and_kept(path: Path) -> None:
    write_file(path, [HEADER]).chmod(0o644)
    with RecordingSink(path) as sink:
        call(sink)
    assert len(read_calls(path)) == 1
    assert mode_of(path) == 0o644


def test_appending_to_a_valid_file_goes_on_counting(path: Path) -> None:
    before = write_file(path, [HEADER, *call_lines(0), *call_lines(1)]).read_bytes()
    with RecordingSink(path, {"recording_id": "not written"}) as sink:
        assert call(sink).call_index == 2
    assert path.read_bytes().startswith(before)
    assert len(read_calls(path)) == 3


def test_appending_to_a_file_with_crlf_line_ends_works(path: Path) -> None:
    write_file(path, [HEADER, *call_lines(0)])
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    with RecordingSink(path) as sink:
        call(sink)
    assert len(read_calls(path)) == 2


def test_the_unfinished_call_of_another_does_not_block_appending(path: Path) -> None:
    write_file(path, [HEADER, request_line(0), event_line(0, 0)])
    with RecordingSink(path) as sink:
        assert call(sink).call_index == 1
    assert refusal(path).call_index == 0
    assert len(surveyed_calls(path)) == 1


def test_an_existing_empty_file_is_begun(path: Path) -> None:
    path.touch()
    with RecordingSink(path) as sink:
        call(sink)
    assert len(read_calls(path)) == 1


@pytest.mark.parametrize("tail", [b"{", b'{"type":"event","call_index":0', b"\0\0\0", b"\xff", b'{"type":"call_end"}'])
def test_a_torn_last_line_is_cut_off_and_logged(path: Path, tail: bytes, caplog: pytest.LogCaptureFixture) -> None:
    whole = write_file(path, [HEADER, *call_lines(0)]).read_bytes()
    path.write_bytes(whole + tail)
    with RecordingSink(path) as sink:
        assert path.read_bytes() == whole
        call(sink)
    assert [record.getMessage() for record in caplog.records] == [
        f"recording.torn_line_cut line_number=6 bytes={len(tail)}"
    ]
    assert len(read_calls(path)) == 2


def test_a_line_torn_by_another_while_recording_is_cut_off(path: Path) -> None:
    with RecordingSink(path) as sink:
        writer = begin(sink)
        with path.open("ab") as file:
            file.write(b'{"type":"request","call_index":1,"mod')
        writer.write([delta("a")])
        writer.end("complete")
    assert read_calls(path)[0].events == [delta("a")]


@pytest.mark.parametrize(
    ("content", "line_number"),
    [
        (b"hello", 1),
        (b"hello\n", 1),
        (b'{"a": 1}', 1),
        (b'{"type":"header","format_version":1}', 1),
        (b'{"type":"header","format_version":2}\n', 1),
        (b'{"type":"header","format_version":2}\n{"type":"torn', 1),
        (b"\x00\x01\x02\xff", 1),
        (b"\n", 1),
        (b'{"type":"header","format_version":1}\nhello\n', 2),
        (b'{"type":"header","format_version":1}\nhello\n{"type":"torn', 2),
        (b'{"type":"header","format_version":1}\n{"type":"header","format_version":1}\n', 2),
        (b'{"type":"header","format_version":1}\n' + b'{"type":"call_end","call_index":0,"event_count":0}\n', 2),
    ],
)
def test_what_is_not_a_valid_recording_is_never_modified(path: Path, content: bytes, line_number: int) -> None:
    path.write_bytes(content)
    with pytest.raises(RecordingFileError) as failure:
        RecordingSink(path)
    assert failure.value.line_number == line_number
    assert path.read_bytes() == content
    assert not in_use(path)


@pytest.mark.parametrize("kind", ["symlink", "dangling symlink", "folder", "fifo", "device"])
@pytest.mark.parametrize("create", [lambda path: create_recording(path, {}), RecordingSink])
def test_only_a_regular_file_is_recorded_into(tmp_path: Path, kind: str, create: Any) -> None:
    real = write_file(tmp_path / "real.jsonl", [HEADER])
    path = tmp_path / "it"
    match kind:
        case "symlink":
            path.symlink_to(real)
        case "dangling symlink":
            path.symlink_to(tmp_path / "nothing")
        case "folder":
            path.mkdir()
        case "fifo":
            os.mkfifo(path)
        case _:
            path = Path(os.devnull)
    with pytest.raises(RecordingFileError):
        without_waiting(lambda: create(path))
    assert not (tmp_path / "nothing").exists()
    assert real.read_bytes() == b'{"type":"header","format_version":1}\n'


def between_creating_and_locking(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object]) -> None:
    """Let something happen at the one moment when a new file is there and not locked yet."""

    def open_or_create(path: Path) -> tuple[int, bool]:
        monkeypatch.undo()
        found = files.open_or_create(path)
        happens()
        return found

    for module in ("header", "writer"):
        monkeypatch.setattr(f"openprogram.pipeline.log.{module}.open_or_create", open_or_create)


@pytest.mark.parametrize("create", [lambda path: create_recording(path, {}), lambda path: RecordingSink(path).close()])
def test_a_new_file_that_another_finds_first_gets_one_header(
    path: Path, create: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def another_records() -> None:
        with RecordingSink(path) as sink:
            call(sink)

    between_creating_and_locking(monkeypatch, another_records)
    create(path)
    assert len(read_calls(path)) == 1


def test_a_file_that_another_put_there_is_not_removed_with_ours(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def another_replaces() -> None:
        path.unlink()
        path.write_text("theirs")

    between_creating_and_locking(monkeypatch, another_replaces)
    with pytest.raises(RecordingFileError) as failure:
        RecordingSink(path)
    assert failure.value.reason == "the file was replaced while it was recorded into"
    assert path.read_text() == "theirs"


# ---- what a call writes


def test_lines_are_on_file_when_the_writer_returns(path: Path) -> None:
    with RecordingSink(path) as sink:
        writer = begin(sink)
        assert path.read_bytes().count(b"\n") == 2
        writer.write([delta("a"), delta("b")])
        assert path.read_bytes().count(b"\n") == 4
        writer.end("error", {"type": "ValueError", "message": "no"}, [delta("c")])
        assert path.read_bytes().count(b"\n") == 6
        sink.sync()
    (read,) = read_calls(path)
    assert (read.events, read.outcome) == ([delta("a"), delta("b"), delta("c")], "error")
    assert read.error == {"type": "ValueError", "message": "no"}


def test_lines_are_spelled_in_the_documented_key_order(path: Path) -> None:
    with RecordingSink(path) as sink:
        writer = begin(sink)
        writer.write([delta("ü")])
        writer.end("complete")
    assert path.read_text() == (
        NEW_HEADER.decode()
        + '{"type":"request","call_index":0,"model":{"id":"m"},"context":{"messages":["hi"]},"options":null}\n'
        '{"type":"event","call_index":0,"event_index":0,"event":{"type":"text_delta","delta":"ü"}}\n'
        '{"type":"call_end","call_index":0,"event_count":1,"outcome":"complete"}\n'
    )


def test_ending_twice_writes_one_end(path: Path) -> None:
    with RecordingSink(path) as sink:
        writer = begin(sink)
        writer.end("complete")
        writer.end("error")
    assert read_calls(path)[0].outcome == "complete"


def test_an_empty_batch_writes_nothing(path: Path) -> None:
    with RecordingSink(path) as sink:
        writer = begin(sink)
        before = path.read_bytes()
        writer.write([])
        assert path.read_bytes() == before


def test_an_event_after_the_end_is_refused_and_not_written(path: Path) -> None:
    with RecordingSink(path) as sink:
        writer = call(sink)
        with pytest.raises(RecordingFileError) as failure:
            writer.write([delta("late")])
    assert (failure.value.reason, failure.value.call_index) == ("event after the call_end", 0)
    assert len(read_calls(path)) == 1


@pytest.mark.parametrize("first_index", [0, 2])
def test_an_event_index_that_is_not_the_next_is_refused_and_not_written(path: Path, first_index: int) -> None:
    with RecordingSink(path) as sink:
        writer = begin(sink)
        writer.write([delta("a")])
        with pytest.raises(RecordingFileError):
            sink.append_events(0, first_index, [delta("b")])
        with pytest.raises(RecordingFileError):
            sink.end_call(0, first_index, [], "complete", None)
        writer.end("complete")
    assert read_calls(path)[0].events == [delta("a")]


# ---- what can't be written


def nested(depth: int, innermost: Any = None) -> Any:
    value: Any = innermost
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "field", "reason"),
    [
        (float("nan"), "a", "nan is not a JSON number"),
        (float("inf"), "a", "inf is not a JSON number"),
        ({"b": [0, float("-inf")]}, "a.b[1]", "-inf is not a JSON number"),
        (nested(MAX_DEPTH), "a" + "[0]" * (MAX_DEPTH - 2), f"nested deeper than {MAX_DEPTH} levels"),
        (nested(100_000), "a" + "[0]" * (MAX_DEPTH - 2), f"nested deeper than {MAX_DEPTH} levels"),
    ],
    ids=["nan", "inf", "nested inf", "too deep", "far too deep"],
)
def test_a_value_that_json_can_not_hold_is_refused_by_name_with_nothing_written(
    path: Path, value: Any, field: str, reason: str
) -> None:
    with RecordingSink(path) as sink:
        writer = begin(sink)
        before = path.read_bytes()
        bad = CleanEvent({"type": "start", "a": value})
        writes: list[Callable[[], object]] = [
            lambda: writer.write([delta("first"), bad]),
            lambda: writer.end("complete", None, [delta("first"), bad]),
        ]
        for write in writes:
            with pytest.raises(RecordingValueError) as failure:
                write()
            assert failure.value.field_path == f"event 1 {field}"
            assert failure.value.reason == reason
        with pytest.raises(RecordingValueError) as failure:
            # In a request the same value stands one level higher: its line is the request.
            sink.begin_call(CleanRequest({**request(), "a": [value] if "deeper" in reason else value}))
        assert failure.value.field_path == field + "[0]" * ("deeper" in reason)
        assert path.read_bytes() == before
        writer.end("complete")
    assert len(read_calls(path)) == 1


@pytest.mark.parametrize("value", [{1, 2}, object(), b"bytes", 10**5000], ids=["set", "object", "bytes", "huge"])
def test_a_value_that_json_does_not_know_is_refused_with_nothing_written(path: Path, value: Any) -> None:
    with RecordingSink(path) as sink:
        writer = begin(sink)
        before = path.read_bytes()
        with pytest.raises(RecordingValueError):
            writer.write([CleanEvent({"type": "start", "a": value})])
        with pytest.raises(RecordingValueError):
            sink.begin_call(CleanRequest({**request(), "a": value}))
        assert path.read_bytes() == before


def test_an_error_that_json_can_not_hold_is_refused_with_nothing_written(path: Path) -> None:
    with RecordingSink(path) as sink:
        writer = begin(sink)
        with pytest.raises(RecordingValueError) as failure:
            writer.end("error", {"type": "E", "message": float("nan")})
        assert failure.value.field_path == "error.message"
        writer.end("error", {"type": "E", "message": "m"})
    assert read_calls(path)[0].error == {"type": "E", "message": "m"}


@pytest.mark.parametrize("levels", [MAX_DEPTH - 3, MAX_DEPTH - 2])
def test_reader_and_writer_share_one_limit_for_depth(path: Path, levels: int) -> None:
    # The line is one level, the event another.
    event = CleanEvent({"type": "start", "a": nested(levels, "x")})
    with RecordingSink(path) as sink:
        writer = begin(sink)
        writer.write([event])
        writer.end("complete")
        deepest = CleanRequest({**request(), "context": nested(levels + 1)})
        sink.begin_call(deepest).end("complete")
    assert read_calls(path)[0].events == [event]
    assert read_calls(path)[1].request == deepest


def test_many_containers_that_are_not_nested_are_no_depth(path: Path) -> None:
    event = CleanEvent({"type": "start", "a": [[] for _ in range(5000)], "b": "{[" * 5000})
    with RecordingSink(path) as sink:
        writer = begin(sink)
        writer.write([event])
        writer.end("complete")
    assert read_calls(path)[0].events == [event]


def test_a_line_above_the_limit_is_refused_with_nothing_written(path: Path) -> None:
    text = "x" * MAX_LINE_BYTES
    with RecordingSink(path) as sink:
        writer = begin(sink)
        before = path.stat().st_size
        with pytest.raises(RecordingValueError) as failure:
            writer.write([delta("first"), delta(text)])
        assert failure.value.field_path == "event 1"
        assert "above the limit" in failure.value.reason
        with pytest.raises(RecordingValueError) as failure:
            begin(sink, text)
        assert failure.value.field_path == "the request"
        assert path.stat().st_size == before


@pytest.mark.parametrize("missing", ["model", "context", "options"])
def test_a_request_that_the_reader_would_refuse_is_not_written(path: Path, missing: str) -> None:
    incomplete = CleanRequest({key: value for key, value in request().items() if key != missing})
    with RecordingSink(path) as sink:
        before = path.read_bytes()
        with pytest.raises(RecordingValueError) as failure:
            sink.begin_call(incomplete)
        assert failure.value.field_path == missing
        assert path.read_bytes() == before


@pytest.mark.parametrize("name", ["type", "call_index"])
def test_a_request_field_that_the_line_has_itself_is_refused(path: Path, name: str) -> None:
    with RecordingSink(path) as sink, pytest.raises(RecordingValueError) as failure:
        sink.begin_call(CleanRequest({**request(), name: 1}))
    assert failure.value.field_path == name
    assert read_calls(path) == []


# ---- a file that changes while it is recorded into


def appends(sink: RecordingSink) -> list[Any]:
    writer = begin(sink)
    return [
        lambda: begin(sink),
        lambda: writer.write([delta("a")]),
        lambda: writer.end("complete"),
    ]


def test_a_file_that_was_removed_is_not_recorded_into_nor_made_again(path: Path) -> None:
    with RecordingSink(path) as sink:
        attempts = appends(sink)
        path.unlink()
        for append in attempts:
            with pytest.raises(RecordingFileError) as failure:
                append()
            assert failure.value.reason == "the file was removed while it was recorded into"
        assert not path.exists()


def test_a_folder_that_was_removed_counts_as_the_file_removed(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    with RecordingSink(folder / "run.jsonl") as sink:
        attempts = appends(sink)
        (folder / "run.jsonl").unlink()
        folder.rmdir()
        folder.write_text("a file now")
        for append in attempts:
            with pytest.raises(RecordingFileError) as failure:
                append()
            assert failure.value.reason == "the file was removed while it was recorded into"


@pytest.mark.parametrize("with_symlink", [False, True])
def test_a_file_that_was_replaced_is_not_recorded_into(path: Path, tmp_path: Path, with_symlink: bool) -> None:
    with RecordingSink(path) as sink:
        attempts = appends(sink)
        moved = path.rename(tmp_path / "moved.jsonl")
        before = moved.read_bytes()
        other = write_file(tmp_path / "other.jsonl", [HEADER])
        if with_symlink:
            path.symlink_to(moved)
        else:
            path.write_bytes(other.read_bytes())
        for append in attempts:
            with pytest.raises(RecordingFileError) as failure:
                append()
            assert failure.value.reason == "the file was replaced while it was recorded into"
        assert moved.read_bytes() == before
        assert other.read_bytes() == b'{"type":"header","format_version":1}\n'


@pytest.mark.parametrize("size", [0, 10, 37, 60])
def test_a_file_that_was_cut_shorter_is_not_recorded_into(path: Path, size: int) -> None:
    with RecordingSink(path) as sink:
        attempts = appends(sink)
        os.truncate(path, size)
        before = path.read_bytes()
        for append in attempts:
            with pytest.raises(RecordingFileError) as failure:
                append()
            assert failure.value.reason == "the file was cut shorter while it was recorded into"
        assert path.read_bytes() == before


def test_damage_by_another_is_named_by_its_line_and_nothing_is_appended(path: Path) -> None:
    with RecordingSink(path) as sink:
        attempts = appends(sink)
        with path.open("ab") as file:
            file.write(b"hello\n")
        before = path.read_bytes()
        for append in attempts:
            with pytest.raises(RecordingFileError) as failure:
                append()
            assert (failure.value.line_number, failure.value.reason) == (3, "not a JSON object")
            assert failure.value.next_step is not None
        assert path.read_bytes() == before


# ---- several sinks, tasks, threads


def test_a_closed_sink_writes_nothing_and_says_so(path: Path) -> None:
    sink = RecordingSink(path)
    writer = begin(sink)
    sink.close()
    sink.close()
    other = path.with_name("other")
    with other.open("w+b"):  # may well have got the number of the descriptor that was closed
        for append in (
            lambda: begin(sink),
            lambda: writer.write([delta("a")]),
            lambda: writer.end("complete"),
            writer.sync,
        ):
            with pytest.raises(RecordingFileError) as failure:
                append()
            assert failure.value.reason.endswith("the recording was closed")
    assert other.read_bytes() == b""
    assert refusal(path).call_index == 0


def test_a_sink_that_is_dropped_lets_its_file_go(path: Path) -> None:
    before = len(os.listdir("/dev/fd"))
    sink = RecordingSink(path)
    assert len(os.listdir("/dev/fd")) == before + 1
    del sink
    assert len(os.listdir("/dev/fd")) == before


def test_two_sinks_of_one_process_share_the_file(path: Path) -> None:
    with RecordingSink(path) as one, RecordingSink(path) as other:
        first, second = begin(one, "one"), begin(other, "other")
        for number in range(10):
            first.write([delta(f"one {number}")])
            second.write([delta(f"other {number}")])
        second.end("complete")
        first.end("complete")
        assert call(one, "again").call_index == 2
    read = read_calls(path)
    assert [len(found.events) for found in read] == [10, 10, 2]
    assert read[1].events[3] == delta("other 3")


def test_a_sink_stays_linear_in_what_others_append(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read_bytes = 0
    preadv = os.preadv

    def counting(descriptor: int, buffers: Any, offset: int) -> int:
        nonlocal read_bytes
        count = preadv(descriptor, buffers, offset)
        read_bytes += count
        return count

    monkeypatch.setattr(os, "preadv", counting)
    with RecordingSink(path) as one, RecordingSink(path) as other:
        for _ in range(100):
            call(one)
            call(other)
        # Each sink reads what the other wrote, and nothing twice.
        assert read_bytes < 1.5 * path.stat().st_size


@pytest.mark.parametrize("sinks", [1, 3])
def test_threads_append_whole_calls_in_order(path: Path, sinks: int) -> None:
    shared = [RecordingSink(path) for _ in range(sinks)]
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for _ in range(10):
                writer = begin(shared[number % sinks], f"thread {number}")
                for index in range(5):
                    writer.write([delta(f"{number}.{index}")])
                writer.end("complete")
        except BaseException as failure:  # noqa: BLE001 - handed to the main thread
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for sink in shared:
        sink.close()
    assert failures == []
    read = read_calls(path)
    assert len(read) == 60
    for found in read:
        number = str(found.request["context"]).split("thread ")[1][0]
        assert found.events == [delta(f"{number}.{index}") for index in range(5)]


def test_closing_while_threads_append_leaves_only_whole_lines(path: Path) -> None:
    sink = RecordingSink(path)
    started = threading.Barrier(5)

    def work() -> None:
        started.wait()
        try:
            while True:
                call(sink)
        except RecordingFileError:
            pass

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    started.wait()
    sink.close()
    for thread in threads:
        thread.join()
    assert path.read_bytes().endswith(b"\n")
    with RecordingSink(path) as after:
        call(after)


def test_closing_waits_for_an_append_that_is_under_way(path: Path) -> None:
    sink = RecordingSink(path)
    other = os.open(path, os.O_RDWR)
    closed = threading.Event()
    appending = threading.Thread(target=lambda: begin(sink))

    def close() -> None:
        sink.close()
        closed.set()

    closing = threading.Thread(target=close)
    with exclusive(other, LockRange.APPEND):
        appending.start()
        while not sink._mutex.locked():
            pass
        closing.start()
        assert not closed.wait(0.05)
    assert closed.wait(5)
    appending.join()
    closing.join()
    os.close(other)
    assert path.read_bytes().count(b'"request"') == 1
    assert path.read_bytes().endswith(b"\n")


def test_an_exception_in_the_middle_of_a_write_takes_it_back(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write

    def interrupted(descriptor: int, pieces: Any) -> int:
        write(descriptor, b"".join(pieces)[:20])
        raise KeyboardInterrupt

    with RecordingSink(path) as sink:
        writer = begin(sink)
        before = path.read_bytes()
        with monkeypatch.context() as patch:
            patch.setattr(os, "writev", interrupted)
            with pytest.raises(KeyboardInterrupt):
                writer.write([delta("a")])
        assert path.read_bytes() == before
        writer.write([delta("a")])
        writer.end("complete")
    assert read_calls(path)[0].events == [delta("a")]


def test_short_writes_are_gone_on_with(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    with RecordingSink(path) as sink, monkeypatch.context() as patch:
        patch.setattr(os, "writev", lambda descriptor, pieces: write(descriptor, b"".join(pieces)[:7]))
        call(sink)
    assert len(read_calls(path)) == 1


def test_a_header_that_can_not_be_synced_leaves_no_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(_descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", failing)
    for create in (RecordingSink, lambda path: create_recording(path, {})):
        with pytest.raises(RecordingFileError) as failure:
            create(path)
        assert failure.value.reason == "cannot write the header: Input/output error"
        assert not path.exists()
    path.touch()
    with pytest.raises(RecordingFileError):
        RecordingSink(path)
    assert path.read_bytes() == b""


def test_a_sync_that_fails_is_an_error(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(_descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    with RecordingSink(path) as sink:
        writer = call(sink)
        monkeypatch.setattr(os, "fsync", failing)
        with pytest.raises(RecordingFileError) as failure:
            writer.sync()
    assert failure.value.reason == "cannot sync: Input/output error"


def failing_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the system does it: the writes are lost, one sync is told so, and the next one succeeds."""
    fsync = os.fsync

    def failing(_descriptor: int) -> None:
        monkeypatch.setattr(os, "fsync", fsync)
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", failing)


def test_after_a_sync_that_failed_no_other_is_believed_and_nothing_more_is_written(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with RecordingSink(path) as sink:
        other = begin(sink, "its lines were written before the sync, and may be lost with them")
        other.write([delta("a")])
        failed = call(sink)
        failing_once(monkeypatch)
        with pytest.raises(RecordingFileError):
            failed.sync()
        before = path.read_bytes()
        attempts: list[Callable[[], object]] = [
            failed.sync,
            lambda: other.write([delta("b")]),
            lambda: other.end("complete"),
            lambda: begin(sink),
        ]
        for attempt in attempts:
            with pytest.raises(RecordingFileError) as failure:
                attempt()
            assert "an earlier sync failed" in failure.value.reason
            assert failure.value.next_step
        assert path.read_bytes() == before


def test_of_two_that_wait_for_a_sync_that_fails_none_is_told_that_it_went_well(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with RecordingSink(path) as sink:
        one, other = call(sink, "one"), call(sink, "other")
        failing_once(monkeypatch)
        refused: list[RecordingFileError] = []
        ready = threading.Barrier(2)

        def sync(writer: CallWriter) -> None:
            ready.wait()
            try:
                writer.sync()
            except RecordingFileError as error:
                refused.append(error)

        threads = [threading.Thread(target=sync, args=(writer,)) for writer in (one, other)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(refused) == 2
    assert all(error.next_step for error in refused)


def counted_syncs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """`file` or `folder` for each sync from now on."""
    synced: list[str] = []
    fsync = os.fsync

    def counting(descriptor: int) -> None:
        synced.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", counting)
    return synced


def test_what_one_sync_covers_is_not_synced_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with RecordingSink(path) as sink:
        writers = [call(sink), call(sink)]
        synced = counted_syncs(monkeypatch)
        for writer in writers:
            writer.sync()
        assert synced == ["file"]
        call(sink).sync()
        assert synced == ["file", "file"]


def test_the_name_of_a_file_that_another_created_is_synced_too(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_file(path, [HEADER])  # by a process that was killed before it synced the folder
    synced = counted_syncs(monkeypatch)
    with RecordingSink(path) as sink:
        call(sink).sync()
    assert synced == ["folder", "file"]


@pytest.mark.parametrize("happened", ["removed", "replaced", "cut shorter"])
def test_a_call_whose_file_is_gone_when_it_is_synced_is_not_acknowledged(path: Path, happened: str) -> None:
    with RecordingSink(path) as sink:
        writer = call(sink)
        if happened == "cut shorter":
            os.truncate(path, 0)
        else:
            path.unlink()
        if happened == "replaced":
            write_file(path, [HEADER])
        with pytest.raises(RecordingFileError) as failure:
            writer.sync()
    assert failure.value.reason == f"the file was {happened} while it was recorded into"
    assert failure.value.next_step


def test_end_line_and_sync_are_separate(path: Path) -> None:
    write_file(path, [HEADER, request_line(0), end_line(0, 0)])
    with RecordingSink(path) as sink:
        sink.sync()
    assert len(read_calls(path)) == 1


def test_of_a_long_recording_only_the_end_need_stay_in_memory(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr("openprogram.pipeline.log.writer._KEPT_IN_MEMORY", 1000)
    monkeypatch.setattr(
        "openprogram.pipeline.log.writer.forget_cached", lambda _, start, end: asked.append((start, end))
    )
    with RecordingSink(path) as sink:
        sink.sync()
        assert asked == []  # there is nothing but the end yet
        for _ in range(3):
            sink.begin_call(request("a" * 1000)).end("complete")
            before = path.stat().st_size
            sink.sync()
            assert asked[-1][1] == before - 1000
            sink.sync()
    assert [start for start, _ in asked] == [0, *(end for _, end in asked[:-1])]
    assert len(asked) == 3
