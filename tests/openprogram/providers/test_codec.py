"""Provider types ⇄ JSON: what is left out, what is kept, and what is refused."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openprogram.pipeline.json_value import NotJson, to_line
from openprogram.pipeline.log.event_lines import EventTexts
from openprogram.pipeline.redaction import remove_secret_values
from openprogram.pipeline.request_parts import Part
from openprogram.providers.codec import EVENT_TYPES, TERMINAL_EVENT_TYPES, AssistantEventCodec, ProviderRequestCodec
from openprogram.providers.scripted import message_events, tool_call
from openprogram.providers.types import (
    AssistantMessage,
    AssistantMessageEvent,
    Context,
    EventTextDelta,
    EventThinkingDelta,
    EventToolCallDelta,
    EventToolCallEnd,
    Model,
    ProviderContent,
    SimpleStreamOptions,
    StreamOptions,
    TextContent,
    ThinkingContent,
    UserMessage,
)
from tests.openprogram.providers.calls import CONTEXT, DONE, MODEL

EVENTS = AssistantEventCodec()
REQUESTS = ProviderRequestCodec()

TEXTS = st.text(st.characters(exclude_categories=[]))  # lone surrogates included
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=10,
)


@given(TEXTS, st.integers(0, 9))
def test_a_delta_comes_back_whatever_its_text(text: str, index: int) -> None:
    for kind in (EventTextDelta, EventThinkingDelta, EventToolCallDelta):
        event = kind(content_index=index, delta=text)
        assert EVENTS.load_all(EventTexts(b"", [to_line(EVENTS.dump(event))])) == [event]


@given(TEXTS, st.dictionaries(TEXTS, JSON, max_size=3))
def test_every_event_of_a_message_comes_back(text: str, arguments: dict[str, Any]) -> None:
    opaque = ProviderContent(api="a", provider="p", kind=text, data=arguments)
    blocks = [
        TextContent(text=text, citations=[arguments]),
        ThinkingContent(thinking=text),
        tool_call("t", arguments),
        opaque,
    ]
    for event in message_events(AssistantMessage(content=blocks, error_message=text)):
        dumped = EVENTS.dump(event)
        EVENTS.check(dumped)
        (again,) = EVENTS.load_all(EventTexts(b"", [to_line(dumped)]))
        assert again == event
        assert EVENTS.dump(again) == dumped
        assert repr(dumped) == repr(json.loads(to_line(dumped))), "1 and 1.0 are told apart"


@given(TEXTS, st.dictionaries(TEXTS, JSON, max_size=3))
def test_a_request_that_is_read_back_is_dumped_the_same(text: str, values: dict[str, Any]) -> None:
    context = Context(
        system_prompt=text,
        messages=[UserMessage(content=text), AssistantMessage(content=[tool_call("t", values)])],
    )
    dumped = REQUESTS.dump((MODEL, context, SimpleStreamOptions(metadata=values)))
    options: Any = remove_secret_values({"options": dumped["options"]})
    assert REQUESTS.read(json.loads(to_line(dumped))) == {**dumped, **options}
    assert REQUESTS.read({**dumped, "options": None}) == REQUESTS.compared({**dumped, "options": None})


def test_an_event_begins_with_its_type() -> None:
    for event in message_events(AssistantMessage(content=[TextContent(text="a"), tool_call("t", {})])):
        assert next(iter(EVENTS.dump(event))) == "type"


def test_a_dump_shares_nothing_with_its_event() -> None:
    arguments: dict[str, Any] = {"list": [1]}
    event = EventToolCallEnd(content_index=0, tool_call=tool_call("t", arguments))
    dumped = EVENTS.dump(event)
    event.tool_call.arguments["list"].append(2)
    event.tool_call.arguments["new"] = 1
    assert dumped["tool_call"]["arguments"] == {"list": [1]}


def test_the_terminal_events_are_those_that_carry_a_final_message() -> None:
    carrying = {name for name, kind in EVENT_TYPES.items() if {"message", "error"} & kind.model_fields.keys()}
    assert carrying == TERMINAL_EVENT_TYPES
    assert EVENTS.is_terminal(EVENTS.dump(DONE))
    assert not EVENTS.is_terminal({"type": "text_end"})


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        ({}, "type is None"),
        ({"type": None}, "type is None"),
        ({"type": []}, r"type is \[\]"),
        ({"type": {"a": 1}}, "type is {'a': 1}"),
        ({"type": "text_wave"}, "unknown event type 'text_wave'"),
        ({"type": "text_delta", "content_index": 0}, "text_delta event does not load: delta"),
        ({"type": "text_delta", "content_index": 0, "delta": None}, "delta"),
        ({"type": "text_delta", "content_index": None, "delta": "a"}, "content_index"),
        ({"type": "done", "reason": "stop", "message": {"role": "user", "content": "a"}}, r"done .* message\.role"),
        ({"type": "done", "reason": "tired", "message": {}}, "reason"),
        ({"type": "toolcall_end", "content_index": 0, "tool_call": {"id": "a"}}, r"tool_call\.name"),
    ],
)
def test_a_dump_that_does_not_load_is_refused_by_name(event: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        EVENTS.check(event)


@pytest.mark.parametrize("where", ["model", "context.messages[0].content", "options.metadata.x"])
def test_what_json_cannot_hold_is_named(where: str) -> None:
    nan = float("nan")
    model, context, options = MODEL.model_copy(), CONTEXT.model_copy(deep=True), StreamOptions()
    if where == "model":
        model = Model.model_validate({**MODEL.model_dump(), "extra": nan})
    elif where.startswith("context"):
        context.messages[0] = UserMessage.model_construct(role="user", content=nan, timestamp=0)  # type: ignore[arg-type]
    else:
        options = StreamOptions(metadata={"x": nan})
    with pytest.raises(NotJson) as failure:
        REQUESTS.dump((model, context, options))
    assert failure.value.field_path.startswith(where)


def test_parts_of_a_request_have_the_same_key_only_where_their_dumps_are_equal() -> None:
    values: list[Any] = [b"abc", "abc", "YWJj", 1, 1.0, True, "1", None, "null", [], {}, "", b"", -0.0, 0.0]
    parts = [_options_part({"value": value}) for value in values]
    for one in parts:
        for other in parts:
            if REQUESTS.text(one) == REQUESTS.text(other):
                assert repr(REQUESTS.dump_part(one)) == repr(REQUESTS.dump_part(other))
    assert REQUESTS.text(parts[0]) is not None


def _options_part(metadata: dict[str, Any]) -> Part:
    parts = REQUESTS.parts((MODEL, CONTEXT, StreamOptions(metadata=metadata)))
    (part,) = [part for part in parts if isinstance(part, Part) and part.name == "options"]
    return part


def test_options_for_the_running_program_are_left_out() -> None:
    options = StreamOptions.model_validate({"signal": object(), "on_payload": print, "on_response": print, "a": 1})
    dumped = REQUESTS.dump((MODEL, CONTEXT, options))["options"]
    assert dumped["a"] == 1
    assert {"signal", "on_payload", "on_response"} & dumped.keys() == set()


def test_no_options_and_default_options_are_told_apart() -> None:
    assert REQUESTS.dump((MODEL, CONTEXT, None))["options"] is None
    assert REQUESTS.dump((MODEL, CONTEXT, StreamOptions()))["options"] != {}


@pytest.mark.parametrize("part", ["model", "context", "options"])
def test_a_recorded_request_that_is_no_request_is_refused(part: str) -> None:
    recorded: dict[str, Any] = {**REQUESTS.dump((MODEL, CONTEXT, StreamOptions())), part: ["not", "an", "object"]}
    with pytest.raises(ValueError, match=r"(?i)model|context|options"):
        REQUESTS.read(recorded)


@pytest.mark.parametrize("payloads", [[b'{"type":"start"},{"type":"start"}'], [b'{"type":"start"}', b""], [b"[]"]])
def test_what_is_not_one_event_each_does_not_load(payloads: list[bytes]) -> None:
    with pytest.raises(ValueError, match="valid"):
        EVENTS.load_all(EventTexts(b"", payloads))


#: What may stand behind the quote that begins a delta's text.
RESTS = ['hi"}', '"}', '\\ud800"}', '","more":1}', '","delta":"ho"}', '","content_index":3}', '","content_index":true}']
ODD_RESTS = ['","type":"toolcall_delta"}', '"', '"},{"content_index":0,"delta":"hi"}', '\n"}', '","delta":null}', '"}}']


@given(
    st.sampled_from(["text_delta", "thinking_delta", "toolcall_delta", "text_end", "done", "other"]),
    st.sampled_from(["0", "7", "999999999999999"]),
    st.lists(st.sampled_from(RESTS), min_size=1, max_size=4),
    st.lists(st.sampled_from(ODD_RESTS), max_size=1),
)
def test_deltas_that_begin_alike_load_as_each_by_itself(
    kind: str, index: str, rests: list[str], odd: list[str]
) -> None:
    together = EventTexts(
        f'{{"type":"{kind}","content_index":{index},"delta":"'.encode(), [rest.encode() for rest in (*rests, *odd)]
    )

    def each_by_itself() -> list[AssistantMessageEvent]:
        return [event for text in together.whole() for event in EVENTS.load_all(EventTexts(b"", [text]))]

    def loaded(load: Callable[[], list[AssistantMessageEvent]]) -> list[AssistantMessageEvent] | None:
        try:
            return load()
        except ValueError:
            return None

    assert loaded(lambda: EVENTS.load_all(together)) == loaded(each_by_itself)
