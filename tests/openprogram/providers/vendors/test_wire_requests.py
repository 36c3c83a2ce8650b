"""What the adapter sends back of an earlier answer. That whole requests are sent again is tested in tests/wire."""

from typing import Any

import pytest

from tests.openprogram.providers.vendors.wire_cases import exchange_events, serve_case

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.filterwarnings("ignore:The model .* is deprecated:DeprecationWarning"),
]


async def sent(name: str, index: int) -> Any:
    """The body that the server got for one exchange; those before it are asked too."""
    with serve_case(name) as url:
        for each in range(index + 1):
            await exchange_events(name, url, each)
    return url.server.requests[-1]["body"]


async def test_thinking_goes_back_with_its_signature() -> None:
    body = await sent("anthropic-messages/thinking-tool-loop", 1)
    thinking, call = body["messages"][1]["content"]
    assert (thinking["type"], thinking["signature"][:8]) == ("thinking", "EoQDCm0I")
    assert (call["type"], call["id"], call["input"]) == ("tool_use", "toolu_01825dXWLSoJwCst1qTsiWdb", {})


async def test_results_of_parallel_calls_share_one_turn() -> None:
    body = await sent("anthropic-messages/tools-parallel", 1)
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]
    assert [block["content"][0]["text"] for block in body["messages"][2]["content"]] == [
        "Welcome to Moria!",
        "Life before Death",
    ]


async def test_a_cache_mark_stays_on_its_block() -> None:
    body = await sent("anthropic-messages/cache-write-read", 1)
    assert body["messages"][0]["content"][0]["cache_control"] == {"type": "ephemeral"}


async def test_reasoning_details_go_back_as_they_came() -> None:
    body = await sent("openai-compatible/openrouter-reasoning-tool-loop", 1)
    [detail] = body["messages"][1]["reasoning_details"]
    assert (detail["type"], detail["format"], detail["signature"][:8]) == (
        "reasoning.text",
        "anthropic-claude-v1",
        "EvsCCkgI",
    )
    assert body["reasoning"] == {"max_tokens": 2000}


async def test_a_json_schema_is_sent_as_it_is() -> None:
    anthropic = await sent("anthropic-messages/json-schema", 0)
    assert anthropic["output_config"]["format"]["schema"]["title"] == "Dog"
    openai = await sent("openai-chat/json-schema-tools", 0)
    assert (openai["response_format"]["json_schema"]["name"], openai["response_format"]["json_schema"]["strict"]) == (
        "BookSummary",
        True,
    )
