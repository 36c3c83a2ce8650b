"""Recorded answers with this run's values: wherever a value is cut, the deltas join to the content, and both agree."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openprogram.pipeline.json_value import JsonValue, to_json_text
from openprogram.pipeline.matching.answers import bind_answer
from openprogram.pipeline.matching.bindings import Bindings, Birthplace
from openprogram.pipeline.matching.rules import VolatileRules
from tests.pipeline.matching.json_values import IDS, RULES, texts, values

OLD, NEW = "aaaaaaaa-9a4d-4f6b-8e2a-1c5d7e9f0a2b", "bbbbbbbb-9a4d-4f6b-8e2a-1c5d7e9f0a2b"
BORN = Birthplace(0, "context.messages[0].content")


def session(bound: dict[JsonValue, JsonValue], *rules: str) -> Bindings:
    bindings = Bindings(VolatileRules(rules))
    attempt = bindings.attempt()
    for recorded, incoming in bound.items():
        assert attempt.bind(0, recorded, incoming, BORN) is None
    attempt.keep()
    return bindings


def answered(bindings: Bindings, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The events as a session gets them, as the answer of a request of two messages."""
    attempt = bindings.attempt()
    payloads = [to_json_text(event) for event in events]
    found = bind_answer(payloads, bindings.rules, attempt, 1, 2)
    attempt.keep()
    return [json.loads(payload) for payload in found]


def cut(text: str, places: list[int]) -> list[str]:
    ends = sorted({min(place, len(text)) for place in places} | {0, len(text)})
    return [text[start:end] for start, end in pairwise(ends)]


def text_block(index: int, kind: str, deltas: list[str]) -> list[dict[str, Any]]:
    return [
        {"type": f"{kind}_start", "content_index": index},
        *({"type": f"{kind}_delta", "content_index": index, "delta": delta} for delta in deltas),
        {"type": f"{kind}_end", "content_index": index, "content": "".join(deltas)},
    ]


def tool_block(index: int, call_id: str, arguments: Any, deltas: list[str]) -> list[dict[str, Any]]:
    tool_call = {"type": "toolCall", "id": call_id, "name": "t", "arguments": arguments}
    return [
        {"type": "toolcall_start", "content_index": index, "id": call_id, "name": "t"},
        *({"type": "toolcall_delta", "content_index": index, "delta": delta} for delta in deltas),
        {"type": "toolcall_end", "content_index": index, "tool_call": tool_call},
    ]


def done(*content: dict[str, Any]) -> dict[str, Any]:
    return {"type": "done", "reason": "stop", "message": {"role": "assistant", "content": list(content)}}


def joined(events: list[dict[str, Any]], index: int = 0) -> str:
    deltas = [event for event in events if event["type"].endswith("_delta")]
    return "".join(event["delta"] for event in deltas if event["content_index"] == index)


# ---- where a value is cut


@pytest.mark.parametrize("new", [NEW, "x-9", "b" * 80])
@pytest.mark.parametrize("ascii_only", [False, True])
def test_a_value_cut_at_every_place_of_two_argument_deltas_is_bound_back(new: str, ascii_only: bool) -> None:
    text = json.dumps({"note": "für é", "id": OLD, "more": [OLD, 1]}, ensure_ascii=ascii_only)
    arguments = json.loads(text)
    expected = json.loads(text.replace(OLD, new))
    for place in range(len(text) + 1):
        deltas = [text[:place], text[place:]]
        events = [*tool_block(0, "call-1", arguments, deltas), done({"type": "toolCall", "arguments": arguments})]
        found = answered(session({OLD: new}, "uuid"), events)
        assert joined(found) == text.replace(OLD, new)
        assert found[3]["tool_call"]["arguments"] == expected
        assert found[4]["message"]["content"][0]["arguments"] == expected


@pytest.mark.parametrize("kind", ["text", "thinking"])
def test_a_value_cut_at_every_two_places_of_a_text_is_bound_back(kind: str) -> None:
    text = f"pay {OLD}, now"
    for first in range(0, len(text) + 1, 3):
        for second in range(first, len(text) + 1):
            deltas = [text[:first], text[first:second], text[second:]]
            found = answered(session({OLD: NEW}, "uuid"), [*text_block(0, kind, deltas), done({kind: text})])
            assert joined(found) == f"pay {NEW}, now"
            assert [len(event["delta"]) for event in found[1:4]] == [len(delta) for delta in deltas]
            assert found[4]["content"] == found[5]["message"]["content"][0][kind] == f"pay {NEW}, now"


@given(text=texts, places=st.lists(st.integers(0, 40), max_size=4), order=st.permutations(IDS))
def test_deltas_join_to_the_content_however_they_are_cut(text: str, places: list[int], order: list[str]) -> None:
    names = {ord(old): new * (1 + index % 3) for index, (old, new) in enumerate(zip(IDS, order, strict=True))}
    bindings = Bindings(VolatileRules(["regex:id-([A-Z]+)"]))
    attempt = bindings.attempt()
    for old, new in zip(IDS, names.values(), strict=True):
        attempt.bind(0, old, new, BORN)
    attempt.keep()
    found = answered(bindings, text_block(0, "text", cut(text, places)))
    assert joined(found) == found[-1]["content"]


@given(
    arguments=st.dictionaries(texts, values, max_size=3),
    places=st.lists(st.integers(0, 60), max_size=4),
    order=st.permutations(IDS),
    ascii_only=st.booleans(),
)
def test_argument_deltas_join_to_the_text_of_the_arguments(
    arguments: dict[str, Any], places: list[int], order: list[str], ascii_only: bool
) -> None:
    text = json.dumps(arguments, ensure_ascii=ascii_only)
    found = answered(
        session(dict(zip(IDS, order, strict=True)), *RULES), tool_block(0, "c", arguments, cut(text, places))
    )
    assert json.loads(joined(found) or "{}") == found[-1]["tool_call"]["arguments"]


# ---- what is replaced, and what stays


def test_every_part_of_an_answer_has_this_runs_value() -> None:
    arguments = {"id": OLD, OLD: {"deep": [f"<{OLD}>"]}}
    content: list[dict[str, Any]] = [
        {"type": "thinking", "thinking": f"so {OLD}", "thinking_signature": f"sig {OLD}"},
        {"type": "text", "text": f"is {OLD}"},
        {"type": "toolCall", "id": f"call_{OLD}", "name": "t", "arguments": arguments},
    ]
    events = [
        {"type": "start"},
        *text_block(0, "thinking", [f"so {OLD}"]),
        *text_block(1, "text", [f"is {OLD}"]),
        *tool_block(2, f"call_{OLD}", arguments, [json.dumps(arguments)]),
        done(*content),
    ]
    found = answered(session({OLD: NEW}, "uuid"), events)
    as_text = json.dumps(found).replace(f"sig {OLD}", "sig")
    assert OLD not in as_text
    assert as_text == json.dumps(events).replace(f"sig {OLD}", "sig").replace(OLD, NEW)
    failed = {"type": "error", "reason": "error", "error": {"role": "assistant", "error_message": f"no {OLD}"}}
    assert answered(session({OLD: NEW}, "uuid"), [failed])[0]["error"]["error_message"] == f"no {NEW}"


def test_blocks_that_stream_at_the_same_time_are_joined_each_by_itself() -> None:
    one, other = text_block(0, "text", [OLD[:9], OLD[9:]]), text_block(1, "thinking", [f"x{OLD[:5]}", OLD[5:]])
    mixed = [event for pair in zip(one, other, strict=True) for event in pair]
    found = answered(session({OLD: NEW}, "uuid"), mixed)
    assert joined(found, 0) == NEW
    assert joined(found, 1) == f"x{OLD}", "no uuid stands behind a letter"


def test_a_block_that_begins_anew_is_another_text() -> None:
    found = answered(
        session({OLD: NEW}, "uuid"), [*text_block(0, "text", [OLD[:9]]), *text_block(0, "text", [OLD[9:]])]
    )
    assert joined(found) == OLD, "two texts, and a uuid in neither"
    changed = answered(session({OLD: NEW}, "uuid"), [*text_block(0, "text", [OLD]), *text_block(0, "thinking", [OLD])])
    assert [event["delta"] for event in changed if "delta" in event] == [NEW, NEW]


def test_what_the_model_made_up_keeps_the_recorded_value_and_is_bound_to_it() -> None:
    bindings = session({}, "uuid")
    events = text_block(0, "text", [f"new: {OLD}"])
    assert answered(bindings, events) == events
    found = bindings.attempt().bind(0, OLD, NEW, BORN)
    assert found is not None
    assert (found.bound[0].recorded, found.bound[0].incoming, str(found.bound[0].born)) == (OLD, OLD, "call 1, event 1")


def test_a_made_up_value_that_this_run_has_for_another_is_refused_where_both_meet() -> None:
    bindings = session({"1": "2"}, r"regex:order-(\d+)")
    assert answered(bindings, text_block(0, "text", ["next: order-2"]))[1]["delta"] == "next: order-2"
    assert bindings.attempt().bind(0, "2", "2", BORN) is not None


def test_a_new_file_in_a_bound_folder_is_in_this_runs_folder() -> None:
    found = answered(session({"/tmp/a": "/var/tmp/bcd"}, "tmp-path"), text_block(0, "text", ["write /tmp/a/new.txt"]))
    assert joined(found) == "write /var/tmp/bcd/new.txt"


def test_a_bound_uuid_in_a_path_that_is_new_is_this_runs() -> None:
    bindings = session({OLD: NEW}, "uuid", "tmp-path")
    assert joined(answered(bindings, text_block(0, "text", [f"/tmp/{OLD}/x"]))) == f"/tmp/{NEW}/x"
    assert bindings.attempt().bind(1, f"/tmp/{OLD}/x", f"/tmp/{NEW}/x", BORN) is None


@pytest.mark.parametrize("spelled", [OLD, OLD.upper()])
def test_capitals_stay_as_they_were_recorded(spelled: str) -> None:
    found = answered(session({OLD.upper(): NEW.upper()}, "uuid"), text_block(0, "text", [spelled]))
    assert joined(found) == (NEW if spelled == OLD else NEW.upper())


def test_a_field_rule_reaches_the_arguments_of_a_tool_call() -> None:
    rule = "field:context.messages[*].content[*].arguments.order"
    bindings = session({4711: 12}, rule)
    arguments = {"order": 4711, "count": 4711}
    found = answered(bindings, tool_block(3, "c", arguments, ['{"order": 47', '11, "count": 4711}']))
    assert joined(found, 3) == '{"order": 12, "count": 4711}'
    assert found[-1]["tool_call"]["arguments"] == {"order": 12, "count": 4711}


def test_new_values_are_written_as_json_text_needs_them() -> None:
    rule = "regex:<([^>]+)>"
    text = json.dumps({"q": '<a"b> \\ <x>'})
    bindings = session({'a"b': 'c"\\\n\U0001f600', "x": "y"}, rule)
    found = answered(bindings, tool_block(0, "c", json.loads(text), [text[:9], text[9:]]))
    assert json.loads(joined(found)) == {"q": '<c"\\\n\U0001f600> \\ <y>'} == found[-1]["tool_call"]["arguments"]


def test_arguments_that_are_cut_off_are_bound_as_far_as_they_go() -> None:
    found = answered(session({OLD: NEW}, "uuid"), tool_block(0, "c", {}, [f'{{"id": "{OLD}", "more": "{OLD} a']))
    assert joined(found) == f'{{"id": "{NEW}", "more": "{NEW} a'


def test_where_no_value_differs_the_recorded_bytes_are_served() -> None:
    payloads = [b'{"type": "text_delta",  "content_index": 0, "delta": "\\u0041 aaaaaaaa-9a4d-4f6b-8e2a-1c5d7e9f0a2b"}']
    bindings = session({OLD: OLD}, "uuid")
    assert bind_answer(payloads, bindings.rules, bindings.attempt(), 0, 0) == payloads
