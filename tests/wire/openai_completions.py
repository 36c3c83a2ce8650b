"""OpenAI's Chat Completions and the servers that speak it, as recorded.

Source: https://platform.openai.com/docs/api-reference/chat-streaming, and for the other servers their recordings.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from openprogram.providers.types import (
    AssistantContent,
    Context,
    ImageContent,
    Message,
    Model,
    SimpleStreamOptions,
    TextContent,
    ThinkingContent,
    Tool,
    ToolCall,
    UserMessage,
)
from tests.wire import calls
from tests.wire.calls import ANY_CALL, Call, Place
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

__all__ = ["Reader", "call", "expected", "same_form"]

# ---- answers

_STOPS = {"length": "length", "tool_calls": "toolUse", "function_call": "toolUse"}

#: Open models write their thinking into the text.
_THINK = re.compile(r"<think>(.*?)(?:</think>|\Z)", re.DOTALL)


def expected(request: Mapping[str, Any], response: Response) -> Expected:
    """See WireFormat."""
    choices = (request["body"] or {}).get("n") or 1
    notes = [f"n = {choices}: the first choice is read"] if choices > 1 else []
    return http_failure(response) or plain_answer(response) or _stream(response["body_text"], notes)


def _stream(body: str, notes: list[str]) -> Expected:
    said = _Said()
    for _, data in server_sent_events(body):
        if data == "[DONE]":
            said.failure = None
            break
        chunk = json.loads(data)
        if error := chunk.get("error"):
            reason, retryable = reason_of(error)
            said.failure = ExpectedFailure(reason, retryable, error["message"])
            break
        said.take(chunk)
    return said.expected(_stray_error(body), notes)


def _stray_error(body: str) -> ExpectedFailure | None:
    """A line `error: …`, which is no field of an event stream."""
    for line in body.splitlines():
        if line.startswith("error:"):
            error = json.loads(line.removeprefix("error:"))
            return ExpectedFailure("server", retryable=True, says=error.get("error", error).get("message", ""))
    return None


class _Said:
    """What the first choice's deltas add up to."""

    def __init__(self) -> None:
        self.content = self.thinking = self.refusal = ""
        self.signatures: list[str] = []
        self.tools: dict[int, dict[str, str]] = {}
        self.finish: str | None = None
        self.usage: dict[str, Any] = {}
        self.failure: ExpectedFailure | None = CUT_OFF

    def take(self, chunk: Mapping[str, Any]) -> None:
        self.usage = chunk.get("usage") or self.usage
        for choice in chunk.get("choices") or []:
            if choice.get("index", 0) == 0:
                self._grow(choice.get("delta") or {})
                self.finish = choice.get("finish_reason") or self.finish
        if self.finish:
            self.failure = None

    def _grow(self, delta: Mapping[str, Any]) -> None:
        self.content += delta.get("content") or ""
        self.refusal += delta.get("refusal") or ""
        self.thinking += delta.get("reasoning_content") or delta.get("reasoning") or ""
        for detail in delta.get("reasoning_details") or []:
            self.signatures += [detail[name] for name in ("signature", "data") if detail.get(name)]
        for piece in delta.get("tool_calls") or []:
            call = self.tools.setdefault(piece.get("index", 0), {"id": "", "name": "", "arguments": ""})
            function = piece.get("function") or {}
            call["id"] = piece.get("id") or call["id"]
            call["name"] = function.get("name") or call["name"]
            call["arguments"] += function.get("arguments") or ""

    def expected(self, stray: ExpectedFailure | None, notes: list[str]) -> Expected:
        failure = stray or self.failure
        if failure is None and (self.refusal or self.finish == "content_filter"):
            failure = ExpectedFailure("content_filter", retryable=False, says=self.refusal)
        if failure is None and self.finish == "error":
            failure = ExpectedFailure("server", retryable=True)
        tools = [ExpectedTool(call["id"], call["name"], call["arguments"]) for call in self.tools.values()]
        return Expected(
            stop="error" if failure else _STOPS.get(self.finish or "", "toolUse" if tools else "stop"),
            usage=self._counts(),
            text=_THINK.sub("", self.content),
            thinking=self.thinking + "".join(_THINK.findall(self.content)),
            tools=tools,
            signatures=[] if failure else self.signatures,
            failure=failure,
            notes=notes,
        )

    def _counts(self) -> tuple[int, int, int, int]:
        details = self.usage.get("prompt_tokens_details") or {}
        read, written = details.get("cached_tokens") or 0, details.get("cache_write_tokens") or 0
        fresh = (self.usage.get("prompt_tokens") or 0) - read - written
        return fresh, self.usage.get("completion_tokens") or 0, read, written


# ---- requests


def same_form(body: dict[str, Any]) -> dict[str, Any]:
    """See WireFormat. A stream with its usage is always asked for; defaults and empty contents are left out."""
    form = {key: value for key, value in body.items() if key not in ("stream", "stream_options")}
    form["messages"] = [_same_message(message) for message in body["messages"]]
    if "max_completion_tokens" in form:  # only OpenAI's own servers know this word for it
        form["max_tokens"] = form.pop("max_completion_tokens")
    if body.get("tool_choice") == "auto":
        del form["tool_choice"]
    if "tools" in body:
        form["tools"] = [{**tool, "function": _not_strict(tool["function"])} for tool in body["tools"]]
    return form


def _same_message(message: dict[str, Any]) -> dict[str, Any]:
    form = dict(message)
    if message.get("tool_calls") and not message.get("content"):
        form.pop("content", None)
    if "reasoning_details" in message:  # OpenRouter's plain text beside them says the same
        form.pop("reasoning", None)
        form["reasoning_details"] = [
            {key: value for key, value in detail.items() if value is not None}
            for detail in message["reasoning_details"]
        ]
    return form


def _not_strict(function: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in function.items() if key != "strict" or value}


#: Body fields that become something else than an option.
_ELSEWHERE = {"model", "messages", "tools", "stream", "stream_options", "max_completion_tokens", "reasoning_effort"}


def call(request: Mapping[str, Any], place: Place) -> Call:
    """See WireFormat."""
    body: dict[str, Any] = request["body"] or ANY_CALL
    model = Model(id=body["model"], api=place.api, provider=place.provider, base_url=place.base_url)
    read = Reader(body, model)
    context = Context(system_prompt=read.system(), messages=read.messages(), tools=read.tools())
    fields = {key: value for key, value in body.items() if key not in _ELSEWHERE} | _renamed(body)
    given = {key: value for key, value in fields.items() if value is not None}
    return Call(model, context, SimpleStreamOptions(api_key="k", **given), read.left_out)


def _renamed(body: Mapping[str, Any]) -> dict[str, Any]:
    renamed = {"max_tokens": body.get("max_completion_tokens") or body.get("max_tokens")}
    if "reasoning_effort" in body:
        renamed["reasoning"] = body["reasoning_effort"]
    match body.get("reasoning"):  # OpenRouter's word, which is an option of ours too
        case {"max_tokens": int() as budget}:
            return {**renamed, "reasoning": "medium", "thinking_budgets": {"medium": budget}}
        case {"effort": str() as effort}:
            return {**renamed, "reasoning": effort}
    return renamed


class Reader(calls.Reader):
    """A request's messages and tools."""

    def system(self) -> str | None:
        first = self.body["messages"][0]
        if first["role"] not in ("system", "developer"):
            return None
        content = first["content"]
        return content if isinstance(content, str) else "\n\n".join(block["text"] for block in content)

    def tools(self) -> list[Tool] | None:
        functions = [tool["function"] for tool in self.body.get("tools") or []]
        return [Tool(**{"description": "", **function}) for function in functions] or None

    def messages(self) -> list[Message]:
        messages: list[Message] = []
        for index, message in enumerate(self.body["messages"]):
            at = f"/messages/{index}/content"
            match message["role"]:
                case "user":
                    content = message["content"]
                    said = content if isinstance(content, str) else self._shown(content, at)
                    messages.append(UserMessage(content=said))
                case "assistant":
                    messages.append(self.answer(list(self._answer(message))))
                case "tool":
                    content = message["content"]
                    text = content if isinstance(content, str) else "\n".join(block["text"] for block in content)
                    messages.append(self.result(message["tool_call_id"], [TextContent(text=text)], is_error=False))
        return messages

    def _shown(self, blocks: list[dict[str, Any]], at: str) -> list[TextContent | ImageContent]:
        shown: list[TextContent | ImageContent] = []
        for block in blocks:
            url = (block.get("image_url") or {}).get("url", "")
            if block["type"] == "text":
                shown.append(TextContent(text=block["text"]))
            elif ";base64," in url:
                head, data = url.split(";base64,")
                shown.append(ImageContent(data=data, mime_type=head.removeprefix("data:")))
            else:
                self.left_out[at] = f"a block of type {block['type']}, which our content types do not hold"
        return shown

    @staticmethod
    def _answer(message: dict[str, Any]) -> list[AssistantContent]:
        content: list[AssistantContent] = []
        for detail in message.get("reasoning_details") or []:
            details = {key: detail[key] for key in ("format", "index", "type") if key in detail}
            opaque = {"details": details, "id": detail.get("id"), "signature": detail.get("signature")}
            signature = json.dumps(opaque, separators=(",", ":"))
            content.append(ThinkingContent(thinking=detail.get("text", ""), thinking_signature=signature))
        if not message.get("reasoning_details"):
            fields = [field for field in ("reasoning_content", "reasoning") if message.get(field)]
            content += [ThinkingContent(thinking=message[field], thinking_signature=field) for field in fields]
        if isinstance(said := message.get("content"), list):
            said = "".join(block.get("text", "") for block in said)
        if said:
            content.append(TextContent(text=said))
        for each in message.get("tool_calls") or []:
            function = each["function"]
            arguments = json.loads(function["arguments"] or "{}")
            content.append(ToolCall(id=each["id"], name=function["name"], arguments=arguments))
        return content
