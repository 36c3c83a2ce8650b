"""Gemini's generateContent API, as recorded.

Source: https://ai.google.dev/api/generate-content.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from openprogram.providers.types import (
    AssistantContent,
    Context,
    ImageContent,
    Message,
    Model,
    ProviderContent,
    SimpleStreamOptions,
    TextContent,
    ThinkingContent,
    Tool,
    ToolCall,
    UserMessage,
)
from tests.wire.calls import Call, Place, Reader
from tests.wire.expected import (
    CUT_OFF,
    Expected,
    ExpectedFailure,
    ExpectedTool,
    Response,
    http_failure,
    plain_answer,
    reason_of,
)

__all__ = ["call", "expected", "same_form"]

# ---- answers

_METADATA = ("groundingMetadata", "urlContextMetadata", "citationMetadata")
_FILTERED = re.compile("SAFETY|RECITATION|BLOCKLIST|PROHIBITED|SPII|MODEL_ARMOR")


def expected(request: Mapping[str, Any], response: Response) -> Expected:
    """See WireFormat."""
    if failed := http_failure(response):
        return _with_details(failed, json.loads(response["body_text"]))
    return plain_answer(response) or _stream(response["body_text"])


def _with_details(expected: Expected, body: Any) -> Expected:
    """What Google says in the details of an error: that a key is bad, and how long to wait."""
    failure = expected.failure
    assert failure is not None
    for detail in body["error"].get("details") or []:
        if detail.get("reason") == "API_KEY_INVALID":
            failure = replace(failure, reason="auth", retryable=False)
        if delay := detail.get("retryDelay"):
            failure = replace(failure, retry_after_s=float(delay.removesuffix("s")))
    if failure.reason == "server" and "overloaded" in failure.says:
        failure = replace(failure, reason="overloaded")
    return replace(expected, failure=failure)


def _stream(body: str) -> Expected:
    """Each line of data is an event, and an error is JSON between them. What cannot be read was cut."""
    said = _Said()
    lines = [line for line in body.replace("\r\n", "\n").split("\n") if line.strip()]
    bare = "\n".join(line for line in lines if not line.startswith("data:"))
    try:
        for line in lines:
            if line.startswith("data:"):
                said.take(json.loads(line.removeprefix("data:")))
        error = json.loads(bare)["error"] if bare else None
    except ValueError:
        said.failure = CUT_OFF
        return said.expected()
    if error is not None:
        reason, retryable = reason_of(error)
        said.failure = ExpectedFailure(reason, retryable, error["message"])
    return said.expected()


class _Said:
    def __init__(self) -> None:
        self.text = self.thinking = ""
        self.tools: list[ExpectedTool] = []
        self.signatures: list[str] = []
        self.blocks: list[dict[str, Any]] = []
        self.metadata: dict[str, Any] = {}
        self.usage: dict[str, Any] = {}
        self.length = False
        self.failure: ExpectedFailure | None = CUT_OFF

    def take(self, chunk: Mapping[str, Any]) -> None:
        self.usage = {**self.usage, **(chunk.get("usageMetadata") or {})}
        if word := (chunk.get("promptFeedback") or {}).get("blockReason"):
            self.failure = ExpectedFailure("content_filter", retryable=False, says=word)
        for candidate in chunk.get("candidates") or []:
            if not candidate.get("index"):
                self._candidate(candidate)

    def _candidate(self, candidate: Mapping[str, Any]) -> None:
        for part in (candidate.get("content") or {}).get("parts") or []:
            self._part(part)
        self.metadata |= {kind: candidate[kind] for kind in _METADATA if candidate.get(kind)}
        if word := candidate.get("finishReason"):
            self.length = word == "MAX_TOKENS"
            filtered = _FILTERED.search(word) is not None
            self.failure = ExpectedFailure("content_filter" if filtered else "server", not filtered, word)
            if word in ("STOP", "MAX_TOKENS"):
                self.failure = None

    def _part(self, part: Mapping[str, Any]) -> None:
        if part.get("thought") and "text" in part:
            self.thinking += part["text"]
        elif "text" in part:
            self.text += part["text"]
        elif call := part.get("functionCall"):
            self.tools.append(ExpectedTool(call.get("id"), call["name"], call.get("args") or {}))
        else:
            self.blocks.append(dict(part))
            return
        if "thoughtSignature" in part:
            self.signatures.append(part["thoughtSignature"])

    def expected(self) -> Expected:
        stop = "length" if self.length else "toolUse" if self.tools else "stop"
        count = {key: value for key, value in self.usage.items() if isinstance(value, int)}
        read = count.get("cachedContentTokenCount", 0)
        fresh = count.get("promptTokenCount", 0) + count.get("toolUsePromptTokenCount", 0) - read
        written = count.get("candidatesTokenCount", 0) + count.get("thoughtsTokenCount", 0)
        return Expected(
            stop="error" if self.failure else stop,
            usage=(fresh, written, read, 0),
            text=self.text,
            thinking=self.thinking,
            tools=self.tools,
            signatures=[] if self.failure else self.signatures,
            provider_blocks=self.blocks + ([] if self.failure else list(self.metadata.values())),
            failure=self.failure,
        )


# ---- requests


def same_form(body: dict[str, Any]) -> dict[str, Any]:
    """See WireFormat. What is the vendor's default is left out, and a tool's schema has one name and one spelling."""
    form = {key: value for key, value in body.items() if value not in (None, {}, [])}
    form["contents"] = [_same_content(content) for content in body["contents"]]
    if "systemInstruction" in form:
        form["systemInstruction"] = form["systemInstruction"]["parts"]
    settings = dict(form.pop("generationConfig", {}))
    if settings.get("responseModalities") == ["TEXT"]:
        del settings["responseModalities"]
    if settings:
        form["generationConfig"] = settings
    if (form.get("toolConfig") or {}).get("functionCallingConfig") == {"mode": "AUTO"}:
        del form["toolConfig"]
    if "tools" in form:
        form["tools"] = [each for tool in form["tools"] for each in _same_tools(tool)]
    return form


def _same_content(content: dict[str, Any]) -> dict[str, Any]:
    return {"role": content["role"], "parts": [_same_part(part) for part in content["parts"]]}


def _same_part(part: dict[str, Any]) -> dict[str, Any]:
    match part:
        case {"inlineData": {"data": data, "mimeType": kind}}:  # base64 has two alphabets
            return {**part, "inlineData": {"mimeType": kind, "data": data.replace("-", "+").replace("_", "/")}}
        case {"functionResponse": {"response": {"return_value": value}} as response}:
            return {"functionResponse": {**response, "response": {"output": value}}}
    return part


def _same_tools(tool: dict[str, Any]) -> Iterator[Any]:
    if "functionDeclarations" not in tool:
        yield tool
    for function in tool.get("functionDeclarations") or []:
        names = ("parametersJsonSchema", "parameters_json_schema", "parameters")
        schema: Any = next((function[name] for name in names if name in function), {})
        yield {key: value for key, value in function.items() if key not in names} | {"parameters": _lower(schema)}


def _lower(schema: Any) -> Any:
    """Gemini's own schemas have their types in capitals."""
    if isinstance(schema, list):
        return [_lower(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    lower = {key: _lower(value) for key, value in schema.items()}
    if isinstance(schema.get("type"), str):
        lower["type"] = schema["type"].lower()
    return lower


#: Body fields that become something else than an option.
_ELSEWHERE = {"contents", "systemInstruction", "tools", "generationConfig"}

_ANY_BODY: dict[str, Any] = {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]}


def call(request: Mapping[str, Any], place: Place) -> Call:
    """See WireFormat."""
    body: dict[str, Any] = request["body"] or _ANY_BODY
    named = re.search(r"models/([^:]+):", request["path"])
    model = Model(id=named[1] if named else "m", api=place.api, provider=place.provider, base_url=place.base_url)
    read = _Reader(body, model)
    context = Context(system_prompt=read.system(), messages=read.messages(), tools=read.tools())
    fields = {key: value for key, value in body.items() if key not in _ELSEWHERE} | read.renamed()
    given = {key: value for key, value in fields.items() if value is not None}
    return Call(model, context, SimpleStreamOptions(api_key="k", **given), read.left_out)


class _Reader(Reader):
    def system(self) -> str | None:
        parts = (self.body.get("systemInstruction") or {}).get("parts")
        return "\n".join(part["text"] for part in parts) if parts else None

    def tools(self) -> list[Tool] | None:
        tools = [each for tool in self.body.get("tools") or [] for each in _same_tools(tool) if "parameters" in each]
        return [Tool(**tool) for tool in tools] or None

    def renamed(self) -> dict[str, Any]:
        settings = dict(self.body.get("generationConfig") or {})
        tools = self.body.get("tools") or []
        return {
            "max_tokens": settings.pop("maxOutputTokens", None),
            "temperature": settings.pop("temperature", None),
            "generationConfig": settings or None,
            # Tools that run at the vendor have no place in Context.tools; as a field of the api they go in whole.
            "tools": tools if any("functionDeclarations" not in tool for tool in tools) else None,
        }

    def messages(self) -> list[Message]:
        messages: list[Message] = []
        open_calls: list[ToolCall] = []
        for content in self.body["contents"]:
            if content["role"] == "model":
                answer = [block for part in content["parts"] for block in self._answer(part, len(messages))]
                open_calls = [block for block in answer if isinstance(block, ToolCall)]
                messages.append(self.answer(answer))
                continue
            for part in content["parts"]:
                if response := part.get("functionResponse"):
                    text = next(iter(response["response"].values()), "")
                    ours = self.result(open_calls.pop(0).id, [TextContent(text=text)], is_error=False)
                    messages.append(ours)
            said = list(_said(content["parts"]))
            if said:
                messages.append(UserMessage(content=said))
        return messages

    def _answer(self, part: dict[str, Any], position: int) -> Iterator[AssistantContent]:
        signature = part.get("thoughtSignature")
        match part:
            case {"text": text, "thought": True}:
                yield ThinkingContent(thinking=text, thinking_signature=signature)
            case {"text": text}:
                yield TextContent(text=text, text_signature=signature)
            case {"functionCall": {"name": name} as made}:
                made_id = made.get("id") or f"gemini_call_{position * 100 + len(self._made_ids)}"
                self._made_ids.append(made_id)
                yield ToolCall(id=made_id, name=name, arguments=made.get("args") or {}, thought_signature=signature)
            case _:
                kind = next((key for key in part if key not in ("thought", "thoughtSignature")), "thoughtSignature")
                model = self.model
                yield ProviderContent(api=model.api, provider=model.provider, kind=kind, data=part)

    def __init__(self, body: dict[str, Any], model: Model) -> None:
        super().__init__(body, model)
        self._made_ids: list[str] = []


def _said(parts: Iterable[dict[str, Any]]) -> Iterator[TextContent | ImageContent]:
    for part in parts:
        if "text" in part:
            yield TextContent(text=part["text"])
        elif data := part.get("inlineData"):
            standard = data["data"].replace("-", "+").replace("_", "/")
            yield ImageContent(data=standard, mime_type=data["mimeType"])
