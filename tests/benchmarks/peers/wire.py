"""The benchmark session as the Anthropic Messages API would carry it: request parameters, and answers as SSE."""

import json
from collections.abc import Iterator
from typing import Any

from openprogram.providers.types import (
    AssistantMessage,
    AssistantMessageEvent,
    Context,
    EventDone,
    EventStart,
    EventTextDelta,
    EventTextEnd,
    EventTextStart,
    EventToolCallDelta,
    EventToolCallEnd,
    EventToolCallStart,
    Message,
    TextContent,
    ToolCall,
    ToolResultMessage,
)

__all__ = ["answer_body", "parameters"]


def parameters(context: Context) -> dict[str, Any]:
    """What the SDK is given for one call, without the model."""
    return {
        "max_tokens": 4096,
        "system": context.system_prompt,
        "tools": [
            {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
            for tool in context.tools or ()
        ],
        "messages": [_message(message) for message in context.messages],
    }


def _message(message: Message) -> dict[str, Any]:
    match message:
        case AssistantMessage(content=content):
            return {"role": "assistant", "content": [_block(block) for block in content]}
        case ToolResultMessage(tool_call_id=call, content=content):
            result = {"type": "tool_result", "tool_use_id": call, "content": [_block(block) for block in content]}
            return {"role": "user", "content": [result]}
        case _:
            return {"role": "user", "content": message.content}


def _block(block: Any) -> dict[str, Any]:
    match block:
        case TextContent(text=text):
            return {"type": "text", "text": text}
        case ToolCall(id=call, name=name, arguments=arguments):
            return {"type": "tool_use", "id": call, "name": name, "input": arguments}
        case _:
            raise ValueError(f"the workload has no {block!r}")


def answer_body(answer: list[AssistantMessageEvent]) -> bytes:
    """One SSE event for each event of ours, and `message_stop` behind them."""
    events = [event for one in answer for event in _events(one)]
    return b"".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events)


def _events(event: AssistantMessageEvent) -> Iterator[dict[str, Any]]:
    match event:
        case EventStart():
            usage = {"input_tokens": 1000, "output_tokens": 1}
            head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "bench-1", "content": []}
            yield {"type": "message_start", "message": {**head, "stop_reason": None, "usage": usage}}
        case EventTextStart(content_index=index):
            yield _begun(index, {"type": "text", "text": ""})
        case EventTextDelta(content_index=index, delta=delta):
            yield _grown(index, {"type": "text_delta", "text": delta})
        case EventToolCallStart(content_index=index, id=call, name=name):
            yield _begun(index, {"type": "tool_use", "id": call, "name": name, "input": {}})
        case EventToolCallDelta(content_index=index, delta=delta):
            yield _grown(index, {"type": "input_json_delta", "partial_json": delta})
        case EventTextEnd(content_index=index) | EventToolCallEnd(content_index=index):
            yield {"type": "content_block_stop", "index": index}
        case EventDone(message=message):
            usage = {"output_tokens": message.usage.output}
            yield {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": usage}
            yield {"type": "message_stop"}
        case _:
            raise ValueError(f"the workload has no {event.type}")


def _begun(index: int, block: dict[str, Any]) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def _grown(index: int, delta: dict[str, Any]) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": delta}
