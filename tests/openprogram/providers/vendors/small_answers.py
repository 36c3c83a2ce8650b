"""An answer with thinking, text and parallel tool calls, written by hand as each api sends it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from openprogram.providers.types import Context, Model, SimpleStreamOptions, UserMessage
from tests.openprogram.providers.vendors.loopback import Response, aws_stream, event_stream, openai_stream

__all__ = [
    "ANSWERS",
    "HELLO",
    "KEY",
    "OPAQUE",
    "STREAM_TYPES",
    "Opaque",
    "bedrock_delta",
    "bedrock_metadata",
    "block_delta",
    "block_start",
    "block_stop",
    "chunk",
    "completed",
    "google_chunk",
    "item_added",
    "item_done",
    "item_event",
    "message_delta",
    "message_start",
    "model",
    "response",
    "usage_chunk",
]

HELLO = Context(messages=[UserMessage(content="hello")])
KEY = SimpleStreamOptions(api_key="k")


def model(api: str, base_url: str, **fields: Any) -> Model:
    """A model of no real vendor, served at `base_url`."""
    return Model(**{"id": "m", "provider": "test", "api": api, "base_url": base_url, **fields})


def message_start(**usage: int) -> dict[str, Any]:
    """The first event of the Messages API. `usage`: the tokens that it reports."""
    message = {"id": "msg", "type": "message", "role": "assistant", "model": "m", "content": []}
    stop = {"stop_reason": None, "stop_sequence": None}
    return {"type": "message_start", "message": {**message, **stop, "usage": {"output_tokens": 1, **usage}}}


def message_delta(stop_reason: str, **details: Any) -> dict[str, Any]:
    """The event with the stop reason, last but one. `details`: more of its `delta`."""
    delta = {"stop_reason": stop_reason, "stop_sequence": None, **details}
    return {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 12}}


def block_start(index: int, block: dict[str, Any]) -> dict[str, Any]:
    """A content block of the Messages API begins."""
    return {"type": "content_block_start", "index": index, "content_block": block}


def block_delta(index: int, kind: str, name: str, text: str) -> dict[str, Any]:
    """More of it. `kind`: the delta's type; `name`: the field with the text."""
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, name: text}}


def block_stop(index: int) -> dict[str, Any]:
    """It ends."""
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


def _call(index: int, arguments: str, name: str = "") -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"tool_calls": [{"index": index, "function": function} | ({"id": f"id-{name}"} if name else {})]}


def bedrock_delta(index: int, **delta: Any) -> tuple[str, dict[str, Any]]:
    """More of a content block of ConverseStream."""
    return "contentBlockDelta", {"contentBlockIndex": index, "delta": delta, "p": "abc"}


def bedrock_metadata(**usage: int) -> tuple[str, dict[str, Any]]:
    """The last event of ConverseStream. `usage`: the tokens that it reports."""
    return "metadata", {"usage": usage, "metrics": {"latencyMs": 1}, "p": "a"}


def _bedrock_stop(index: int) -> tuple[str, dict[str, Any]]:
    return "contentBlockStop", {"contentBlockIndex": index}


def _bedrock_tool(index: int, name: str) -> tuple[str, dict[str, Any]]:
    use = {"toolUseId": f"id-{name}", "name": name}
    return "contentBlockStart", {"contentBlockIndex": index, "start": {"toolUse": use}}


def item_added(index: int, item: dict[str, Any]) -> dict[str, Any]:
    """An output item of the Responses API begins."""
    return {"type": "response.output_item.added", "output_index": index, "item": item}


def item_done(index: int, item: dict[str, Any]) -> dict[str, Any]:
    """It is whole."""
    return {"type": "response.output_item.done", "output_index": index, "item": item}


def item_event(kind: str, item_id: str, delta: str, **fields: Any) -> dict[str, Any]:
    """More of it."""
    return {"type": f"response.{kind}.delta", "item_id": item_id, "delta": delta, **fields}


def completed(status: str = "completed", **fields: Any) -> dict[str, Any]:
    """The last event of the Responses API."""
    details = {"input_tokens_details": {"cached_tokens": 3}, "output_tokens_details": {"reasoning_tokens": 0}}
    usage = {"input_tokens": 10, "output_tokens": 12, "total_tokens": 22, **details}
    response = {"id": "resp", "object": "response", "status": status, "output": [], "usage": usage, **fields}
    return {"type": f"response.{status}", "response": response}


_CREATED = {
    "type": "response.created",
    "response": {"id": "resp", "object": "response", "status": "in_progress", "model": "m", "output": []},
}


def _reasoning(*texts: str) -> dict[str, Any]:
    summary = [{"type": "summary_text", "text": text} for text in texts]
    return {"id": "rs", "type": "reasoning", "summary": summary, "encrypted_content": "signed"}


def _message(status: str, *texts: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []} for text in texts]
    return {"id": "msg", "type": "message", "role": "assistant", "status": status, "content": content}


def _function_call(name: str, status: str, arguments: str) -> dict[str, Any]:
    call = {"id": f"fc-{name}", "call_id": f"id-{name}", "name": name}
    return {"type": "function_call", "status": status, "arguments": arguments, **call}


def google_chunk(*parts: dict[str, Any], finish: str | None = None, **fields: Any) -> dict[str, Any]:
    """A chunk of Gemini's."""
    candidate = {"content": {"role": "model", "parts": [*parts]}, "index": 0}
    usage = {"promptTokenCount": 10, "cachedContentTokenCount": 3, "candidatesTokenCount": 8, "thoughtsTokenCount": 4}
    ended = {"finishReason": finish} if finish else {}
    return {"candidates": [{**candidate, **ended}], "usageMetadata": usage, "modelVersion": "m", **fields}


def _google_call(name: str, args: dict[str, Any]) -> dict[str, Any]:
    return {"functionCall": {"id": f"id-{name}", "name": name, "args": args}}


@dataclass(frozen=True)
class Opaque:
    """What the answer must take back: with the thinking, with the text, and with the calls of `add` and `now`."""

    thinking: str | None
    text: str | None = None
    add: str | None = None
    now: str | None = None


OPAQUE = {
    "anthropic-messages": Opaque("signed"),
    "bedrock-converse-stream": Opaque("signed"),
    "google-generative-ai": Opaque(None, add="c2lnbmVk"),
    "mistral-conversations": Opaque("signed"),
    "openai-completions": Opaque("reasoning_content"),
    "openai-responses": Opaque(
        '{"id":"rs","summary":1,"type":"reasoning","encrypted_content":"signed"}',
        '{"id":"msg"}',
        '{"id":"fc-add"}',
        '{"id":"fc-now"}',
    ),
}

#: By api. All say the same: think, speak, call `add` with {"a": 1} and `now` with nothing.
ANSWERS: dict[str, Sequence[bytes]] = {
    "anthropic-messages": event_stream(
        message_start(input_tokens=7, cache_creation_input_tokens=0, cache_read_input_tokens=3),
        block_start(0, {"type": "thinking", "thinking": "", "signature": ""}),
        block_delta(0, "thinking_delta", "thinking", "Let me "),
        {"type": "ping"},
        block_delta(0, "thinking_delta", "thinking", "add."),
        block_delta(0, "signature_delta", "signature", "signed"),
        block_stop(0),
        block_start(1, {"type": "text", "text": ""}),
        block_delta(1, "text_delta", "text", "One "),
        block_delta(1, "text_delta", "text", "moment 👀"),
        block_stop(1),
        block_start(2, _tool("add")),
        block_delta(2, "input_json_delta", "partial_json", ""),
        block_delta(2, "input_json_delta", "partial_json", '{"a"'),
        block_delta(2, "input_json_delta", "partial_json", ": 1}"),
        block_stop(2),
        block_start(3, _tool("now")),
        block_delta(3, "input_json_delta", "partial_json", ""),
        block_stop(3),
        message_delta("tool_use"),
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
    "bedrock-converse-stream": aws_stream(
        ("messageStart", {"role": "assistant"}),
        # text and reasoning begin without a word, and indexes are left out
        bedrock_delta(1, reasoningContent={"text": "Let me "}),
        bedrock_delta(1, reasoningContent={"text": "add."}),
        bedrock_delta(1, reasoningContent={"signature": "signed"}),
        _bedrock_stop(1),
        bedrock_delta(3, text=""),
        bedrock_delta(3, text="One "),
        bedrock_delta(3, text="moment 👀"),
        _bedrock_stop(3),
        _bedrock_tool(4, "add"),
        bedrock_delta(4, toolUse={"input": '{"a"'}),
        bedrock_delta(4, toolUse={"input": ": 1}"}),
        _bedrock_stop(4),
        _bedrock_tool(5, "now"),
        bedrock_delta(5, toolUse={"input": ""}),
        _bedrock_stop(5),
        ("messageStop", {"stopReason": "tool_use"}),
        bedrock_metadata(inputTokens=7, outputTokens=12, totalTokens=22, cacheReadInputTokens=3),
    ),
    "google-generative-ai": openai_stream(
        google_chunk({"text": "Let me ", "thought": True}),
        google_chunk({"text": "add.", "thought": True}),
        google_chunk({"text": "One "}),
        google_chunk({"text": "moment 👀"}),
        google_chunk({**_google_call("add", {"a": 1}), "thoughtSignature": "c2lnbmVk"}),
        google_chunk(_google_call("now", {})),
        *[google_chunk()] * 3,
        google_chunk({"text": ""}, finish="STOP"),
        done=False,
    ),
    "openai-responses": event_stream(
        _CREATED,
        item_added(0, _reasoning()),
        item_event("reasoning_summary_text", "rs", "Let me ", summary_index=0),
        item_event("reasoning_summary_text", "rs", "add.", summary_index=0),
        item_done(0, _reasoning("Let me add.")),
        item_added(1, _message("in_progress")),
        item_event("output_text", "msg", "One ", content_index=0),
        item_event("output_text", "msg", "moment 👀", content_index=0),
        item_done(1, _message("completed", "One moment 👀")),
        item_added(2, _function_call("add", "in_progress", "")),
        item_added(3, _function_call("now", "in_progress", "")),
        item_event("function_call_arguments", "fc-add", '{"a"'),
        item_event("function_call_arguments", "fc-add", ": 1}"),
        item_done(2, _function_call("add", "completed", '{"a": 1}')),
        item_done(3, _function_call("now", "completed", "")),
        completed(),
    ),
    "mistral-conversations": openai_stream(
        chunk({"role": "assistant", "content": ""}),
        # contents are lists or strings, in turns
        chunk({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Let me "}]}]}),
        chunk(
            {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "add."}], "signature": "signed"}]}
        ),
        chunk({"content": [{"type": "text", "text": "One "}]}),
        chunk({"content": "moment 👀"}),
        chunk(_call(0, '{"a"', "add")),
        chunk(_call(0, ": 1}")),
        {
            **chunk(_call(1, "", "now"), "tool_calls"),
            "usage": usage_chunk(10, 12, cached=3)["usage"],
        },
    ),
}

#: How each api calls its streams.
STREAM_TYPES = {"bedrock-converse-stream": "application/vnd.amazon.eventstream"}


def response(api: str, pieces: Sequence[bytes] | None = None, **fields: Any) -> Response:
    """The answer of an api, or these pieces of one, labelled as its streams are. `fields`: more of the Response."""
    head = {"content-type": STREAM_TYPES.get(api, "text/event-stream"), **fields.pop("headers", {})}
    return Response(ANSWERS[api] if pieces is None else pieces, headers=head, **fields)
