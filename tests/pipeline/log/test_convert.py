"""Compressing and expanding: the same bytes again, and at every moment at least one whole file."""

import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openprogram.pipeline.errors import RecordingFileError
from openprogram.pipeline.log import convert as module
from openprogram.pipeline.log.convert import compress_recording, expand_recording
from openprogram.pipeline.log.lines import LINE_END, CleanEvent, CleanRequest, accept_any_event
from openprogram.pipeline.log.source import ByteSource
from openprogram.pipeline.log.writer import RecordingSink
from tests.pipeline.log.frames import compressed
from tests.pipeline.log.samples import (
    HEADER,
    call_lines,
    check_event,
    end_line,
    event_line,
    read_calls,
    request_line,
    write_file,
)
from tests.pipeline.log.values import any_machine, calls


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    return write_file(tmp_path / "plain.jsonl", [HEADER, *call_lines(0, 20), *call_lines(1)])


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


@any_machine
@given(recorded=st.lists(calls, max_size=3), line_end=st.sampled_from([LINE_END, b"\r\n", b" \n"]))
def test_any_recording_is_the_same_to_the_byte_after_both_ways(
    tmp_path_factory: pytest.TempPathFactory, recorded: list[tuple[object, ...]], line_end: bytes
) -> None:
    folder = tmp_path_factory.mktemp("both")
    plain, compressed, expanded = folder / "a.jsonl", folder / "a.jsonl.zst", folder / "b.jsonl"
    with RecordingSink(plain) as sink:
        for request, events, outcome, error in recorded:
            writer = sink.begin_call(CleanRequest(request))  # type: ignore[arg-type]
            writer.write([CleanEvent(event) for event in events])  # type: ignore[attr-defined]
            writer.end(outcome, error)  # type: ignore[arg-type]
    plain.write_bytes(plain.read_bytes().replace(LINE_END, line_end))

    made = compress_recording(plain, compressed, accept_any_event)
    assert made == expand_recording(compressed, expanded, accept_any_event)

    assert expanded.read_bytes() == plain.read_bytes()
    assert made == (len(recorded), plain.stat().st_size, compressed.stat().st_size)
    shutil.rmtree(folder)


def test_the_new_file_is_private_as_old_as_the_other_and_alone(plain: Path, tmp_path: Path) -> None:
    plain.chmod(0o644)
    os.utime(plain, (1_700_000_000, 1_600_000_000))
    target = tmp_path / "plain.jsonl.zst"

    compress_recording(plain, target, check_event)

    status = target.stat()
    assert (stat.S_IMODE(status.st_mode), status.st_mtime, status.st_nlink) == (0o600, 1_600_000_000, 1)
    assert names(tmp_path) == ["plain.jsonl", "plain.jsonl.zst"]
    assert read_calls(target) == read_calls(plain)


def test_repeated_requests_vanish_even_where_far_more_than_a_window_s_default_lies_between(tmp_path: Path) -> None:
    noise = os.urandom(3 << 20).hex()
    lines: list[dict[str, object]] = [HEADER]
    for call_index in range(8):
        lines += [request_line(call_index, noise), event_line(call_index, 0), end_line(call_index, 1)]
    plain = write_file(tmp_path / "a.jsonl", lines)
    made = compress_recording(plain, tmp_path / "a.jsonl.zst", check_event)
    assert made.compressed_bytes < 1.1 * len(noise) / 2  # once, at half a byte a hex digit


@pytest.mark.skipif(shutil.which("zstd") is None, reason="the program zstd is not installed")
def test_the_program_zstd_opens_it_with_and_without_a_long_window(plain: Path, tmp_path: Path) -> None:
    target = tmp_path / "plain.jsonl.zst"
    compress_recording(plain, target, check_event)
    for options in ([], ["--long=27"]):
        assert subprocess.run(["zstd", "-dc", *options, target], check=True, capture_output=True).stdout == (
            plain.read_bytes()
        )


def test_a_file_that_is_there_or_comes_meanwhile_is_not_overwritten(plain: Path, tmp_path: Path) -> None:
    target = tmp_path / "plain.jsonl.zst"
    target.write_bytes(b"mine")
    with pytest.raises(RecordingFileError) as failure:
        compress_recording(plain, target, check_event)
    assert failure.value.reason == "the file exists already"
    assert target.read_bytes() == b"mine"
    assert names(tmp_path) == ["plain.jsonl", "plain.jsonl.zst"]


@pytest.mark.parametrize("lines", [[], [HEADER, *call_lines(0)[:-1]], [{"type": "header", "format_version": 2}]])
def test_what_the_strict_reader_refuses_is_not_compressed(tmp_path: Path, lines: list[dict[str, object]]) -> None:
    plain = write_file(tmp_path / "a.jsonl", lines)
    with pytest.raises(RecordingFileError) as failure:
        compress_recording(plain, tmp_path / "a.jsonl.zst", check_event)
    assert failure.value.path == plain
    assert names(tmp_path) == ["a.jsonl"]


@pytest.mark.parametrize("grows", [True, False])
def test_a_file_that_changes_while_it_is_compressed_is_given_up(
    plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, grows: bool
) -> None:
    measure = module._measure
    content = plain.read_bytes()

    def measure_then_change(source: ByteSource) -> module._Content:
        found = measure(source)
        plain.write_bytes(content + b"more" if grows else content.replace(b"call 0", b"call 9"))
        return found

    monkeypatch.setattr(module, "_measure", measure_then_change)
    with pytest.raises(RecordingFileError) as failure:
        compress_recording(plain, tmp_path / "plain.jsonl.zst", check_event)
    assert failure.value.path == plain
    assert failure.value.reason.startswith("the file changed while it was read")
    assert names(tmp_path) == ["plain.jsonl"]


@pytest.mark.parametrize("name", ["writev", "fsync", "link", "utime"])
def test_where_writing_fails_no_file_is_left(
    plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, name, fail)
    with pytest.raises(RecordingFileError) as failure:
        compress_recording(plain, tmp_path / "plain.jsonl.zst", check_event)
    assert failure.value.reason == "cannot write: no space is left on the device"
    assert names(tmp_path) == ["plain.jsonl"]


def test_damaged_compressed_data_is_refused_by_expanding_it_and_leaves_no_file(tmp_path: Path) -> None:
    plain = write_file(tmp_path / "plain.jsonl", [HEADER, *call_lines(0), *call_lines(1)])
    compress_recording(plain, tmp_path / "whole.zst", check_event)
    whole, path, target = (tmp_path / "whole.zst").read_bytes(), tmp_path / "run.jsonl.zst", tmp_path / "run.jsonl"
    damaged = [whole[:length] for length in range(len(whole))]
    damaged += [whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :] for at in range(len(whole))]
    damaged += [
        whole + more for more in (b"\0", b"\n", whole, whole[:4], b"\x50\x2a\x4d\x18\x01\0\0\0x", compressed(b""))
    ]
    damaged += [b"\x50\x2a\x4d\x18\x01\0\0\0x" + whole, compressed(b"") + whole]
    refused = 0
    for content in damaged:
        path.write_bytes(content)
        try:
            expand_recording(path, target, check_event)
            assert target.read_bytes() == plain.read_bytes()  # a bit of the frame's header that says nothing
            target.unlink()
        except RecordingFileError as failure:
            assert failure.path == path  # noqa: PT017 - it need not be raised
            refused += 1
        assert path.read_bytes() == content
        assert names(tmp_path) == ["plain.jsonl", "run.jsonl.zst", "whole.zst"]
    assert refused > 0.98 * len(damaged)
