"""One line: how it is spelled, and that every spelling of it parses to the same value or is refused alike."""

import json
import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from openprogram.pipeline.json_value import NotJson
from openprogram.pipeline.log.event_lines import event_texts
from openprogram.pipeline.log.lines import (
    OUTCOMES,
    CallEndLine,
    CleanEvent,
    CleanRequest,
    EventLine,
    HeaderLine,
    LineDefect,
    RequestLine,
    accept_any_event,
    encode_call_end,
    encode_event,
    encode_header,
    encode_request,
    encode_request_body,
    parse_line,
)
from openprogram.pipeline.log.strict_json import field_text, load_line, load_payload
from openprogram.pipeline.matching.policy import POLICY_FIELD_NAMES
from tests.pipeline.log.samples import exact
from tests.pipeline.log.values import any_machine, json_objects, json_text, json_values, texts


@any_machine
@given(json_objects)
def test_a_header_is_read_as_it_was_written(fields: dict[str, Any]) -> None:
    assume(not {"type", "format_version", *POLICY_FIELD_NAMES} & set(fields))
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
    assert [texts.whole() for texts in event_texts([written], 3, 14)] == [[field_text(respelled, "event")]]


@pytest.mark.parametrize("outcome", OUTCOMES)
@pytest.mark.parametrize("error", [None, {"type": "E", "message": "m"}])
def test_a_call_end_is_read_as_it_was_written(outcome: Any, error: Any) -> None:
    line = parse_line(encode_call_end(0, 5, outcome, error), accept_any_event)
    assert line == CallEndLine(0, 5, outcome, error)


def test_a_changed_call_end_is_taken_as_one_of_another_spelling_is() -> None:
    def parsed(raw: bytes) -> object:
        try:
            return parse_line(raw, accept_any_event)
        except LineDefect as defect:
            return defect.call_index

    line = encode_call_end(10, 5, "error")
    for at in range(len(line)):
        for byte in b'0129x" ,:}\r\n\x0b\\\xff':
            for raw in (line[:at] + bytes([byte]) + line[at:], line[:at] + bytes([byte]) + line[at + 1 :], line[:at]):
                assert parsed(raw) == parsed(b" " + raw), raw


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


@pytest.mark.parametrize("index", [b"00", b"-0", b"0.0", b"1e0", b"+1", b'"1"', b"true", b"", b"1_0", b"0x1"])
def test_an_index_is_a_plain_number(index: bytes) -> None:
    for line in (
        b'{"type":"event","call_index":%b,"event_index":0,"event":{}}\n',
        b'{"type":"event","call_index":0,"event_index":%b,"event":{}}\n',
        b'{"type":"call_end","call_index":%b,"event_count":0}\n',
        b'{"type":"call_end","call_index":0,"event_count":%b}\n',
        b'{"type":"call_end","call_index":%b,"event_count":0,"outcome":"complete"}\n',
        b'{"type":"call_end","call_index":0,"event_count":%b,"outcome":"complete"}\n',
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
