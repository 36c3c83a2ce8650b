"""What the adapter sends: the recorded request again, but for differences that are listed here, with reasons."""

import re
from typing import Any

import pytest

from tests.openprogram.providers.vendors.wire_cases import APIS, case_names, diff_json, exchange_events, serve_case

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.filterwarnings("ignore:The model .* is deprecated:DeprecationWarning"),
]

#: Differences that mean the same to the vendor, as patterns over `/path: what`. Told in docs/vendors.md.
SAME_MEANING = {
    "anthropic-messages": (
        r"/messages/\d+/content(/\d+/content)?: \[\{\"text\": .*, recorded \"",  # a string becomes one text block
        r"/system: \".*, recorded \[\{\"type\": \"text\"",  # and the system prompt's blocks one string
        r"/tool_choice: not in the recording",  # `auto`, the vendor's default
        r"/messages/\d+/content/\d+/is_error: not in the recording",  # false, the vendor's default
        r"/messages/\d+/content/\d+/cache_control/ttl: not in the recording",  # 5m, the vendor's default
        r"/tools/\d+/cache_control/ttl: not in the recording",
    ),
    "openai-completions": (
        r"/stream(_options)?: ",  # a stream, with its usage, is always asked for
        r"/tool_choice: not in the recording",  # `auto`, the vendor's default
        r"/(max_completion_tokens: missing|max_tokens: not in the recording)",  # the word that all servers know
        r"/tools/\d+/function/strict: missing",  # false, the vendor's default
        r"/messages/\d+/content: not in the recording",  # null beside tool calls
        r"/messages/\d+/content: null, recorded \"\"",
        r"/messages/\d+/reasoning: not in the recording",  # OpenRouter's plain text beside `reasoning_details`
        r"/messages/\d+/reasoning_details/\d+/id: not in the recording",  # null
    ),
}

#: What is lost, and why.
LOST = {
    # Context.system_prompt is a string, and a tool result's cache mark has no place in pydantic-ai's messages.
    "anthropic-messages/tools-parallel": (r"/messages/2/content/[01]/cache_control: missing",),
    # Server-side tools: our content types do not hold their blocks yet.
    "anthropic-messages/pause-turn-long": (r"/messages/1/content",),
}


@pytest.mark.parametrize("name", case_names())
async def test_the_recorded_request_is_sent_again(name: str) -> None:
    api = APIS[name.split("/")[0]]
    allowed = [re.compile(pattern) for pattern in (*SAME_MEANING[api], *LOST.get(name, ()))]
    with serve_case(name) as url:
        for index, exchange in enumerate(url.server.exchanges):
            await exchange_events(name, url, index)
            if (recorded := exchange["request"]["body"]) is None:
                continue
            differences = list(diff_json(recorded, url.server.requests[-1]["body"]))
            assert [each for each in differences if not any(pattern.match(each) for pattern in allowed)] == []


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
    assert body["messages"][0]["content"][0]["cache_control"] == {"type": "ephemeral", "ttl": "5m"}


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
