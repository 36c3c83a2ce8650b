"""The servers that speak OpenAI's protocol: where calls go, whose key goes with them, and the servers' own ways."""

from collections.abc import Mapping
from typing import Any

import pytest
from anyio import fail_after

from openprogram.providers.types import AssistantMessage, Model, StreamOptions, TextContent, ThinkingContent
from openprogram.providers.vendors import VENDOR_APIS, vendor_providers
from openprogram.providers.vendors.services import COMPATIBLE, OPENAI, service_behind
from tests.openprogram.providers.vendors.loopback import Loopback, Response, loopback, openai_stream
from tests.openprogram.providers.vendors.small_answers import HELLO, chunk, response, usage_chunk
from tests.openprogram.providers.vendors.wire_cases import serve_case

pytestmark = pytest.mark.anyio

API = "openai-completions"

#: A key for everyone, each with the variable's own name in it.
KEYS = {service.key_variable: f"for-{service.key_variable.lower()}" for service in (OPENAI, *COMPATIBLE.values())}


async def ask(
    base_url: str, provider: str, environ: Mapping[str, str] | None = None, options: StreamOptions | None = None
) -> AssistantMessage:
    asked = vendor_providers(environ=KEYS if environ is None else environ)[API]
    model = Model(id="vendor/m", api=API, provider=provider, base_url=base_url)
    with fail_after(60):
        last = [event async for event in asked.stream(model, HELLO, options)][-1]
    assert last.type in ("done", "error")
    return last.message if last.type == "done" else last.error


async def answered(*pieces: bytes, provider: str = "test") -> AssistantMessage:
    async with loopback(Response(pieces)) as server:
        return await ask(server.url, provider)


def sent_headers(server: Loopback) -> dict[str, str]:
    return server.wire[0].headers


# ---- where, and as whom

SERVERS = [
    ("azure", None, "AZURE_OPENAI_API_KEY"),
    ("deepseek", "https://api.deepseek.com", "DEEPSEEK_API_KEY"),
    ("fireworks", "https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY"),
    ("google", "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"),
    ("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    ("lmstudio", "http://localhost:1234/v1", "LMSTUDIO_API_KEY"),
    ("ollama", "http://localhost:11434/v1", "OLLAMA_API_KEY"),
    ("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    ("perplexity", "https://api.perplexity.ai", "PERPLEXITY_API_KEY"),
    ("together", "https://api.together.xyz/v1", "TOGETHER_API_KEY"),
    ("vertex", None, "GOOGLE_OAUTH_ACCESS_TOKEN"),
    ("vllm", "http://localhost:8000/v1", "VLLM_API_KEY"),
]


@pytest.mark.parametrize(("provider", "base_url", "variable"), SERVERS)
async def test_a_known_provider_has_a_server_and_a_key_of_its_own(
    provider: str, base_url: str | None, variable: str
) -> None:
    [row] = [row for row in VENDOR_APIS if row.api == API]
    model = Model(id="m", api=API, provider=provider)
    if base_url is None:
        with pytest.raises(ValueError, match="need a base_url"):
            row.server(model)
    else:
        assert row.server(model) == base_url
    async with loopback(response(API)) as server:
        await ask(server.url, provider)
    headers = sent_headers(server)
    key = headers.get("api-key") if provider == "azure" else headers["authorization"].removeprefix("Bearer ")
    assert key == f"for-{variable.lower()}"
    assert [name for name, text in headers.items() if "for-" in text] == (
        ["api-key"] if provider == "azure" else ["authorization"]
    )


OWNERS = [
    ("https://api.groq.com/openai/v1", "openai", "GROQ_API_KEY"),  # the server counts, whatever its name
    ("https://api.openai.com/v1", "groq", "OPENAI_API_KEY"),
    ("https://eu.api.openai.com/v1", "anything", "OPENAI_API_KEY"),
    ("https://mine.openai.azure.com/openai/v1", "openai", "AZURE_OPENAI_API_KEY"),
    ("https://us-central1-aiplatform.googleapis.com/v1/projects/p", "x", "GOOGLE_OAUTH_ACCESS_TOKEN"),
    ("https://api.anthropic.com/v1", "openai", "ANTHROPIC_API_KEY"),
    ("https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1", "x", "AWS_BEARER_TOKEN_BEDROCK"),
    ("https://proxy.example/v1", "openai", "OPENAI_API_KEY"),  # who says so means it
    ("https://proxy.example/v1", "groq", "GROQ_API_KEY"),
    ("https://proxy.example/v1", "custom", "OPENAI_API_KEY"),
    ("https://proxy.example/v1", "cerebras", None),
    ("https://evilopenai.com/v1", "", None),
    ("https://api.openai.com.example/v1", "", None),
    ("http://10.0.0.7:8000/v1", "mine", None),
    ("http://localhost:8000/v1", "mine", "OPENAI_API_KEY"),
    ("http://[::1]:8000/v1", "mine", "OPENAI_API_KEY"),
]


@pytest.mark.parametrize(("base_url", "provider", "variable"), OWNERS)
def test_a_key_goes_to_the_company_that_it_was_made_for(base_url: str, provider: str, variable: str | None) -> None:
    service = service_behind(base_url, provider, OPENAI)
    assert (service.key_variable if service else None) == variable


async def test_a_key_of_the_call_goes_where_the_call_goes() -> None:
    async with loopback(response(API)) as server:
        await ask(server.url, "groq", {}, StreamOptions(api_key="mine"))
    assert sent_headers(server)["authorization"] == "Bearer mine"


@pytest.mark.parametrize("provider", ["ollama", "vllm", "lmstudio", "somebody", "groq"])
async def test_a_server_of_ones_own_is_asked_without_a_key(provider: str) -> None:
    async with loopback(response(API)) as server:
        await ask(server.url, provider, {})
    assert "authorization" not in sent_headers(server)


async def test_a_companys_server_is_not_asked_without_its_key() -> None:
    message = await ask("https://api.groq.com/openai/v1", "groq", {"OPENAI_API_KEY": "not for them"})
    assert message.error_reason == "auth"
    assert "set GROQ_API_KEY" in (message.error_message or "")


async def test_where_nobody_knows_whose_server_it_is_no_key_of_the_environment_goes() -> None:
    asked = vendor_providers(environ={"ANTHROPIC_API_KEY": "secret"})["anthropic-messages"]
    model = Model(id="m", api="anthropic-messages", provider="cerebras", base_url="https://api.cerebras.example")
    [event] = [event async for event in asked.stream(model, HELLO)]
    assert event.type == "error"
    assert event.error.error_reason == "auth"
    assert "give options.api_key" in (event.error.error_message or "")


# ---- Azure

AZURE = [
    ("/openai/v1", "/openai/v1/chat/completions"),
    ("/openai/v1/?api-version=preview", "/openai/v1/chat/completions?api-version=preview"),
    (
        "/openai/deployments/mine?api-version=2024-10-21",
        "/openai/deployments/mine/chat/completions?api-version=2024-10-21",
    ),
]


@pytest.mark.parametrize(("path", "target"), AZURE)
async def test_azure_has_its_version_in_the_query_and_its_key_in_a_header_of_its_own(path: str, target: str) -> None:
    async with loopback(response(API)) as server:
        await ask(server.url + path, "azure", {"AZURE_OPENAI_API_KEY": "k", "OPENAI_API_KEY": "not for them"})
    assert server.wire[0].target == target
    assert sent_headers(server)["api-key"] == "k"
    assert "authorization" not in sent_headers(server)


async def test_a_token_of_entra_id_goes_into_the_callers_header() -> None:
    options = StreamOptions(headers={"Authorization": "Bearer entra"})
    async with loopback(response(API)) as server:
        await ask(server.url, "azure", {}, options)
    assert sent_headers(server)["authorization"] == "Bearer entra"
    assert "api-key" not in sent_headers(server)


async def test_azures_recorded_conversation_is_asked_for_with_its_version() -> None:
    with serve_case("openai-compatible/azure-content-filter", strict=True) as url:
        await ask(f"{url.base_url}?api-version=2024-02-01", "azure")
        await ask(url.base_url, "azure")
    with_version, without_version = url.server.problems
    assert "query" not in with_version
    assert "query {}, recorded {'api-version': '2024-02-01'}" in without_version


async def test_azures_second_header_of_no_wait_is_passed_over() -> None:
    refused = Response.json(429, {"error": {"message": "slow"}}, retry_after="3", retry_after_ms="0")
    async with loopback(refused) as server:
        message = await ask(server.url, "azure")
    assert (message.error_reason, message.error_retry_after_s) == ("rate_limit", 3.0)


# ---- ways of servers


def without(chunk_: dict[str, Any], *names: str) -> dict[str, Any]:
    return {key: value for key, value in chunk_.items() if key not in names}


async def test_chunks_without_choices_are_no_answer_and_no_failure() -> None:
    first = {**chunk({}), "choices": [], "prompt_filter_results": [{"prompt_index": 0, "content_filter_results": {}}]}
    pieces = openai_stream(first, without(chunk({}), "choices"), chunk({"content": "Hi"}, "stop"), usage_chunk(3, 1))
    message = await answered(*pieces, provider="azure")
    assert (message.text, message.stop_reason, message.usage.input) == ("Hi", "stop", 3)


async def test_comments_and_line_ends_of_all_kinds_are_no_events() -> None:
    pieces = [b": OPENROUTER PROCESSING\n\n", b":\r\n\r\n", *openai_stream(chunk({"content": "Hi"}, "stop"))]
    pieces = [piece.replace(b"\n", b"\r\n") for piece in pieces]
    assert (await answered(*pieces)).text == "Hi"


async def test_the_message_so_far_beside_each_delta_is_not_said_twice() -> None:
    def both(delta: str, so_far: str, finish: str | None = None) -> dict[str, Any]:
        made = chunk({"role": "assistant", "content": delta}, finish)
        made["choices"][0]["message"] = {"role": "assistant", "content": so_far}
        return {**made, "usage": usage_chunk(5, len(so_far))["usage"], "citations": ["https://example.com"]}

    message = await answered(*openai_stream(both("a", "a"), both("b", "ab", "stop"), done=False))
    assert (message.text, message.usage.output) == ("ab", 2)


ERRORS_IN_CHUNKS = [
    {**chunk({"content": ""}, "length"), "error": {"message": "in words", "code": 502}},
    {**chunk({"content": ""}, "error"), "error": {"message": "in words", "code": "server_error"}},
    {"error": {"message": "in words", "type": "server_error"}},
]


@pytest.mark.parametrize("error", ERRORS_IN_CHUNKS)
async def test_an_error_object_in_a_chunk_is_a_failure(error: dict[str, Any]) -> None:
    message = await answered(*openai_stream(chunk({"content": "So "}), error), provider="openrouter")
    assert (message.stop_reason, message.error_reason, message.text) == ("error", "server", "So ")
    assert message.error_message == "in words"


async def test_an_event_named_error_is_a_failure() -> None:
    [error] = openai_stream({"error": {"message": "in words", "type": "invalid_request_error"}}, done=False)
    message = await answered(*openai_stream(chunk({"content": "So "}), done=False), b"event: error\n" + error)
    assert (message.error_reason, message.error_message, message.text) == ("invalid_request", "in words", "So ")


@pytest.mark.parametrize(
    "line", [b'error: {"message": "in words"}\n\n', b"error: in words", b'error:{"error":"in words"}\r\n']
)
async def test_a_line_that_begins_with_error_is_a_failure(line: bytes) -> None:
    message = await answered(*openai_stream(chunk({"content": "So "}), done=False), line)
    assert (message.error_reason, message.error_message, message.text) == ("server", "in words", "So ")


REASONING = [
    ("deepseek", "reasoning_content", {}),
    ("groq", "reasoning", {"channel": "analysis"}),
    ("vllm", "reasoning", {}),
    ("together", "reasoning_content", {}),
]


@pytest.mark.parametrize(("provider", "field", "more"), REASONING)
async def test_reasoning_in_any_servers_field_is_thinking(provider: str, field: str, more: dict[str, Any]) -> None:
    pieces = openai_stream(
        chunk({field: "hm", "content": None, **more}), chunk({field: "…"}), chunk({"content": "yes"}, "stop")
    )
    message = await answered(*pieces, provider=provider)
    assert message.content == [
        ThinkingContent(thinking="hm…", thinking_signature=field),
        TextContent(text="yes"),
    ]
