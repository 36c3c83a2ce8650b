"""The watch over the bytes of an answer."""

from itertools import pairwise

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openprogram.providers.vendors.wire import WireWatch


def watched(*pieces: bytes) -> WireWatch:
    watch = WireWatch()
    for piece in pieces:
        watch.see(piece)
    watch.see_end()
    return watch


@pytest.mark.parametrize("line", ["event: message_stop", "event:message_stop", "data: [DONE]", "data:[DONE]"])
@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
def test_the_last_event_is_seen_however_its_line_ends(line: str, end: str) -> None:
    assert watched(f"data: {{}}\n\n{line}{end}".encode()).terminal


@pytest.mark.parametrize("name", ["completed", "incomplete", "failed"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_last_event_that_has_data_is_over_with_its_blank_line(name: str, end: str) -> None:
    event = f"event: response.{name}{end}data: {{}}{end}"
    assert watched(f"{event}{end}".encode()).terminal
    assert not watched(event.encode()[:-4]).terminal
    assert not watched(event.encode()).terminal
    assert not watched(f"event: response.created{end}{end}".encode()).terminal


@pytest.mark.parametrize(
    "line",
    ['data: {"text": "event: message_stop"}', "event: message_stopped", " event: message_stop", "data: [DONE] no"],
)
def test_text_that_reads_like_it_is_not_the_last_event(line: str) -> None:
    assert not watched(line.encode() + b"\n\n").terminal


def test_a_line_that_no_sdk_reads_is_kept() -> None:
    assert watched(b"data: {}\n\nerror: ", b"out of memory").stray_error == "out of memory"
    assert watched(b'data: {"error: ": 1}\n\n').stray_error is None


@given(st.lists(st.integers(0, 60), max_size=6))
def test_where_the_bytes_are_cut_makes_no_difference(cuts: list[int]) -> None:
    body = b'data: {"a": "error: no"}\r\n\r\nerror: yes\r\n\r\nevent: message_stop\n\n'
    edges = [0, *sorted(cuts), len(body)]
    watch = watched(*(body[start:end] for start, end in pairwise(edges)))
    assert (watch.ended, watch.terminal, watch.stray_error) == (True, True, "yes")


@pytest.mark.anyio
@pytest.mark.parametrize(("encoding", "readable"), [(None, True), ("identity", True), ("gzip", False)])
async def test_a_compressed_body_cannot_be_watched(encoding: str | None, *, readable: bool) -> None:
    watch = WireWatch()
    headers = {"content-type": "text/event-stream"} | ({"content-encoding": encoding} if encoding else {})
    await watch.on_response(httpx2.Response(200, headers=headers))
    assert (watch.status, watch.content_type, watch.readable) == (200, "text/event-stream", readable)
