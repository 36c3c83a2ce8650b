"""Mistral's chat completions: contents that are strings or lists, whole tool calls, and what is sent back."""

from typing import Any

import pytest

from openprogram.providers.types import (
    AssistantContent,
    AssistantMessage,
    Context,
    DocumentContent,
    Message,
    SimpleStreamOptions,
    StreamOptions,
    TextContent,
    ThinkingContent,
    Tool,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from openprogram.providers.vendors import vendor_providers
from tests.openprogram.providers.vendors.loopback import Response, loopback, openai_stream
from tests.openprogram.providers.vendors.small_answers import HELLO, KEY, chunk, model, response, usage_chunk

pytestmark = pytest.mark.anyio

API = "mistral-conversations"
ADD = Tool(name="add", description="Adds.", parameters={"type": "object", "properties": {"a": {"type": "integer"}}})


async def asked(answer: Response) -> AssistantMessage:
    async with loopback(answer) as server:
        stream = vendor_providers(environ={})[API].stream(model(API, server.url), HELLO, KEY)
        last = [event async for event in stream][-1]
    assert last.type in ("done", "error")
    return last.message if last.type == "done" else last.error


async def answered(*chunks: dict[str, Any], done: bool = True) -> AssistantMessage:
    return await asked(Response(openai_stream(*chunks, done=done)))


async def sent(
    *messages: Message, options: StreamOptions | None = None, tools: list[Tool] | None = None, **fields: Any
) -> dict[str, Any]:
    """The body of the one request that a call makes."""
    context = Context(messages=list(messages) or HELLO.messages, tools=tools)
    async with loopback(response(API)) as server:
        provider = vendor_providers(environ={"MISTRAL_API_KEY": "k"})[API]
        async for _ in provider.stream_simple(model(API, server.url, **fields), context, options):  # type: ignore[arg-type]
            pass
    [(_, body)] = server.requests
    assert isinstance(body, dict)
    return body


def said(*content: AssistantContent) -> AssistantMessage:
    return AssistantMessage(content=list(content), api=API, provider="test", model="m")


def thought(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "thinking", "thinking": [{"type": "text", "text": text}], **more}


def whole_call(call_id: str | None, arguments: str, **more: Any) -> dict[str, Any]:
    call = {"type": "function", "function": {"name": "add", "arguments": arguments}, **more}
    return call if call_id is None else {"id": call_id, **call}


# ---- answers


async def test_content_may_change_between_strings_and_lists() -> None:
    message = await answered(
        chunk({"content": [thought("hm, ")]}),
        chunk({"content": [thought("so")]}),
        chunk({"content": [thought("."), {"type": "text", "text": "Well"}]}),
        chunk({"content": ", "}),
        chunk({"content": [{"type": "text", "text": "yes."}]}),
        chunk({"content": ""}, "stop"),
    )
    assert message.content == [ThinkingContent(thinking="hm, so."), TextContent(text="Well, yes.")]


async def test_thinking_and_text_may_take_turns() -> None:
    message = await answered(
        chunk({"content": [thought("a")]}),
        chunk({"content": "b"}),
        chunk({"content": [thought("c", signature="signed"), {"type": "text", "text": "d"}, thought("e")]}),
        chunk({"content": ""}, "stop"),
    )
    assert message.content == [
        ThinkingContent(thinking="a"),
        TextContent(text="b"),
        ThinkingContent(thinking="c", thinking_signature="signed"),
        TextContent(text="d"),
        ThinkingContent(thinking="e"),
    ]


async def test_chunks_that_are_no_text_are_passed_over() -> None:
    message = await answered(
        chunk({"content": "see "}),
        chunk({"content": [{"type": "reference", "reference_ids": [1]}, {"type": "something_new", "x": 1}]}),
        chunk({"content": None}),
        chunk({"content": "here"}, "stop"),
    )
    assert message.content == [TextContent(text="see here")]


@pytest.mark.parametrize("second", [{"index": 1}, {}, {"index": 0}])
async def test_whole_calls_in_one_chunk_stay_apart(second: dict[str, int]) -> None:
    calls = [whole_call("aaaaaaaaa", '{"a": 1}'), whole_call("bbbbbbbbb", '{"a": 2}', **second)]
    message = await answered(chunk({"tool_calls": calls}, "tool_calls"))
    assert [(call.id, call.arguments) for call in message.tool_calls] == [
        ("aaaaaaaaa", {"a": 1}),
        ("bbbbbbbbb", {"a": 2}),
    ]
    assert message.stop_reason == "toolUse"


async def test_pieces_of_a_call_join() -> None:
    pieces = [whole_call("aaaaaaaaa", '{"a"', index=0), whole_call(None, ": 1}", index=0)]
    message = await answered(*(chunk({"tool_calls": [piece]}) for piece in pieces), chunk({}, "tool_calls"))
    assert [(call.id, call.arguments) for call in message.tool_calls] == [("aaaaaaaaa", {"a": 1})]


async def test_a_call_without_an_id_gets_one() -> None:
    message = await answered(chunk({"tool_calls": [whole_call(None, "{}")]}, "tool_calls"))
    [call] = message.tool_calls
    assert call.id not in ("", "null")


async def test_text_after_a_call_is_a_block_of_its_own() -> None:
    message = await answered(
        chunk({"content": "a"}),
        chunk({"tool_calls": [whole_call("aaaaaaaaa", "{}")]}),
        chunk({"content": "b"}, "tool_calls"),
    )
    assert [block.type for block in message.content] == ["text", "toolCall", "text"]


STOPS = [
    ("stop", "stop"),
    ("length", "length"),
    ("model_length", "length"),
    ("tool_calls", "toolUse"),
    ("something_new", "stop"),
]


@pytest.mark.parametrize(("finish", "ours"), STOPS)
async def test_a_finish_reason_of_mistral(finish: str, ours: str) -> None:
    assert (await answered(chunk({"content": "x"}), chunk({"content": ""}, finish))).stop_reason == ours


async def test_an_answer_that_its_model_ended_with_an_error_is_a_failure() -> None:
    message = await answered(chunk({"content": "x"}), chunk({"content": ""}, "error"))
    assert (message.error_reason, message.error_retryable, message.text) == ("server", True, "x")


async def test_a_finish_reason_or_done_makes_an_answer_whole() -> None:
    assert (await answered(chunk({"content": "x"}, "stop"), done=False)).stop_reason == "stop"
    assert (await answered(chunk({"content": "x"}))).stop_reason == "stop"
    assert (await answered(chunk({"content": "x"}), done=False)).error_reason == "network"


async def test_the_first_choice_and_the_last_usage_count() -> None:
    usage = {"usage": usage_chunk(10, 4, cached=3)["usage"]}
    message = await answered(
        {**chunk({"content": "no"}, index=1), **usage},
        chunk({"content": "yes"}),
        {**chunk({"content": ""}, "stop"), **usage},
    )
    assert message.text == "yes"
    assert (message.usage.input, message.usage.output, message.usage.cache_read) == (7, 4, 3)


ERRORS = [
    ({"object": "error", "message": "Slow down", "type": "rate_limited", "code": "1300"}, "rate_limit", True),
    ({"object": "error", "message": "Slow down", "type": "rate_limit_error", "code": 429}, "rate_limit", True),
    (
        {"object": "error", "message": "Full", "type": "service_tier_capacity_exceeded", "code": "3505"},
        "overloaded",
        True,
    ),
    ({"error": {"message": "Bad", "type": "invalid_request_error"}}, "invalid_request", False),
    ({"message": "Oh", "type": "unreachable_backend", "code": "1100"}, "server", True),
]


@pytest.mark.parametrize(("error", "reason", "retryable"), ERRORS)
async def test_an_error_in_the_stream_is_the_providers_word(
    error: dict[str, Any], reason: str, *, retryable: bool
) -> None:
    for pieces in (openai_stream(error), [b"event: error\n" + openai_stream(error)[0]]):
        message = await asked(Response([*openai_stream(chunk({"content": "So "}), done=False), *pieces]))
        assert (message.error_reason, message.error_retryable, message.text) == (reason, retryable, "So ")
        assert message.error_message in ("Slow down", "Full", "Bad", "Oh")


async def test_a_chunk_that_is_none_is_no_answer() -> None:
    message = await answered(chunk({"content": "So "}), {"choices": [7]})
    assert (message.error_reason, message.text) == ("invalid_response", "So ")


BODIES = [
    (401, {"detail": "Invalid API Key"}, "401: Invalid API Key", "auth"),
    (400, {"object": "error", "message": "Too long", "type": "x", "code": "3051"}, "400: Too long", "context_overflow"),
    (
        422,
        {"detail": [{"loc": ["body", "messages"], "msg": "Field required", "type": "missing"}]},
        "422: Field required",
        "invalid_request",
    ),
    (
        422,
        {"object": "error", "message": {"detail": [{"loc": ["body"], "msg": "Extra inputs", "type": "x"}]}},
        "422: Extra inputs",
        "invalid_request",
    ),
    (
        429,
        {"object": "error", "message": "Requests rate limit exceeded", "code": "1300"},
        "429: Requests rate limit exceeded",
        "rate_limit",
    ),
]


@pytest.mark.parametrize(("status", "body", "words", "reason"), BODIES)
async def test_an_error_has_its_words_in_many_places(status: int, body: Any, words: str, reason: str) -> None:
    message = await asked(Response.json(status, body))
    assert (message.error_message, message.error_reason) == (words, reason)


# ---- requests


async def test_options_that_are_not_given_are_left_to_the_vendor() -> None:
    assert set(await sent()) == {"model", "messages", "stream"}
    assert set(await sent(tools=[ADD])) == {"model", "messages", "stream", "tools", "tool_choice"}


async def test_options_have_their_places_in_the_request() -> None:
    given = {
        "temperature": 0.5,
        "max_tokens": 7,
        "metadata": {"team": "a"},
        "service_tier": "flex",
        "parallel_tool_calls": False,
        "tool_choice": "required",
        "top_p": 0.9,
        "random_seed": 3,
        "something_new": {"a": None},
        "reasoning": "low",
    }
    body = await sent(options=SimpleStreamOptions.model_validate(given), tools=[ADD])
    expected = given | {"tool_choice": "any", "reasoning_effort": "high"}
    del expected["reasoning"]
    assert {key: body[key] for key in expected} == expected


async def test_models_that_always_reason_are_not_told_to() -> None:
    body = await sent(options=SimpleStreamOptions(reasoning="high"), id="magistral-medium-2509")
    assert "reasoning_effort" not in body


async def test_a_response_format_is_sent_as_it_is() -> None:
    schema = {"type": "object", "title": "T", "properties": {"n": {"type": "integer"}}}
    body = await sent(options=StreamOptions(response_format=schema).model_copy())
    assert body["response_format"] == {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}


async def test_thinking_goes_back_in_its_place_with_its_signature() -> None:
    body = await sent(
        UserMessage(content="a"),
        said(
            ThinkingContent(thinking="hm", thinking_signature="signed"),
            TextContent(text="yes"),
            ThinkingContent(thinking="or"),
            TextContent(text="no"),
        ),
        UserMessage(content="b"),
    )
    assert body["messages"][1]["content"] == [
        thought("hm", signature="signed"),
        {"type": "text", "text": "yes"},
        thought("or"),
        {"type": "text", "text": "no"},
    ]


async def test_calls_of_another_vendor_get_ids_of_nine_characters() -> None:
    foreign = said(ToolCall(id="toolu_01CQfT", name="add", arguments={"a": 1}), ToolCall(id="toolu_02", name="add"))
    body = await sent(
        UserMessage(content="a"),
        foreign.model_copy(update={"api": "anthropic-messages", "provider": "anthropic"}),
        ToolResultMessage(tool_call_id="toolu_01CQfT", tool_name="add", content=[TextContent(text="1")]),
        ToolResultMessage(tool_call_id="toolu_02", tool_name="add", content=[TextContent(text="2")]),
    )
    calls = [call["id"] for call in body["messages"][1]["tool_calls"]]
    assert all(len(call) == 9 and call.isalnum() for call in calls)
    assert [message["tool_call_id"] for message in body["messages"][2:]] == calls


async def test_a_document_is_a_file_or_a_url() -> None:
    page = DocumentContent(url="https://example.com/a.pdf", mime_type="application/pdf")
    body = await sent(UserMessage(content=[TextContent(text="read"), page]))
    assert body["messages"][0]["content"][1] == {"type": "document_url", "document_url": page.url}


@pytest.mark.parametrize("path", ["", "/", "/v1", "/v1/"])
async def test_a_base_url_may_end_in_the_version(path: str) -> None:
    async with loopback(response(API)) as server:
        provider = vendor_providers(environ={})[API]
        async for _ in provider.stream(model(API, server.url + path), HELLO, KEY):
            pass
    assert server.wire[0].target == "/v1/chat/completions"


async def test_a_user_agent_of_the_caller_is_sent() -> None:
    async with loopback(response(API)) as server:
        provider = vendor_providers(environ={})[API]
        options = StreamOptions(api_key="k", headers={"user-agent": "mine"})
        async for _ in provider.stream(model(API, server.url), HELLO, options):
            pass
    assert server.requests[0][0]["user-agent"] == "mine"
