"""OpenAI's Responses API and the servers that speak it, as recorded.

Source: https://platform.openai.com/docs/api-reference/responses-streaming, and for the other servers their recordings.
"""

import json
from collections.abc import Iterator, Mapping
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
    server_sent_events,
)

__all__ = ["call", "expected", "same_form"]

# ---- answers


def expected(request: Mapping[str, Any], response: Response) -> Expected:
    """See WireFormat."""
    return http_failure(response) or plain_answer(response) or _stream(response["body_text"])


def _stream(body: str) -> Expected:
    said = _Said()
    for _, data in server_sent_events(body):
        event = {} if data == "[DONE]" else json.loads(data)
        said.take(event)
        if event.get("type") == "error":
            break
    return said.expected()


class _Said:
    """What the deltas and the items add up to."""

    def __init__(self) -> None:
        self.text = self.thinking = self.refusal = ""
        self.calls: dict[str, dict[str, str]] = {}  # by item id
        self.signatures: list[str] = []
        self.opaque: list[dict[str, Any]] = []
        self.citations: list[dict[str, Any]] = []
        self.usage: dict[str, Any] = {}
        self.stop = "stop"
        self.failure: ExpectedFailure | None = CUT_OFF

    def take(self, event: Mapping[str, Any]) -> None:
        match event.get("type"):
            case "response.output_text.delta":
                self.text += event["delta"]
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                self.thinking += event["delta"]
            case "response.refusal.delta":
                self.refusal += event["delta"]
            case "response.function_call_arguments.delta":
                self.calls[event["item_id"]]["arguments"] += event["delta"]
            case "response.output_item.added" if event["item"]["type"] == "function_call":
                self.calls[event["item"]["id"]] = dict(event["item"])
            case "response.output_item.done":
                self._done(event["item"])
            case "response.completed" | "response.incomplete" | "response.failed":
                self._end(event["response"])
            case "error":
                error = event.get("error") or event
                reason, retryable = reason_of({**error, "type": error.get("code")})
                self.failure = ExpectedFailure(reason, retryable, error["message"])

    def _done(self, item: Mapping[str, Any]) -> None:
        match item["type"]:
            case "reasoning":
                self.signatures += [item["id"]] + ([item["encrypted_content"]] if item.get("encrypted_content") else [])
            case "message" | "function_call":
                self.signatures.append(item["id"])
                for part in item.get("content") or []:
                    self.citations += part.get("annotations") or []
            case _:
                self.opaque.append(dict(item))

    def _end(self, response: Mapping[str, Any]) -> None:
        self.usage = response.get("usage") or {}
        self.failure = None
        if error := response.get("error"):
            reason, retryable = reason_of({**error, "type": error.get("code")})
            self.failure = ExpectedFailure(reason, retryable, error["message"])
        elif response["status"] == "failed":
            self.failure = ExpectedFailure("server", retryable=True)
        elif response["status"] == "incomplete":
            self.stop = "length"
            if (response.get("incomplete_details") or {}).get("reason") == "content_filter":
                self.failure = ExpectedFailure("content_filter", retryable=False)

    def expected(self) -> Expected:
        if self.failure is None and self.refusal:
            self.failure = ExpectedFailure("content_filter", retryable=False, says=self.refusal)
        stop = "toolUse" if self.calls and self.stop == "stop" else self.stop
        read = (self.usage.get("input_tokens_details") or {}).get("cached_tokens") or 0
        written = (self.usage.get("input_tokens_details") or {}).get("cache_write_tokens") or 0
        fresh = (self.usage.get("input_tokens") or 0) - read - written
        return Expected(
            stop="error" if self.failure else stop,
            usage=(fresh, self.usage.get("output_tokens") or 0, read, written),
            text=self.text,
            thinking=self.thinking,
            tools=[ExpectedTool(each["call_id"], each["name"], each["arguments"]) for each in self.calls.values()],
            signatures=[] if self.failure else self.signatures,
            provider_blocks=self.opaque,
            citations=self.citations,
            failure=self.failure,
        )


# ---- requests


def same_form(body: dict[str, Any]) -> dict[str, Any]:
    """See WireFormat. A stream is always asked for; what is the vendor's default is left out."""
    form = {key: value for key, value in body.items() if value is not None and key != "stream"}
    items = body["input"]
    items = [{"role": "user", "content": items}] if isinstance(items, str) else list(items)
    if items and items[0].get("role") in ("system", "developer"):
        form["instructions"] = items.pop(0)["content"]
    form["input"] = [_same_item(item) for item in items]
    if form.get("store") is True:
        del form["store"]
    if form.get("tool_choice") == "auto":
        del form["tool_choice"]
    if "tools" in form:
        form["tools"] = [
            {key: value for key, value in tool.items() if key != "strict" or value} for tool in form["tools"]
        ]
    return form


def _same_item(item: dict[str, Any]) -> dict[str, Any]:
    form = {key: value for key, value in item.items() if value is not None and key != "status"}
    content = form.get("content")
    match form.get("type", "message"):
        case "function_call":
            form["arguments"] = json.loads(form["arguments"])
        case "message":
            form["type"] = "message"
            kind = "output_text" if form["role"] == "assistant" else "input_text"
            parts = [{"type": kind, "text": content}] if isinstance(content, str) else content or []
            form["content"] = [_same_part(part) for part in parts]
    return form


def _same_part(part: dict[str, Any]) -> dict[str, Any]:
    return {
        key: value
        for key, value in part.items()
        if not (key in ("annotations", "logprobs") and not value) and (key, value) != ("detail", "auto")
    }


#: Body fields that become something else than an option.
_ELSEWHERE = {"model", "input", "instructions", "tools", "stream", "text", "max_output_tokens", "reasoning"}

_ANY_BODY = {"model": "some-model", "input": "Hello"}


def call(request: Mapping[str, Any], place: Place) -> Call:
    """See WireFormat."""
    body: dict[str, Any] = request["body"] or _ANY_BODY
    model = Model(id=body["model"], api=place.api, provider=place.provider, base_url=place.base_url)
    read = _Reader(body, model)
    context = Context(system_prompt=read.system(), messages=read.messages(), tools=read.tools())
    fields = {key: value for key, value in body.items() if key not in _ELSEWHERE} | read.renamed()
    given = {key: value for key, value in fields.items() if value is not None}
    options = SimpleStreamOptions(api_key="k", **{"store": True, **given})
    if body.get("reasoning"):  # more than a word for the effort: the field as the api has it
        options.__pydantic_extra__ = {**(options.model_extra or {}), "reasoning": body["reasoning"]}
    return Call(model, context, options, read.left_out)


class _Reader(Reader):
    def _items(self) -> list[dict[str, Any]]:
        items = self.body["input"]
        return [{"role": "user", "content": items}] if isinstance(items, str) else items

    def system(self) -> str | None:
        first = self._items()[0]
        return first["content"] if first.get("role") in ("system", "developer") else self.body.get("instructions")

    def tools(self) -> list[Tool] | None:
        functions = [tool for tool in self.body.get("tools") or [] if tool["type"] == "function"]
        return [Tool(**{key: value for key, value in tool.items() if key != "type"}) for tool in functions] or None

    def renamed(self) -> dict[str, Any]:
        text = self.body.get("text") or {}
        form = dict(text.get("format") or {})
        kind = form.pop("type", None)
        # Tools that run at the vendor have no place in Context.tools; as a field of the api they go in whole.
        tools = self.body.get("tools") or []
        return {
            "max_tokens": self.body.get("max_output_tokens"),
            "response_format": {"type": kind, "json_schema": form} if kind == "json_schema" else None,
            "tools": tools if any(tool["type"] != "function" for tool in tools) else None,
        }

    def messages(self) -> list[Message]:
        messages: list[Message] = []
        answer: list[AssistantContent] = []
        for item in self._items():
            block = list(self._answer_blocks(item))
            answer += block
            if block:
                continue
            if answer:
                messages.append(self.answer(answer))
                answer = []
            messages += self._said(item)
        return messages

    def _said(self, item: dict[str, Any]) -> Iterator[Message]:
        if item.get("type") == "function_call_output":
            output = item["output"]
            blocks = [{"type": "input_text", "text": output}] if isinstance(output, str) else output
            yield self.result(item["call_id"], [self._user_block(block) for block in blocks], is_error=False)
        elif item.get("role") == "user":
            content = item["content"]
            said = content if isinstance(content, str) else [self._user_block(block) for block in content]
            yield UserMessage(content=said)

    def _answer_blocks(self, item: dict[str, Any]) -> Iterator[AssistantContent]:
        match item.get("type", "message"):
            case "message" if item["role"] == "assistant":
                content = item["content"]
                opaque = {key: item[key] for key in ("id", "phase") if key in item}
                for part in [{"text": content}] if isinstance(content, str) else content:
                    signature = json.dumps(opaque) if opaque else None
                    citations = part.get("annotations") or None
                    yield TextContent(text=part["text"], text_signature=signature, citations=citations)
            case "message" | "function_call_output":
                return
            case "reasoning":
                yield from _thinking(item)
            case "function_call":
                beside = {key: item[key] for key in ("id", "namespace") if key in item}
                yield ToolCall(
                    id=item["call_id"],
                    name=item["name"],
                    arguments=json.loads(item["arguments"]),
                    thought_signature=json.dumps(beside) if beside else None,
                )
            case kind:
                model = self.model
                yield ProviderContent(api=model.api, provider=model.provider, kind=kind, data=item)

    @staticmethod
    def _user_block(block: dict[str, Any]) -> TextContent | ImageContent:
        if block["type"] == "input_image":
            head, data = block["image_url"].split(";base64,")
            return ImageContent(data=data, mime_type=head.removeprefix("data:"))
        return TextContent(text=block["text"])


def _thinking(item: dict[str, Any]) -> Iterator[ThinkingContent]:
    kind = "content" if item.get("content") else "summary"
    texts = [part["text"] for part in item.get(kind) or []]
    signature = json.dumps({**item, kind: len(texts) or []})
    for text in texts[:-1]:
        yield ThinkingContent(thinking=text)
    yield ThinkingContent(thinking=texts[-1] if texts else "", thinking_signature=signature, redacted=not texts or None)
