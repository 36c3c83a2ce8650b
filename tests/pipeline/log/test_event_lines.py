"""Event lines that are taken by their text: never other ones than the parser takes, however many at once."""

import json
import re
from collections.abc import Callable, Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from openprogram.pipeline.json_value import JsonValue
from openprogram.pipeline.log.event_lines import Deltas, event_texts, find_deltas, whole_lines
from openprogram.pipeline.log.lines import (
    CleanEvent,
    EventLine,
    accept_any_event,
    encode_call_end,
    encode_event,
    parse_line,
)
from openprogram.pipeline.log.strict_json import LineDefect, load_payload
from tests.pipeline.log.values import any_machine, json_text


def delta_line(call_index: int = 0, event_index: int = 3, delta_type: str = "text_delta", delta: str = "hi") -> bytes:
    return encode_event(call_index, event_index, CleanEvent({"type": delta_type, "content_index": 0, "delta": delta}))


def payloads(lines: Sequence[bytes], call_index: int, first_index: int) -> list[bytes]:
    return [payload for texts in event_texts(lines, call_index, first_index) for payload in texts.whole()]


@any_machine
@given(st.lists(st.text(st.characters(), max_size=8), min_size=1, max_size=5))
def test_deltas_are_found_as_far_as_they_follow_each_other(texts: list[str]) -> None:
    lines = [delta_line(2, index, delta=text) for index, text in enumerate(texts, 7)]
    block = b"before\n" + b"".join(lines)
    assert find_deltas(block + b'{"type"', 7) == Deltas(2, 7, 7 + len(texts), len(block), "text_delta")


@any_machine
@given(
    st.sampled_from([b"0", b"7", b"00", b"-0", b"1.0", b"true", b"9" * 15, b"9" * 16]),
    json_text | st.text(st.characters(), max_size=8).map(lambda text: json.dumps(text).encode()),
    st.sampled_from([b"}}\n", b"}}\r\n", b"}}", b"} }\n", b"}\n", b',"delta":""}}\n', b'},"x":1}\n', b"}}}\n"]),
    st.binary(max_size=2),
    st.integers(0, 120),
)
@example(b"0", b'"\\ud800"', b"}}\n", b"", 0)
@example(b"0", b'"\\u12"', b"}}\n", b"", 0)
@example(b"0", b'"\\x"', b"}}\n", b"", 0)
@example(b"0", b'"\t"', b"}}\n", b"", 0)
@example(b"0", b'"\xff"', b"}}\n", b"", 0)
@example(b"0", b'"\xed\xa0\x80"', b"}}\n", b"", 0)
def test_a_line_found_to_be_a_delta_is_one_that_the_parser_takes(
    index: bytes, delta: bytes, tail: bytes, noise: bytes, at: int
) -> None:
    start = b'{"type":"event","call_index":4,"event_index":%b,"event":{"type":"text_delta","content_index":%b,"delta":'
    raw = start % (index, index) + delta + tail
    raw = raw[:at] + noise + raw[at:]
    found = find_deltas(raw, 0)
    if found is None:
        return
    line = parse_line(b" " + raw[: found.end], accept_any_event)  # the space keeps it from every short way
    assert isinstance(line, EventLine)
    assert parse_line(raw[: found.end], accept_any_event) == EventLine(line.call_index, line.event_index, line.event)
    assert (found.call_index, found.first_index, found.next_index) == (4, line.event_index, line.event_index + 1)
    assert (line.event["type"], list(line.event)) == (found.delta_type, ["type", "content_index", "delta"])
    assert [load_payload(text) for text in payloads([raw[: found.end]], 4, line.event_index)] == [line.event]


@pytest.mark.parametrize(
    "other",
    [
        delta_line(call_index=1, event_index=4),
        delta_line(event_index=5),
        delta_line(event_index=3),
        delta_line(event_index=4, delta_type="thinking_delta"),
        delta_line(event_index=4)[:-1],
        delta_line(event_index=4).replace(b"text_delta", b"text\\u005fdelta"),
        encode_event(0, 4, CleanEvent({"type": "text_delta", "content_index": 0, "delta": "hi", "more": 1})),
        encode_event(0, 4, CleanEvent({"type": "text_delta", "content_index": True, "delta": "hi"})),
        encode_event(0, 4, CleanEvent({"type": "text_delta", "content_index": 0, "delta": None})),
        encode_call_end(0, 4, "complete"),
        b"",
    ],
)
def test_deltas_end_before_a_line_that_is_not_the_next_one(other: bytes) -> None:
    one = delta_line()
    assert find_deltas(one + other, 0) == Deltas(0, 3, 4, len(one), "text_delta")


@any_machine
@given(st.lists(st.binary(max_size=3), max_size=5).map(b"\n".join))
def test_lines_end_at_their_ends_only(block: bytes) -> None:
    *lines, _rest = block.split(b"\n")
    assert whole_lines(block) == [line + b"\n" for line in lines]


# ---- many at once

#: What stands in deltas: ends of lines and of strings in it, escapes, and what looks like a line of its own.
TEXTS = ["", "the ", '"', "\\", '"}}\n', "\u2028", "\x00", "\U0001f600", delta_line().decode(), "x" * 2000]
ODD = [
    delta_line(event_index=4),
    delta_line(call_index=1, event_index=70),
    delta_line(event_index=70, delta_type="thinking_delta"),
    b'{"type":"event","call_index":0,"event_index":70,"event":\n',
    b'{"type":"text_delta","content_index":0,"delta":"hi"}}\n',
    b"\n",
    encode_event(0, 70, CleanEvent({"type": "text_delta", "content_index": 0, "delta": "hi", "more": 1})),
    encode_event(0, 70, CleanEvent({"type": "text_delta", "content_index": 2, "delta": "hi"})),
    encode_event(0, 70, CleanEvent({"type": "text_end", "content_index": 0, "content": "hi" * 500})),
    encode_call_end(0, 70, "complete"),
]


@st.composite
def blocks(draw: st.DrawFn) -> bytes:
    """Lines of deltas, with something odd among them or not: another line, a byte changed, taken out or put in."""
    first = draw(st.sampled_from([0, 5, 60, 95, 990, 99_990, 9_999_970]))
    texts = draw(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=5)) * draw(st.integers(1, 40))
    end = draw(st.sampled_from([b"\n", b"\n", b"\r\n"]))
    lines = [delta_line(0, index, delta=text)[:-1] + end for index, text in enumerate(texts, first)]
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(lines)))
        lines[at : at + draw(st.integers(0, 2))] = [draw(st.sampled_from(ODD))]
    block = bytearray().join(lines)
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(block)))
        block[at : at + draw(st.integers(0, 2))] = draw(st.sampled_from([b"", b'"', b"\\", b"\n", b"}", b"\x01", b"0"]))
    return bytes(block)


def is_utf_8(block: bytes) -> bool:
    try:
        block.decode()
    except UnicodeDecodeError:
        return False
    return True


def one_by_one(block: bytes) -> Deltas | None:
    """As `find_deltas`, each line by itself."""
    deltas: Deltas | None = None
    for line in re.findall(rb"[^\n]*\n", block):
        found = find_deltas(line, 0)
        if found is None:
            break
        if deltas is None:
            deltas = found
            continue
        next_index = deltas.next_index
        if found != deltas._replace(first_index=next_index, next_index=next_index + 1, end=found.end):
            break
        deltas = deltas._replace(next_index=found.next_index, end=deltas.end + found.end)
    return deltas


@any_machine
@given(blocks())
def test_many_deltas_are_found_as_each_by_itself(block: bytes) -> None:
    found = find_deltas(block, 0)
    if found is not None or is_utf_8(block):  # where it isn't, all are left to the parser
        assert found == one_by_one(block)


@any_machine
@given(
    st.sampled_from(["the ", "\\", ""]),
    st.lists(st.sampled_from([*'ab"\\n}\x00\x10\x1f\x20\x7f\r\n\u2028', '"}}\n', '\\"', "\\n"]), max_size=6).map(
        "".join
    ),
    st.integers(0, 99),
)
@example("the ", '"}', 50)
@example("the ", '\x10"}}', 50)
@example("the ", '\\""}}', 50)
def test_a_line_among_many_is_a_delta_where_it_is_one_by_itself(text: str, rest: str, at: int) -> None:
    """Whatever stands behind the quote that begins its text, up to the end of its line."""
    lines = [delta_line(0, index, delta=text) for index in range(100)]
    lines[at] = delta_line(0, at, delta="").removesuffix(b'"}}\n') + rest.encode() + b"\n"
    block = b"".join(lines)
    assert find_deltas(block, 0) == one_by_one(block)


@any_machine
@given(blocks())
def test_many_events_are_cut_out_as_each_by_itself(block: bytes) -> None:
    """Whatever the lines are now: they were canonical once, and the file may have changed underneath."""
    lines = whole_lines(block)
    first = next((index for index in (0, 5, 60, 95, 990, 99_990, 9_999_970) if b"%d" % index in block[:80]), 0)

    def cut(found: Callable[[], list[bytes]]) -> list[bytes] | str:
        try:
            return found()
        except LineDefect as defect:
            return defect.reason

    each = cut(lambda: [text for n, line in enumerate(lines, first) for text in payloads([line], 0, n)])
    assert cut(lambda: payloads(lines, 0, first)) == each


@any_machine
@given(
    st.sampled_from([0, 5, 95, 990]),
    st.lists(
        st.tuples(
            st.sampled_from(["text_delta", "thinking_delta", "text_end"]), st.sampled_from([0, 1]), st.integers(1, 20)
        ),
        max_size=5,
    ),
    st.sampled_from(["hi", '"', "\ud800"]),
    st.sampled_from([b"\n", b"\r\n"]),
)
def test_events_of_all_kinds_are_cut_out_in_their_order(
    first: int, runs: list[tuple[str, int, int]], text: str, end: bytes
) -> None:
    events: list[dict[str, JsonValue]] = [
        {"type": kind, "content_index": at, "delta": text} for kind, at, count in runs for _ in range(count)
    ]
    lines = [encode_event(3, index, CleanEvent(event))[:-1] + end for index, event in enumerate(events, first)]
    assert [load_payload(payload) for payload in payloads(lines, 3, first)] == events


@pytest.mark.parametrize("count", [1, 3, 30])
@pytest.mark.parametrize("at", [0, 2, 29])
@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (delta_line(1, 31), "event 31 is no longer where it was"),
        (delta_line(0, 32), "event 31 is no longer where it was"),
        (encode_call_end(0, 31, "complete"), "event 31 is no longer where it was"),
        (delta_line(0, 31)[:-3] + b"\n", "not valid JSON: the line is cut off"),
    ],
)
def test_a_line_that_is_not_the_one_it_was_is_refused(count: int, at: int, other: bytes, reason: str) -> None:
    first = 31 - min(at, count - 1)
    lines = [delta_line(0, index) for index in range(first, first + count)]
    lines[31 - first] = other
    with pytest.raises(LineDefect) as raised:
        payloads(lines, 0, first)
    assert raised.value.reason == reason


def test_kinds_of_events_that_alternate_are_looked_at_once() -> None:
    """Not all that follow again and again for the few of them that begin alike."""
    kinds = ["text_delta", "thinking_delta"]
    lines = [delta_line(0, index, kinds[index // 3 % 2]) for index in range(10, 99)]
    assert [texts.head for texts in event_texts(lines, 0, 10)][:-1] in ([], [b""])


def test_a_long_answer_is_found_whole_in_any_block() -> None:
    """Through every number of digits, and as much at once as a reader holds."""
    lines = [delta_line(0, index, delta=f"word {index} ") for index in range(12_000)]
    block = b"".join(lines)
    assert find_deltas(block, 0) == Deltas(0, 0, 12_000, len(block), "text_delta")
    events = [{"type": "text_delta", "content_index": 0, "delta": f"word {index} "} for index in range(12_000)]
    assert [json.loads(payload) for payload in payloads(lines, 0, 0)] == events
    assert len(event_texts(lines, 0, 0)) == 1, "what begins alike is together"
