"""Every recorded conversation, served over HTTP and asked through the adapter."""

import json
from itertools import groupby

import pytest

from openprogram.providers.fold import Fold
from openprogram.providers.types import (
    AssistantMessage,
    AssistantMessageEvent,
    EventDone,
    EventError,
    EventStart,
    EventTextDelta,
    EventThinkingDelta,
    EventToolCallDelta,
    TextContent,
    ThinkingContent,
    Usage,
)
from tests.openprogram.providers.vendors.expectations import EXPECTED, Answer, Failed
from tests.openprogram.providers.vendors.wire_cases import APIS, case_names, exchange_events, final, serve_case

pytestmark = [
    pytest.mark.anyio,
    # the recordings are older than some models' end of life, which Anthropic's SDK warns of
    pytest.mark.filterwarnings("ignore:The model .* is deprecated:DeprecationWarning"),
]

CASES = case_names()

DELTAS = (EventTextDelta, EventThinkingDelta, EventToolCallDelta)

#: Cut into single bytes, every emoji, number and line end is split.
IN_SINGLE_BYTES = [
    "anthropic-messages/text-emoji",
    "anthropic-messages/tools-parallel",
    "anthropic-messages/thinking-tool-loop",
    "openai-chat/tools-parallel",
    "openai-compatible/openrouter-error-in-chunk",
    "openai-compatible/perplexity-citations",
]


def test_each_case_has_an_expectation() -> None:
    assert set(CASES) == set(EXPECTED)


@pytest.mark.parametrize("name", CASES)
async def test_an_answer_is_what_the_recorded_bytes_say(name: str) -> None:
    await check_case(name, chunk="events")


@pytest.mark.parametrize("name", IN_SINGLE_BYTES)
async def test_how_the_bytes_are_cut_makes_no_difference(name: str) -> None:
    await check_case(name, chunk=1)


async def check_case(name: str, chunk: int | str) -> None:
    with serve_case(name, chunk=chunk) as url:
        for index, expected in enumerate(EXPECTED[name]):
            events = await exchange_events(name, url, index)
            check_events(events)
            message = final(events)
            check_message(message, expected)
            assert (message.api, message.timestamp) == (APIS[name.split("/")[0]], 1_700_000_000_000)
    if name != "openai-compatible/azure-http-429":  # was recorded from a plain call
        assert url.server.problems == []
        # After an error in the stream nothing more is read: whether the rest was sent by then is a matter of time.
        assert url.server.served + url.server.dropped == len(EXPECTED[name])
        assert url.server.dropped == 0 or isinstance(EXPECTED[name][-1], Failed)
    assert len(url.server.requests) == len(EXPECTED[name])  # nobody tried twice


def check_events(events: list[AssistantMessageEvent]) -> None:
    """What holds for every stream, whatever it says."""
    message = final(events)
    fold = Fold(message.api, message.provider, message.model)
    for event in events[:-1]:
        fold.add(event)
    assert fold.partial.content == message.content

    # An error answer never begins; an answer begins once, before its content.
    assert [event.type for event in events].count("start") == (1 if len(events) > 1 else 0)
    assert len(events) == 1 or events[0].type == "start"

    blocks = [event for event in events if not isinstance(event, EventStart | EventDone | EventError)]
    indexes = [event.content_index for event in blocks]
    assert sorted(set(indexes)) == list(range(len(message.content)))
    for index in set(indexes):
        kinds = [kind for kind, _ in groupby(event.type for event in blocks if event.content_index == index)]
        assert kinds[0].endswith("_start")
        assert [kind for kind in kinds[1:] if kind.endswith("_start")] == []
        assert message.stop_reason == "error" or kinds[-1].endswith("_end")

    for event in blocks:
        if event.type.endswith("_end"):
            of_block = [each for each in blocks if each.content_index == event.content_index]
            joined = "".join(each.delta for each in of_block if isinstance(each, DELTAS))
            if event.type == "toolcall_end":
                if event.tool_call.arguments_error is None:
                    assert json.loads(joined or "{}") == event.tool_call.arguments
                [begin] = [each for each in of_block if each.type == "toolcall_start"]
                assert (begin.id, begin.name) == (event.tool_call.id, event.tool_call.name)
            elif event.type in ("text_end", "thinking_end"):
                assert event.content == joined


def check_message(message: AssistantMessage, expected: Answer | Failed) -> None:
    texts = [block.text for block in message.content if isinstance(block, TextContent)]
    thinking = [block for block in message.content if isinstance(block, ThinkingContent)]
    tools = [(call.id, call.name, call.arguments) for call in message.tool_calls]
    assert counts(message.usage) == expected.usage
    assert message.usage.total_tokens == sum(expected.usage)
    assert tools == expected.tools
    if isinstance(expected, Failed):
        assert (message.error_reason, message.error_retryable) == (expected.reason, expected.retryable)
        assert message.error_retry_after_s == expected.retry_after_s
        assert expected.says in (message.error_message or "")
        assert expected.texts == texts
        assert expected.thinking == [block.thinking for block in thinking]
        return
    assert message.stop_reason == expected.stop
    assert (message.error_message, message.error_reason, message.error_retryable) == (None, None, None)
    assert expected.texts is None or expected.texts == texts
    assert len(thinking) == len(expected.thinking)
    for block, (text, signature) in zip(thinking, expected.thinking, strict=True):
        assert text == block.thinking
        assert (block.thinking_signature or "").startswith(signature)
        assert block.redacted is (True if not text else None)


def counts(usage: Usage) -> tuple[int, int, int, int]:
    return usage.input, usage.output, usage.cache_read, usage.cache_write


async def test_tool_json_that_ends_too_early_is_marked() -> None:
    with serve_case("anthropic-messages/length-stop-in-tool-json") as url:
        message = final(await exchange_events("anthropic-messages/length-stop-in-tool-json", url, 0))
    assert message.stop_reason == "length"
    assert message.tool_calls[0].arguments_error == "invalid JSON at character 136: Unterminated string starting at"


async def test_text_between_server_tools_is_kept_and_the_tools_are_passed_over() -> None:
    name = "anthropic-messages/pause-turn-long"
    with serve_case(name) as url:
        await exchange_events(name, url, 0)
        message = final(await exchange_events(name, url, 1))
    assert len(message.content) == 35
    assert message.text.startswith("Let me continue with the remaining searches as requested:")
    assert message.text.endswith("completed as requested.")
