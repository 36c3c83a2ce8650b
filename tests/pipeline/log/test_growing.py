"""A request line that begins as the one before is read without parsing that beginning again, and as strictly."""

import io
import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from openprogram.pipeline.log import scan as scan_module
from openprogram.pipeline.log.growing import GrowingRequests
from openprogram.pipeline.log.lines import (
    CleanRequest,
    accept_any_event,
    encode_request,
    encode_request_body,
    parse_line,
)
from openprogram.pipeline.log.reader import open_recording
from openprogram.pipeline.log.scan import LineScan, RawLine
from openprogram.pipeline.log.strict_json import LineDefect
from tests.pipeline.log.samples import HEADER, end_line, refusal, write_file
from tests.pipeline.log.values import any_machine


def message(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text, "timestamp": 0}


def line(call_index: int, *texts: str, tools: Any = None, **more: Any) -> bytes:
    context = {"system_prompt": "be brief", "messages": [message(text) for text in texts], "tools": tools}
    request = {"model": {"id": "m"}, "context": context, "options": None, **more}
    return encode_request(call_index, encode_request_body(CleanRequest(request)))


def knowing(raw: bytes) -> GrowingRequests:
    requests = GrowingRequests()
    requests.remember(RawLine(1, 0, raw))
    return requests


#: Bytes that a file gives at once, over and over, behind a first block that ends so far into the line.
CUTS: list[tuple[int, int]] = [(1_000_000, 1), (60, 1_000_000), (60, 7), (75, 1)]


class Pieces(io.BufferedReader):
    """A file whose reads give no more than so many bytes: the first, and each of the others."""

    def __init__(self, content: bytes, first: int, others: int) -> None:
        super().__init__(io.BytesIO(content))
        self._sizes = itertools.chain([first], itertools.repeat(others))

    def read1(self, size: int = -1, /) -> bytes:
        return super().read(next(self._sizes))


def found(requests: GrowingRequests, raw: bytes) -> int | None:
    """The call_index, wherever blocks end. A line that is not taken is still the next; the one behind it comes then."""
    behind, taken = b"{}\n" if raw.endswith(b"\n") else b"", None
    for first, others in CUTS:
        scan = LineScan(Pieces(b"{}\n" + raw + behind, first, others))
        next(scan)
        taken = requests.take(scan)
        if taken is None:
            assert b"".join(one.raw for one in scan) == raw + behind
            assert scan.offset == len(b"{}\n" + raw + behind)
        else:
            assert (taken[0].offset, taken[0].end, taken[0].number) == (3, 3 + len(raw), 2)
            assert taken[0].raw == raw[taken[0].left_out :]
            assert [tuple(one) for one in scan] == [(3, 3 + len(raw), behind, 0)]
    return None if taken is None else taken[1].call_index


def taken(requests: GrowingRequests, raw: bytes) -> RawLine:
    """The line as it is taken."""
    scan = LineScan(Pieces(b"{}\n" + raw, 1_000_000, 1))
    next(scan)
    found = requests.take(scan)
    assert found is not None
    return found[0]


def test_a_conversation_that_grew_is_known_and_what_it_grew_to_as_well() -> None:
    requests = knowing(line(0, "a"))
    assert found(requests, line(12, "a", "b", tools=[{"name": "read"}])) == 12
    requests.remember(taken(requests, line(12, "a", "b")))
    assert found(requests, line(13, "a", "b", "c")) == 13
    assert found(requests, line(13, "a", "c")) is None
    assert found(requests, line(13, "a", "b")[:-1]) is None  # the file ends in it
    requests.remember(taken(requests, line(13, "a", "b")))
    assert found(requests, line(14, "a", "b", "c")) == 14
    assert requests.shared_bytes == line(14, "a", "b").rindex(b'],"tools":') - line(14).index(b'"model"')


@pytest.mark.parametrize("cut", CUTS)
def test_a_line_that_grew_too_long_is_not_taken(monkeypatch: pytest.MonkeyPatch, cut: tuple[int, int]) -> None:
    requests, raw = knowing(line(0, "a")), line(1, "a", "b")
    for limit, is_taken in ((len(raw), True), (len(raw) - 1, False), (len(raw) - 60, False), (30, False)):
        monkeypatch.setattr(scan_module, "MAX_LINE_BYTES", limit)
        scan = LineScan(Pieces(b"{}\n" + raw + b"{}\n", *cut))
        next(scan)
        assert (requests.take(scan) is not None) == is_taken
        if not is_taken:
            assert next(scan).too_long
        assert next(scan)[1:] == (3 + len(raw), b"{}\n", 0)


def test_a_line_is_remembered_as_it_is_whichever_was_looked_for_before() -> None:
    requests = knowing(line(0, "a"))
    assert found(requests, line(1, "a", "b")) == 1
    requests.remember(RawLine(2, 0, line(1, "A", "b")))  # as if that had been parsed
    assert found(requests, line(2, "a", "b")) is None
    assert found(requests, line(2, "A", "b", "c")) == 2
    assert requests.shared_bytes == line(1, "A", "b").rindex(b'],"tools":') - line(1).index(b'"model"')


def test_a_line_that_goes_on_in_another_spelling_is_not_remembered_by_what_stands_before() -> None:
    told = line(0, "a").replace(b'"timestamp":0}', b'"timestamp":0,"a":[],"tools":0}')
    requests = knowing(told)
    assert found(requests, told) == 0
    spelled = told.replace(b'}],"tools":null', b'}], "tools":null')
    assert found(requests, spelled) == 0
    requests.remember(taken(requests, spelled))
    assert found(requests, told) is None


@pytest.mark.parametrize(
    "raw",
    [
        line(0),  # nothing that could have grown
        line(0, "a", later=1),
        line(0, "a").replace(b'"timestamp":0}', b'"timestamp":0} '),
        line(0, "a").replace(b'"tools":null', b'"more":null'),
        line(0, "a").replace(b'{"type":"request"', b'{ "type":"request"'),
    ],
)
def test_a_line_of_another_spelling_is_not_remembered(raw: bytes) -> None:
    requests = knowing(raw)
    assert found(requests, raw) is None
    assert found(requests, line(1, "a", "b")) is None


#: What may stand behind the known beginning, right or not.
rests = st.lists(
    st.sampled_from(
        [
            *(
                b',{"role":"user"}',
                b",",
                b"{}",
                b"]",
                b"}",
                b',"tools":',
                b"null",
                b"[{}]",
                b',"options":',
                b"1",
                b".5",
            ),
            *(b',"model":1', b',"context":{}', b',"type":"event"', b',"call_index":1', b',"a":NaN', b',"a":1e999'),
            *(
                b',"messages":[',
                b"\n",
                b"\r\n",
                b" ",
                b'"',
                b"\\",
                b"\xff",
                b"[" * 130,
                b'],"tools":null},"options":null}\n',
            ),
        ]
    ),
    max_size=7,
).map(b"".join)


@any_machine
@given(rests)
@example(b',{"role":"user"}],"tools":null},"options":null}\n')
@example(b'],"tools":null},"options":null,"model":1}\n')
@example(b'],"tools":null},"options":null,"options":1}\n')
@example(b'],"tools":null},"model":1,"options":null}\n')
@example(b'.5],"tools":null},"options":null}\n')
@example(b'],"tools":[NaN]},"options":null}\n')
@example(b'],"tools":null},"options":-1e999}\n')
@example(b'],"tools":' + b"[" * 126 + b"]" * 126 + b'},"options":null}\n')
@example(b'],"tools":' + b"[" * 127 + b"]" * 127 + b'},"options":null}\n')
@example(b'],"tools":"\xff"},"options":null}\n')
@example(b'],"messages":[],"tools":null},"options":null}\n')
@example(b',"],"tools":null},"options":null}\n')
@example(b']},"context":{"messages":[],"tools":null},"options":null}\n')
@example(b']},"more":{"messages":[],"tools":null},"options":null}\n')
@example(b",1e999" + b'],"tools":null},"options":null}\n')
@example(b"," + b"[" * 125 + b"]" * 125 + b'],"tools":null},"options":null}\n')
@example(b"," + b"[" * 126 + b"]" * 126 + b'],"tools":null},"options":null}\n')
@example(b'],"tools":null},"options":null}')
@example(b'],"tools":null},"options":null}}\n')
def test_whatever_follows_is_taken_only_where_the_whole_line_is(rest: bytes) -> None:
    known = line(0, "a", "b")
    raw = line(1, "a", "b")
    raw = raw[: raw.rindex(b'],"tools":')] + rest
    raw = raw[: raw.find(b"\n") + 1] or raw
    if found(knowing(known), raw) is None:
        return
    parsed = parse_line(b" " + raw, accept_any_event)
    assert parsed[0] == 1
    requests = knowing(known)
    requests.remember(taken(requests, raw))
    again = raw[: raw.rindex(b'],"tools":')] + b',{"role":"user"}],"tools":null},"options":null}\n'
    if found(requests, again) is not None:
        parse_line(again, accept_any_event)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (b',"options":null', b',"options":null,"model":{}', "the key 'model' stands twice"),
        (b',"options":null', b',"options":null,"call_index":1', "the key 'call_index' stands twice"),
        (b',"options":null', b',"options":NaN', "NaN is not a JSON number"),
        (b',"options":null', b"", "the request has no options"),
        (b'"b"', b'"b', "not valid JSON"),
    ],
)
def test_a_file_is_refused_for_what_follows_a_known_beginning(
    tmp_path: Path, old: bytes, new: bytes, reason: str
) -> None:
    def lines(second: bytes) -> list[dict[str, Any] | bytes | str]:
        return [HEADER, line(0, "a"), end_line(0, 0), second, end_line(1, 0)]

    second = line(1, "a", "b")
    with open_recording(write_file(tmp_path / "right.jsonl", lines(second)), accept_any_event) as recording:
        assert json.loads(second)["context"] == recording.request(1)["context"]
    error = refusal(write_file(tmp_path / "wrong.jsonl", lines(second.replace(old, new))))
    assert (error.line_number, error.call_index in (1, None), reason in error.reason) == (4, True, True)


def test_a_request_that_is_too_deep_behind_a_known_beginning_is_refused() -> None:
    with pytest.raises(LineDefect):
        parse_line(line(1, "a").replace(b"null}", b"[" * 200 + b"]" * 200 + b"}"), accept_any_event)
    assert found(knowing(line(0, "a")), line(1, "a").replace(b"null}", b"[" * 200 + b"]" * 200 + b"}")) is None
