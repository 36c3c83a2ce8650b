"""Two answers with thinking, text and parallel tool calls, written by hand: one as each api sends it."""

from collections.abc import Sequence
from typing import Any

from openprogram.providers.types import Context, Model, SimpleStreamOptions, UserMessage
from tests.openprogram.providers.vendors.loopback import anthropic_stream, openai_stream

__all__ = ["ANSWERS", "HELLO", "KEY", "chunk", "model", "usage_chunk"]

HELLO = Context(messages=[UserMessage(content="hello")])
KEY = SimpleStreamOptions(api_key="k")


def model(api: str, base_url: str, **fields: Any) -> Model:
    """A model of no real vendor, served at `base_url`."""
    return Model(**{"id": "m", "provider": "test", "api": api, "base_url": base_url, **fields})


def _start(index: int, block: dict[str, Any]) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def _delta(index: int, kind: str, name: str, text: str) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, name: text}}


def _stop(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def _tool(name: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"id-{name}", "name": name, "input": {}}


def chunk(delta: dict[str, Any], finish_reason: str | None = None, index: int = 0) -> dict[str, Any]:
    """A chunk of Chat Completions."""
    choice = {"index": index, "delta": delta, "finish_reason": finish_reason}
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}


def usage_chunk(prompt: int, completion: int, cached: int = 0) -> dict[str, Any]:
    """The chunk with the usage, which has no choice."""
    usage = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": cached},
    }
    return {**chunk({}), "choices": [], "usage": usage}


def _call(index: int, arguments: str, name: str | None = None) -> dict[str, Any]:
    function = {"arguments": arguments} | ({"name": name} if name else {})
    return {"tool_calls": [{"index": index, "function": function} | ({"id": f"id-{name}"} if name else {})]}


#: By api. Both say the same: think, speak, call `add` with {"a": 1} and `now` with nothing.
ANSWERS: dict[str, Sequence[bytes]] = {
    "anthropic-messages": anthropic_stream(
        {
            "type": "message_start",
            "message": {
                "id": "msg",
                "type": "message",
                "role": "assistant",
                "model": "m",
                "content": [],
                "stop_reason": None,
                "stop_sequence": None,
                "usage": {
                    "input_tokens": 7,
                    "cache_creation_input_tokens": 0,
                    "cache_read_input_tokens": 3,
                    "output_tokens": 1,
                },
            },
        },
        _start(0, {"type": "thinking", "thinking": "", "signature": ""}),
        _delta(0, "thinking_delta", "thinking", "Let me "),
        {"type": "ping"},
        _delta(0, "thinking_delta", "thinking", "add."),
        _delta(0, "signature_delta", "signature", "signed"),
        _stop(0),
        _start(1, {"type": "text", "text": ""}),
        _delta(1, "text_delta", "text", "One "),
        _delta(1, "text_delta", "text", "moment 👀"),
        _stop(1),
        _start(2, _tool("add")),
        _delta(2, "input_json_delta", "partial_json", ""),
        _delta(2, "input_json_delta", "partial_json", '{"a"'),
        _delta(2, "input_json_delta", "partial_json", ": 1}"),
        _stop(2),
        _start(3, _tool("now")),
        _delta(3, "input_json_delta", "partial_json", ""),
        _stop(3),
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use", "stop_sequence": None},
            "usage": {"output_tokens": 12},
        },
        {"type": "message_stop"},
    ),
    "openai-completions": openai_stream(
        chunk({"role": "assistant", "content": None, "reasoning_content": "Let me "}),
        chunk({"reasoning_content": "add."}),
        chunk({"content": "One "}),
        chunk({"content": "moment 👀"}),
        # the two calls in turns, as servers may send them
        chunk(_call(0, "", "add")),
        chunk(_call(1, "", "now")),
        chunk(_call(0, '{"a"')),
        chunk(_call(0, ": 1}")),
        chunk({}, "tool_calls"),
        usage_chunk(10, 12, cached=3),
    ),
}
