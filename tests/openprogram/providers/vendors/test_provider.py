"""The adapter against a server of our own: events, failures, leaving early, keys."""

import asyncio
import gc
import gzip
import json
from collections.abc import Mapping

import pytest
from anyio import fail_after

from openprogram.providers.api_registry import ApiProvider
from openprogram.providers.types import (
    AssistantMessage,
    AssistantMessageEvent,
    EventTextDelta,
    EventTextEnd,
    EventTextStart,
    EventThinkingDelta,
    EventThinkingEnd,
    EventThinkingStart,
    EventToolCallDelta,
    EventToolCallEnd,
    EventToolCallStart,
    Model,
    ModelCost,
    SimpleStreamOptions,
    TextContent,
    ThinkingContent,
    ToolCall,
)
from openprogram.providers.vendors import VENDOR_APIS, Timeouts, VendorProvider, vendor_providers
from openprogram.providers.vendors.dialect import Endpoint
from tests.openprogram.providers.vendors.loopback import (
    Loopback,
    Response,
    aws_frame,
    event_stream,
    loopback,
    openai_stream,
    unused_url,
)
from tests.openprogram.providers.vendors.small_answers import (
    ANSWERS,
    HELLO,
    KEY,
    OPAQUE,
    STREAM_TYPES,
    chunk,
    model,
    response,
    usage_chunk,
)

pytestmark = pytest.mark.anyio

PATIENT = Timeouts()

each_api = pytest.mark.parametrize("api", sorted(ANSWERS))


def provider(api: str, environ: Mapping[str, str] | None = None, timeouts: Timeouts = PATIENT) -> VendorProvider:
    [row] = [row for row in VENDOR_APIS if row.api == api]
    return VendorProvider(row, environ={} if environ is None else environ, now_ms=lambda: 42, timeouts=timeouts)


async def ask(api: str, url: str, options: SimpleStreamOptions = KEY) -> list[AssistantMessageEvent]:
    with fail_after(60):  # the first call imports the SDK
        return [event async for event in provider(api).stream_simple(model(api, url), HELLO, options)]


def last_message(events: list[AssistantMessageEvent]) -> AssistantMessage:
    assert [event.type for event in events[:-1] if event.type in ("done", "error")] == []
    last = events[-1]
    if last.type == "done":
        return last.message
    assert last.type == "error"
    return last.error


async def failure(api: str, response: Response) -> AssistantMessage:
    async with loopback(response) as server:
        message = last_message(await ask(api, server.url))
    assert message.stop_reason == "error"
    assert len(server.requests) == 1  # trying again is for others to decide
    return message


def test_there_is_a_provider_for_each_api() -> None:
    providers = vendor_providers()
    assert sorted(providers) == sorted(ANSWERS)
    assert all(isinstance(each, ApiProvider) for each in providers.values())


# ---- an answer


@each_api
async def test_an_answer_becomes_deltas_and_the_message_that_they_add_up_to(api: str) -> None:
    opaque = OPAQUE[api]
    add = ToolCall(id="id-add", name="add", arguments={"a": 1}, thought_signature=opaque.add)
    now = ToolCall(id="id-now", name="now", thought_signature=opaque.now)
    async with loopback(response(api)) as server:
        events = await ask(api, server.url)
    assert [event for event in events[1:-1] if event.type not in ("toolcall_delta", "toolcall_end")] == [
        EventThinkingStart(content_index=0),
        EventThinkingDelta(content_index=0, delta="Let me "),
        EventThinkingDelta(content_index=0, delta="add."),
        EventThinkingEnd(content_index=0, content="Let me add.", thinking_signature=opaque.thinking),
        EventTextStart(content_index=1),
        EventTextDelta(content_index=1, delta="One "),
        EventTextDelta(content_index=1, delta="moment 👀"),
        EventTextEnd(content_index=1, content="One moment 👀", text_signature=opaque.text),
        EventToolCallStart(content_index=2, id="id-add", name="add"),
        EventToolCallStart(content_index=3, id="id-now", name="now"),
    ]
    deltas = [event for event in events if isinstance(event, EventToolCallDelta)]
    joined = ["".join(event.delta for event in deltas if event.content_index == at) for at in (2, 3)]
    assert [json.loads(text or "{}") for text in joined] == [{"a": 1}, {}]
    assert [event for event in events if event.type == "toolcall_end"] == [
        EventToolCallEnd(content_index=2, tool_call=add),
        EventToolCallEnd(content_index=3, tool_call=now),
    ]
    message = last_message(events)
    assert message.content == [
        ThinkingContent(thinking="Let me add.", thinking_signature=opaque.thinking),
        TextContent(text="One moment 👀", text_signature=opaque.text),
        add,
        now,
    ]
    usage = message.usage
    assert (message.stop_reason, message.timestamp) == ("toolUse", 42)
    assert (usage.input, usage.output, usage.cache_read, usage.total_tokens) == (7, 12, 3, 22)


@each_api
async def test_tokens_are_priced_by_the_model(api: str) -> None:
    cost = ModelCost(input=1.0, output=10.0, cache_read=0.5)
    async with loopback(response(api)) as server:
        stream = provider(api).stream(model(api, server.url, cost=cost), HELLO, KEY)
        message = last_message([event async for event in stream])
    assert message.usage.cost.input == pytest.approx(7e-6)
    assert message.usage.cost.total == pytest.approx(7e-6 + 12e-5 + 1.5e-6)


async def test_usage_that_is_reported_again_and_again_is_not_added_up() -> None:
    pieces = openai_stream({**chunk({"content": "a"}), "usage": usage_chunk(5, 1)["usage"]}, usage_chunk(5, 2))
    async with loopback(Response(pieces)) as server:
        message = last_message(await ask("openai-completions", server.url))
    assert (message.usage.input, message.usage.output, message.usage.total_tokens) == (5, 2, 7)


ARGUMENTS = [
    ('{"a": "b', {"a": "b"}),
    ('["a"]', {}),
    ('{"a": NaN}', {}),
    ('{"a": 1e999}', {}),
    ('{"a": NaN, "b', {}),
    ('{"a":' * 100_000, {}),
]


@pytest.mark.parametrize(("text", "readable"), ARGUMENTS)
async def test_arguments_that_are_no_json_object_are_marked(text: str, readable: dict[str, str]) -> None:
    call = {"tool_calls": [{"index": 0, "id": "i", "function": {"name": "f", "arguments": text}}]}
    async with loopback(Response(openai_stream(chunk(call), chunk({}, "stop")))) as server:
        message = last_message(await ask("openai-completions", server.url))
    assert message.stop_reason == "toolUse"  # whatever the server says: there is a call
    [read] = message.tool_calls
    assert read.arguments == readable
    assert read.arguments_error is not None


async def test_half_a_surrogate_pair_is_text_too() -> None:
    pieces = openai_stream(chunk({"content": "\ud83d"}), chunk({"content": "\ude00"}, "stop"))
    async with loopback(Response(pieces)) as server:
        events = await ask("openai-completions", server.url)
    assert [event.delta for event in events if event.type == "text_delta"] == ["\ud83d", "\ude00"]


# ---- failures

#: In every vendor's shape at once.
ERROR = {"message": "in words", "error": {"message": "in words"}}

STATUSES = [
    (400, "invalid_request", False),
    (401, "auth", False),
    (403, "auth", False),
    (404, "invalid_request", False),
    (408, "timeout", True),
    (413, "context_overflow", False),
    (422, "invalid_request", False),
    (429, "rate_limit", True),
    (500, "server", True),
    (502, "server", True),
    (503, "server", True),
    (529, "overloaded", True),
]


@each_api
@pytest.mark.parametrize(("status", "reason", "retryable"), STATUSES)
async def test_a_status_says_why(api: str, status: int, reason: str, *, retryable: bool) -> None:
    message = await failure(api, Response.json(status, ERROR))
    assert (message.error_reason, message.error_retryable) == (reason, retryable)
    assert message.error_message == f"{status}: in words"


BODIES = [
    ("anthropic-messages", 400, {"type": "invalid_request_error", "message": "prompt is too long"}, "context_overflow"),
    ("openai-completions", 400, {"code": "context_length_exceeded", "message": "long"}, "context_overflow"),
    ("openai-completions", 429, {"code": "insufficient_quota", "message": "pay"}, "rate_limit"),
    ("anthropic-messages", 529, {"type": "overloaded_error", "message": "busy"}, "overloaded"),
]


@pytest.mark.parametrize(("api", "status", "error", "reason"), BODIES)
async def test_a_body_says_more_than_its_status(api: str, status: int, error: dict[str, str], reason: str) -> None:
    message = await failure(api, Response.json(status, {"type": "error", "error": error}))
    assert message.error_reason == reason
    assert message.error_retryable is (reason == "overloaded")


WAITS = [
    ({"retry_after": "2"}, 2.0),
    ({"retry_after": "2", "retry_after_ms": "1500"}, 1.5),
    ({"retry_after": "1", "retry_after_ms": "0"}, 1.0),
    ({"retry_after": "soon"}, None),
    ({}, None),
]


@each_api
@pytest.mark.parametrize(("headers", "seconds"), WAITS)
async def test_the_provider_says_how_long_to_wait(api: str, headers: dict[str, str], seconds: float | None) -> None:
    message = await failure(api, Response.json(429, ERROR, **headers))
    assert message.error_retry_after_s == seconds


@each_api
async def test_the_provider_says_whether_to_try_again(api: str) -> None:
    message = await failure(api, Response.json(500, ERROR, x_should_retry="false"))
    assert (message.error_reason, message.error_retryable) == ("server", False)


@each_api
@pytest.mark.parametrize("ending", ["end", "close", "reset"])
async def test_a_stream_that_is_cut_after_any_event_is_a_failure_that_keeps_what_came(api: str, ending: str) -> None:
    whole = ANSWERS[api]
    # Whatever says that the answer has ended comes last; OpenAI says so twice, with the usage in between.
    last = len(whole) - {"openai-completions": 2, "mistral-conversations": 1}.get(api, 0)
    for pieces in range(1, last):
        message = await failure(api, response(api, whole[:pieces], ending=ending))
        assert (message.error_reason, message.error_retryable) == ("network", True)
        if pieces == last - 1:
            assert message.text == "One moment 👀"
            assert message.tool_calls[0].arguments == {"a": 1}


@each_api
async def test_a_stream_that_is_cut_inside_an_event_is_a_failure(api: str) -> None:
    body = b"".join(ANSWERS[api])
    for at in range(1, len(body) // 2, 97):
        message = await failure(api, response(api, [body[:at]]))
        assert (message.error_reason, message.error_retryable) == ("network", True)


@each_api
async def test_silence_is_a_timeout(api: str) -> None:
    for pieces in (0, 4):
        async with loopback(response(api, ANSWERS[api][:pieces], ending="silence")) as server:
            impatient = provider(api, timeouts=Timeouts(read_s=0.2))
            stream = impatient.stream_simple(model(api, server.url), HELLO, KEY)
            message = last_message([event async for event in stream])
            assert (message.error_reason, message.error_retryable) == ("timeout", True)
            with fail_after(5):
                await server.dropped.wait()


@each_api
async def test_nobody_listening_is_a_failure_of_the_network(api: str) -> None:
    url = unused_url()
    events = await ask(api, url)
    assert [event.type for event in events] == ["error"]
    message = last_message(events)
    assert (message.error_reason, message.error_retryable) == ("network", True)
    assert message.error_message == f"ConnectError: All connection attempts failed ({url.removesuffix('/v1')})"


@each_api
async def test_what_a_failed_connection_says_of_its_server_is_no_secret(api: str) -> None:
    url = unused_url().replace("://", "://me:mellon@")
    told = last_message(await ask(api, url)).error_message or ""
    assert "127.0.0.1:" in told
    assert "mellon" not in told


@each_api
@pytest.mark.parametrize("base_url", ["127.0.0.1:8000", "localhost:8000/v1", "ftp://127.0.0.1"])
async def test_a_base_url_that_is_not_of_http_is_refused_before_the_call(api: str, base_url: str) -> None:
    with pytest.raises(ValueError, match="must begin with http:// or https://"):
        await ask(api, base_url)


PLAIN_JSON = Response.json(200, {"id": "msg", "type": "message", "content": []})
UNREADABLE = [
    *((api, PLAIN_JSON) for api in ANSWERS),
    *((api, Response([b"<html>Welcome</html>"], headers={"content-type": "text/html"})) for api in ANSWERS),
    ("anthropic-messages", Response([b"event: message_start\ndata: {not json\n\n"])),
    ("openai-completions", Response([b"data: {not json\n\n"])),
    ("openai-responses", Response([b"data: {not json\n\n"])),
    ("google-generative-ai", Response([b"data: {not json\n\n"])),
    ("google-generative-ai", Response([b'data: {"candidates": 7}\n\n'])),
    ("openai-responses", Response(event_stream({"type": "response.output_item.added"}))),
    ("openai-responses", Response(event_stream({"type": "response.output_item.done", "item": 7}))),
    ("anthropic-messages", Response(event_stream({"type": "content_block_stop", "index": 0}))),
    ("openai-completions", Response(openai_stream({"choices": [7]}))),
    ("openai-completions", Response(openai_stream({"choices": [{"index": 0, "delta": "Hi"}]}))),
]


@pytest.mark.parametrize(("api", "response"), UNREADABLE)
async def test_an_answer_that_is_no_stream_of_the_api_is_a_failure(api: str, response: Response) -> None:
    message = await failure(api, response)
    assert (message.error_reason, message.error_retryable) == ("invalid_response", False)
    assert message.content == []


@each_api
async def test_a_stream_without_an_event_is_one_that_was_cut(api: str) -> None:
    keep_alive = [] if api in STREAM_TYPES else [b": keep-alive\n\n"]
    message = await failure(api, response(api, keep_alive))
    assert (message.error_reason, message.error_retryable) == ("network", True)


@each_api
async def test_a_plain_answer_is_named(api: str) -> None:
    message = await failure(api, PLAIN_JSON)
    assert (message.error_reason, message.error_retryable) == ("invalid_response", False)
    assert "application/json" in (message.error_message or "")


async def test_an_answer_without_done_or_without_a_finish_reason_is_whole_all_the_same() -> None:
    for pieces in (
        openai_stream(chunk({"content": "Hi"}, "stop"), done=False),
        openai_stream(chunk({"content": "Hi"})),
    ):
        async with loopback(Response(pieces)) as server:
            message = last_message(await ask("openai-completions", server.url))
        assert (message.stop_reason, message.text) == ("stop", "Hi")


@each_api
async def test_a_compressed_answer_is_read_too(api: str) -> None:
    zipped = response(api, [gzip.compress(b"".join(ANSWERS[api]))], headers={"content-encoding": "gzip"})
    async with loopback(zipped) as server:
        message = last_message(await ask(api, server.url))
    assert (message.stop_reason, message.text) == ("toolUse", "One moment 👀")


_BUSY = {"type": "error", "error": {"type": "overloaded_error", "code": "overloaded", "message": "Busy"}}

#: How each api says in mid-stream that it has too much to do.
OVERLOADED = {
    "anthropic-messages": event_stream(_BUSY)[0],
    "openai-completions": openai_stream(_BUSY)[0],
    "openai-responses": event_stream(_BUSY)[0],
    "google-generative-ai": b'{"error": {"code": 503, "status": "UNAVAILABLE", "message": "Busy"}}\n',
    "mistral-conversations": openai_stream({"object": "error", "message": "Busy", "type": "capacity_exceeded"})[0],
    "bedrock-converse-stream": aws_frame(
        {":message-type": "exception", ":exception-type": "serviceUnavailableException"}, {"message": "Busy"}
    ),
}


#: They have one word for a server that is busy and one that is down.
ONE_WORD = ("bedrock-converse-stream", "google-generative-ai")


@each_api
async def test_text_that_came_before_a_failure_in_the_stream_is_kept(api: str) -> None:
    head = {"retry-after": "60"}  # sent with good answers too: no word on this
    message = await failure(
        api, response(api, [*ANSWERS[api][: min(9, len(ANSWERS[api]) - 2)], OVERLOADED[api]], headers=head)
    )
    assert (message.error_message, message.error_retryable) == ("Busy", True)
    assert message.error_reason == ("server" if api in ONE_WORD else "overloaded")
    assert message.error_retry_after_s is None
    assert message.text.startswith("One ")


# ---- leaving early


@each_api
async def test_closing_at_any_event_closes_the_connection_at_once(api: str) -> None:
    spoken = ANSWERS[api][: {"mistral-conversations": -2}.get(api, -4)]
    for position in range(11):  # as many events as all answers give before they fall silent
        async with loopback(response(api, spoken, ending="silence")) as server:
            stream = provider(api).stream_simple(model(api, server.url), HELLO, KEY)
            with fail_after(5):
                for _ in range(position):
                    await anext(stream)
                await stream.aclose()
            if position:
                await seen_by(server)
            else:
                assert server.requests == []  # nothing begins before the first iteration


@each_api
async def test_cancelling_closes_the_connection(api: str) -> None:
    async with loopback(response(api, ANSWERS[api][:3], ending="silence")) as server:
        started = asyncio.Event()

        async def read() -> None:
            async for _ in provider(api).stream_simple(model(api, server.url), HELLO, KEY):
                started.set()

        task = asyncio.create_task(read())
        with fail_after(10):
            await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await seen_by(server)


@each_api
async def test_a_stream_that_is_dropped_unread_closes_the_connection(api: str) -> None:
    async with loopback(response(api, ANSWERS[api][:3], ending="silence")) as server:
        stream = provider(api).stream_simple(model(api, server.url), HELLO, KEY)
        await anext(stream)
        del stream
        gc.collect()
        await seen_by(server)


async def seen_by(server: Loopback) -> None:
    with fail_after(20):
        await server.dropped.wait()


@each_api
async def test_calls_do_not_share_anything(api: str) -> None:
    async with loopback(*[response(api)] * 5) as server:
        answers = await asyncio.gather(*(ask(api, server.url) for _ in range(5)))
    assert all(events == answers[0] for events in answers)


# ---- keys


async def sent_headers(api: str, at: Model, options: SimpleStreamOptions, environ: Mapping[str, str]) -> dict[str, str]:
    async with loopback(response(api)) as server:
        stream = provider(api, environ).stream_simple(at.model_copy(update={"base_url": server.url}), HELLO, options)
        async for _ in stream:
            pass
    [(headers, _)] = server.requests
    return headers


VARIABLES = [
    ("anthropic-messages", "ANTHROPIC_API_KEY"),
    ("openai-completions", "OPENAI_API_KEY"),
    ("openai-responses", "OPENAI_API_KEY"),
    ("google-generative-ai", "GEMINI_API_KEY"),
    ("google-generative-ai", "GOOGLE_API_KEY"),
    ("mistral-conversations", "MISTRAL_API_KEY"),
]


@pytest.mark.parametrize(("api", "variable"), VARIABLES)
async def test_the_key_comes_with_the_call_or_from_the_environment(api: str, variable: str) -> None:
    environ = {variable: "from-environment"}
    headers = await sent_headers(api, model(api, ""), SimpleStreamOptions(), environ)
    assert key_in(headers) == "from-environment"
    headers = await sent_headers(api, model(api, ""), SimpleStreamOptions(api_key="from-call"), environ)
    assert key_in(headers) == "from-call"


def key_in(headers: Mapping[str, str]) -> str:
    return headers.get("x-goog-api-key") or headers["authorization"].removeprefix("bearer ")


async def test_the_environment_is_read_when_the_call_is_made() -> None:
    environ: dict[str, str] = {}
    asked = provider("anthropic-messages", environ)
    async with loopback(Response(ANSWERS["anthropic-messages"])) as server:
        stream = asked.stream(model("anthropic-messages", server.url), HELLO)
        environ["ANTHROPIC_API_KEY"] = "late"
        assert (await anext(stream)).type == "start"
        await stream.aclose()
    assert server.requests[0][0]["authorization"] == "bearer late"


SERVICES = [
    *(each for each in VARIABLES if each[1] != "GOOGLE_API_KEY"),
    ("openai-completions", "OPENROUTER_API_KEY"),
    ("openai-responses", "OPENROUTER_API_KEY"),
]


@pytest.mark.parametrize(("api", "variable"), SERVICES)
async def test_a_missing_key_is_a_failure_that_says_what_to_set(api: str, variable: str) -> None:
    asked = model(api, "", provider="openrouter" if "ROUTER" in variable else "test")
    [event] = [event async for event in provider(api).stream(asked, HELLO)]
    message = last_message([event])
    assert (message.error_reason, message.error_retryable) == ("auth", False)
    assert f"set {variable}" in (message.error_message or "")


@pytest.mark.parametrize("api", ["openai-completions", "openai-responses", "google-generative-ai"])
async def test_a_server_of_ones_own_is_asked_without_a_key(api: str) -> None:
    headers = await sent_headers(api, model(api, ""), SimpleStreamOptions(), {})
    assert "authorization" not in headers
    assert "x-goog-api-key" not in headers
    assert "openai-organization" not in headers
    headers = await sent_headers(api, model(api, "", headers={"Authorization": "Own"}), SimpleStreamOptions(), {})
    assert headers["authorization"] == "own"


async def test_a_key_for_openai_is_not_sent_to_openrouter() -> None:
    router = model("openai-completions", "", provider="openrouter", id="vendor/m")
    environ = {"OPENAI_API_KEY": "openai", "OPENROUTER_API_KEY": "router"}
    assert (await sent_headers("openai-completions", router, SimpleStreamOptions(), environ))[
        "authorization"
    ] == "bearer router"


@each_api
async def test_headers_of_the_model_and_of_the_call_are_sent(api: str) -> None:
    at = model(api, "", headers={"x-model": "1", "x-both": "model"})
    options = SimpleStreamOptions(api_key="k", headers={"x-call": "2", "x-both": "call"})
    headers = await sent_headers(api, at, options, {})
    assert (headers["x-model"], headers["x-call"], headers["x-both"]) == ("1", "2", "call")
    assert headers["accept-encoding"] == "identity"


def test_an_endpoint_shows_no_credentials() -> None:
    shown = repr(Endpoint("https://api.example", "a-key", 1.0, 2.0, {"AWS_SECRET_ACCESS_KEY": "another"}))
    assert "api.example" in shown
    assert "a-key" not in shown
    assert "another" not in shown
