"""Which files are recordings, though perhaps damaged, and which only have such a name."""

import json
from pathlib import Path

import pytest

from openprogram.pipeline.log.beginning import looks_recorded
from openprogram.pipeline.log.convert import compress_recording
from openprogram.pipeline.log.lines import accept_any_event, encode_header
from tests.pipeline.log.frames import frame_of_blocks

HEADER = encode_header({})
REQUEST = b'{"type":"request","call_index":0,"model":{},"context":{"messages":[]},"options":{}}\n'

RECORDED = {
    "whole": HEADER,
    "another version": HEADER.replace(b"1", b"2"),
    "spelled by another program": json.dumps(dict(sorted(json.loads(HEADER).items())), indent=None).encode() + b"\n",
    "CRLF": HEADER.replace(b"\n", b"\r\n"),
    "a byte order mark": b"\xef\xbb\xbf" + HEADER,
    "no JSON any more": HEADER.replace(b"}", b",}"),
    "a torn header": HEADER[:20],
    "its header is gone": REQUEST,
    "its header is gone, and a request is long": REQUEST.replace(b"[]", b'["%s"]' % (b"x" * 200_000)),
    "it begins in the middle": b'{"type":"call_end","call_index":0,"event_count":1}\n',
    "merged by git": b"<<<<<<< HEAD\n" + HEADER,
    "empty": b"",
    "an empty line above it": b"\n" + HEADER,
    "its header is no text any more": b"\x00\xff\x00\n" + REQUEST,
    "its header is another's": b'{"a":1}\n' + REQUEST,
}
OTHER = {
    "a scenario's journal": b'{"type":"run","sequence":0,"at":"2025-01-01T00:00:00Z","format_version":1}\n',
    "a log of events": b'{"type":"event","name":"click"}\n',
    "another program's header": b'{"type":"header","columns":["a"]}\n',
    "a line that speaks of one": b'{"text":"it begins with {\\"type\\":\\"header\\",\\"format_version\\":1}"}\n',
    "no type": b'{"format_version":1,"call_index":0}\n',
    "a list": b"[1]\n",
    "text": b"hello\n",
    "no line end": b'{"a":1}',
    "empty lines": b"\n\n",
    "a log in which one is named": b'{"a":1}\n{"b":"call_index"}\n{"type":"request","id":1}\n',
    "long": b'{"a":"' + b"x" * 100_000,
}


@pytest.mark.parametrize("name", RECORDED)
def test_what_begins_like_a_recording_or_like_the_rest_of_one_is_taken_for_one(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.jsonl").write_bytes(RECORDED[name])
    assert looks_recorded(tmp_path / "a.jsonl")


@pytest.mark.parametrize("name", OTHER)
@pytest.mark.parametrize("suffix", ["", ".zst"])
def test_what_says_that_it_is_something_else_is_none(tmp_path: Path, name: str, suffix: str) -> None:
    path = tmp_path / f"a.jsonl{suffix}"
    path.write_bytes(frame_of_blocks(OTHER[name]) if suffix else OTHER[name])
    assert not looks_recorded(path)


def test_what_cannot_be_told_is_taken_for_a_recording(tmp_path: Path) -> None:
    plain, compressed = tmp_path / "a.jsonl", tmp_path / "a.jsonl.zst"
    plain.write_bytes(HEADER)
    compress_recording(plain, compressed, accept_any_event)
    assert looks_recorded(compressed)
    compressed.write_bytes(compressed.read_bytes()[:8])
    assert looks_recorded(compressed)
    compressed.write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    (tmp_path / "link.jsonl").symlink_to("data.jsonl")
    (tmp_path / "data.jsonl").write_bytes(b"{}\n")
    for path in (compressed, tmp_path, tmp_path / "none", tmp_path / "link.jsonl"):
        assert looks_recorded(path)
