"""Deltas taken together and requests taken for grown ones are accepted, refused and given as line by line."""

import json
import random
import re
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openprogram.pipeline.errors import RecordingFileError
from openprogram.pipeline.log import event_lines, reader, scan
from openprogram.pipeline.log.event_lines import EventTexts
from openprogram.pipeline.log.lines import CleanRequest, EventLine, HeaderLine, LineDefect, RequestLine, parse_line
from openprogram.pipeline.log.order import CallOrder
from openprogram.pipeline.log.reader import open_recording
from openprogram.pipeline.log.writer import RecordingSink
from openprogram.providers.codec import AssistantEventCodec
from tests.pipeline.log.values import any_machine

CODEC = AssistantEventCodec()
DONE: dict[str, Any] = {"type": "done", "reason": "stop", "message": {"role": "assistant", "content": []}}

#: What a byte is replaced with, or put in: what JSON and this format are made of, and what they know nothing of.
BYTES = st.sampled_from([*b' "\\{}[],:-.0129ntua_\n\r\t\x00\x01\x7f\xc3\xff'])

#: Requests and events of a call.
Content = tuple[list[Any], list[list[Any]]]


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Three calls of one conversation; the events of the first run through 9 and 10."""
    path = tmp_path_factory.mktemp("short ways") / "run.jsonl"
    texts, messages = random.Random(1), [{"role": "user", "content": "hi", "timestamp": 1}]
    with RecordingSink(path) as sink:
        for count in (14, 2, 3):
            context: dict[str, Any] = {"system_prompt": "é", "messages": messages, "tools": [{"name": "t"}]}
            call = sink.begin_call(CleanRequest({"model": {"id": "m"}, "context": context, "options": None}))
            deltas = [texts.choice(["x", "é", '"', "\\", "\ud800", ""]) for _ in range(count)]
            call.write([{"type": "text_delta", "content_index": 0, "delta": delta} for delta in deltas])  # type: ignore[misc]
            call.end("complete", None, [DONE])  # type: ignore[list-item]
            messages = [*messages, {"role": "user", "content": "ho", "timestamp": count}]
    return path.read_bytes()


def read_line_by_line(content: bytes) -> Content | None:
    """Each line as the parser takes it where it sees no short way. None: the file is refused."""
    *lines, rest = content.split(b"\n")
    requests: list[Any] = []
    events: list[list[Any]] = []
    order = CallOrder()
    try:
        for number, raw in enumerate(lines):
            line = parse_line(b" " + raw, CODEC.check)
            if isinstance(line, HeaderLine) != (number == 0):
                return None
            if isinstance(line, HeaderLine):
                continue
            order.advance(line)
            if isinstance(line, RequestLine):
                requests.append(line.request)
                events.append([])
            elif isinstance(line, EventLine):
                events[line.call_index].append(line.event)
    except LineDefect:
        return None
    return None if rest or not lines or list(order.open_calls) else (requests, events)


def read(path: Path) -> Content | None:
    """As the reader has it; what it cuts out of lines for the decoder is the same events."""
    try:
        opened = open_recording(path, CODEC.check)
    except RecordingFileError:
        return None
    with opened:
        calls = range(opened.call_count)
        batches = [chain.from_iterable(opened.event_batches(call)) for call in calls]
        events = [list(opened.events(call)) for call in calls]
        assert [list(chain.from_iterable(map(CODEC.load_all, of_call))) for of_call in batches] == [
            [CODEC.load_all(EventTexts(b"", [json.dumps(event).encode()]))[0] for event in of_call]
            for of_call in events
        ]
        return [opened.request(call) for call in calls], events


def changed(content: bytes, data: st.DataObject) -> bytes:
    """With one byte, line or line end otherwise, mostly where the short ways have to look."""
    lines = content.split(b"\n")[:-1]
    at = data.draw(st.integers(0, len(content) - 1))
    where = data.draw(st.sampled_from([b"", b'_index":()', b'"delta":"()', b'"options()":', b"}}()\n"]))
    if where:
        at = data.draw(st.sampled_from([found.start(1) for found in re.finditer(where, content)]))
    match data.draw(st.sampled_from([*["replace", "insert"] * 3, "delete", "swap", "drop", "repeat", "CRLF"])):
        case "replace":
            return b"%b%c%b" % (content[:at], data.draw(BYTES), content[at + 1 :])
        case "insert":
            return b"%b%c%b" % (content[:at], data.draw(BYTES), content[at:])
        case "delete":
            return content[:at] + content[at + 1 :]
        case "swap":
            one, other = data.draw(st.tuples(*[st.integers(0, len(lines) - 1)] * 2))
            lines[one], lines[other] = lines[other], lines[one]
        case "drop":
            del lines[data.draw(st.integers(0, len(lines) - 1))]
        case "repeat":
            line = data.draw(st.integers(0, len(lines) - 1))
            lines.insert(line, lines[line])
        case "CRLF":
            first = data.draw(st.integers(0, len(lines)))
            lines[first:] = [line + b"\r" for line in lines[first:]]
    return b"".join(line + b"\n" for line in lines)


@pytest.mark.parametrize("few", [1, 300])
@settings(any_machine, max_examples=300)
@given(data=st.data())
def test_a_file_with_anything_changed_is_refused_or_read_as_line_by_line(
    few: int, content: bytes, data: st.DataObject, tmp_path: Path
) -> None:
    path = tmp_path / "changed.jsonl"
    tried = changed(content, data)
    path.write_bytes(tried)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scan, "_BUFFER_BYTES", 8 * few)
        patch.setattr(reader, "_READ_BYTES", few)
        patch.setattr(event_lines, "_FEW_BYTES", few)
        assert repr(read(path)) == repr(read_line_by_line(tried))
