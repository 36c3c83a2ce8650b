"""Mistral's chat completions, as recorded: Chat Completions with contents that may be lists.

Source: https://docs.mistral.ai/api/endpoint/chat
"""

import json
from collections.abc import Mapping
from typing import Any

from openprogram.providers.types import (
    AssistantContent,
    Context,
    Model,
    SimpleStreamOptions,
    TextContent,
    ThinkingContent,
)
from tests.wire import openai_completions
from tests.wire.calls import ANY_CALL, Call, Place
from tests.wire.expected import Expected, Response, server_sent_events

__all__ = ["call", "expected", "same_form"]

# ---- answers


def expected(request: Mapping[str, Any], response: Response) -> Expected:
    """See WireFormat. Contents that are lists are brought into the form of OpenAI's chunks first."""
    body = response.get("body_text", "")
    if response["status"] >= 400:
        response = {**response, "body_text": json.dumps(_error(json.loads(body)))}
    else:
        chunks = [data if data == "[DONE]" else json.dumps(_as_openai(json.loads(data))) for _, data in events(body)]
        response = {**response, "body_text": "".join(f"data: {chunk}\n\n" for chunk in chunks)}
    return openai_completions.expected(request, response)


def events(body: str) -> list[tuple[str, str]]:
    """Those of the stream."""
    return list(server_sent_events(body))


def _error(body: dict[str, Any]) -> dict[str, Any]:
    """The words, wherever they stand."""
    words = body.get("message") or body.get("detail") or ""
    return {**body, "message": words if isinstance(words, str) else words[0]["msg"]}


def _as_openai(chunk: dict[str, Any]) -> dict[str, Any]:
    if chunk.get("object") == "error":
        return {"error": chunk}
    for choice in chunk.get("choices") or []:
        delta = choice["delta"]
        pieces = delta.get("content")
        if isinstance(pieces, list):
            delta["content"] = "".join(piece["text"] for piece in pieces if piece["type"] == "text")
            thoughts = [each for piece in pieces if piece["type"] == "thinking" for each in piece["thinking"]]
            delta["reasoning_content"] = "".join(each.get("text", "") for each in thoughts)
    return chunk


# ---- requests


def same_form(body: dict[str, Any]) -> dict[str, Any]:
    """See WireFormat. `prefix` and `index`, which the SDK adds, are left out; one text block is a string."""
    form = openai_completions.same_form({**body, "messages": [_same_message(each) for each in body["messages"]]})
    if "tools" in form:
        form["tools"] = [_described(tool) for tool in form["tools"]]
    return form


def _described(tool: dict[str, Any]) -> dict[str, Any]:
    return {"type": "function", **tool, "function": {"description": "", **tool["function"]}}


def _same_message(message: dict[str, Any]) -> dict[str, Any]:
    form = {key: value for key, value in message.items() if key != "prefix" or value}
    match message.get("content"):
        case [{"type": "text", "text": text}]:
            form["content"] = text
    if "tool_calls" in message:
        form["tool_calls"] = [
            {key: value for key, value in each.items() if key != "index"} for each in message["tool_calls"] or []
        ]
        if not form["tool_calls"]:
            del form["tool_calls"]
    return form


def call(request: Mapping[str, Any], place: Place) -> Call:
    """See WireFormat."""
    body: dict[str, Any] = request["body"] or ANY_CALL
    model = Model(id=body["model"], api=place.api, provider=place.provider, base_url=place.base_url)
    read = _Reader(body, model)
    context = Context(system_prompt=read.system(), messages=read.messages(), tools=read.tools())
    elsewhere = {"model", "messages", "tools", "stream"}
    given = {key: value for key, value in body.items() if key not in elsewhere and value is not None}
    return Call(model, context, SimpleStreamOptions(api_key="k", **given), read.left_out)


class _Reader(openai_completions.Reader):
    @staticmethod
    def _answer(message: dict[str, Any]) -> list[AssistantContent]:
        blocks: list[AssistantContent] = []
        if isinstance(message.get("content"), list):
            for piece in message["content"]:
                if piece["type"] == "thinking":
                    text = "".join(each.get("text", "") for each in piece["thinking"])
                    blocks.append(ThinkingContent(thinking=text, thinking_signature=piece.get("signature")))
                else:
                    blocks.append(TextContent(text=piece["text"]))
            message = {**message, "content": ""}
        return blocks + openai_completions.Reader._answer(message)
