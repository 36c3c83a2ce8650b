"""Answers with peculiarities, written by hand after what vendors really send."""

from typing import Any

import pytest

from openprogram.providers.types import AssistantMessage, TextContent, ThinkingContent
from openprogram.providers.vendors import vendor_providers
from tests.openprogram.providers.vendors.loopback import Response, anthropic_stream, loopback, openai_stream
from tests.openprogram.providers.vendors.small_answers import (
    HELLO,
    KEY,
    block_delta,
    block_start,
    block_stop,
    chunk,
    message_delta,
    message_start,
    model,
)

pytestmark = pytest.mark.anyio

STOP = {"type": "message_stop"}


async def answered(api: str, pieces: list[bytes], **fields: Any) -> AssistantMessage:
    async with loopback(Response(pieces)) as server:
        stream = vendor_providers(environ={})[api].stream(model(api, server.url, **fields), HELLO, KEY)
        last = [event async for event in stream][-1]
    assert last.type in ("done", "error")
    return last.message if last.type == "done" else last.error


async def anthropic(*events: dict[str, Any], stop: str = "end_turn", **details: Any) -> AssistantMessage:
    pieces = anthropic_stream(message_start(input_tokens=5), *events, message_delta(stop, **details), STOP)
    return await answered("anthropic-messages", pieces)


async def openai(*chunks: dict[str, Any], **fields: Any) -> AssistantMessage:
    return await answered("openai-completions", openai_stream(*chunks), **fields)


async def test_redacted_thinking_is_kept_as_an_opaque_signature() -> None:
    message = await anthropic(block_start(0, {"type": "redacted_thinking", "data": "sealed"}), block_stop(0))
    assert message.content == [ThinkingContent(thinking="", thinking_signature="sealed", redacted=True)]


async def test_thinking_without_text_is_not_redacted() -> None:
    message = await anthropic(
        block_start(0, {"type": "thinking", "thinking": "", "signature": ""}),
        block_delta(0, "signature_delta", "signature", "signed"),
        block_stop(0),
    )
    assert message.content == [ThinkingContent(thinking="", thinking_signature="signed")]


async def test_server_side_tools_are_passed_over() -> None:
    use = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    found = {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}
    message = await anthropic(
        block_start(0, {"type": "text", "text": ""}),
        block_delta(0, "text_delta", "text", "before"),
        block_stop(0),
        block_start(1, use),
        block_delta(1, "input_json_delta", "partial_json", '{"query": "x"}'),
        block_stop(1),
        block_start(2, found),
        block_stop(2),
        block_start(3, {"type": "text", "text": ""}),
        block_delta(3, "text_delta", "text", "after"),
        block_stop(3),
        stop="pause_turn",
    )
    assert message.content == [TextContent(text="before"), TextContent(text="after")]
    assert message.stop_reason == "stop"


@pytest.mark.parametrize(
    ("stop", "ours"),
    [("end_turn", "stop"), ("stop_sequence", "stop"), ("max_tokens", "length"), ("something_new", "stop")],
)
async def test_a_stop_reason_of_anthropic(stop: str, ours: str) -> None:
    assert (await anthropic(stop=stop)).stop_reason == ours


@pytest.mark.parametrize(
    ("finish", "ours"), [("stop", "stop"), ("length", "length"), ("tool_calls", "toolUse"), ("something_new", "stop")]
)
async def test_a_finish_reason_of_openai(finish: str, ours: str) -> None:
    assert (await openai(chunk({"content": "x"}), chunk({}, finish))).stop_reason == ours


async def test_a_refusal_at_anthropic_keeps_the_text_before_it() -> None:
    message = await anthropic(
        block_start(0, {"type": "text", "text": ""}),
        block_delta(0, "text_delta", "text", "Well, "),
        stop="refusal",
        stop_details={"type": "refusal", "category": "cyber", "explanation": "Not this."},
    )
    assert (message.error_reason, message.error_retryable, message.text) == ("content_filter", False, "Well, ")
    assert message.error_message == "Not this. (category: cyber)"


async def test_a_refusal_at_openai_is_the_errors_message() -> None:
    message = await openai(chunk({"refusal": "I "}), chunk({"refusal": "won't."}), chunk({}, "stop"))
    assert (message.error_reason, message.error_message, message.content) == ("content_filter", "I won't.", [])


async def test_a_content_filter_is_a_failure() -> None:
    message = await openai(chunk({"content": "So "}), chunk({}, "content_filter"))
    assert (message.error_reason, message.error_retryable, message.text) == ("content_filter", False, "So ")


async def test_of_several_choices_the_first_is_read() -> None:
    message = await openai(
        chunk({"content": "a"}, index=1),
        chunk({"content": "b"}),
        chunk({}, "length", index=1),
        chunk({"content": "c"}),
        chunk({}, "stop"),
    )
    assert (message.text, message.stop_reason) == ("bc", "stop")


async def test_thinking_between_tags_is_thinking() -> None:
    texts = ("<think>", "hm", "</think>", "yes")
    message = await openai(*(chunk({"content": text}) for text in texts), chunk({}, "stop"))
    assert message.content == [
        ThinkingContent(thinking="hm", thinking_signature="content"),
        TextContent(text="yes"),
    ]


async def test_reasoning_details_of_openrouter_become_one_signature() -> None:
    detail = {"type": "reasoning.text", "text": "hm", "format": "anthropic-claude-v1", "index": 0}
    signed = {**detail, "text": "", "signature": "signed"}
    message = await openai(
        chunk({"content": "", "reasoning_details": [detail]}),
        chunk({"content": "", "reasoning_details": [signed]}),
        chunk({"content": "yes"}, "stop"),
        provider="openrouter",
        id="vendor/m",
    )
    details = '{"format":"anthropic-claude-v1","index":0,"type":"reasoning.text"}'
    assert message.content == [
        ThinkingContent(thinking="hm", thinking_signature=f'{{"details":{details},"id":null,"signature":"signed"}}'),
        TextContent(text="yes"),
    ]
