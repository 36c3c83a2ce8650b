"""A provider that answers from a list."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openprogram.providers.api_registry import ApiProvider
from openprogram.providers.event_stream import EventStream
from openprogram.providers.fold import Fold
from openprogram.providers.scripted import Answer, OutOfAnswers, ScriptedProvider, message_events, tool_call
from openprogram.providers.types import (
    AssistantContent,
    AssistantMessage,
    AssistantMessageEvent,
    Context,
    EventDone,
    EventStart,
    EventToolCallDelta,
    Model,
    SimpleStreamOptions,
    TextContent,
    ThinkingContent,
    UserMessage,
)

pytestmark = pytest.mark.anyio

MODEL = Model(id="m", api="scripted", provider="test")
HELLO = Context(messages=[UserMessage(content="hello")])


async def events(*answers: Answer) -> list[AssistantMessageEvent]:
    return [event async for event in ScriptedProvider(answers).stream(MODEL, HELLO)]


async def final(answer: Answer) -> AssistantMessage:
    return await EventStream(ScriptedProvider([answer]).stream(MODEL, HELLO), MODEL)


async def test_it_is_a_provider() -> None:
    assert isinstance(ScriptedProvider([]), ApiProvider)


async def test_a_text_comes_in_words() -> None:
    seen = await events("one two\nthree ")
    assert [event.delta for event in seen if event.type == "text_delta"] == ["one", " two", "\nthree", " "]
    assert [event.type for event in seen] == ["start", "text_start", *["text_delta"] * 4, "text_end", "done"]
    assert (await final("one two")).text == "one two"


async def test_blocks_become_a_message_that_asks_for_tools_where_one_is_a_tool_call() -> None:
    call = tool_call("add", {"a": 1, "b": 2})
    blocks: list[AssistantContent] = [
        ThinkingContent(thinking="let me add", thinking_signature="s"),
        TextContent(text="adding"),
        call,
    ]
    message = await final(blocks)
    assert message.content == blocks
    assert message.stop_reason == "toolUse"
    assert (message.api, message.provider, message.model) == ("scripted", "test", "m")
    assert (message.timestamp, message.usage.total_tokens) == (0, 0)


async def test_a_whole_message_is_given_as_it_is() -> None:
    message = AssistantMessage(
        content=[TextContent(text="cut")], api="a", provider="p", model="n", stop_reason="length", timestamp=7
    )
    assert await final(message) == message


@pytest.mark.parametrize("reason", ["error", "aborted"])
async def test_a_failed_message_ends_with_an_error_event(reason: str) -> None:
    message = AssistantMessage.model_validate(
        {"api": "a", "provider": "p", "model": "n", "stop_reason": reason, "error_reason": "overloaded"}
    )
    assert (await events(message))[-1].type == "error"
    assert await final(message) == message


async def test_events_are_given_exactly() -> None:
    exact: list[AssistantMessageEvent] = [EventStart(), EventStart()]
    assert await events(exact) == exact


async def test_an_exception_is_raised() -> None:
    failure = ZeroDivisionError()
    with pytest.raises(ZeroDivisionError) as raised:
        await events(failure)
    assert raised.value is failure


async def test_an_empty_list_is_an_empty_answer() -> None:
    assert [event.type for event in await events([])] == ["start", "done"]


async def test_calls_are_answered_in_the_order_in_which_they_begin() -> None:
    provider = ScriptedProvider(["first", "second"])
    late, early = provider.stream(MODEL, HELLO), provider.stream(MODEL, HELLO)
    assert (await EventStream(early, MODEL)).text == "first"
    assert (await EventStream(late, MODEL)).text == "second"


@pytest.mark.parametrize("answers", [[], ["only"], ["one", "two"]])
async def test_without_an_answer_left_it_says_how_many_were_given(answers: Sequence[Answer]) -> None:
    provider = ScriptedProvider(answers)
    for _ in answers:
        await EventStream(provider.stream(MODEL, HELLO), MODEL)
    with pytest.raises(OutOfAnswers) as failure:
        await EventStream(provider.stream(MODEL, HELLO), MODEL)
    assert failure.value.given == len(answers)
    counted = {0: "0 answers", 1: "1 answer", 2: "2 answers"}[len(answers)]
    # calls are counted from 0, as in recordings and mismatches: of one answer, call 1 is the second
    assert str(failure.value).startswith(f"call {len(answers)} (from 0), but the script has {counted}:")


async def test_requests_are_kept_as_they_were_when_the_call_began() -> None:
    provider = ScriptedProvider(["answer"])
    context = HELLO.model_copy(deep=True)
    options = SimpleStreamOptions(temperature=0.5, signal=asyncio.Event(), metadata={"user": "u"})
    await EventStream(provider.stream_simple(MODEL, context, options), MODEL)
    context.messages.append(UserMessage(content="later"))
    assert options.metadata is not None
    options.metadata["user"] = "v"
    [request] = provider.requests
    assert (request.model, request.context) == (MODEL, HELLO)
    assert request.options == SimpleStreamOptions(temperature=0.5, metadata={"user": "u"})


async def test_changing_an_answer_does_not_change_the_script() -> None:
    call = tool_call("add", {"numbers": [1]})
    [seen] = (await final([call])).tool_calls
    seen.arguments["numbers"].append(2)
    assert call.arguments == {"numbers": [1]}


any_text = st.text(st.characters(), max_size=30)
any_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | any_text,
    lambda children: st.lists(children, max_size=3) | st.dictionaries(any_text, children, max_size=3),
)


@given(st.dictionaries(any_text, any_json, max_size=4))
def test_any_arguments_come_whole_through_the_deltas(arguments: dict[str, Any]) -> None:
    message = AssistantMessage(content=[tool_call("f", arguments)], api="a", provider="p", model="n")
    seen = list(message_events(message))
    deltas = [event.delta for event in seen if isinstance(event, EventToolCallDelta)]
    assert json.loads("".join(deltas)) == arguments


@given(st.lists(st.builds(TextContent, text=any_text) | st.builds(ThinkingContent, thinking=any_text), max_size=4))
def test_the_events_of_a_message_fold_to_it(blocks: list[TextContent | ThinkingContent]) -> None:
    message = AssistantMessage(content=[*blocks], api="a", provider="p", model="n")
    *before, last = message_events(message)
    fold = Fold("a", "p", "n")
    for event in before:
        fold.add(event)
    assert fold.partial == message
    assert last == EventDone(reason="stop", message=message)


async def test_a_block_alone_and_texts_among_blocks_are_answers() -> None:
    call = tool_call("add", {"a": 1})
    mixed: list[AssistantContent | str] = ["Let me add.", call]
    assert (await final(call)).content == [call]
    assert (await final(mixed)).content == [TextContent(text="Let me add."), call]
    assert (await final(["one", "two"])).content == [TextContent(text="one"), TextContent(text="two")]
    assert (await final([])).content == []


NO_ANSWERS: list[Any] = [None, 7, {"tool": "add"}, [{"tool": "add"}], ["text", 7], [tool_call("add", {}), EventStart()]]


@pytest.mark.parametrize("answer", NO_ANSWERS)
def test_what_is_no_answer_is_refused_at_once_and_by_its_number(answer: Any) -> None:
    with pytest.raises(TypeError, match=r"^answer 1 \(from 0\) is none: .*tool_call"):
        ScriptedProvider(["first", answer])


def test_a_text_in_place_of_the_answers_is_refused() -> None:
    with pytest.raises(TypeError, match="a list of answers"):
        ScriptedProvider("hello")


def test_tool_calls_of_one_answer_with_one_id_are_refused() -> None:
    with pytest.raises(ValueError, match=r"answer 0 .*'call-1'.*id=") as refused:
        ScriptedProvider([[tool_call("add", {"a": 1}), tool_call("sub", {"a": 1})]])
    assert "results apart" in str(refused.value)
