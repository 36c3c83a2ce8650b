"""Gemini's API: what is its own. What all apis share is in test_provider.py."""

import base64
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from openprogram.providers.types import (
    AssistantMessage,
    AssistantMessageEvent,
    Context,
    DocumentContent,
    ImageContent,
    Message,
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
from openprogram.providers.vendors import VENDOR_APIS, VendorProvider
from openprogram.providers.vendors.dialect import Endpoint
from openprogram.providers.vendors.google_client import ContentsClient
from tests.openprogram.providers.vendors.loopback import Response, loopback, openai_stream
from tests.openprogram.providers.vendors.small_answers import HELLO, KEY, google_chunk, model

pytestmark = pytest.mark.anyio

API = "google-generative-ai"
SIGNED, SIGNED_TOO = (base64.b64encode(text).decode() for text in (b"signed", b"signed too"))
PNG = base64.b64encode(b"png").decode()


def provider(**environ: str) -> VendorProvider:
    [row] = [row for row in VENDOR_APIS if row.api == API]
    return VendorProvider(row, environ=environ, now_ms=lambda: 42)


async def events_of(stream: AsyncIterator[AssistantMessageEvent]) -> AssistantMessage:
    last = [event async for event in stream][-1]
    assert last.type in ("done", "error")
    return last.message if last.type == "done" else last.error


async def asked(
    *chunks: dict[str, Any], context: Context = HELLO, options: StreamOptions = KEY, **fields: Any
) -> tuple[AssistantMessage, Any]:
    """The answer to one call, and the body that the server got."""
    async with loopback(Response(openai_stream(*chunks, done=False))) as server:
        message = await events_of(provider().stream(model(API, server.url, **fields), context, options))
    assert len(server.requests) == 1
    return message, server.requests[0][1]


async def answer(*parts: dict[str, Any], finish: str = "STOP") -> AssistantMessage:
    """The answer whose parts come one a chunk, before an empty last one."""
    message, _ = await asked(*(google_chunk(part) for part in parts), google_chunk(finish=finish))
    return message


async def sent_back(*messages: Message, **fields: Any) -> list[dict[str, Any]]:
    """The contents of a call that continues with these messages, after the first question."""
    context = Context(messages=[*HELLO.messages, *messages])
    contents: list[dict[str, Any]] = (await asked(google_chunk(finish="STOP"), context=context, **fields))[1][
        "contents"
    ]
    assert contents.pop(0) == {"role": "user", "parts": [{"text": "hello"}]}
    return contents


def results(message: AssistantMessage, text: str = "2") -> list[Message]:
    return [
        ToolResultMessage(tool_call_id=call.id, tool_name=call.name, content=[TextContent(text=text)])
        for call in message.tool_calls
    ]


def function_call(name: str = "add", **fields: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": {"a": 1}}, **fields}


# ---- what goes back


async def test_every_part_goes_back_as_it_came() -> None:
    parts: list[dict[str, Any]] = [
        {"text": "hm", "thought": True},
        {"text": "hm, signed", "thought": True, "thoughtSignature": SIGNED},
        {"executableCode": {"language": "PYTHON", "code": "1+1", "id": "x", "new": [1]}, "thoughtSignature": SIGNED},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2"}},
        {"aPartFromTheFuture": {"deep": {"er": None}}},
        {"text": "So: "},
        {"text": "", "thoughtSignature": SIGNED_TOO},
        function_call(thoughtSignature=SIGNED),
        function_call("now"),
    ]
    message = await answer(*parts)
    assert [block.type for block in message.content] == [
        *("thinking", "thinking", "provider", "provider", "provider", "text", "text", "toolCall", "toolCall")
    ]
    model_turn, _ = await sent_back(message, *results(message))
    assert model_turn == {"role": "model", "parts": parts}


async def test_a_signature_stays_with_the_text_that_it_came_with() -> None:
    parts = [{"text": "a"}, {"text": "b"}, {"text": "c", "thoughtSignature": SIGNED}, {"text": "d"}]
    message = await answer(*parts)
    assert message.content == [
        TextContent(text="ab"),
        TextContent(text="c", text_signature=SIGNED),
        TextContent(text="d"),
    ]
    [model_turn] = await sent_back(message)
    assert model_turn["parts"] == [{"text": "ab"}, *parts[2:]]


async def test_parts_of_one_chunk_keep_their_order() -> None:
    code = {"executableCode": {"language": "PYTHON", "code": "1"}}
    whole = google_chunk({"text": "a"}, code, {"text": "b"}, function_call(), function_call("now"), finish="STOP")
    message, _ = await asked(whole)
    assert [block.type for block in message.content] == ["text", "provider", "text", "toolCall", "toolCall"]
    assert message.stop_reason == "toolUse"


async def test_what_is_said_of_the_whole_answer_is_a_block_that_stays_here() -> None:
    grounding = {"webSearchQueries": ["x"], "groundingChunks": [{"web": {"uri": "https://example.org", "new": 1}}]}
    said = google_chunk({"text": "So"}, finish="STOP")
    said["candidates"][0]["groundingMetadata"] = grounding
    first = google_chunk({"text": "And: "})
    first["candidates"][0]["groundingMetadata"] = {}
    message, _ = await asked(first, said)
    text, block = message.content
    assert text == TextContent(text="And: So")
    assert block == ProviderContent(api=API, provider="test", kind="groundingMetadata", data=grounding)
    assert await sent_back(message) == [{"role": "model", "parts": [{"text": "And: So"}]}]


async def test_a_signature_without_anything_is_kept_and_stays_here() -> None:
    message = await answer({"text": "So"}, {"thoughtSignature": SIGNED})
    assert [block.type for block in message.content] == ["text", "provider"]
    assert await sent_back(message) == [{"role": "model", "parts": [{"text": "So"}]}]


# ---- calls without an id


async def test_calls_without_an_id_are_numbered_through_the_conversation() -> None:
    first, again = [await answer(function_call(), function_call("now")) for _ in range(2)]
    assert [call.id for call in first.tool_calls] == ["gemini_call_1", "gemini_call_2"]
    assert first == again  # the same in every run
    history = Context(messages=[*HELLO.messages, first, *results(first)])
    third, _ = await asked(google_chunk(function_call(), finish="STOP"), context=history)
    assert [call.id for call in third.tool_calls] == ["gemini_call_3"]


async def test_ids_that_gemini_did_not_give_are_not_sent() -> None:
    message = await answer(function_call(), {"functionCall": {"name": "now", "id": "theirs"}})
    model_turn, user_turn = await sent_back(message, *results(message))
    assert [part["functionCall"].get("id") for part in model_turn["parts"]] == [None, "theirs"]
    assert [part["functionResponse"].get("id") for part in user_turn["parts"]] == [None, "theirs"]


# ---- results, images, documents


async def test_results_stand_alone_and_what_they_show_follows() -> None:
    message = await answer(function_call(), function_call("show"))
    add, show = message.tool_calls
    failed = ToolResultMessage(tool_call_id=add.id, tool_name="add", content=[TextContent(text="no")], is_error=True)
    shown = ToolResultMessage(
        tool_call_id=show.id, tool_name="show", content=[ImageContent(data=PNG, mime_type="image/png")]
    )
    contents = await sent_back(message, failed, shown, UserMessage(content="And?"))
    assert [content["role"] for content in contents] == ["model", "user", "user"]
    assert [part["functionResponse"]["response"] for part in contents[1]["parts"]] == [
        {"error": "no"},
        {"output": "(see the image below)"},
    ]
    assert contents[2]["parts"] == [
        {"text": "Shown by the tool 'show' (call gemini_call_2):"},
        {"inlineData": {"mimeType": "image/png", "data": PNG}},
        {"text": "And?"},
    ]


async def test_documents_are_files() -> None:
    pdf = DocumentContent(data=PNG, mime_type="application/pdf", name="terms")
    far = DocumentContent(url="https://example.org/a.pdf", mime_type="application/pdf")
    text = DocumentContent(text="No smoking.", name="rules")
    said = AssistantMessage(content=[TextContent(text="x")])
    contents = await sent_back(said, UserMessage(content=[pdf, far, text]))
    assert contents[-1]["parts"] == [
        {"text": "Document 'terms':"},
        {"inlineData": {"mimeType": "application/pdf", "data": PNG}},
        {"fileData": {"fileUri": "https://example.org/a.pdf", "mimeType": "application/pdf"}},
        {"text": "Document 'rules':\n\nNo smoking."},
    ]


# ---- conversations that another model began


async def test_calls_of_another_model_go_with_a_word_for_no_signature() -> None:
    call = ToolCall(id="c", name="add", arguments={"a": 1}, thought_signature="another vendor's")
    made = AssistantMessage(content=[ThinkingContent(thinking="hm", thinking_signature="s"), call], api="another")
    model_turn, user_turn = await sent_back(made, *results(made))
    signature = base64.b64encode(b"skip_thought_signature_validator").decode()
    assert model_turn["parts"] == [
        {"text": "hm", "thought": True},
        {"functionCall": {"id": "c", "name": "add", "args": {"a": 1}}, "thoughtSignature": signature},
    ]
    assert user_turn["parts"][0]["functionResponse"]["id"] == "c"


# ---- ends

ENDS = [
    ("STOP", "stop", None),
    ("MAX_TOKENS", "length", None),
    ("SAFETY", "error", "content_filter"),
    ("RECITATION", "error", "content_filter"),
    ("PROHIBITED_CONTENT", "error", "content_filter"),
    ("MALFORMED_FUNCTION_CALL", "error", "server"),
    ("UNEXPECTED_TOOL_CALL", "error", "server"),
    ("OTHER", "error", "server"),
]


@pytest.mark.parametrize(("finish", "stop", "reason"), ENDS)
async def test_a_finish_reason(finish: str, stop: str, reason: str | None) -> None:
    message = await answer({"text": "So"}, finish=finish)
    assert (message.stop_reason, message.error_reason, message.text) == (stop, reason, "So")
    assert message.error_retryable is (None if reason is None else reason == "server")
    assert message.usage.output == 12
    if reason:
        assert finish in (message.error_message or "")


async def test_a_finish_message_is_told() -> None:
    chunk = google_chunk(finish="MALFORMED_FUNCTION_CALL")
    chunk["candidates"][0]["finishMessage"] = "print(add("
    message, _ = await asked(chunk)
    assert (message.error_message or "").endswith("MALFORMED_FUNCTION_CALL: print(add(")


async def test_a_prompt_that_is_blocked() -> None:
    feedback = {"blockReason": "PROHIBITED_CONTENT", "blockReasonMessage": "Not this."}
    message, _ = await asked({"promptFeedback": feedback, "modelVersion": "m"})
    assert (message.error_reason, message.error_retryable) == ("content_filter", False)
    assert message.error_message == "the prompt was blocked: PROHIBITED_CONTENT: Not this."


async def test_of_several_candidates_the_first_is_read() -> None:
    other = google_chunk({"text": "no"}, finish="MAX_TOKENS")
    other["candidates"][0]["index"] = 1
    message, _ = await asked(other, google_chunk({"text": "yes"}, finish="STOP"), other)
    assert (message.text, message.stop_reason) == ("yes", "stop")


async def test_an_answer_that_was_cut_at_a_limit_is_not_continued_behind_our_back() -> None:
    chunk = google_chunk({"text": "So"}, finish="CONTINUATION")
    chunk["candidates"][0]["continuationToken"] = SIGNED
    message, _ = await asked(chunk)  # which says that there was one request
    assert (message.stop_reason, message.text) == ("length", "So")


async def test_an_error_in_the_stream_after_a_finish_reason_is_an_error() -> None:
    error = b'{\n  "error": {\n    "code": 429,\n    "message": "Slow",\n    "status": "RESOURCE_EXHAUSTED"\n  }\n}\n'
    pieces = [*openai_stream(google_chunk({"text": "So"}, finish="STOP"), done=False), error]
    async with loopback(Response(pieces)) as server:
        message = await events_of(provider().stream(model(API, server.url), HELLO, KEY))
    assert (message.error_reason, message.error_message, message.text) == ("rate_limit", "Slow", "So")


async def test_the_wait_is_in_the_body() -> None:
    retry = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1.5s"}
    body = {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "Slow", "details": [retry]}}
    async with loopback(Response.json(429, body)) as server:
        message = await events_of(provider().stream(model(API, server.url), HELLO, KEY))
    assert (message.error_reason, message.error_retryable, message.error_retry_after_s) == ("rate_limit", True, 1.5)


LINES = [
    b": a comment\r\n\r\n%b\r\n\r\n",
    b"event: message\nid: 1\nretry: 5\ndata:%b\n\n",
    b"data: %b\n",  # the body ends where the event would
]


@pytest.mark.parametrize("line", LINES)
async def test_lines_that_the_sdk_cannot_read_do_no_harm(line: bytes) -> None:
    data = openai_stream(google_chunk({"executableCode": {"code": "1"}}, finish="STOP"), done=False)[0].strip()
    body = line % (data if b"data" not in line else data.removeprefix(b"data: "))
    for pieces in ([body], [body[at : at + 1] for at in range(len(body))]):
        async with loopback(Response(pieces)) as server:
            message = await events_of(provider().stream(model(API, server.url), HELLO, KEY))
        assert [block.type for block in message.content] == ["provider"]


# ---- requests


async def test_the_request_says_what_was_asked_and_no_more() -> None:
    context = Context(system_prompt="Be brief.", messages=HELLO.messages, tools=[Tool(name="add", description="Adds.")])
    options = StreamOptions(
        api_key="k",
        max_tokens=9,
        temperature=0.5,
        tool_choice="required",
        metadata={"team": "a"},
        response_format={"type": "object", "properties": {"a": {"type": "string"}}},
        generationConfig={"topK": 3},
    )
    _, body = await asked(google_chunk(finish="STOP"), context=context, options=options)
    assert body.pop("generationConfig") == {
        "maxOutputTokens": 9,
        "temperature": 0.5,
        "topK": 3,
        "responseMimeType": "application/json",
        "responseJsonSchema": {"type": "object", "properties": {"a": {"type": "string"}}},
    }
    assert body == {
        "contents": [{"role": "user", "parts": [{"text": "hello"}]}],
        "systemInstruction": {"role": "user", "parts": [{"text": "Be brief."}]},
        "tools": [
            {
                "functionDeclarations": [
                    {
                        "name": "add",
                        "description": "Adds.",
                        "parameters_json_schema": {"type": "object", "properties": {}},
                    }
                ]
            }
        ],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY"}},
        "labels": {"team": "a"},
    }


THINKING: list[tuple[str, dict[str, int] | None, dict[str, Any]]] = [
    ("gemini-3-pro-preview", None, {"includeThoughts": True, "thinkingLevel": "LOW"}),
    ("gemini-2.5-flash", None, {"includeThoughts": True, "thinkingBudget": 2048}),
    ("gemini-3-pro-preview", {"low": 7}, {"includeThoughts": True, "thinkingBudget": 7}),
]


@pytest.mark.parametrize(("name", "budgets", "config"), THINKING)
async def test_reasoning_is_a_level_or_a_budget(
    name: str, budgets: dict[str, int] | None, config: dict[str, Any]
) -> None:
    options = SimpleStreamOptions(api_key="k", reasoning="low", thinking_budgets=budgets)
    _, body = await asked(google_chunk(finish="STOP"), options=options, id=name)
    assert body["generationConfig"] == {"thinkingConfig": config}


async def test_tools_that_run_at_the_vendor_are_a_field_of_the_api() -> None:
    options = StreamOptions(api_key="k", tools=[{"googleSearch": {}}])
    _, body = await asked(google_chunk(finish="STOP"), options=options)
    assert body["tools"] == [{"googleSearch": {}}]


# ---- where it goes


async def path_of(base: str, **fields: Any) -> str:
    async with loopback(Response(openai_stream(google_chunk(finish="STOP"), done=False))) as server:
        await events_of(provider().stream(model(API, server.url + base, **fields), HELLO, KEY))
    return server.wire[0].target


async def test_the_path_has_a_version_and_the_model() -> None:
    assert await path_of("") == "/v1beta/models/m:streamGenerateContent?alt=sse"
    assert await path_of("/") == "/v1beta/models/m:streamGenerateContent?alt=sse"
    vertex = "/v1/projects/p/locations/l/publishers/google"
    assert await path_of(vertex) == f"{vertex}/models/m:streamGenerateContent?alt=sse"


@pytest.mark.parametrize(("own", "sent"), [({}, "Bearer token"), ({"authorization": "Own"}, "Own")])
async def test_at_vertex_the_key_is_a_token(own: dict[str, str], sent: str) -> None:
    url = "https://us-central1-aiplatform.googleapis.com/v1/projects/p/locations/us-central1/publishers/google"
    async with httpx2.AsyncClient() as http:
        ContentsClient(Endpoint(url, "token", 1, 2, {}), http)
        request = http.build_request("POST", url, headers={"x-goog-api-key": "token", **own})
        for hook in http.event_hooks["request"]:
            await hook(request)
    assert request.headers["authorization"] == sent
    assert "x-goog-api-key" not in request.headers
    assert request.extensions["timeout"] == {"connect": 1, "read": 2, "write": 2, "pool": 2}


async def test_the_environment_decides_nothing_but_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    surprises = {
        "GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:1",
        "GOOGLE_VERTEX_BASE_URL": "http://127.0.0.1:1",
        "GOOGLE_GENAI_USE_VERTEXAI": "true",
        "GOOGLE_GENAI_USE_ENTERPRISE": "true",
        "GOOGLE_CLOUD_PROJECT": "p",
        "GOOGLE_CLOUD_LOCATION": "l",
        "GOOGLE_API_KEY": "wrong",
        "GEMINI_API_KEY": "wrong",
        "GOOGLE_GENAI_CLIENT_MODE": "replay",
        "GOOGLE_GENAI_REPLAYS_DIRECTORY": "/nowhere",
        "GOOGLE_API_USE_CLIENT_CERTIFICATE": "true",
    }
    for name, value in surprises.items():
        monkeypatch.setenv(name, value)
    async with loopback(Response(openai_stream(google_chunk({"text": "yes"}, finish="STOP"), done=False))) as server:
        message = await events_of(provider().stream(model(API, server.url), HELLO, KEY))
    assert message.text == "yes"
    assert server.requests[0][0]["x-goog-api-key"] == "k"
    assert server.wire[0].target == "/v1beta/models/m:streamGenerateContent?alt=sse"


async def test_gemini_api_key_counts_before_google_api_key() -> None:
    async with loopback(Response(openai_stream(google_chunk(finish="STOP"), done=False))) as server:
        both = provider(GOOGLE_API_KEY="google", GEMINI_API_KEY="gemini")
        await events_of(both.stream(model(API, server.url), HELLO))
    assert server.requests[0][0]["x-goog-api-key"] == "gemini"
