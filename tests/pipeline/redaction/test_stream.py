"""`StreamRedactor`: events keep their number and order, and fold to the redacted message."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openprogram.pipeline.redaction import SECRET_PLACEHOLDER, StreamRedactor, remove_secret_values
from tests.pipeline.redaction.texts import JSON_OBJECTS, TEXTS, cut_anywhere

Event = dict[str, Any]
_SECRET = "ghp_" + "Zx4Qm81LwT7vBn2KdP9s"


def recorded(events: list[Event]) -> list[Event]:
    redactor = StreamRedactor()
    out = [clean for event in events for clean in redactor.feed(event)] + redactor.close()
    assert redactor.waiting == 0
    return out


def deltas(kind: str, index: int, pieces: list[str]) -> list[Event]:
    return [{"type": f"{kind}_delta", "content_index": index, "delta": piece} for piece in pieces]


def fold(events: list[Event]) -> dict[str, Any]:
    """The content of each block as its deltas join, and as its end has it."""
    blocks: dict[str, Any] = {}
    for event in events:
        kind, _, step = event["type"].partition("_")
        if step == "delta":
            name = f"{kind} {event['content_index']} joined"
            blocks[name] = blocks.get(name, "") + event["delta"]
        elif step == "end":
            blocks[f"{kind} {event['content_index']}"] = event.get("content", event.get("tool_call"))
        elif event["type"] in ("done", "error"):
            blocks["message"] = event.get("message", event.get("error"))
    return blocks


@st.composite
def calls(draw: st.DrawFn) -> list[Event]:
    """A call of some blocks whose events interleave, each with start, deltas and end, and the final message."""
    queues, content = [], []
    for index in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(["text", "thinking", "toolcall"]))
        if kind == "toolcall":
            arguments = draw(JSON_OBJECTS)
            text = json.dumps(arguments)
            call = {
                "type": "toolCall",
                "id": f"call_{index}",
                "name": "x",
                "arguments": arguments,
                "thought_signature": _SECRET,
            }
            end: Event = {"type": "toolcall_end", "content_index": index, "tool_call": call}
            content.append(call)
        else:
            text = draw(TEXTS)
            end = {"type": f"{kind}_end", "content_index": index, "content": text}
            content.append({"type": kind, kind: text, f"{kind}_signature": _SECRET})
        events: list[Event] = [{"type": f"{kind}_start", "content_index": index}]
        queues.append([*events, *deltas(kind, index, draw(cut_anywhere(text))), end])
    out: list[Event] = [{"type": "start"}]
    while any(queues):
        queue = draw(st.sampled_from([queue for queue in queues if queue]))
        out.append(queue.pop(0))
    return [*out, {"type": "done", "reason": "stop", "message": {"role": "assistant", "content": content}}]


@settings(max_examples=100, deadline=None)
@given(calls())
def test_the_message_folded_from_the_recorded_events_is_the_redacted_live_message(live: list[Event]) -> None:
    out = recorded(live)
    assert [event["type"] for event in out] == [event["type"] for event in live]
    before, after = fold(live), fold(out)
    assert after["message"] == remove_secret_values(before["message"])
    for name, value in before.items():
        if name.startswith(("text", "thinking")):
            assert after[name] == remove_secret_values(value), name
        elif name.startswith("toolcall") and not name.endswith("joined"):
            assert after[name] == remove_secret_values(value), name
            assert json.dumps(json.loads(after[f"{name} joined"])) == json.dumps(after[name]["arguments"])


@settings(max_examples=100, deadline=None)
@given(calls())
def test_without_a_secret_the_recorded_events_are_the_live_ones(live: list[Event]) -> None:
    redactor = StreamRedactor()
    out = [clean for event in live for clean in redactor.feed(event)] + redactor.close()
    if redactor.count == 0:
        assert out == live
    for mine, theirs in zip(out, live, strict=True):
        if mine["type"] in ("start", "text_start", "thinking_start", "toolcall_start"):
            assert mine == theirs


@settings(max_examples=100, deadline=None)
@given(calls(), st.integers(0, 30))
def test_a_stream_cut_off_anywhere_loses_no_event_and_folds_to_the_redacted_text(
    live: list[Event], length: int
) -> None:
    live = live[:length]
    out = recorded(live)
    assert [event["type"] for event in out] == [event["type"] for event in live]
    before, after = fold(live), fold(out)
    for name, value in before.items():
        if name.startswith(("text", "thinking")):
            assert after[name] == remove_secret_values(value), name


@settings(max_examples=100, deadline=None)
@given(calls())
def test_redacting_recorded_events_again_changes_nothing(live: list[Event]) -> None:
    once = recorded(live)
    assert fold(recorded(once)) == fold(once)


@given(calls(), st.data())
def test_events_fed_together_come_out_as_those_fed_one_by_one(live: list[Event], data: st.DataObject) -> None:
    redactor, together = StreamRedactor(), list[Event]()
    cuts = data.draw(cut_anywhere("x" * len(live)))
    at = 0
    for piece in cuts:
        together += redactor.feed_all(live[at : at + len(piece)])
        at += len(piece)
    together += [*redactor.feed_all(live[at:]), *redactor.close()]
    assert together == recorded(live)


def test_the_first_delta_of_a_secret_carries_the_placeholder_and_the_rest_is_emptied() -> None:
    out = recorded(deltas("text", 0, ["Your key is gh", "p_Zx4Qm81", "LwT7vBn2KdP9s", "xyz", " ok"]))
    assert [event["delta"] for event in out] == [f"Your key is {SECRET_PLACEHOLDER}", "", "", "", " ok"]


def test_an_event_that_waits_holds_all_behind_it_and_none_before_it() -> None:
    redactor = StreamRedactor()
    assert len(redactor.feed({"type": "text_delta", "content_index": 0, "delta": "see "})) == 1
    assert redactor.feed({"type": "text_delta", "content_index": 0, "delta": "ghp_"}) == []
    assert redactor.feed({"type": "thinking_delta", "content_index": 1, "delta": "hm"}) == []
    assert redactor.waiting == 2
    assert len(redactor.feed({"type": "text_delta", "content_index": 0, "delta": " is a prefix"})) == 3
    assert redactor.waiting == 0


def test_once_a_secret_is_certain_nothing_waits_for_the_rest_of_it() -> None:
    redactor = StreamRedactor()
    first = redactor.feed({"type": "text_delta", "content_index": 0, "delta": "ghp_" + "a1B2" * 12})
    assert [event["delta"] for event in first] == [SECRET_PLACEHOLDER]
    for _ in range(5):
        assert [
            event["delta"] for event in redactor.feed({"type": "text_delta", "content_index": 0, "delta": "a1B2"})
        ] == [""]


@pytest.mark.parametrize("kind", ["done", "error"])
def test_nothing_waits_behind_a_terminal_event(kind: str) -> None:
    redactor = StreamRedactor()
    assert redactor.feed({"type": "text_delta", "content_index": 0, "delta": "see ghp_"}) == []
    out = redactor.feed({"type": kind, "reason": "x", "message": {"content": [{"type": "text", "text": "see ghp_"}]}})
    assert [event["type"] for event in out] == ["text_delta", kind]
    assert redactor.waiting == 0


def test_partial_is_left_out_and_the_event_that_came_is_not_changed() -> None:
    event: Event = {"type": "text_delta", "content_index": 0, "delta": "hello", "partial": {"content": []}}
    assert recorded([event]) == [{"type": "text_delta", "content_index": 0, "delta": "hello"}]
    assert "partial" in event


def test_an_unknown_event_and_a_delta_that_is_no_string_are_redacted_as_values() -> None:
    assert recorded(
        [{"type": "news", "delta": {"token": 1}}, {"type": "text_delta", "delta": None, "note": _SECRET}]
    ) == [
        {"type": "news", "delta": {"token": SECRET_PLACEHOLDER}},
        {"type": "text_delta", "delta": None, "note": SECRET_PLACEHOLDER},
    ]


def test_the_places_replaced_are_counted() -> None:
    redactor = StreamRedactor()
    for event in deltas("text", 0, [f"{_SECRET} and ", f"{_SECRET}"]):
        redactor.feed(event)
    redactor.feed({"type": "text_end", "content_index": 0, "content": f"{_SECRET} and {_SECRET}"})
    redactor.close()
    assert redactor.count == 4


_PROSE = (
    "The recorder writes one line for every event, in the order in which things happen, and the reader refuses what "
    "it does not know. A password manager is safer than a note on the desk; the key point is that nobody has to guess. "
    "When the model answers, its words come in pieces, and each piece is written before it is delivered. "
) * 12


@pytest.mark.parametrize("size", [4, 16])
def test_of_ordinary_prose_few_deltas_wait_and_none_for_long(size: int) -> None:
    redactor = StreamRedactor()
    waiting = []
    for start in range(0, len(_PROSE), size):
        redactor.feed({"type": "text_delta", "content_index": 0, "delta": _PROSE[start : start + size]})
        waiting.append(redactor.waiting)
    assert sum(count > 0 for count in waiting) / len(waiting) <= 0.15
    assert max(waiting) <= 4
