"""The Responses API: what is its own. What all apis share is in test_provider.py."""

from typing import Any, cast

import pytest

from openprogram.providers.types import (
    AssistantMessage,
    Context,
    Model,
    ProviderContent,
    SimpleStreamOptions,
    StreamOptions,
    TextContent,
    ThinkingContent,
    Tool,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from openprogram.providers.vendors import VENDOR_APIS, vendor_providers
from tests.openprogram.providers.vendors.loopback import Response, event_stream, loopback
from tests.openprogram.providers.vendors.small_answers import (
    HELLO,
    KEY,
    completed,
    item_added,
    item_done,
    item_event,
    model,
)

pytestmark = pytest.mark.anyio

API = "openai-responses"
NO_TEXTS: dict[str, Any] = {"id": "rs", "type": "reasoning", "summary": [], "encrypted_content": "sealed"}
SEARCH = {"id": "ws", "type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "x"}}


async def asked(
    *events: dict[str, Any], context: Context = HELLO, options: StreamOptions = KEY, **fields: Any
) -> tuple[AssistantMessage, Any]:
    """The answer to one call, and the body that the server got."""
    async with loopback(Response(event_stream(*events))) as server:
        stream = vendor_providers(environ={})[API].stream(model(API, server.url, **fields), context, options)
        last = [event async for event in stream][-1]
    assert last.type in ("done", "error")
    return last.message if last.type == "done" else last.error, server.requests[0][1]


async def answer(*events: dict[str, Any]) -> AssistantMessage:
    return (await asked(*events))[0]


async def sent_back(*messages: Any, **fields: Any) -> list[dict[str, Any]]:
    """The input items of a call that continues with these messages, after the first question."""
    context = Context(messages=[*HELLO.messages, *messages])
    items: list[dict[str, Any]] = (await asked(completed(), context=context, **fields))[1]["input"]
    assert items.pop(0) == {"role": "user", "content": "hello"}
    return items


def message_item(*parts: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"id": "msg", "type": "message", "role": "assistant", "status": "completed", "content": [*parts], **fields}


def output_text(text: str, *annotations: dict[str, Any]) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [*annotations]}


# ---- what goes back


async def test_every_item_goes_back_as_it_came() -> None:
    cited = {"type": "url_citation", "url": "https://example.org", "start_index": 0, "end_index": 2, "title": "t"}
    items = [
        NO_TEXTS | {"summary": [{"type": "summary_text", "text": text} for text in ("First.", "Second.")]},
        SEARCH | {"nobody": {"knows": ["this", 1]}},
        NO_TEXTS | {"id": "rs-2"},
        {"id": "x", "type": "a_kind_of_item_from_the_future", "data": 7},
        message_item(output_text("So:", cited), output_text(" yes"), phase="commentary"),
        {"id": "fc", "type": "function_call", "call_id": "c", "name": "add", "arguments": '{"a":1}'},
    ]
    message = await answer(*(item_done(index, item) for index, item in enumerate(items)), completed())
    assert [block.type for block in message.content] == [
        *("thinking", "thinking", "provider", "thinking", "provider", "text", "text", "toolCall")
    ]
    result = ToolResultMessage(tool_call_id="c", tool_name="add", content=[TextContent(text="2")])
    *back, output = await sent_back(message, result)
    assert back == items
    assert output == {"type": "function_call_output", "call_id": "c", "output": "2"}


async def test_the_texts_of_a_reasoning_item_are_blocks_and_the_last_has_the_signature() -> None:
    texts = [{"type": "summary_text", "text": text} for text in ("First.", "Second.")]
    message = await answer(
        item_added(0, NO_TEXTS),
        item_event("reasoning_summary_text", "rs", "Fir", summary_index=0),
        item_event("reasoning_summary_text", "rs", "st.", summary_index=0),
        item_event("reasoning_summary_text", "rs", "Second.", summary_index=1),
        item_done(0, NO_TEXTS | {"summary": texts}),
        completed(),
    )
    first, second = message.content
    assert first == ThinkingContent(thinking="First.")
    assert isinstance(second, ThinkingContent)
    assert second.thinking == "Second."
    assert '"encrypted_content":"sealed"' in (second.thinking_signature or "")
    assert await sent_back(message) == [NO_TEXTS | {"summary": texts}]


async def test_thinking_itself_comes_before_a_summary_of_it() -> None:
    texts = {"content": [{"type": "reasoning_text", "text": "hm, hm"}]}
    item = {"id": "rs", "type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}], **texts}
    message = await answer(
        item_event("reasoning_text", "rs", "hm, ", content_index=0),
        item_event("reasoning_text", "rs", "hm", content_index=0),
        item_event("reasoning_summary_text", "rs", "hm", summary_index=0),
        item_done(0, item),
        completed(),
    )
    assert [block.thinking for block in message.content if isinstance(block, ThinkingContent)] == ["hm, hm"]
    assert await sent_back(message) == [item]


async def test_reasoning_that_shows_no_text_is_marked() -> None:
    message = await answer(item_done(0, NO_TEXTS), completed())
    [block] = message.content
    assert isinstance(block, ThinkingContent)
    assert (block.thinking, block.redacted) == ("", True)


async def test_reasoning_that_only_the_vendor_has_is_sent_back_only_where_the_vendor_stores() -> None:
    item = {"id": "rs", "type": "reasoning", "summary": []}
    message = await answer(item_done(0, item), completed())
    assert await sent_back(message) == []
    assert await sent_back(message, options=StreamOptions(api_key="k", store=True)) == [item]


async def test_items_of_another_provider_stay_there() -> None:
    message = await answer(item_done(0, NO_TEXTS), item_done(1, SEARCH), item_done(2, message_item(output_text("x"))))
    assert message.stop_reason == "error"  # no last event
    message = message.model_copy(update={"provider": "another", "stop_reason": "stop"})
    assert await sent_back(message) == [{"role": "assistant", "content": "x"}]


# ---- text


async def test_text_that_comes_in_no_delta_is_text() -> None:
    message = await answer(item_done(0, message_item(output_text("whole"))), completed())
    assert message.content == [TextContent(text="whole", text_signature='{"id":"msg"}')]


async def test_annotations_are_citations_however_they_come() -> None:
    cited = {"type": "url_citation", "url": "https://example.org", "start_index": 0, "end_index": 2, "new": 1}
    added = {"type": "response.output_text.annotation.added", "item_id": "msg", "content_index": 0, "annotation": cited}
    text = item_event("output_text", "msg", "So", content_index=0)
    done = {"type": "response.output_text.done", "item_id": "msg", "content_index": 0, "text": "So"}
    for events in ((text, added, done), (text,)):
        message = await answer(*events, item_done(0, message_item(output_text("So", cited))), completed())
        [block] = message.content
        assert isinstance(block, TextContent)
        assert (block.text, block.citations) == ("So", [cited])


# ---- ends

ENDS = [
    (completed("incomplete", incomplete_details={"reason": "max_output_tokens"}), "length", None),
    (completed("incomplete"), "length", None),
    (completed("incomplete", incomplete_details={"reason": "content_filter"}), "error", "content_filter"),
    (completed("failed"), "error", "server"),
    (completed("failed", error={"code": "server_error", "message": "Sorry"}), "error", "server"),
    (completed("failed", error={"code": "rate_limit_exceeded", "message": "Slow"}), "error", "rate_limit"),
    ({"type": "error", "code": "rate_limit_exceeded", "message": "Slow", "param": None}, "error", "rate_limit"),
    ({"type": "response.in_progress", "response": completed()["response"] | {"usage": None}}, "error", "network"),
]


@pytest.mark.parametrize(("last", "stop", "reason"), ENDS)
async def test_how_the_stream_ends_is_how_the_answer_does(last: dict[str, Any], stop: str, reason: str | None) -> None:
    message = await answer(item_event("output_text", "msg", "So", content_index=0), last)
    assert (message.stop_reason, message.error_reason, message.text) == (stop, reason, "So")


async def test_a_refusal_is_a_failure_in_the_models_words() -> None:
    refusal = item_event("refusal", "msg", "I won't.", content_index=0)
    message = await answer(refusal, completed())
    assert (message.error_reason, message.error_message, message.content) == ("content_filter", "I won't.", [])


async def test_events_that_nobody_knows_are_passed_over() -> None:
    message = await answer({"type": "response.something.new", "item_id": "msg", "delta": "?"}, completed())
    assert (message.stop_reason, message.content) == ("stop", [])


# ---- requests


async def test_nothing_is_stored_unless_the_call_says_so() -> None:
    _, body = await asked(completed())
    assert (body["store"], body["stream"], "include" in body, "previous_response_id" in body) == (
        *(False, True, False, False),
    )
    _, body = await asked(completed(), options=StreamOptions(api_key="k", store=True))
    assert body["store"] is True


REASONING: list[tuple[dict[str, Any], StreamOptions]] = [
    ({"reasoning": True}, KEY),
    ({}, SimpleStreamOptions(api_key="k", reasoning="low")),
]


@pytest.mark.parametrize(("fields", "options"), REASONING)
async def test_a_model_that_reasons_is_asked_for_it_in_encrypted_form(
    fields: dict[str, Any], options: StreamOptions
) -> None:
    _, body = await asked(completed(), options=options, **fields)
    assert body["include"] == ["reasoning.encrypted_content"]
    assert body.get("reasoning") == (
        {"effort": "low"} if isinstance(options, SimpleStreamOptions) and not fields else None
    )


OPENAIS = [
    ("https://api.openai.com/v1", True),
    ("https://x.openai.azure.com/openai/v1", True),
    ("https://api.deepseek.com", False),
    ("https://notopenai.com/v1", False),
]


@pytest.mark.parametrize(("base_url", "known"), OPENAIS)
def test_openais_own_servers_are_asked_for_a_summary_and_their_models_are_known(base_url: str, *, known: bool) -> None:
    row = next(row for row in VENDOR_APIS if row.api == API)
    at = Model(id="gpt-5", api=API, provider="p", base_url=base_url)
    body = cast(dict[str, Any], row.load().settings(at, HELLO, KEY).get("extra_body") or {})
    assert ("include" in body) is known
    body = cast(dict[str, Any], row.load().settings(at, HELLO, SimpleStreamOptions(reasoning="low"))["extra_body"])
    assert body["reasoning"] == ({"effort": "low", "summary": "auto"} if known else {"effort": "low"})


async def test_the_system_prompt_and_the_form_of_the_answer_have_their_fields() -> None:
    context = Context(system_prompt="Be brief.", messages=[UserMessage(content="hello")])
    options = StreamOptions(api_key="k", response_format={"type": "object"}, max_tokens=9)
    _, body = await asked(completed(), context=context, options=options)
    assert body["instructions"] == "Be brief."
    assert body["input"] == [{"role": "user", "content": "hello"}]
    assert body["max_output_tokens"] == 9
    assert body["text"]["format"]["schema"] == {"type": "object"}
    assert None not in body["text"]["format"].values()


async def test_a_tool_choice_goes_with_our_tools_and_with_the_vendors() -> None:
    context = HELLO.model_copy(update={"tools": [Tool(name="add"), Tool(name="now")]})
    choice = {"type": "function", "name": "add"}
    _, body = await asked(completed(), context=context, options=StreamOptions(api_key="k", tool_choice=choice))
    assert (body["tool_choice"], body["tools"][0]["name"]) == (choice, "add")
    options = StreamOptions(api_key="k", tool_choice="required", tools=[{"type": "web_search"}])
    _, body = await asked(completed(), options=options)
    assert (body["tool_choice"], body["tools"]) == ("required", [{"type": "web_search"}])


async def test_a_block_of_another_kind_of_history_is_no_item() -> None:
    """A message put together by hand: no signatures, nothing to send back but what it says."""
    call = ToolCall(id="c", name="add", arguments={"a": 1})
    message = AssistantMessage(
        content=[
            ThinkingContent(thinking="hm"),
            TextContent(text="yes"),
            call,
            ProviderContent(api="another", provider="test", kind="k", data={"type": "k"}),
        ],
        api=API,
        provider="test",
        model="m",
    )
    result = ToolResultMessage(tool_call_id="c", tool_name="add", content=[TextContent(text="2")])
    assert await sent_back(message, result) == [
        {"role": "assistant", "content": "yes"},
        {"type": "function_call", "call_id": "c", "name": "add", "arguments": '{"a":1}'},
        {"type": "function_call_output", "call_id": "c", "output": "2"},
    ]
