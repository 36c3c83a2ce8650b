"""An answer held to what its bytes say, and to what holds for every stream of events. Each problem is a sentence."""

import json
from collections.abc import Iterator
from itertools import groupby
from typing import Any, get_args

from openprogram.providers.fold import Fold
from openprogram.providers.types import (
    AssistantContent,
    AssistantMessage,
    AssistantMessageEvent,
    ErrorReason,
    EventDone,
    EventError,
    EventStart,
    EventTextDelta,
    EventThinkingDelta,
    EventToolCallDelta,
    EventToolCallStart,
    ProviderContent,
    TextContent,
    ThinkingContent,
    ToolCall,
)
from tests.wire.expected import Expected, ExpectedFailure, ExpectedTool

__all__ = ["answer_problems", "event_problems", "final_message"]

_DELTAS = (EventTextDelta, EventThinkingDelta, EventToolCallDelta)


def final_message(events: list[AssistantMessageEvent]) -> AssistantMessage:
    """The message of the terminal event. Raises AssertionError: there is none, or it is not the last event."""
    terminal = [event for event in events if isinstance(event, EventDone | EventError)]
    assert terminal, "the stream has no terminal event"
    assert terminal == events[-1:], "the terminal event is not the last one, or there are several"
    last = terminal[0]
    return last.message if isinstance(last, EventDone) else last.error


# ---- every stream


def event_problems(events: list[AssistantMessageEvent]) -> Iterator[str]:
    """What is wrong with the stream, whatever it says: order, blocks, and the message as the fold of the events."""
    message = final_message(events)
    last = events[-1]
    assert isinstance(last, EventDone | EventError)
    if last.reason != message.stop_reason:
        yield f"the event's reason is {last.reason}, its message's {message.stop_reason}"
    # An error answer never begins; an answer begins once, before its content.
    starts = [index for index, event in enumerate(events) if isinstance(event, EventStart)]
    if starts != ([0] if len(events) > 1 else []):
        yield f"`start` stands at {starts}"
    fold = Fold(message.api, message.provider, message.model)
    for event in events[:-1]:
        fold.add(event)
    if fold.partial.content != message.content:
        yield "the message is not what the events add up to"
    blocks = [event for event in events if not isinstance(event, EventStart | EventDone | EventError)]
    if sorted({event.content_index for event in blocks}) != list(range(len(message.content))):
        yield "the blocks are not counted from 0"
    for index in range(len(message.content)):
        of_block = [event for event in blocks if event.content_index == index]
        yield from (f"block {index} {problem}" for problem in _block_problems(of_block, message))


def _block_problems(events: list[Any], message: AssistantMessage) -> Iterator[str]:
    if {event.type for event in events} == {"provider_block"}:
        return  # it comes whole
    kinds = [kind.rsplit("_", 1)[1] for kind, _ in groupby(event.type for event in events)]
    whole = ["start", "delta", "end"]
    if [kind for kind in whole if kind in kinds] != kinds or kinds[:1] != ["start"]:
        yield f"comes as {kinds}"
    if kinds[-1] != "end":
        if message.stop_reason != "error":
            yield "does not end"
        return
    joined = "".join(event.delta for event in events if isinstance(event, _DELTAS))
    end = events[-1]
    if end.type == "toolcall_end":
        call: ToolCall = end.tool_call
        begin = events[0]
        if (begin.id, begin.name) != (call.id, call.name):
            yield "changes its tool's id or name"
        if call.arguments_error is None and json.loads(joined or "{}") != call.arguments:
            yield "has other arguments than its deltas"
    elif end.content != joined:
        yield "is not what its deltas add up to"


# ---- this one


def answer_problems(
    message: AssistantMessage, events: list[AssistantMessageEvent], expected: Expected
) -> Iterator[str]:
    """Where the message says something else than the bytes."""
    yield from _differing("stop reason", message.stop_reason, expected.stop)
    yield from _failure_problems(message, expected.failure)
    text = "".join(block.text for block in message.content if isinstance(block, TextContent))
    thinking = "".join(block.thinking for block in message.content if isinstance(block, ThinkingContent))
    yield from _differing("text", text, expected.text)
    yield from _differing("thinking", thinking, expected.thinking)
    usage = message.usage
    counts = (usage.input, usage.output, usage.cache_read, usage.cache_write)
    yield from _differing("usage", counts, expected.usage)
    yield from _differing("total tokens", usage.total_tokens, sum(expected.usage))
    yield from _tool_problems(message, events, expected.tools)
    own = [block.data for block in message.content if isinstance(block, ProviderContent)]
    if expected.provider_blocks is not None:
        # Such a block comes whole: of an answer that failed, the last one may not have come.
        came = expected.provider_blocks[: len(own)] if expected.failure else expected.provider_blocks
        yield from _differing("blocks of the vendor's own", own, came)
    cited = [one for block in message.content if isinstance(block, TextContent) for one in block.citations or []]
    yield from _differing("citations", cited, expected.citations)
    kept = [opaque for block in message.content if (opaque := _signature(block))]
    for signature in expected.signatures:
        if not any(signature in opaque for opaque in kept):
            yield f"the signature {signature[:20]}… is lost"


def _failure_problems(message: AssistantMessage, expected: ExpectedFailure | None) -> Iterator[str]:
    if expected is None:
        yield from _differing("error", (message.error_reason, message.error_message), (None, None))
        return
    if message.error_reason not in get_args(ErrorReason):
        yield f"error reason {message.error_reason!r} is not a documented one"
    if expected.reason is not None:
        yield from _differing("error reason", message.error_reason, expected.reason)
    yield from _differing("retryable", message.error_retryable, expected.retryable)
    if expected.retry_after_s != "some":
        yield from _differing("retry after", message.error_retry_after_s, expected.retry_after_s)
    elif message.error_retry_after_s is None:
        yield "the date to retry after is lost"
    if expected.says not in (message.error_message or ""):
        yield f"the error message {message.error_message!r} does not say {expected.says!r}"
    if not message.error_message:
        yield "the error has no message"


def _tool_problems(
    message: AssistantMessage, events: list[AssistantMessageEvent], expected: list[ExpectedTool]
) -> Iterator[str]:
    begun = [event for event in events if isinstance(event, EventToolCallStart)]
    yield from _differing("tools called", [event.name for event in begun], [tool.name for tool in expected])
    for event, tool in zip(begun, expected, strict=False):
        at = event.content_index
        if tool.id is not None:
            yield from _differing("tool call id", event.id, tool.id)
        elif not event.id:
            yield f"the call of {tool.name} has no id"
        joined = "".join(each.delta for each in events if isinstance(each, _DELTAS) and each.content_index == at)
        if isinstance(tool.arguments, str):
            yield from _differing(f"arguments of {tool.name}, as text", joined, tool.arguments)
        call = message.content[at] if at < len(message.content) else None
        if not isinstance(call, ToolCall):
            yield f"the message has no call of {tool.name}"
            continue
        arguments = _object(tool.arguments)
        if arguments is not None:
            yield from _differing(f"arguments of {tool.name}", call.arguments, arguments)
        elif message.stop_reason != "error" and call.arguments_error is None:
            yield f"the arguments of {tool.name} are no JSON object, and are not marked"


def _object(arguments: str | dict[str, Any]) -> dict[str, Any] | None:
    if isinstance(arguments, dict):
        return arguments
    try:
        value = json.loads(arguments or "{}")
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _signature(block: AssistantContent) -> str | None:
    match block:
        case ThinkingContent():
            return block.thinking_signature
        case ToolCall():
            return block.thought_signature
        case TextContent():
            return block.text_signature
    return None


def _differing(what: str, got: object, expected: object) -> Iterator[str]:
    if got != expected:
        yield f"{what}: {_short(got)}, the bytes say {_short(expected)}"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:80]}… ({len(text)} characters) …{text[-30:]}"
