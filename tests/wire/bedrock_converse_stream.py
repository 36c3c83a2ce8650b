"""AWS Bedrock's ConverseStream, as recorded.

Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html, and for the frames
https://docs.aws.amazon.com/transcribe/latest/dg/streaming-setting-up.html#streaming-event-stream.
"""

import base64
import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

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
    ToolResultMessage,
    UserContent,
    UserMessage,
)
from tests.wire.calls import Call, Place, Reader
from tests.wire.expected import CUT_OFF, Expected, ExpectedFailure, ExpectedTool, Response, http_failure, reason_of

__all__ = ["call", "expected", "frames", "same_form"]

# ---- answers

_STOPS = {"max_tokens": "length", "model_context_window_exceeded": "length", "tool_use": "toolUse"}
_FILTERED = {"guardrail_intervened", "content_filtered"}
_MALFORMED = {"malformed_model_output", "malformed_tool_use"}


def expected(request: Mapping[str, Any], response: Response) -> Expected:
    """See WireFormat."""
    failed = http_failure(_with_type_in_body(response))
    return failed or _stream(base64.b64decode(response.get("body_base64", "")))


def _with_type_in_body(response: Response) -> Response:
    """AWS names an error in a header, before a colon."""
    kind = response["headers"].get("x-amzn-errortype", "").partition(":")[0]
    body = response.get("body_text", "")
    if not kind or not body:
        return response
    return {**response, "body_text": json.dumps({**json.loads(body), "code": kind})}


def frames(body: bytes) -> Iterator[tuple[dict[str, str], bytes]]:
    """Headers and payload of each whole frame."""
    while len(body) >= 12:
        total, of_headers = int.from_bytes(body[:4]), int.from_bytes(body[4:8])
        if len(body) < total:
            return
        yield _headers(body[12 : 12 + of_headers]), body[12 + of_headers : total - 4]
        body = body[total:]


def _headers(data: bytes) -> dict[str, str]:
    headers = {}
    while data:
        end = 1 + data[0]
        length = int.from_bytes(data[end + 1 : end + 3])  # behind a byte that says: a string
        headers[data[1:end].decode()] = data[end + 3 : end + 3 + length].decode()
        data = data[end + 3 + length :]
    return headers


def _stream(body: bytes) -> Expected:
    text = thinking = ""
    tools: dict[int, list[str]] = {}
    signatures: list[str] = []
    usage: dict[str, int] = {}
    stop: str | None = None
    failure: ExpectedFailure | None = CUT_OFF
    for headers, payload in frames(body):
        data = json.loads(payload)
        if ":exception-type" in headers:
            reason, retryable = reason_of({"type": headers[":exception-type"].removesuffix("Exception"), **data})
            failure = ExpectedFailure(reason, retryable, data["message"])
            break
        match headers[":event-type"]:
            case "contentBlockStart" if "toolUse" in data["start"]:
                use = data["start"]["toolUse"]
                tools[data["contentBlockIndex"]] = [use["toolUseId"], use["name"], ""]
            case "contentBlockDelta":
                delta = data["delta"]
                reasoning = delta.get("reasoningContent", {})
                text += delta.get("text", "")
                thinking += reasoning.get("text", "")
                if "signature" in reasoning:
                    signatures.append(reasoning["signature"])
                if "redactedContent" in reasoning:
                    signatures.append(_redacted(reasoning["redactedContent"]))
                if "toolUse" in delta:
                    tools[data["contentBlockIndex"]][2] += delta["toolUse"]["input"]
            case "messageStop":
                stop = data["stopReason"]
            case "metadata":
                usage = data.get("usage", {})
                failure = None if stop else failure
    if failure is None:
        failure = _stopped_by_failure(stop or "")
    counts = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheWriteInputTokens")
    fresh, output, read, written = (usage.get(name, 0) for name in counts)
    return Expected(
        stop="error" if failure else _STOPS.get(stop or "", "toolUse" if tools else "stop"),
        usage=(fresh, output, read, written),
        text=text,
        thinking=thinking,
        tools=[ExpectedTool(*tool) for tool in tools.values()],
        signatures=[] if failure else signatures,
        failure=failure,
    )


def _redacted(data: str) -> str:
    """Text as it is, other bytes as base64."""
    try:
        return base64.b64decode(data).decode()
    except UnicodeDecodeError:
        return data


def _stopped_by_failure(stop: str) -> ExpectedFailure | None:
    if stop in _FILTERED:
        return ExpectedFailure("content_filter", retryable=False)
    return ExpectedFailure("server", retryable=True) if stop in _MALFORMED else None


# ---- requests

#: Body fields that become something else than an option.
_ELSEWHERE = {"messages", "system", "toolConfig", "inferenceConfig"}


def same_form(body: dict[str, Any]) -> dict[str, Any]:
    """See WireFormat. Empty objects and lists are left out, JSON results are text, and a result is a success."""
    form = {key: value for key, value in body.items() if value not in ([], {})}
    form["messages"] = [
        {**message, "content": [_same_block(block) for block in message["content"]]} for message in body["messages"]
    ]
    if isinstance(system := form.get("system"), list):
        form["system"] = "\n\n".join(block["text"] for block in system if "text" in block)
    return form


def _same_block(block: dict[str, Any]) -> dict[str, Any]:
    if "toolResult" not in block:
        return block
    result = {"status": "success", **block["toolResult"]}
    return {"toolResult": {**result, "content": [_as_text(each) for each in result["content"]]}}


def _as_text(block: dict[str, Any]) -> dict[str, Any]:
    return {"text": json.dumps(block["json"])} if "json" in block else block


def call(request: Mapping[str, Any], place: Place) -> Call:
    """See WireFormat. The model stands in the path."""
    body: dict[str, Any] = request["body"] or {"messages": [{"role": "user", "content": [{"text": "Hello"}]}]}
    name = unquote(request["path"].split("/")[2])
    model = Model(id=name, api=place.api, provider=place.provider, base_url=place.base_url)
    read = _Reader(body, model)
    context = Context(system_prompt=read.system(), messages=read.messages(), tools=read.tools())
    inference = dict(body.get("inferenceConfig") or {})
    fields = {
        **{key: value for key, value in body.items() if key not in _ELSEWHERE},
        "temperature": inference.pop("temperature", None),
        "max_tokens": inference.pop("maxTokens", None),
        "inferenceConfig": inference or None,
        "tool_choice": _tool_choice((body.get("toolConfig") or {}).get("toolChoice")),
    }
    given = {key: value for key, value in fields.items() if value is not None}
    return Call(model, context, SimpleStreamOptions(api_key="k", **given), read.left_out)


def _tool_choice(choice: dict[str, Any] | None) -> Any:
    match choice:
        case {"tool": {"name": name}}:
            return {"type": "tool", "name": name}
        case {"any": _}:
            return "any"
        case {"auto": _}:
            return "auto"
    return None


class _Reader(Reader):
    def system(self) -> str | None:
        texts = [block["text"] for block in self.body.get("system") or [] if "text" in block]
        return "\n\n".join(texts) or None

    def tools(self) -> list[Tool] | None:
        listed = (self.body.get("toolConfig") or {}).get("tools") or []
        specs = [tool["toolSpec"] for tool in listed if "toolSpec" in tool]
        return [
            Tool(name=spec["name"], description=spec.get("description", ""), parameters=spec["inputSchema"]["json"])
            for spec in specs
        ] or None

    def messages(self) -> list[Message]:
        messages: list[Message] = []
        for index, message in enumerate(self.body["messages"]):
            content, at = message["content"], f"/messages/{index}/content"
            if message["role"] == "assistant":
                messages.append(self.answer([one for each in content if (one := self._answer_block(each, at))]))
                continue
            messages += [self._result(each["toolResult"], at) for each in content if "toolResult" in each]
            said = [shown for each in content if "toolResult" not in each and (shown := self._shown(each, at))]
            if said or not any("toolResult" in each for each in content):
                messages.append(UserMessage(content=said or "(left out)"))
        return messages

    def _answer_block(self, block: dict[str, Any], at: str) -> AssistantContent | None:
        match block:
            case {"text": str() as text}:
                return TextContent(text=text)
            case {"toolUse": use}:
                return ToolCall(id=use["toolUseId"], name=use["name"], arguments=use["input"])
            case {"reasoningContent": {"reasoningText": reasoning}}:
                return ThinkingContent(thinking=reasoning["text"], thinking_signature=reasoning.get("signature"))
            case {"reasoningContent": {"redactedContent": data}}:
                return ThinkingContent(thinking="", thinking_signature=_redacted(data), redacted=True)
        self.left_out[at] = f"a block of type {next(iter(block))}, which our content types do not hold"
        return None

    def _shown(self, block: dict[str, Any], at: str) -> UserContent | None:
        match block:
            case {"text": str() as text}:
                return TextContent(text=text)
            case {"json": value}:
                return TextContent(text=json.dumps(value))
            case {"image": {"format": kind, "source": {"bytes": data}}}:
                return ImageContent(data=data, mime_type=f"image/{kind}")
        self.left_out[at] = f"a block of type {next(iter(block))}, which our content types do not hold"
        return None

    def _result(self, result: dict[str, Any], at: str) -> ToolResultMessage:
        shown = [one for each in result["content"] if (one := self._shown(each, at))]
        return self.result(result["toolUseId"], shown, is_error=result.get("status") == "error")
