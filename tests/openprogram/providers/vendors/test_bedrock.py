"""AWS Bedrock: credentials, regions, signatures, its frames, and that nothing waits in a thread."""

import asyncio
import base64
import logging
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from anyio import fail_after, to_thread
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from openprogram.providers.types import (
    AssistantContent,
    AssistantMessage,
    AssistantMessageEvent,
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
from openprogram.providers.vendors import VendorProvider, vendor_providers
from openprogram.providers.vendors.aws import bedrock_client, region_of
from openprogram.providers.vendors.dialect import Endpoint
from openprogram.providers.vendors.failures import ProviderFailed
from tests.openprogram.providers.vendors.loopback import Loopback, Response, aws_frame, aws_stream, loopback
from tests.openprogram.providers.vendors.small_answers import (
    HELLO,
    KEY,
    bedrock_delta,
    bedrock_metadata,
    model,
    response,
)

pytestmark = pytest.mark.anyio

API = "bedrock-converse-stream"
ADD = Tool(name="add", description="Adds.", parameters={"type": "object", "properties": {"a": {"type": "integer"}}})
OWN = {"AWS_ACCESS_KEY_ID": "AKIAEXAMPLE", "AWS_SECRET_ACCESS_KEY": "s3cr3t/key"}
STOP = ("messageStop", {"stopReason": "end_turn"})
DONE = bedrock_metadata(inputTokens=5, outputTokens=2, totalTokens=7)


def provider(environ: Mapping[str, str] | None = None) -> VendorProvider:
    chosen = vendor_providers(environ=environ or {})[API]
    assert isinstance(chosen, VendorProvider)
    return chosen


async def ask(
    server: Loopback,
    context: Context = HELLO,
    options: StreamOptions | None = KEY,
    environ: Mapping[str, str] | None = None,
    **fields: Any,
) -> AssistantMessage:
    with fail_after(60):
        stream = provider(environ).stream(model(API, server.url, **fields), context, options)
        last = [event async for event in stream][-1]
    assert last.type in ("done", "error")
    return last.message if last.type == "done" else last.error


async def answered(*events: tuple[str, Mapping[str, Any]]) -> AssistantMessage:
    async with loopback(response(API, aws_stream(*events))) as server:
        return await ask(server)


async def sent(
    *messages: Message, options: StreamOptions | None = None, tools: list[Tool] | None = None, **fields: Any
) -> dict[str, Any]:
    """The body of the one request that a call makes."""
    context = Context(messages=list(messages) or HELLO.messages, tools=tools)
    async with loopback(response(API)) as server:
        await ask(server, context, options, {"AWS_BEARER_TOKEN_BEDROCK": "k"}, **fields)
    [(_, body)] = server.requests
    assert isinstance(body, dict)
    return body


def said(*content: AssistantContent) -> AssistantMessage:
    return AssistantMessage(content=list(content), api=API, provider="test", model="m")


# ---- who asks


def signature_is_right(server: Loopback, secret: str, token: str | None = None) -> bool:
    """The server's side of AWS's Signature Version 4, over what came on the wire."""
    [wire] = server.wire
    claimed = dict(part.split("=", 1) for part in wire.headers["authorization"].split(" ", 1)[1].split(", "))
    headers = {name: wire.headers[name] for name in claimed["SignedHeaders"].split(";")}
    request = AWSRequest(method="POST", url=server.url + wire.target, data=wire.body, headers=headers)
    request.context["timestamp"] = wire.headers["x-amz-date"]
    _, _, region, service, _ = claimed["Credential"].split("/")
    signer = SigV4Auth(Credentials(OWN["AWS_ACCESS_KEY_ID"], secret, token), service, region)
    text = signer.string_to_sign(request, signer.canonical_request(request))
    return bool(signer.signature(text, request) == claimed["Signature"])


ARN = "arn:aws:bedrock:eu-central-1:123456789012:inference-profile/eu.anthropic.claude-x-v1:0"

IDS = [
    ("us.anthropic.claude-3-7-sonnet-20250219-v1:0", "/model/us.anthropic.claude-3-7-sonnet-20250219-v1%3A0"),
    (ARN, "/model/" + ARN.replace(":", "%3A").replace("/", "%2F")),
]


@pytest.mark.parametrize(("name", "path"), IDS)
async def test_a_request_is_signed_as_it_goes_over_the_wire(name: str, path: str) -> None:
    async with loopback(response(API)) as server:
        await ask(server, options=None, environ=OWN | {"AWS_REGION": "eu-central-1"}, id=name)
    assert server.wire[0].target == f"{path}/converse-stream"
    assert "/eu-central-1/bedrock/aws4_request" in server.requests[0][0]["authorization"]
    assert signature_is_right(server, OWN["AWS_SECRET_ACCESS_KEY"])
    assert not signature_is_right(server, "another secret")


async def test_a_session_token_is_signed_with_the_request() -> None:
    async with loopback(response(API)) as server:
        await ask(server, options=None, environ=OWN | {"AWS_SESSION_TOKEN": "session-1"})
    assert server.wire[0].headers["x-amz-security-token"] == "session-1"
    assert signature_is_right(server, OWN["AWS_SECRET_ACCESS_KEY"], "session-1")


async def test_a_bedrock_api_key_is_sent_in_place_of_a_signature() -> None:
    async with loopback(response(API), response(API)) as server:
        await ask(server, options=None, environ={"AWS_BEARER_TOKEN_BEDROCK": "from-environment"} | OWN)
        await ask(server, options=StreamOptions(api_key="from-call"), environ=OWN)
    assert [headers["authorization"] for headers, _ in server.requests] == [
        "bearer from-environment",
        "bearer from-call",
    ]


async def test_a_profile_of_the_configuration_files_is_read_when_the_call_is_made(tmp_path: Path) -> None:
    (tmp_path / "credentials").write_text(
        f"[work]\naws_access_key_id = {OWN['AWS_ACCESS_KEY_ID']}\naws_secret_access_key = from-file\n"
    )
    (tmp_path / "config").write_text("[profile work]\nregion = ap-south-1\n")
    environ = {
        "AWS_PROFILE": "work",
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "credentials"),
        "AWS_CONFIG_FILE": str(tmp_path / "config"),
    }
    async with loopback(response(API)) as server:
        await ask(server, options=None, environ=environ)
    assert "/ap-south-1/bedrock/" in server.requests[0][0]["authorization"]
    assert signature_is_right(server, "from-file")


NO_CREDENTIALS = [
    ({"AWS_ACCESS_KEY_ID": "AKIAEXAMPLE"}, "aws_secret_access_key"),
    ({"AWS_PROFILE": "nobody"}, "nobody"),
    ({}, "Unable to locate credentials"),
]


@pytest.mark.parametrize(("environ", "says"), NO_CREDENTIALS)
async def test_missing_credentials_are_a_failure_that_says_what_to_set(
    environ: dict[str, str], says: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # The process has credentials, and this call must not take them: its environment is a parameter.
    for name, value in OWN.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    nothing = {"AWS_CONFIG_FILE": str(tmp_path / "c"), "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "s")}
    async with loopback(response(API)) as server:
        message = await ask(server, options=None, environ=nothing | environ)
    assert (message.error_reason, message.error_retryable) == ("auth", False)
    assert says in (message.error_message or "")
    assert "AWS_BEARER_TOKEN_BEDROCK" in (message.error_message or "")
    assert server.requests == []


async def test_the_environment_does_not_decide_where_credentials_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "http://127.0.0.1:9")
    endpoint = Endpoint("", None, 1, 1, OWN | {"AWS_REGION": "eu-west-1"})
    client = bedrock_client(endpoint, "m")
    assert client.meta.endpoint_url == "https://bedrock-runtime.eu-west-1.amazonaws.com"


async def test_no_secret_reaches_the_logs(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with loopback(response(API), response(API)) as server:
        await ask(server, options=StreamOptions(api_key="bearer-s3cr3t"))
        await ask(server, options=None, environ=OWN)
    assert "converse-stream" in caplog.text
    assert "bearer-s3cr3t" not in caplog.text
    assert OWN["AWS_SECRET_ACCESS_KEY"] not in caplog.text


# ---- where

REGIONS = [
    ("https://bedrock-runtime.us-west-2.amazonaws.com", ARN, {"AWS_REGION": "eu-west-1"}, "us-west-2"),
    ("https://bedrock-runtime-fips.us-gov-west-1.amazonaws.com/", "m", {}, "us-gov-west-1"),
    ("https://bedrock-runtime.cn-north-1.amazonaws.com.cn", "m", {}, "cn-north-1"),
    ("", ARN, {"AWS_REGION": "eu-west-1"}, "eu-central-1"),
    ("http://127.0.0.1:1", "m", {"AWS_REGION": "eu-west-1", "AWS_DEFAULT_REGION": "eu-west-2"}, "eu-west-1"),
    ("", "m", {"AWS_DEFAULT_REGION": "eu-west-2"}, "eu-west-2"),
    ("https://proxy.example/bedrock-runtime.us-east-1.amazonaws.com", "m", {}, None),
]


@pytest.mark.parametrize(("base_url", "name", "environ", "region"), REGIONS)
def test_server_model_and_environment_name_the_region_in_this_order(
    base_url: str, name: str, environ: dict[str, str], region: str | None
) -> None:
    assert region_of(base_url, name, environ) == region


def test_without_a_region_there_is_no_server_of_awss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)
    with pytest.raises(ProviderFailed) as failed:
        bedrock_client(Endpoint("", "k", 1, 1, {"AWS_CONFIG_FILE": str(tmp_path / "none")}), "m")
    assert failed.value.failure.message.startswith("no AWS region: set AWS_REGION")


# ---- the request


async def test_options_that_are_not_given_are_left_to_the_vendor() -> None:
    body = await sent(tools=[ADD])
    assert body["inferenceConfig"] == {}
    assert list(body["toolConfig"]) == ["tools"]  # no toolChoice: many models refuse it


async def test_options_have_their_places_in_the_request() -> None:
    given = {
        "temperature": 0.5,
        "max_tokens": 7,
        "inferenceConfig": {"topP": 0.9},
        "metadata": {"team": "a"},
        "service_tier": "priority",
        "tool_choice": {"type": "tool", "name": "add"},
        "additionalModelRequestFields": {"top_k": 5},
        "somethingNew": [1],
    }
    body = await sent(options=StreamOptions.model_validate(given), tools=[ADD, Tool(name="now")])
    assert body["inferenceConfig"] == {"temperature": 0.5, "maxTokens": 7, "topP": 0.9}
    assert body["requestMetadata"] == {"team": "a"}
    assert body["serviceTier"] == {"type": "priority"}
    assert body["toolConfig"]["toolChoice"] == {"tool": {"name": "add"}}
    assert body["additionalModelRequestFields"] == {"top_k": 5}
    assert body["somethingNew"] == [1]


async def test_a_response_format_is_sent_as_text() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    body = await sent(options=StreamOptions(response_format=schema))
    assert body["outputConfig"]["textFormat"]["type"] == "json_schema"
    assert '"integer"' in body["outputConfig"]["textFormat"]["structure"]["jsonSchema"]["schema"]


CLAUDE = "us.anthropic.claude-3-7-sonnet-20250219-v1:0"
REASONING = [
    (CLAUDE, {"reasoning": "low"}, {"thinking": {"type": "enabled", "budget_tokens": 2048}}),
    (CLAUDE, {"reasoning": "high", "max_tokens": 1500}, {"thinking": {"type": "enabled", "budget_tokens": 1024}}),
    (
        CLAUDE,
        {"reasoning": "low", "thinking_budgets": {"low": 3000}},
        {"thinking": {"type": "enabled", "budget_tokens": 3000}},
    ),
    ("openai.gpt-oss-120b-1:0", {"reasoning": "low"}, {"reasoning_effort": "low"}),
]


@pytest.mark.parametrize(("name", "options", "fields"), REASONING)
async def test_reasoning_is_asked_for_in_the_models_own_words(
    name: str, options: dict[str, Any], fields: dict[str, Any]
) -> None:
    body = await sent(options=SimpleStreamOptions(**options), id=name)
    assert body["additionalModelRequestFields"] == fields


async def test_reasoning_of_a_model_that_nobody_knows_is_refused() -> None:
    with pytest.raises(ValueError, match="additionalModelRequestFields"):
        await sent(options=SimpleStreamOptions(reasoning="low"), id=ARN.replace("eu.anthropic.claude-x-v1:0", "a1b2c3"))


async def test_parameters_that_aws_would_refuse_are_a_programs_error() -> None:
    with pytest.raises(ValueError, match="requestMetadata"):
        await sent(options=StreamOptions(metadata={"team": 7}))


async def test_cache_marks_are_cache_points() -> None:
    marked = TextContent(text="long", cache_control={"type": "ephemeral", "ttl": "1h"})
    tool = ADD.model_copy(update={"cache_control": {"type": "ephemeral"}})
    body = await sent(UserMessage(content=[marked]), tools=[tool])
    assert body["messages"][0]["content"][1] == {"cachePoint": {"type": "default", "ttl": "1h"}}
    assert "cachePoint" in body["toolConfig"]["tools"][1]


async def test_tool_results_stand_in_one_turn_with_their_status() -> None:
    body = await sent(
        UserMessage(content="go"),
        said(ToolCall(id="a", name="add", arguments={"a": 1}), ToolCall(id="b", name="add")),
        ToolResultMessage(tool_call_id="a", tool_name="add", content=[TextContent(text="1")]),
        ToolResultMessage(tool_call_id="b", tool_name="add", content=[TextContent(text="no")], is_error=True),
    )
    results = [block["toolResult"] for block in body["messages"][2]["content"]]
    assert [(each["toolUseId"], each["status"], each["content"][0]["text"]) for each in results] == [
        ("a", "success", "1"),
        ("b", "error", "no"),
    ]


async def test_a_document_is_a_file_with_its_name_as_text() -> None:
    page = DocumentContent(data=base64.b64encode(b"%PDF-1.7").decode(), mime_type="application/pdf", name="Terms")
    body = await sent(UserMessage(content=[TextContent(text="read"), page]))
    _, name, file = body["messages"][0]["content"]
    assert name == {"text": "Document 'Terms':"}
    assert (file["document"]["format"], file["document"]["source"]) == ("pdf", {"bytes": page.data})


REDACTED = [b"RXRrRUNrZ0lC", b"\xff\x00binary\xfe", b"base64:really", b"\n"]


@pytest.mark.parametrize("data", REDACTED)
async def test_redacted_reasoning_goes_back_byte_for_byte(data: bytes) -> None:
    encoded = base64.b64encode(data).decode()
    message = await answered(bedrock_delta(0, reasoningContent={"redactedContent": encoded}), STOP, DONE)
    [block] = message.content
    assert isinstance(block, ThinkingContent)
    assert (block.thinking, block.redacted) == ("", True)
    body = await sent(UserMessage(content="a"), said(block), UserMessage(content="b"))
    assert body["messages"][1]["content"] == [{"reasoningContent": {"redactedContent": encoded}}]


async def test_a_signature_goes_back_with_its_reasoning() -> None:
    block = ThinkingContent(thinking="hm", thinking_signature="signed")
    body = await sent(UserMessage(content="a"), said(block), UserMessage(content="b"))
    reasoning = {"reasoningText": {"text": "hm", "signature": "signed"}}
    assert body["messages"][1]["content"] == [{"reasoningContent": reasoning}]


# ---- the answer


EXCEPTIONS = [
    ("throttlingException", "rate_limit", True),
    ("serviceUnavailableException", "server", True),
    ("internalServerException", "server", True),
    ("modelStreamErrorException", "server", True),
    ("modelTimeoutException", "timeout", True),
    ("validationException", "invalid_request", False),
    ("somethingNewException", "unknown", False),
]


@pytest.mark.parametrize(("kind", "reason", "retryable"), EXCEPTIONS)
async def test_an_exception_frame_is_a_failure_that_keeps_what_came(kind: str, reason: str, *, retryable: bool) -> None:
    frame = aws_frame({":message-type": "exception", ":exception-type": kind}, {"message": "in words"})
    async with loopback(response(API, [*aws_stream(bedrock_delta(0, text="So ")), frame])) as server:
        message = await ask(server)
    assert (message.error_reason, message.error_retryable, message.text) == (reason, retryable, "So ")
    assert message.error_message == "in words"


async def test_an_error_frame_is_a_failure() -> None:
    frame = aws_frame({":message-type": "error", ":error-code": "InternalFailure", ":error-message": "broken"}, {})
    async with loopback(response(API, [frame])) as server:
        message = await ask(server)
    assert message.error_message == "broken"


CODES = [
    (400, "ValidationException:http://internal.amazon.com/coral/com.amazon.bedrock/", "bad", "invalid_request", False),
    (400, "ValidationException", "Input is too long for requested model.", "context_overflow", False),
    (403, "AccessDeniedException", "no", "auth", False),
    (403, "ExpiredTokenException", "old", "auth", False),
    (404, "ResourceNotFoundException", "where?", "invalid_request", False),
    (408, "ModelTimeoutException", "slow", "timeout", True),
    (424, "ModelErrorException", "oh", "invalid_request", False),
    (429, "ThrottlingException", "wait", "rate_limit", True),
    (429, "ModelNotReadyException", "soon", "server", True),
    (500, "InternalServerException", "oh", "server", True),
    (503, "ServiceUnavailableException", "later", "server", True),
]


@pytest.mark.parametrize(("status", "kind", "words", "reason", "retryable"), CODES)
async def test_an_error_says_its_name_in_a_header(
    status: int, kind: str, words: str, reason: str, *, retryable: bool
) -> None:
    async with loopback(Response.json(status, {"message": words}, x_amzn_errortype=kind)) as server:
        message = await ask(server)
    assert (message.error_reason, message.error_retryable) == (reason, retryable)
    assert words in (message.error_message or "")


STOPS = [
    ("end_turn", "stop"),
    ("stop_sequence", "stop"),
    ("max_tokens", "length"),
    ("model_context_window_exceeded", "length"),
    ("something_new", "stop"),
]


@pytest.mark.parametrize(("stop", "ours"), STOPS)
async def test_a_stop_reason_of_bedrock(stop: str, ours: str) -> None:
    message = await answered(bedrock_delta(0, text="x"), ("messageStop", {"stopReason": stop}), DONE)
    assert (message.stop_reason, message.usage.input, message.usage.output) == (ours, 5, 2)


@pytest.mark.parametrize(
    ("stop", "reason", "retryable"),
    [
        ("guardrail_intervened", "content_filter", False),
        ("content_filtered", "content_filter", False),
        ("malformed_tool_use", "server", True),
        ("malformed_model_output", "server", True),
    ],
)
async def test_a_stop_reason_that_is_a_failure(stop: str, reason: str, *, retryable: bool) -> None:
    message = await answered(bedrock_delta(0, text="x"), ("messageStop", {"stopReason": stop}), DONE)
    assert (message.error_reason, message.error_retryable, message.text) == (reason, retryable, "x")
    assert message.usage.output == 2


@pytest.mark.parametrize("events", [[STOP], [DONE], []])
async def test_an_answer_is_whole_with_its_stop_and_its_usage(events: list[tuple[str, Mapping[str, Any]]]) -> None:
    message = await answered(bedrock_delta(0, text="x"), *events)
    assert (message.error_reason, message.error_retryable, message.text) == ("network", True, "x")


async def test_events_that_nobody_knows_are_passed_over() -> None:
    message = await answered(("somethingNew", {"a": 1}), bedrock_delta(0, text="x"), STOP, DONE)
    assert (message.stop_reason, message.text) == ("stop", "x")


async def test_a_damaged_frame_is_no_answer() -> None:
    [frame] = aws_stream(bedrock_delta(0, text="x"))
    async with loopback(response(API, [frame, frame[:-1] + b"\x00"])) as server:
        message = await ask(server)
    assert (message.error_reason, message.text) == ("invalid_response", "x")


async def test_how_frames_are_cut_makes_no_difference() -> None:
    body = b"".join(aws_stream(bedrock_delta(0, text="Olá 👀"), STOP, DONE))
    for size in (1, 3, 100, len(body)):
        pieces = [body[at : at + size] for at in range(0, len(body), size)]
        async with loopback(response(API, pieces)) as server:
            assert (await ask(server)).text == "Olá 👀"


async def test_a_code_interpreters_blocks_come_whole_and_go_back() -> None:
    start = {"toolUseId": "t", "name": "nova_code_interpreter", "type": "server_tool_use"}
    result = {"toolUseId": "t", "type": "nova_code_interpreter_result", "status": "success"}
    message = await answered(
        ("contentBlockStart", {"contentBlockIndex": 0, "start": {"toolUse": start}}),
        bedrock_delta(0, toolUse={"input": '{"snippet":"1+1"}'}),
        ("contentBlockStop", {"contentBlockIndex": 0}),
        ("contentBlockStart", {"contentBlockIndex": 1, "start": {"toolResult": result}}),
        bedrock_delta(1, toolResult=[{"json": {"stdOut": "2"}}]),
        ("contentBlockStop", {"contentBlockIndex": 1}),
        bedrock_delta(2, text="2"),
        STOP,
        DONE,
    )
    assert [block.type for block in message.content] == ["provider", "provider", "text"]
    body = await sent(UserMessage(content="a"), said(*message.content), UserMessage(content="b"))
    use, back, text = body["messages"][1]["content"]
    assert (use["toolUse"]["input"], back["toolResult"]["content"]) == ({"snippet": "1+1"}, [{"json": {"stdOut": "2"}}])
    assert text == {"text": "2"}


# ---- nothing waits in a thread


async def test_a_call_that_waits_for_its_answer_to_begin_can_be_cancelled() -> None:
    async with loopback(Response(begins=False)) as server:
        task = asyncio.create_task(ask(server))
        with fail_after(60):
            await server.asked()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with fail_after(20):
            await server.dropped.wait()


async def test_many_silent_models_leave_threads_to_others_and_none_behind() -> None:
    count = 60  # more than the forty threads that anyio lends at a time
    silent = [response(API, aws_stream(bedrock_delta(0, text="x")), ending="silence")] * count
    async with loopback(*silent) as server:
        asked = provider()
        streams = [asked.stream(model(API, server.url), HELLO, KEY) for _ in range(count)]

        async def until_silence(stream: Any) -> AssistantMessageEvent | None:
            async for event in stream:
                if event.type == "text_delta":
                    return await anext(stream)
            return None

        waiting = [asyncio.create_task(until_silence(stream)) for stream in streams]
        with fail_after(120):
            await server.asked(count)
            assert await to_thread.run_sync(lambda: "a thread is free") == "a thread is free"
            before = threading.active_count()
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
        assert threading.active_count() <= before
