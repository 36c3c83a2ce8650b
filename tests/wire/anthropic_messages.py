"""Anthropic's Messages API, as recorded. Source: https://platform.claude.com/docs/en/build-with-claude/streaming."""

import json
from collections.abc import Mapping
from typing import Any

from openprogram.providers.types import (
    AssistantContent,
    Context,
    DocumentContent,
    ImageContent,
    Message,
    Model,
    ProviderContent,
    SimpleStreamOptions,
    TextContent,
    ThinkingContent,
    Tool,
    ToolCall,
    ToolResultMessage,
    UserContent,
    UserMessage,
)
from tests.wire.calls import ANY_CALL, Call, Place, Reader
from tests.wire.expected import (
    CUT_OFF,
    Expected,
    ExpectedFailure,
    ExpectedTool,
    Response,
    http_failure,
    plain_answer,
    reason_of,
    server_sent_events,
)

__all__ = ["call", "expected", "same_form"]

# ---- answers

#: Blocks with a type of ours.
_CONTENT = {"text", "thinking", "redacted_thinking", "tool_use"}
_STOPS = {"max_tokens": "length", "model_context_window_exceeded": "length", "tool_use": "toolUse"}


def expected(request: Mapping[str, Any], response: Response) -> Expected:
    """See WireFormat."""
    return http_failure(response) or plain_answer(response) or _stream(response["body_text"])


def _stream(body: str) -> Expected:
    blocks: dict[int, dict[str, Any]] = {}
    usage: dict[str, Any] = {}
    delta: dict[str, Any] = {}
    failure: ExpectedFailure | None = CUT_OFF
    for _, data in server_sent_events(body):
        event = json.loads(data)
        match event["type"]:
            case "message_start":
                usage |= event["message"]["usage"]
            case "content_block_start":
                blocks[event["index"]] = {**event["content_block"], "whole": False}
            case "content_block_stop":
                blocks[event["index"]]["whole"] = True
            case "content_block_delta":
                _grow(blocks[event["index"]], event["delta"])
            case "message_delta":
                delta = event["delta"]
                usage |= {name: value for name, value in (event.get("usage") or {}).items() if value is not None}
            case "error":
                reason, retryable = reason_of(event["error"])
                failure = ExpectedFailure(reason, retryable, event["error"]["message"])
                break
    if failure is CUT_OFF and "\nevent: message_stop\n" in body:  # its name is all there is to it
        failure = _refusal(delta)
    shown = [blocks[index] for index in sorted(blocks)]
    tools = [
        ExpectedTool(block["id"], block["name"], block.get("partial_json", ""))
        for block in shown
        if block["type"] == "tool_use"
    ]
    stop = _STOPS.get(delta.get("stop_reason") or "", "toolUse" if tools else "stop")
    counts = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    fresh, output, read, written = (usage.get(name) or 0 for name in counts)
    return Expected(
        stop="error" if failure else stop,
        usage=(fresh, output, read, written),
        text="".join(block["text"] for block in shown if block["type"] == "text"),
        thinking="".join(block["thinking"] for block in shown if block["type"] == "thinking"),
        tools=tools,
        signatures=[] if failure else [sign for block in shown if (sign := block.get("signature") or _opaque(block))],
        provider_blocks=[_whole(block) for block in shown if block["type"] not in _CONTENT and block["whole"]],
        citations=[one for block in shown for one in block.get("citations") or [] if block["whole"]],
        failure=failure,
    )


def _whole(block: dict[str, Any]) -> dict[str, Any]:
    told = {key: value for key, value in block.items() if key not in ("whole", "partial_json")}
    return {**told, "input": json.loads(block["partial_json"])} if block.get("partial_json") else told


def _grow(block: dict[str, Any], delta: Mapping[str, Any]) -> None:
    if "citation" in delta:
        block["citations"] = [*(block.get("citations") or []), delta["citation"]]
    for name in ("text", "thinking", "signature", "partial_json"):
        if name in delta:
            block[name] = block.get(name, "") + delta[name]


def _opaque(block: Mapping[str, Any]) -> str:
    return block["data"] if block["type"] == "redacted_thinking" else ""


def _refusal(delta: Mapping[str, Any]) -> ExpectedFailure | None:
    if delta.get("stop_reason") != "refusal":
        return None
    return ExpectedFailure(
        "content_filter", retryable=False, says=(delta.get("stop_details") or {}).get("explanation") or ""
    )


# ---- requests


def same_form(body: dict[str, Any]) -> dict[str, Any]:
    """See WireFormat. A string is one text block, the system prompt one string; defaults are left out."""
    form = {**body, "messages": [_same_message(message) for message in body["messages"]]}
    if isinstance(system := body.get("system"), list):
        form["system"] = "\n\n".join(block["text"] for block in system)
    if body.get("tool_choice") == {"type": "auto"}:
        del form["tool_choice"]
    if "tools" in body:
        form["tools"] = [_without_defaults(tool) for tool in body["tools"]]
    return form


def _same_message(message: dict[str, Any]) -> dict[str, Any]:
    return {**message, "content": [_same_block(block) for block in _blocks(message["content"])]}


def _same_block(block: dict[str, Any]) -> dict[str, Any]:
    if block["type"] == "tool_result":
        block = {**block, "content": [_same_block(each) for each in _blocks(block.get("content"))]}
    return _without_defaults(block)


def _without_defaults(block: dict[str, Any]) -> dict[str, Any]:
    if "cache_control" in block and block["cache_control"] is None:
        block = {key: value for key, value in block.items() if key != "cache_control"}
    if block.get("is_error") is False:
        block = {key: value for key, value in block.items() if key != "is_error"}
    if block.get("cache_control") == {"type": "ephemeral", "ttl": "5m"}:
        block = {**block, "cache_control": {"type": "ephemeral"}}
    return block


def _blocks(content: str | list[dict[str, Any]] | None) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content or []


#: Body fields that become something else than an option.
_ELSEWHERE = {"model", "messages", "system", "tools", "stream"}


def call(request: Mapping[str, Any], place: Place) -> Call:
    """See WireFormat."""
    body: dict[str, Any] = request["body"] or ANY_CALL
    model = Model(id=body["model"], api=place.api, provider=place.provider, base_url=place.base_url)
    read = _Reader(body, model)
    context = Context(system_prompt=read.system(), messages=read.messages(), tools=read.tools())
    # Tools that run at the vendor have no place in Context.tools; as a field of the api they go in whole.
    server_tools = [tool for tool in body.get("tools") or [] if "input_schema" not in tool]
    output = dict(body.get("output_config") or {})
    fields = {
        **{key: value for key, value in body.items() if key not in _ELSEWHERE},
        "response_format": output.pop("format", None),
        "output_config": output or None,
        "tools": server_tools or None,
    }
    given = {key: value for key, value in fields.items() if value is not None}
    return Call(model, context, SimpleStreamOptions(api_key="k", **given), read.left_out)


class _Reader(Reader):
    def system(self) -> str | None:
        system = self.body.get("system")
        return system if isinstance(system, str | None) else "\n\n".join(block["text"] for block in system)

    def tools(self) -> list[Tool] | None:
        tools = [
            Tool(
                name=tool["name"],
                description=tool.get("description", ""),
                parameters=tool["input_schema"],
                cache_control=tool.get("cache_control"),
            )
            for tool in self.body.get("tools") or []
            if "input_schema" in tool
        ]
        return tools or None

    def messages(self) -> list[Message]:
        messages: list[Message] = []
        for index, message in enumerate(self.body["messages"]):
            content, at = message["content"], f"/messages/{index}/content"
            blocks = _blocks(content)
            if message["role"] == "assistant":
                answer = [one for each in blocks if (one := self._answer_block(each))]
                messages.append(self.answer(answer))
                continue
            for number, each in enumerate(blocks):
                if each["type"] == "tool_result":
                    messages.append(self._result(each, f"{at}/{number}"))
            said = [block for each in blocks if each["type"] != "tool_result" and (block := self._shown(each, at))]
            if said:
                messages.append(UserMessage(content=content if isinstance(content, str) else said))
        return messages

    def _answer_block(self, block: dict[str, Any]) -> AssistantContent | None:
        match block["type"]:
            case "text":
                return TextContent(
                    text=block["text"],
                    citations=block.get("citations") or None,
                    cache_control=block.get("cache_control"),
                )
            case "thinking":
                return ThinkingContent(thinking=block["thinking"], thinking_signature=block["signature"])
            case "redacted_thinking":
                return ThinkingContent(thinking="", thinking_signature=block["data"], redacted=True)
            case "tool_use":
                return ToolCall(id=block["id"], name=block["name"], arguments=block["input"])
        return ProviderContent(api=self.model.api, provider=self.model.provider, kind=block["type"], data=block)

    def _shown(self, block: dict[str, Any], at: str) -> UserContent | None:
        match block:
            case {"type": "image", "source": {"type": "base64"} as source}:
                return ImageContent(data=source["data"], mime_type=source["media_type"], **_marks(block))
            case {"type": "document", "source": source}:
                more = {key: block[key] for key in block.keys() - {"type", "source", "title"}}
                kind = "url" if source["type"] == "url" else "text" if source["type"] == "text" else "data"
                mime_type = source.get("media_type", "application/pdf")
                given = {kind: source["url" if kind == "url" else "data"]}
                return DocumentContent(mime_type=mime_type, name=block.get("title"), **given, **more)
            case {"type": "text"}:
                return TextContent(text=block["text"], cache_control=block.get("cache_control"))
        self.left_out[at] = f"a block of type {block['type']}, which our content types do not hold"
        return None

    def _result(self, block: dict[str, Any], at: str) -> ToolResultMessage:
        blocks = _blocks(block.get("content"))
        shown = [one for each in blocks if (one := self._shown(each, f"{at}/content"))]
        result = self.result(block["tool_use_id"], shown, is_error=block.get("is_error", False))
        return result.model_copy(update=_marks(block))


def _marks(block: dict[str, Any]) -> dict[str, Any]:
    return {"cache_control": block["cache_control"]} if "cache_control" in block else {}
