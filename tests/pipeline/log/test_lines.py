"""One line: how it is spelled, and that every spelling of it parses to the same value or is refused alike."""

import json
import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from openprogram.pipeline.json_value import NotJson
from openprogram.pipeline.log.lines import (
    OUTCOMES,
    CallEndLine,
    CleanEvent,
    CleanRequest,
    Deltas,
    EventLine,
    HeaderLine,
    LineDefect,
    RequestLine,
    accept_any_event,
    canonical_payloads,
    encode_call_end,
    encode_event,
    encode_header,
    encode_request,
    encode_request_body,
    find_deltas,
    parse_line,
)
from openprogram.pipeline.log.strict_json import field_text, load_line, load_payload
from tests.pipeline.log.samples import exact
from tests.pipeline.log.values import any_machine, json_objects, json_values, texts


@any_machine
@given(json_objects)
def test_a_header_is_read_as_it_was_written(fields: dict[str, Any]) -> None:
    assume(not {"type", "format_version"} & set(fields))
    line = parse_line(encode_header(fields), accept_any_event)
    assert isinstance(line, HeaderLine)
    assert exact(line.fields) == exact({"type": "header", "format_version": 1, **fields})


@any_machine
@given(json_values, json_values, json_values)
def test_a_request_is_read_as_it_was_written(model: Any, context: Any, options: Any) -> None:
    request = CleanRequest({"model": model, "context": context, "options": options})
    line = parse_line(encode_request(7, encode_request_body(request)), accept_any_event)
    assert isinstance(line, RequestLine)
    assert (line.call_index, exact(line.request)) == (7, exact(request))


@any_machine
@given(json_objects)
def test_an_event_is_read_as_it_was_written_in_both_spellings(event: dict[str, Any]) -> None:
    written = encode_event(3, 14, CleanEvent(event))
    respelled = b" " + written
    for raw, is_canonical in ((written, True), (respelled, False)):
        line = parse_line(raw, accept_any_event)
        assert isinstance(line, EventLine)
        assert (line.call_index, line.event_index, line.is_canonical) == (3, 14, is_canonical)
        assert exact(line.event) == exact(event)
    assert canonical_payloads([written], 3, 14) == [field_text(respelled, "event")]


@pytest.mark.parametrize("outcome", OUTCOMES)
@pytest.mark.parametrize("error", [None, {"type": "E", "message": "m"}])
def test_a_call_end_is_read_as_it_was_written(outcome: Any, error: Any) -> None:
    line = parse_line(encode_call_end(0, 5, outcome, error), accept_any_event)
    assert line == CallEndLine(0, 5, outcome, error)


@any_machine
@given(st.dictionaries(texts, json_values, max_size=3))
def test_a_line_is_one_line_of_strict_utf_8(fields: dict[str, Any]) -> None:
    line = encode_header(fields)
    assert line.endswith(b"}\n")
    assert line.count(b"\n") == 1
    line.decode()


def test_text_is_readable_where_it_can_be_and_escaped_where_it_can_not() -> None:
    assert '"ä😀"'.encode() in encode_event(0, 0, CleanEvent({"a": "ä😀"}))
    assert b'"\\u00e4\\ud800"' in encode_event(0, 0, CleanEvent({"a": "ä\ud800"}))


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_no_number_that_json_lacks_is_written(number: float) -> None:
    encodes: list[Callable[[], bytes]] = [
        lambda: encode_event(0, 0, CleanEvent({"a": [number]})),
        lambda: encode_header({"a": [number]}),
        lambda: encode_request_body(CleanRequest({"model": 1, "context": 1, "options": 1, "a": [number]})),
    ]
    for encode in encodes:
        with pytest.raises(NotJson) as failure:
            encode()
        assert failure.value.field_path == "a[0]"


#: JSON text, most of it nearly right.
json_text = (
    json_values.map(lambda value: json.dumps(value, ensure_ascii=False))
    | json_values.map(json.dumps)
    | st.text(st.sampled_from('{}[]",:0123456789.eE+-tfnulrasNI\\ \t\r\x0b\u00a0\u2028\ufeff'), max_size=12)
).map(lambda text: text.encode("utf-8", "surrogatepass"))


@any_machine
@given(json_text)
@example(b"1e999")
@example(b"-0")
@example(b"-0.0")
@example(b"[1E400]")
@example(b'{"a":{"b":-1e309}}')
@example(b"1" + b"0" * 400 + b".0")
@example(b"1.7976931348623157e308")
@example(b"9007199254740993")
@example(b'"\\ud83d\\ude00\\ud83d"')
@example(b'"\\ude00\\ud83d"')
@example(b'{"a":1,"a":2}')
@example(b'"\x7f\xc2\x85"')
@example(b"\xef\xbb\xbf1")
@example(b"")
@example(b" 1 ")
@example(b"\x0b1")
def test_the_fast_parser_and_the_strict_one_agree_on_every_text(text: bytes) -> None:
    def loaded(load: Any, raw: bytes) -> str | None:
        try:
            return exact(load(raw))
        except LineDefect:
            return None

    assert loaded(load_payload, text) == loaded(lambda raw: load_line(raw)["a"], b'{"a":' + text + b"}")


@any_machine
@given(json_text)
def test_what_is_read_is_what_the_standard_library_reads(text: bytes) -> None:
    try:
        value = load_payload(text)
    except LineDefect:
        return
    assert exact(value) == exact(json.loads(text))


def delta_line(call_index: int = 0, event_index: int = 3, delta_type: str = "text_delta", delta: str = "hi") -> bytes:
    return encode_event(call_index, event_index, CleanEvent({"type": delta_type, "content_index": 0, "delta": delta}))


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
    assert [load_payload(text) for text in canonical_payloads([raw[: found.end]], 4, line.event_index)] == [line.event]


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


@pytest.mark.parametrize("index", [b"00", b"-0", b"0.0", b"1e0", b"+1", b'"1"', b"true", b"", b"1_0", b"0x1"])
def test_an_index_is_a_plain_number(index: bytes) -> None:
    for line in (
        b'{"type":"event","call_index":%b,"event_index":0,"event":{}}\n',
        b'{"type":"event","call_index":0,"event_index":%b,"event":{}}\n',
        b'{"type":"call_end","call_index":%b,"event_count":0}\n',
        b'{"type":"call_end","call_index":0,"event_count":%b}\n',
    ):
        if index == b"-0":
            continue  # in JSON, that is 0
        with pytest.raises(LineDefect):
            parse_line(line % index, accept_any_event)


def test_a_long_value_in_a_reason_is_shortened() -> None:
    for line in (
        {"type": "x" * 10_000},
        {"type": "header", "format_version": "x" * 10_000},
        {"type": "event", "call_index": ["x"] * 10_000},
        {"type": "call_end", "call_index": 0, "event_count": 0, "outcome": "x" * 10_000},
    ):
        with pytest.raises(LineDefect) as failure:
            parse_line(json.dumps(line).encode(), accept_any_event)
        assert len(failure.value.reason) < 300
    with pytest.raises(LineDefect) as failure:
        parse_line(b'{"' + b"x" * 10_000 + b'":1,"' + b"x" * 10_000 + b'":1}', accept_any_event)
    assert len(failure.value.reason) < 300
