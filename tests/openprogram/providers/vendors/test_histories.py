"""Any conversation can be sent to any vendor: what it cannot take is left out or text (docs/vendors.md)."""

import json
import re
from collections.abc import Callable
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openprogram.providers.types import (
    AssistantContent,
    AssistantMessage,
    Context,
    DocumentContent,
    ImageContent,
    Message,
    ProviderContent,
    StopReason,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserContent,
    UserMessage,
)
from openprogram.providers.vendors import vendor_providers
from openprogram.providers.vendors.history import ANY_CALL_ID, CallIds, sendable_turns
from tests.openprogram.providers.vendors.loopback import Response, loopback
from tests.openprogram.providers.vendors.small_answers import ANSWERS, HELLO, KEY, model
from tests.shared_data import shared
from tests.wire.answers import final_message
from tests.wire.calls import Call, Place
from tests.wire.cases import WireCase, serve
from tests.wire.check import vendor_provider
from tests.wire.formats import APIS, FORMATS

# ---- conversations, however wrong

texts = st.sampled_from(["", " ", "a", "zwei\n", "\ud83d"])
call_ids = st.sampled_from(["", "c1", "abc123def", "call_" + "x" * 60, "ein Würfel!", "fc_1|msg_1"])
user_content: st.SearchStrategy[UserContent] = st.one_of(
    st.builds(TextContent, text=texts),
    st.just(ImageContent(data="aGk=", mime_type="image/png")),
    st.just(DocumentContent(data="aGk=", name="a.pdf")),
    st.just(DocumentContent(data="aGk=", mime_type="application/zip")),
    st.just(DocumentContent(text="words", mime_type="text/plain")),
    st.just(DocumentContent(url="https://docs.invalid/a.pdf")),
)
#: The vendor that is asked, and three others; an api of our own served by another company is another vendor.
OWN = ("own", "test")
makers = st.sampled_from([OWN, ("own", "elsewhere"), ("anthropic-messages", "anthropic"), ("mistral", "mistral")])
SECRET_SIGNATURE = "signed by another vendor"


def answer_content(api: str, provider: str) -> st.SearchStrategy[AssistantContent]:
    signature = st.none() | st.just(SECRET_SIGNATURE)
    data = {"type": "web_search_tool_result", "tool_use_id": "s", "content": SECRET_SIGNATURE}
    return st.one_of(
        st.builds(TextContent, text=texts, citations=st.none() | st.just([{"encrypted_index": SECRET_SIGNATURE}])),
        st.builds(ThinkingContent, thinking=texts, thinking_signature=signature, redacted=st.none() | st.just(True)),
        st.builds(ToolCall, id=call_ids, name=st.just("look"), arguments=st.just({"at": ["x"]})),
        st.just(ProviderContent(api=api, provider=provider, kind="web_search_tool_result", data=data)),
    )


@st.composite
def answers(draw: st.DrawFn, *, foreign: bool) -> AssistantMessage:
    api, provider = draw(makers.filter(lambda maker: maker != OWN) if foreign else makers)
    return AssistantMessage(
        content=draw(st.lists(answer_content(api, provider), max_size=4)),
        api=api,
        provider=provider,
        model="m",
        stop_reason=draw(st.sampled_from(["stop", "toolUse", "length", "error", "aborted"])),
    )


def conversations(*, foreign: bool) -> st.SearchStrategy[list[Message]]:
    user = st.builds(UserMessage, content=texts | st.lists(user_content, max_size=3))
    result = st.builds(
        ToolResultMessage,
        tool_call_id=call_ids,
        tool_name=st.just("look"),
        content=st.lists(user_content, max_size=2),
        is_error=st.booleans(),
    )
    single = st.one_of(user, answers(foreign=foreign), result).map(lambda message: [message])
    return st.lists(single | tool_turns(), max_size=5).map(lambda parts: [each for part in parts for each in part])


@st.composite
def tool_turns(draw: st.DrawFn) -> list[Message]:
    """An answer with calls, ids twice among them, and results for some of them, in any order, some of them twice."""
    ids = draw(st.lists(st.sampled_from(["c1", "abc123def", "ein Würfel!"]), min_size=1, max_size=3))
    called = AssistantMessage(
        content=[ToolCall(id=each, name="look") for each in ids], api="mistral", provider="mistral", model="m"
    )
    answered = draw(st.lists(st.sampled_from([*ids, "c1"]), max_size=4))
    text = [TextContent(text="seen")]
    return [called, *(ToolResultMessage(tool_call_id=each, tool_name="look", content=list(text)) for each in answered)]


# ---- the rules

#: Mistral's ids, the narrowest of all.
NINE = CallIds(re.compile("[a-zA-Z0-9]{9}"), 9)


@given(conversations(foreign=False), st.sampled_from([ANY_CALL_ID, NINE]))
def test_each_call_is_followed_by_its_one_result(messages: list[Message], ids: CallIds) -> None:
    turns = sendable_turns(messages, ids)
    seen: set[str] = set()
    for turn, following in zip(turns, [*turns, []][1:], strict=True):
        if isinstance(turn, list):
            roles = [message.role for message in turn]
            assert roles == sorted(roles), "results stand first"
            continue
        called = [call.id for call in turn.tool_calls]
        between = following if isinstance(following, list) else []
        assert sorted(called) == sorted(each.tool_call_id for each in between if isinstance(each, ToolResultMessage))
        assert not seen.intersection(called)
        assert len(set(called)) == len(called)
        assert all(ids.pattern.fullmatch(each) for each in called)
        seen.update(called)


@given(conversations(foreign=False))
def test_what_can_be_sent_stays_as_it_is_the_second_time(messages: list[Message]) -> None:
    once = sendable_turns(messages, NINE)
    flat = [each for turn in once for each in ([turn] if isinstance(turn, AssistantMessage) else turn)]
    assert sendable_turns(flat, NINE) == once


@given(conversations(foreign=False))
def test_the_conversation_itself_stays_as_it_was(messages: list[Message]) -> None:
    before = [message.model_copy(deep=True) for message in messages]
    sendable_turns(messages, NINE)
    assert messages == before


@given(conversations(foreign=False), conversations(foreign=False))
def test_an_id_once_sent_is_sent_again_when_the_conversation_goes_on(
    messages: list[Message], more: list[Message]
) -> None:
    """Up to what was last said, which the user goes on with."""
    begun = sendable_turns(messages, NINE)[:-1]
    answered = AssistantMessage(content=[TextContent(text="ok")])
    longer = [*messages, UserMessage(content="go on"), answered, *more]
    assert sendable_turns(longer, NINE)[: len(begun)] == begun


def test_of_two_calls_with_one_id_the_one_with_a_result_is_sent() -> None:
    twice = AssistantMessage(content=[ToolCall(id="c", name="look", arguments={"n": n}) for n in (1, 2)])
    seen = [
        ToolResultMessage(tool_call_id="c", tool_name="look", content=[TextContent(text=text)]) for text in ("1", "2")
    ]
    [called, results] = sendable_turns([twice, seen[0]], ANY_CALL_ID)
    assert isinstance(called, AssistantMessage)
    assert [call.arguments for call in called.tool_calls] == [{"n": 1}]
    assert results == [seen[0]]
    [called, results] = sendable_turns([twice, *seen], ANY_CALL_ID)
    assert isinstance(called, AssistantMessage)
    assert isinstance(results, list)
    first, second = called.tool_calls
    assert (first.id, first.arguments, second.arguments) == ("c", {"n": 1}, {"n": 2})
    assert second.id != "c"
    sent = [(each.tool_call_id, each.content) for each in results if isinstance(each, ToolResultMessage)]
    assert sent == [("c", seen[0].content), (second.id, seen[1].content)]


@pytest.mark.parametrize("reason", ["error", "aborted"])
def test_an_answer_that_failed_is_left_out(reason: StopReason) -> None:
    failed = AssistantMessage(content=[TextContent(text="half a")], stop_reason=reason)
    asked = UserMessage(content="go")
    assert sendable_turns([asked, failed, asked], ANY_CALL_ID) == [[asked, asked]]


def test_no_result_is_lost_with_its_call() -> None:
    lost = ToolResultMessage(tool_call_id="c", tool_name="look", content=[TextContent(text="seen")])
    [[said]] = sendable_turns([lost], NINE)
    note = "A result of the tool 'look', whose call is not part of this conversation:"
    assert said == UserMessage(content=[TextContent(text=note), TextContent(text="seen")])


# ---- each api


def anthropic_rules(body: dict[str, Any]) -> None:
    open_calls: list[str] = []
    for message in body["messages"]:
        content = message["content"]
        assert content
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        kinds = [block["type"] for block in blocks]
        assert all(block["text"] for block in blocks if block["type"] == "text")
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        assert sorted(results) == sorted(open_calls)
        assert kinds[: len(results)] == ["tool_result"] * len(results)
        open_calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
        assert all(re.fullmatch("[a-zA-Z0-9_-]+", each) for each in open_calls)
        assert all(block["signature"] for block in blocks if block["type"] == "thinking")
    assert not open_calls


def openai_rules(body: dict[str, Any]) -> None:
    open_calls: list[str] = []
    for message in body["messages"]:
        if message["role"] == "tool":
            open_calls.remove(message["tool_call_id"])
            continue
        assert not open_calls
        open_calls = [call["id"] for call in message.get("tool_calls") or []]
        assert all(0 < len(each) <= 40 for each in open_calls)
        assert message.get("content") or open_calls or message["role"] == "assistant"
    assert not open_calls


#: What an api demands of a request, as far as its documentation says.
RULES: dict[str, Callable[[dict[str, Any]], None]] = {
    "anthropic-messages": anthropic_rules,
    "openai-completions": openai_rules,
}


@pytest.mark.parametrize("api", ANSWERS)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(conversations(foreign=True))
def test_any_conversation_can_be_sent_to_any_vendor(api: str, messages: list[Message]) -> None:
    """Without an exception, without what another vendor signed, and as the api demands it."""

    async def ask() -> tuple[Any, str]:
        async with loopback(Response(ANSWERS[api])) as server:
            context = Context(messages=[*messages, *HELLO.messages])
            stream = vendor_providers(environ={})[api].stream(model(api, server.url), context, KEY)
            last = [event async for event in stream][-1]
        return server.requests[0][1], last.type

    body, ended = anyio.run(ask)
    assert ended == "done"
    assert SECRET_SIGNATURE not in json.dumps(body)
    if api in RULES:
        RULES[api](body)


# ---- real conversations, from one vendor to another

#: A conversation of each vendor: server-side tools with citations, signed thinking and tool calls, reasoning details.
CONVERSATIONS = [
    "anthropic-messages/web-search",
    "anthropic-messages/thinking-tool-loop",
    "anthropic-messages/pause-turn-long",
    "openai-compatible/openrouter-reasoning-tool-loop",
    "openai-chat/tools-parallel",
    "openai-responses/tool-loop-reasoning-4",
    "bedrock-converse/tool-loop",
    "google-generate/thought-signature-tool",
    "mistral-chat/tool-loop-4",
]

#: An answer of each vendor.
ANSWERING = [
    "anthropic-messages/text-short",
    "openai-chat/text-usage",
    "openai-responses/text",
    "bedrock-converse/text",
    "google-generate/text",
    "mistral-chat/thinking",
]


def case_of(name: str) -> WireCase:
    return WireCase(shared("wire", "cases", f"{name}.json"))


async def ask_case(
    case: WireCase, url: Any, exchange: int, messages: list[Message] | None
) -> tuple[Call, AssistantMessage]:
    """One exchange of a case, with its own conversation or another; the call, and what it was answered."""
    api = APIS[case.folder]
    call = FORMATS[api].call(case.exchanges[exchange]["request"], Place(api, case.provider, url.base_url))
    context = call.context if messages is None else Context(messages=messages)
    provider = vendor_provider(api)
    assert provider is not None
    events = [event async for event in provider.stream_simple(call.model, context, call.options)]
    return call, final_message(events)


@pytest.mark.anyio
@pytest.mark.filterwarnings("ignore:The model .* is deprecated:DeprecationWarning")
@pytest.mark.parametrize("target", ANSWERING)
@pytest.mark.parametrize("source", CONVERSATIONS)
async def test_a_real_conversation_goes_on_with_another_vendor(source: str, target: str) -> None:
    begun, answering = case_of(source), case_of(target)
    with serve(begun) as url:
        for exchange in range(len(begun.exchanges)):
            call, answer = await ask_case(begun, url, exchange, None)
    history: list[Message] = [*call.context.messages, answer, UserMessage(content="and then?")]
    with serve(answering) as url:
        _, went_on = await ask_case(answering, url, 0, history)
        assert (went_on.error_message, went_on.stop_reason) == (None, "stop")
        body = url.server.requests[0]["body"]
    if source.split("/")[0] != target.split("/")[0]:
        for opaque in opaque_texts(history):
            assert opaque not in json.dumps(body)
    if (api := APIS[answering.folder]) in RULES:
        RULES[api](body)


def opaque_texts(history: list[Message]) -> list[str]:
    """Signatures and encrypted content in what was answered."""
    found = []
    for message in history:
        for block in message.content if isinstance(message, AssistantMessage) else ():
            if isinstance(block, ThinkingContent) and len(block.thinking_signature or "") > 40:
                found.append(str(block.thinking_signature))
            elif isinstance(block, ProviderContent):
                found += re.findall(r'"(?:encrypted_content|encrypted_index)": "(.{40})', json.dumps(block.data))
    return found
