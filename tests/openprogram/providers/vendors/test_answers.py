"""Answers with peculiarities, written by hand after what vendors really send."""

from typing import Any

import pytest

from openprogram.providers.types import AssistantMessage, ProviderContent, TextContent, ThinkingContent
from openprogram.providers.vendors import vendor_providers
from tests.openprogram.providers.vendors.loopback import Response, event_stream, loopback, openai_stream
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
    pieces = event_stream(message_start(input_tokens=5), *events, message_delta(stop, **details), STOP)
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


def own(kind: str, data: dict[str, Any]) -> ProviderContent:
    return ProviderContent(api="anthropic-messages", provider="test", kind=kind, data=data)


async def test_the_blocks_of_server_side_tools_are_kept_as_the_vendor_wrote_them() -> None:
    use = {
        "type": "server_tool_use",
        "id": "s",
        "name": "a_tool_of_tomorrow",
        "input": {},
        "caller": {"type": "direct"},
    }
    found = {"type": "tomorrows_tool_result", "tool_use_id": "s", "content": [{"encrypted_content": "E", "new": None}]}
    message = await anthropic(
        block_start(0, {"type": "text", "text": ""}),
        block_delta(0, "text_delta", "text", "before"),
        block_stop(0),
        block_start(1, use),
        block_delta(1, "input_json_delta", "partial_json", '{"query"'),
        block_delta(1, "input_json_delta", "partial_json", ': "x"}'),
        block_stop(1),
        block_start(2, found),
        block_stop(2),
        block_start(3, {"type": "text", "text": ""}),
        block_delta(3, "text_delta", "text", "after"),
        block_stop(3),
        stop="pause_turn",
    )
    assert message.content == [
        TextContent(text="before"),
        own("server_tool_use", {**use, "input": {"query": "x"}}),
        own("tomorrows_tool_result", found),
        TextContent(text="after"),
    ]
    assert (message.stop_reason, message.paused) == ("stop", True)


async def test_input_of_a_server_side_tool_that_is_no_json_is_kept_as_text() -> None:
    message = await anthropic(
        block_start(0, {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}),
        block_delta(0, "input_json_delta", "partial_json", '{"query'),
        block_stop(0),
    )
    [block] = message.content
    assert isinstance(block, ProviderContent)
    assert block.data["input"] == '{"query'


async def test_a_block_that_did_not_end_is_none() -> None:
    message = await anthropic(block_start(0, {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}))
    assert (message.content, message.paused) == ([], None)


async def test_a_summary_of_the_conversation_is_one_block() -> None:
    message = await anthropic(
        block_start(0, {"type": "compaction", "content": None}),
        block_delta(0, "compaction_delta", "content", "So far: nothing."),
        block_stop(0),
    )
    assert message.content == [own("compaction", {"type": "compaction", "content": "So far: nothing."})]


async def test_citations_stay_with_their_text() -> None:
    cited = {"type": "web_search_result_location", "url": "u", "title": None, "encrypted_index": "E", "cited_text": "c"}
    located = {"type": "char_location", "document_index": 0, "start_char_index": 0, "end_char_index": 1, "new": [1]}
    message = await anthropic(
        block_start(0, {"type": "text", "text": "", "citations": []}),
        {"type": "content_block_delta", "index": 0, "delta": {"type": "citations_delta", "citation": cited}},
        block_delta(0, "text_delta", "text", "It is so."),
        {"type": "content_block_delta", "index": 0, "delta": {"type": "citations_delta", "citation": located}},
        block_stop(0),
        block_start(1, {"type": "text", "text": ""}),
        block_delta(1, "text_delta", "text", " Perhaps."),
        block_stop(1),
    )
    assert message.content == [
        TextContent(text="It is so.", citations=[cited, located]),
        TextContent(text=" Perhaps."),
    ]


async def test_the_container_that_code_ran_in_is_a_block_at_the_end() -> None:
    container = {"id": "container_1", "expires_at": "2026-01-01T00:00:00Z"}
    message = await anthropic(
        block_start(0, {"type": "text", "text": ""}),
        block_delta(0, "text_delta", "text", "done"),
        block_stop(0),
        container=container,
    )
    assert message.content == [TextContent(text="done"), own("container", container)]


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


async def test_the_sources_of_an_answer_are_a_block_at_its_end() -> None:
    found = {"citations": ["u1", "u2"], "search_results": [{"title": "t", "url": "u1", "new": None}]}
    annotation = {"type": "url_citation", "url_citation": {"start_index": 0, "end_index": 1, "url": "u", "title": "t"}}
    message = await openai(
        {**chunk({"content": "It is"}), "citations": ["u1"]},
        {**chunk({"content": " so.", "annotations": [annotation]}), **found},
        {**chunk({}, "stop"), **found},
    )
    sources = {**found, "annotations": [annotation]}
    assert message.content == [
        TextContent(text="It is so."),
        ProviderContent(api="openai-completions", provider="test", kind="sources", data=sources),
    ]


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
