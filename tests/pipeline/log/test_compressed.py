"""Reading compressed recordings: whatever the strict reader says of the lines, and a reason for damage."""

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openprogram.pipeline.errors import RecordingFileError
from openprogram.pipeline.log import compressed as module
from openprogram.pipeline.log.compressed import MAX_WINDOW_LOG, CompressedSource
from openprogram.pipeline.log.header import create_recording
from openprogram.pipeline.log.lines import LINE_END
from openprogram.pipeline.log.reader import open_recording
from openprogram.pipeline.log.repair import repair_recording
from openprogram.pipeline.log.survey import survey_recording
from openprogram.pipeline.log.writer import RecordingSink
from tests.pipeline.log.children import peak_while_opening, peak_while_reading, peak_while_surveying, start
from tests.pipeline.log.frames import compressed, frame_of_blocks, write_compressed
from tests.pipeline.log.samples import (
    HEADER,
    Call,
    call_lines,
    calls_or_refusal,
    check_event,
    end_line,
    event_line,
    read_calls,
    refusal,
    request_line,
    surveyed_calls,
    write_file,
)
from tests.pipeline.log.values import any_machine

MIB = 1 << 20


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    """Two interleaved calls, then one more."""
    lines = [HEADER, request_line(0), request_line(1)]
    lines += [event_line(call, index) for index in range(50) for call in (0, 1)]
    return write_file(tmp_path / "plain.jsonl", [*lines, end_line(1, 50), end_line(0, 50), *call_lines(2)])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "recording.jsonl.zst"


def test_a_compressed_recording_reads_as_the_plain_one_in_any_order(plain: Path, path: Path) -> None:
    write_compressed(path, plain.read_bytes())
    assert read_calls(path) == read_calls(plain)
    with open_recording(path, check_event) as recording, open_recording(plain, check_event) as expected:
        assert recording.header == expected.header
        for call_index in (2, 0, 1, 2, 0):
            assert recording.request_text(call_index, 0) == expected.request_text(call_index, 0)
            assert list(recording.events(call_index)) == list(expected.events(call_index))


def test_carriage_returns_are_white_space_and_line_numbers_count_lines_of_the_content(plain: Path, path: Path) -> None:
    write_compressed(path, plain.read_bytes().replace(LINE_END, b"\r\n"))
    assert read_calls(path) == read_calls(plain)
    write_compressed(path, plain.read_bytes().replace(LINE_END, b"\r\n", 3) + b"\r\n")
    found = refusal(path)
    assert (found.line_number, found.reason) == (plain.read_bytes().count(LINE_END) + 1, "an empty line")


@any_machine
@given(
    content=st.binary(max_size=3000),
    ranges=st.lists(st.tuples(st.integers(0, 3100), st.integers(0, 3100)), max_size=12),
)
def test_any_range_is_that_of_the_content_wherever_the_position_is(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, ranges: list[tuple[int, int]]
) -> None:
    path = write_compressed(tmp_path_factory.getbasetemp() / "ranges.zst", content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_PIECE_BYTES", 100)
        patch.setattr(module, "_KEPT_BYTES", 250)
        source = CompressedSource(os.open(path, os.O_RDONLY))
        assert [source.read_range(*bounds) for bounds in ranges] == [content[slice(*bounds)] for bounds in ranges]
        assert source.reader().read() == content
        source.close()


def test_reading_forward_decompresses_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What stands a little behind the position, as with calls that ran together, is no reason to begin again."""
    content = random.Random(1).randbytes(12 * MIB)
    source = CompressedSource(os.open(write_compressed(path, content), os.O_RDONLY))
    begun: list[int] = []
    frame = module._Frame

    def begin(descriptor: int) -> module._Frame:
        begun.append(descriptor)
        return frame(descriptor)

    monkeypatch.setattr(module, "_Frame", begin)
    for ahead in range(0, 11 * MIB, MIB // 2):
        for behind in (0, 3 * MIB, MIB):
            at = max(ahead - behind, 0)
            assert source.read_range(at, at + 1000) == content[at : at + 1000]
    assert len(begun) == 1
    assert source.read_range(5, 10) == content[5:10]
    assert len(begun) == 2
    source.close()


# ---- what is no compressed recording


NO_HEADER = "; a recording begins with a header line"


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.jsonl.zst", b"", "the file is empty"),
        ("a.jsonl.zst", b"\x28\xb5", "the content is not compressed by zstd, but the name ends in .zst"),
        ("a.jsonl.zst", b'{"type":"header"', "the content is not compressed by zstd, but the name ends in .zst"),
        ("a.jsonl.zst", b"\x1f\x8b\x08\x00", "the content is not compressed by zstd, but the name ends in .zst"),
        ("a.jsonl", compressed(b"a"), "the content is compressed, but the name does not end in .zst"),
        ("a.jsonl.zst", compressed(b""), "the file is empty, it has no header line"),
        ("a.jsonl.zst", compressed(b"text"), f"the last line is cut off: it has no line end{NO_HEADER}"),
        ("a.jsonl.zst", compressed(b"a") + compressed(b"b"), "cannot read: more data follows the compressed frame"),
        ("a.jsonl.zst", compressed(b"a")[:-1], "cannot read: the compressed data is cut off"),
    ],
)
def test_what_the_name_says_must_be_so(tmp_path: Path, name: str, content: bytes, reason: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert refusal(path).reason == reason


@pytest.mark.parametrize("more", [b"\0", b"more", compressed(b'{"type":"header"}\n'), b"\x50\x2a\x4d\x18\0\0\0\0"])
def test_nothing_may_follow_the_frame(plain: Path, path: Path, more: bytes) -> None:
    path.write_bytes(compressed(plain.read_bytes()) + more)
    assert refusal(path).reason == "cannot read: more data follows the compressed frame"


def test_a_window_beyond_the_limit_is_refused_before_memory_is_taken(plain: Path, path: Path) -> None:
    path.write_bytes(frame_of_blocks(plain.read_bytes(), window_log=MAX_WINDOW_LOG))
    assert read_calls(path) == read_calls(plain)
    path.write_bytes(frame_of_blocks(plain.read_bytes(), window_log=MAX_WINDOW_LOG + 1))
    assert refusal(path).reason.startswith("cannot read: the compressed data is damaged: ")


def test_a_file_that_is_cut_off_anywhere_is_refused_and_shows_what_is_whole(plain: Path, path: Path) -> None:
    whole = compressed(plain.read_bytes())
    for end in range(len(whole)):
        path.write_bytes(whole[:end])
        assert isinstance(calls_or_refusal(path), RecordingFileError)
    path.write_bytes(frame_of_blocks(plain.read_bytes())[:-3])
    assert surveyed_calls(path) == read_calls(plain)
    with survey_recording(path, check_event) as survey:
        assert survey.damage is not None
        line_number = plain.read_bytes().count(LINE_END) + 1
        assert (survey.damage.line_number, survey.damage.reason) == (line_number, "the compressed data is cut off")
        assert not survey.interrupted


def test_repairing_writes_a_plain_file(plain: Path, path: Path, tmp_path: Path) -> None:
    path.write_bytes(frame_of_blocks(plain.read_bytes())[:-3])
    target = tmp_path / "repaired.jsonl"
    assert repair_recording(path, target, check_event).kept == [0, 1, 2]
    assert read_calls(target) == read_calls(plain)


@any_machine
@given(data=st.data())
def test_damage_is_refused_or_changes_nothing(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    folder = tmp_path_factory.getbasetemp()
    plain = write_file(folder / "whole.jsonl", [HEADER, *call_lines(0, 8), *call_lines(1, 8)])
    expected = read_calls(plain)
    whole = bytearray(compressed(plain.read_bytes()))
    at = data.draw(st.integers(0, len(whole) - 1), label="at")
    kind = data.draw(st.sampled_from(["set", "insert", "remove", "double"]), label="kind")
    if kind == "set":
        whole[at] = data.draw(st.integers(0, 255), label="byte")
    elif kind == "insert":
        whole[at:at] = data.draw(st.binary(min_size=1, max_size=8), label="bytes")
    elif kind == "remove":
        del whole[at : at + data.draw(st.integers(1, 20), label="count")]
    else:
        whole[at:at] = whole[at : at + 20]
    path = folder / "damaged.jsonl.zst"
    path.write_bytes(whole)
    found = calls_or_refusal(path)
    assert isinstance(found, RecordingFileError) or found == expected
    try:
        surveyed: list[Call] = surveyed_calls(path)
    except RecordingFileError:
        return
    assert all(call in expected for call in surveyed)


def test_a_file_that_changes_after_it_was_opened_is_an_error(plain: Path, path: Path) -> None:
    write_compressed(path, plain.read_bytes())
    with open_recording(path, check_event) as recording:
        path.write_bytes(compressed(b"x" * 100_000))
        with pytest.raises(RecordingFileError) as failure:
            recording.request(2)
        assert failure.value.reason.startswith("the file changed after it was opened: ")


def test_without_the_library_the_error_says_what_to_install(
    plain: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_compressed(path, plain.read_bytes())
    monkeypatch.setitem(sys.modules, "openprogram.pipeline.log.compressed", None)
    found = refusal(path)
    assert found.reason == "compressed recordings need a library that is not installed"
    assert found.next_step == 'Install it: pip install "openprogram[zstd]"'


# ---- memory


@pytest.mark.parametrize("peak", [peak_while_opening, peak_while_surveying])
def test_a_bomb_takes_no_memory(path: Path, peak: Callable[..., None]) -> None:
    """512 MB in 16 KB."""
    path.write_bytes(frame_of_blocks(b'{"type":"header","format_version":1}\n', repeated=b" ", times=4000))
    assert path.stat().st_size < 20_000
    reason, _, grown = start(peak, path).communicate(timeout=60)[0].splitlines()
    assert reason == "2: the line is longer than 67,108,864 bytes"
    assert int(grown) < 200 * MIB  # a line at its limit, its parts and the whole


def test_reading_a_large_recording_takes_the_window_and_no_more(path: Path) -> None:
    prompt = "".join(random.Random(1).choices("abcdefghij ", k=MIB))
    lines: list[dict[str, object]] = [HEADER]
    for call_index in range(120):
        lines += [request_line(call_index, prompt), event_line(call_index, 0), end_line(call_index, 1)]
    plain = write_file(path.with_name("large.jsonl"), lines)
    write_compressed(path, plain.read_bytes())
    assert plain.stat().st_size > 120 * MIB

    calls, grown = start(peak_while_reading, path).communicate(timeout=60)[0].splitlines()

    assert calls == "120"
    assert int(grown) < 40 * MIB


# ---- other programs, and recording


@pytest.mark.skipif(shutil.which("zstd") is None, reason="the program zstd is not installed")
def test_a_file_from_the_program_zstd_is_read(plain: Path, path: Path) -> None:
    for options in (["-3"], ["-19", "--long=27"], ["--no-check"], ["-1", "--no-content-size"]):
        subprocess.run(["zstd", "-qf", *options, plain, "-o", path], check=True)
        assert read_calls(path) == read_calls(plain)


def test_recording_into_a_compressed_file_is_refused_and_changes_nothing(plain: Path, path: Path) -> None:
    write_compressed(path, plain.read_bytes())
    before = path.read_bytes()
    for write in (lambda: RecordingSink(path), lambda: create_recording(path, {})):
        with pytest.raises(RecordingFileError) as failure:
            write()
        assert failure.value.reason == "cannot record into a compressed recording"
        assert failure.value.next_step == f"Expand it first: `openprogram recordings expand {path}`."
    assert path.read_bytes() == before
    missing = path.with_name("new.jsonl.zst")
    with pytest.raises(RecordingFileError):
        RecordingSink(missing)
    assert not missing.exists()
