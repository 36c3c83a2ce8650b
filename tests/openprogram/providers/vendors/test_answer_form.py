"""`response_format`: the answer as a value, natively or through a tool, and what is wrong with it otherwise."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openprogram.providers.types import (
    AssistantMessage,
    AssistantMessageEvent,
    Context,
    EventTextDelta,
    Model,
    SimpleStreamOptions,
    StreamOptions,
    TextContent,
    Tool,
    ToolCall,
)
from openprogram.providers.vendors import vendor_providers
from openprogram.providers.vendors.answer_form import AnswerForm, read_answer
from tests.openprogram.providers.vendors.loopback import Response, anthropic_stream, loopback, openai_stream
from tests.openprogram.providers.vendors.small_answers import (
    ANSWERS,
    HELLO,
    block_delta,
    block_start,
    block_stop,
    chunk,
    message_delta,
    message_start,
    model,
)

pytestmark = pytest.mark.anyio

ANTHROPIC, OPENAI = "anthropic-messages", "openai-completions"
each_api = pytest.mark.parametrize("api", [ANTHROPIC, OPENAI])

NUMBER = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}
LIST = {"type": "array", "items": {"$ref": "#/$defs/item"}, "$defs": {"item": {"type": "integer"}}}


def text_stream(api: str, *pieces: str, stop: str = "end") -> list[bytes]:
    if api == OPENAI:
        reason = {"end": "stop", "length": "length"}[stop]
        return openai_stream(*(chunk({"content": piece}) for piece in pieces), chunk({}, reason))
    deltas = [block_delta(0, "text_delta", "text", piece) for piece in pieces]
    last = message_delta({"end": "end_turn", "length": "max_tokens"}[stop])
    start = block_start(0, {"type": "text", "text": ""})
    return anthropic_stream(
        message_start(input_tokens=5), start, *deltas, block_stop(0), last, {"type": "message_stop"}
    )


def tool_stream(api: str, *calls: tuple[str, str]) -> list[bytes]:
    """Calls of tools: name, and arguments as text, which come in two pieces."""
    events = []
    for index, (name, arguments) in enumerate(calls):
        half = len(arguments) // 2
        pieces = (arguments[:half], arguments[half:])
        if api == OPENAI:
            begin = {"index": index, "id": f"id-{index}", "function": {"name": name, "arguments": ""}}
            more = [{"index": index, "function": {"arguments": piece}} for piece in pieces]
            events += [chunk({"tool_calls": [call]}) for call in (begin, *more)]
        else:
            events.append(block_start(index, {"type": "tool_use", "id": f"id-{index}", "name": name, "input": {}}))
            events += [block_delta(index, "input_json_delta", "partial_json", piece) for piece in pieces]
            events.append(block_stop(index))
    if api == OPENAI:
        return openai_stream(*events, chunk({}, "tool_calls"))
    return anthropic_stream(message_start(input_tokens=5), *events, message_delta("tool_use"), {"type": "message_stop"})


async def asked(
    api: str, stream: list[bytes], tools: list[Tool] | None = None, **options: Any
) -> tuple[AssistantMessage, list[AssistantMessageEvent], dict[str, Any]]:
    """The final message, all events, and the request."""
    async with loopback(Response(stream)) as server:
        given = SimpleStreamOptions(api_key="k", **{"response_format": NUMBER, **options})
        context = Context(messages=HELLO.messages, tools=tools)
        answer = vendor_providers(environ={})[api].stream_simple(model(api, server.url), context, given)
        events = [event async for event in answer]
    last = events[-1]
    assert last.type == "done"
    return last.message, events, server.requests[0][1]


@each_api
async def test_an_answer_that_fits_is_a_value(api: str) -> None:
    message, _, _ = await asked(api, text_stream(api, '{"n"', ": 3}"))
    assert (message.text, message.parsed, message.parse_error) == ('{"n": 3}', {"n": 3}, None)


FAULTS = [
    ("three", "not JSON, at character 0: Expecting value"),
    ('{"n": 3', "not JSON, at character 7"),
    ('{"n": NaN}', "not JSON that can be kept: NaN is no JSON"),
    ('{"n": "3"}', "n: '3' is not of type 'integer'"),
    ('{"m": 3}', "value: 'n' is a required property"),
    ("[" * 2000 + "]" * 2000, "not JSON that can be kept"),
    ("[" * 200 + "]" * 200, "nested more than 100 levels deep"),
]


@pytest.mark.parametrize(("text", "fault"), FAULTS)
async def test_an_answer_that_does_not_fit_says_why(text: str, fault: str) -> None:
    message, _, _ = await asked(OPENAI, text_stream(OPENAI, text))
    assert message.parsed is None
    assert fault in (message.parse_error or ""), message.parse_error
    assert message.text == text


@each_api
async def test_an_answer_that_was_cut_off_is_not_read(api: str) -> None:
    message, _, _ = await asked(api, text_stream(api, '{"n": 3}', stop="length"))
    assert (message.stop_reason, message.parsed) == ("length", None)
    assert message.parse_error == "the answer was cut off at the limit of its length"


@each_api
async def test_an_answer_that_calls_tools_is_none_yet(api: str) -> None:
    message, _, _ = await asked(api, tool_stream(api, ("add", "{}")), tools=[Tool(name="add")])
    assert (message.stop_reason, message.parsed, message.parse_error) == ("toolUse", None, None)


@each_api
async def test_without_a_form_nothing_is_read(api: str) -> None:
    message, _, _ = await asked(api, text_stream(api, "three"), response_format=None)
    assert (message.parsed, message.parse_error) == (None, None)
    assert {"parsed", "parse_error"}.isdisjoint(message.model_dump())


# ---- through a tool


@each_api
async def test_in_tool_mode_the_arguments_are_the_answers_text(api: str) -> None:
    stream = tool_stream(api, ("final_answer", '{"n": 3}'))
    message, events, body = await asked(api, stream, response_mode="tool")
    assert message.content == [TextContent(text='{"n": 3}')]
    assert (message.stop_reason, message.parsed, message.parse_error) == ("stop", {"n": 3}, None)
    assert [event.delta for event in events if isinstance(event, EventTextDelta)] == ['{"n"', ": 3}"]
    [tool] = body["tools"]
    assert (tool.get("input_schema") or tool["function"]["parameters"]) == NUMBER
    forced = {"type": "any"} if api == ANTHROPIC else "required"
    assert body["tool_choice"] in (forced, {"type": "tool", "name": "final_answer"}) or (
        body["tool_choice"]["function"]["name"] == "final_answer"
    )
    assert "response_format" not in body
    assert "output_config" not in body


@pytest.mark.parametrize("api", ANSWERS)
async def test_every_api_can_ask_for_an_answer_through_a_tool(api: str) -> None:
    async with loopback(Response(ANSWERS[api])) as server:
        options = SimpleStreamOptions(api_key="k", response_format=NUMBER, response_mode="tool")
        stream = vendor_providers(environ={})[api].stream_simple(model(api, server.url), HELLO, options)
        last = [event async for event in stream][-1]
    assert last.type == "done"
    body = json.dumps(server.requests[0][1])
    assert "final_answer" in body
    choice = r'(toolChoice|tool_choice|mode)": ?("(required|any|ANY)"|{"(type": ?")?any")'
    assert re.search(choice, body)
    assert "response_format" not in body


@each_api
async def test_in_tool_mode_the_models_other_tools_come_first(api: str) -> None:
    stream = tool_stream(api, ("add", '{"a": 1}'))
    message, _, body = await asked(api, stream, tools=[Tool(name="add")], response_mode="tool")
    assert [call.name for call in message.tool_calls] == ["add"]
    assert (message.stop_reason, message.parsed, message.parse_error) == ("toolUse", None, None)
    assert body["tool_choice"] == ({"type": "any"} if api == ANTHROPIC else "required")


@each_api
async def test_an_answer_beside_a_call_of_another_tool_waits_for_its_result(api: str) -> None:
    stream = tool_stream(api, ("final_answer", '{"n": 3}'), ("add", '{"a": 1}'))
    message, _, _ = await asked(api, stream, tools=[Tool(name="add")], response_mode="tool")
    assert message.content == [
        TextContent(text='{"n": 3}'),
        ToolCall(id="id-1", name="add", arguments={"a": 1}),
    ]
    assert (message.stop_reason, message.parsed) == ("toolUse", None)


async def test_an_answer_that_is_no_object_is_wrapped_for_the_tool() -> None:
    form = {"type": "json_schema", "json_schema": {"name": "numbers", "schema": LIST}}
    stream = tool_stream(OPENAI, ("numbers", '{"value": [1, 2]}'))
    message, _, body = await asked(OPENAI, stream, response_format=form, response_mode="tool")
    assert (message.parsed, message.parse_error) == ([1, 2], None)
    parameters = body["tools"][0]["function"]["parameters"]
    assert parameters["properties"] == {"value": {"type": "array", "items": {"$ref": "#/$defs/item"}}}
    assert parameters["$defs"] == LIST["$defs"]
    wrong = tool_stream(OPENAI, ("numbers", '{"value": [1, "2"]}'))
    message, _, _ = await asked(OPENAI, wrong, response_format=form, response_mode="tool")
    assert message.parse_error == "value[1]: '2' is not of type 'integer'"


@each_api
async def test_a_model_that_thinks_is_not_forced(api: str) -> None:
    stream = tool_stream(api, ("final_answer", '{"n": 3}'))
    message, _, body = await asked(api, stream, response_mode="tool", reasoning="low", max_tokens=9000)
    assert body.get("tool_choice", "auto") in ("auto", {"type": "auto"})
    assert message.parsed == {"n": 3}


@each_api
async def test_a_model_that_answers_without_the_tool_is_read_all_the_same(api: str) -> None:
    message, _, _ = await asked(api, text_stream(api, '{"n": 3}'), response_mode="tool")
    assert message.parsed == {"n": 3}


# ---- what is refused


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"response_format": {"type": "json_object"}}, "has no JSON Schema"),
    ({"response_format": {"type": "no such type"}}, "not a JSON Schema"),
    ({"response_format": {"$ref": "https://schemas.invalid/a.json"}}, "only references inside it are followed"),
    ({"response_format": NUMBER, "response_mode": "guess"}, "give 'native' or 'tool'"),
]


@pytest.mark.parametrize(("options", "reason"), REFUSED)
async def test_a_form_that_cannot_be_asked_for_is_refused_before_the_call(options: dict[str, Any], reason: str) -> None:
    stream = vendor_providers(environ={})[OPENAI].stream(
        Model(id="m", api=OPENAI, provider="p"), HELLO, StreamOptions(**options)
    )
    with pytest.raises(ValueError, match=reason):
        await anext(aiter(stream))


async def test_a_tool_of_the_answers_name_is_refused() -> None:
    with pytest.raises(ValueError, match="two tools are named 'final_answer'"):
        await asked(OPENAI, [], tools=[Tool(name="final_answer")], response_mode="tool")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(JSON)
def test_any_json_fits_the_schema_of_anything(value: Any) -> None:
    assert read_answer(json.dumps(value), AnswerForm({})) == (value, None)


@given(st.text())
def test_any_text_is_read_or_has_a_fault(text: str) -> None:
    value, fault = read_answer(text, AnswerForm({"type": "object"}))
    assert isinstance(value, dict) or (value is None and fault)
