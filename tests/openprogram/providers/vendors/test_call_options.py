"""Options that are the adapter's own business: waiting, prompt caches, prices."""

from typing import Any

import pytest
from genai_prices import Usage as PricedUsage
from genai_prices import calc_price
from pydantic_ai.usage import RequestUsage

from openprogram.pipeline.redaction import SECRET_PLACEHOLDER
from openprogram.providers.recording import RecordingProvider
from openprogram.providers.replay import ReplayProvider
from openprogram.providers.types import (
    AssistantMessage,
    AssistantMessageEvent,
    Context,
    Model,
    ModelCost,
    SimpleStreamOptions,
    StreamOptions,
    TextContent,
    Tool,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from openprogram.providers.vendors import vendor_providers
from openprogram.providers.vendors.openai_client import cache_fields
from openprogram.providers.vendors.usage import usage_of
from tests.openprogram.providers.vendors.loopback import Response, loopback
from tests.openprogram.providers.vendors.small_answers import ANSWERS, HELLO, model

pytestmark = pytest.mark.anyio

ANTHROPIC, OPENAI = "anthropic-messages", "openai-completions"
AT_MS = 1_780_000_000_000


async def asked(
    api: str, response: Response, context: Context = HELLO, **options: Any
) -> tuple[AssistantMessageEvent, Any]:
    """The last event, and the request."""
    async with loopback(response) as server:
        given = SimpleStreamOptions(api_key="k", **options)
        stream = vendor_providers(environ={})[api].stream_simple(model(api, server.url), context, given)
        last = [event async for event in stream][-1]
    return last, server.requests[0][1]


# ---- waiting


@pytest.mark.parametrize("api", [ANTHROPIC, OPENAI])
async def test_a_call_fails_after_as_much_silence_as_it_allows(api: str) -> None:
    last, _ = await asked(api, Response(ANSWERS[api][:3], ending="silence"), timeout_s=0.2)
    assert last.type == "error"
    assert (last.error.error_reason, last.error.error_retryable) == ("timeout", True)


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan")])
async def test_a_time_that_is_none_is_refused(seconds: float) -> None:
    with pytest.raises(ValueError, match="timeout_s is"):
        await asked(OPENAI, Response(ANSWERS[OPENAI]), timeout_s=seconds)


# ---- prompt caches

MARK = {"type": "ephemeral"}


def marked() -> Context:
    said = UserMessage(content=[TextContent(text="long", cache_control=MARK)])
    called = AssistantMessage(content=[ToolCall(id="c", name="add")], api=ANTHROPIC, provider="test", model="m")
    result = ToolResultMessage.model_validate(
        {"tool_call_id": "c", "tool_name": "add", "content": [TextContent(text="1")], "cache_control": MARK}
    )
    return Context(messages=[said, called, result], tools=[Tool(name="add", cache_control=MARK)])


async def test_marks_are_sent_as_the_caller_set_them_or_not_at_all() -> None:
    context = marked()
    _, short = await asked(ANTHROPIC, Response(ANSWERS[ANTHROPIC]), context)
    assert str(short).count("ephemeral") == 3
    assert "cache_control" not in short
    _, none = await asked(ANTHROPIC, Response(ANSWERS[ANTHROPIC]), context, cache_retention="none")
    assert "ephemeral" not in str(none)
    assert context == marked()


async def test_a_long_cache_is_the_whole_prompt_for_an_hour() -> None:
    _, body = await asked(ANTHROPIC, Response(ANSWERS[ANTHROPIC]), cache_retention="long")
    assert body["cache_control"] == {"type": "ephemeral", "ttl": "1h"}


@pytest.mark.parametrize(
    ("base_url", "fields"),
    [
        ("https://api.openai.com/v1", {"prompt_cache_key": "s", "prompt_cache_retention": "24h"}),
        ("https://mine.openai.azure.com/openai/v1", {"prompt_cache_key": "s", "prompt_cache_retention": "24h"}),
        ("http://127.0.0.1:8000/v1", {}),
        ("https://openrouter.ai/api/v1", {}),
    ],
)
def test_openai_is_told_of_the_session_and_how_long_to_keep_it(base_url: str, fields: dict[str, Any]) -> None:
    asked_of = Model(id="m", api=OPENAI, provider="p", base_url=base_url)
    assert cache_fields(asked_of, StreamOptions(session_id="s", cache_retention="long")) == fields
    assert cache_fields(asked_of, StreamOptions()) == {}


@pytest.mark.parametrize("api", [ANTHROPIC, OPENAI])
async def test_other_servers_are_not_told_of_the_session(api: str) -> None:
    _, body = await asked(api, Response(ANSWERS[api]), session_id="my-session")
    assert "my-session" not in str(body)


async def test_a_cache_retention_that_nobody_knows_is_refused() -> None:
    with pytest.raises(ValueError, match="give 'none', 'short' or 'long'"):
        await asked(OPENAI, Response(ANSWERS[OPENAI]), cache_retention="forever")


# ---- prices


def claude(**fields: Any) -> Model:
    return Model(id="claude-sonnet-4-5", api=ANTHROPIC, provider="anthropic", **fields)


USAGE = RequestUsage(input_tokens=1_000_000, output_tokens=1000, cache_read_tokens=500_000, cache_write_tokens=100_000)


def test_a_call_costs_what_the_price_list_says_where_the_model_has_no_price() -> None:
    cost = usage_of(claude(base_url="https://api.anthropic.com"), USAGE, AT_MS).cost
    listed = calc_price(
        PricedUsage(input_tokens=1_000_000, output_tokens=1000, cache_read_tokens=500_000, cache_write_tokens=100_000),
        "claude-sonnet-4-5",
        provider_id="anthropic",
    )
    assert cost.total == pytest.approx(float(listed.total_price))
    assert cost.total > 0
    assert cost.input + cost.cache_read + cost.cache_write == pytest.approx(float(listed.input_price))
    assert cost.output == pytest.approx(float(listed.output_price))
    # a read costs a tenth of fresh input there, a write a quarter more
    assert cost.cache_read / 500_000 == pytest.approx(cost.input / 400_000 * 0.1)
    assert cost.cache_write / 100_000 == pytest.approx(cost.input / 400_000 * 1.25)


def test_the_models_own_price_counts_more_than_the_list() -> None:
    free = claude(base_url="https://api.anthropic.com", cost=ModelCost())
    assert usage_of(free, USAGE, AT_MS).cost.total == 0
    dear = claude(base_url="https://api.anthropic.com", cost=ModelCost(output=1000))
    assert usage_of(dear, USAGE, AT_MS).cost.total == pytest.approx(1)


@pytest.mark.parametrize(
    "unknown",
    [
        claude(base_url="http://127.0.0.1:8000"),
        claude(base_url=""),
        Model(id="no-such-model", api=ANTHROPIC, provider="anthropic", base_url="https://api.anthropic.com"),
    ],
)
def test_what_the_list_does_not_know_costs_nothing(unknown: Model) -> None:
    assert usage_of(unknown, USAGE, AT_MS).cost.total == 0


def test_an_answer_without_usage_costs_nothing() -> None:
    assert usage_of(claude(base_url="https://api.anthropic.com"), RequestUsage(), AT_MS).cost.total == 0


# ---- the recorded request


async def test_options_are_part_of_the_recorded_request_without_the_key(tmp_path: Any) -> None:
    path = tmp_path / "one.jsonl"
    key = "no-known-shape-7"
    options = SimpleStreamOptions(api_key=key, session_id="s", service_tier="flex", timeout_s=5, cache_retention="long")
    async with loopback(Response(ANSWERS[OPENAI])) as server:
        asked_of = model(OPENAI, server.url)
        with_options = RecordingProvider(vendor_providers(environ={})[OPENAI], path)
        live = [event async for event in with_options.stream_simple(asked_of, HELLO, options)]
        with_options.close()
    recorded = path.read_text()
    assert key not in recorded
    assert f'"api_key":"{SECRET_PLACEHOLDER}"' in recorded
    with ReplayProvider(path) as replay:
        another_key = options.model_copy(update={"api_key": "another"})
        assert [event async for event in replay.stream_simple(asked_of, HELLO, another_key)] == live
    with ReplayProvider(path) as replay, pytest.raises(Exception, match=r"options\.session_id"):
        _ = [
            event
            async for event in replay.stream_simple(asked_of, HELLO, options.model_copy(update={"session_id": "t"}))
        ]
