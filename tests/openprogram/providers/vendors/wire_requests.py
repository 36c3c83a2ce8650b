"""A vendor's request body, read back as what a caller of ours would have given: Model, Context and options.

The inverse of the adapter, for recorded requests. Fields that StreamOptions does not declare are kept as they are,
so `stop_sequences` or `seed` reach the request again.
"""

import json
from typing import Any, NamedTuple

from openprogram.providers.types import (
    AssistantContent,
    AssistantMessage,
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
    UserMessage,
)

__all__ = ["WireRequest", "wire_request"]

#: Body fields that become something else than an option.
_ELSEWHERE = {"model", "messages", "system", "tools", "stream", "stream_options"}


class WireRequest(NamedTuple):
    """What a caller gives for one call."""

    model: Model
    context: Context
    options: SimpleStreamOptions


def wire_request(body: dict[str, Any] | None, api: str, base_url: str, provider: str = "") -> WireRequest:
    """The call that would send `body` to `base_url`; any small call where the recording has no body (None)."""
    body = body or {"model": "some-model", "max_tokens": 1024, "messages": [{"role": "user", "content": "Hello"}]}
    read = _AnthropicReader(body) if api == "anthropic-messages" else _OpenAIReader(body)
    model = Model(id=body["model"], api=api, provider=provider or api.split("-")[0], base_url=base_url)
    read.model = model
    fields = {key: value for key, value in body.items() if key not in _ELSEWHERE} | read.renamed()
    return WireRequest(
        model,
        Context(system_prompt=read.system(), messages=read.messages(), tools=read.tools()),
        SimpleStreamOptions(api_key="k", **{key: value for key, value in fields.items() if value is not None}),
    )


class _Reader:
    def __init__(self, body: dict[str, Any]) -> None:
        self.body = body
        self.model = Model(id="", api="", provider="")
        self.tool_names: dict[str, str] = {}

    def answer(self, content: list[AssistantContent]) -> AssistantMessage:
        for block in content:
            if isinstance(block, ToolCall):
                self.tool_names[block.id] = block.name
        model = self.model
        return AssistantMessage(content=content, api=model.api, provider=model.provider, model=model.id)

    def result(self, call_id: str, content: list[TextContent | ImageContent], *, is_error: bool) -> ToolResultMessage:
        return ToolResultMessage(
            tool_call_id=call_id, tool_name=self.tool_names[call_id], content=content, is_error=is_error
        )


class _AnthropicReader(_Reader):
    def system(self) -> str | None:
        system = self.body.get("system")
        return system if isinstance(system, str | None) else "\n\n".join(block["text"] for block in system)

    def renamed(self) -> dict[str, Any]:
        output = (self.body.get("output_config") or {}).get("format")
        # Tools that run at the vendor have no place in Context.tools; as a field of the api they go in whole.
        server_tools = [tool for tool in self.body.get("tools") or [] if "input_schema" not in tool]
        return {"response_format": output, "output_config": None, "tools": server_tools or None}

    def tools(self) -> list[Tool] | None:
        tools = [
            Tool(
                name=tool["name"],
                description=tool["description"],
                parameters=tool["input_schema"],
                cache_control=tool.get("cache_control"),
            )
            for tool in self.body.get("tools") or []
            if "input_schema" in tool
        ]
        return tools or None

    def messages(self) -> list[Message]:
        messages: list[Message] = []
        for message in self.body["messages"]:
            content = message["content"]
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            if message["role"] == "assistant":
                messages.append(self.answer([block for each in blocks if (block := self._answer_block(each))]))
                continue
            messages.extend(self._result(each) for each in blocks if each["type"] == "tool_result")
            said = [self._user_block(each) for each in blocks if each["type"] != "tool_result"]
            if said:
                messages.append(UserMessage(content=content if isinstance(content, str) else said))
        return messages

    @staticmethod
    def _answer_block(block: dict[str, Any]) -> AssistantContent | None:
        match block["type"]:
            case "text":
                return TextContent(text=block["text"])
            case "thinking":
                return ThinkingContent(thinking=block["thinking"], thinking_signature=block["signature"])
            case "redacted_thinking":
                return ThinkingContent(thinking="", thinking_signature=block["data"], redacted=True)
            case "tool_use":
                return ToolCall(id=block["id"], name=block["name"], arguments=block["input"])
        return None  # server-side tools: our content types do not hold them

    @staticmethod
    def _user_block(block: dict[str, Any]) -> TextContent | ImageContent:
        if block["type"] == "image":
            return ImageContent(data=block["source"]["data"], mime_type=block["source"]["media_type"])
        return TextContent(text=block["text"], cache_control=block.get("cache_control"))

    def _result(self, block: dict[str, Any]) -> ToolResultMessage:
        content = block.get("content") or []
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        shown = [self._user_block(each) for each in blocks]
        return self.result(block["tool_use_id"], shown, is_error=block.get("is_error", False))


class _OpenAIReader(_Reader):
    def system(self) -> str | None:
        first = self.body["messages"][0]
        return first["content"] if first["role"] == "system" else None

    def renamed(self) -> dict[str, Any]:
        limit = self.body.get("max_completion_tokens") or self.body.get("max_tokens")
        renamed = {"max_tokens": limit, "max_completion_tokens": None}
        if isinstance(self.body.get("reasoning"), dict):  # OpenRouter's word, which is an option of ours too
            renamed |= {"reasoning": "medium", "thinking_budgets": {"medium": self.body["reasoning"]["max_tokens"]}}
        if "reasoning_effort" in self.body:
            renamed |= {"reasoning": self.body["reasoning_effort"], "reasoning_effort": None}
        return renamed

    def tools(self) -> list[Tool] | None:
        functions = [tool["function"] for tool in self.body.get("tools") or []]
        return [Tool(**function) for function in functions] or None

    def messages(self) -> list[Message]:
        messages: list[Message] = []
        for message in self.body["messages"]:
            match message["role"]:
                case "user":
                    content = message["content"]
                    said = content if isinstance(content, str) else [self._user_block(block) for block in content]
                    messages.append(UserMessage(content=said))
                case "assistant":
                    messages.append(self.answer(list(self._answer(message))))
                case "tool":
                    text = [TextContent(text=message["content"])]
                    messages.append(self.result(message["tool_call_id"], list(text), is_error=False))
        return messages

    @staticmethod
    def _user_block(block: dict[str, Any]) -> TextContent | ImageContent:
        if block["type"] == "text":
            return TextContent(text=block["text"])
        head, data = block["image_url"]["url"].split(";base64,")
        return ImageContent(data=data, mime_type=head.removeprefix("data:"))

    @staticmethod
    def _answer(message: dict[str, Any]) -> list[AssistantContent]:
        content: list[AssistantContent] = []
        for detail in message.get("reasoning_details") or []:
            details = {key: detail[key] for key in ("format", "index", "type")}
            opaque = {"details": details, "id": detail.get("id"), "signature": detail["signature"]}
            signature = json.dumps(opaque, separators=(",", ":"))
            content.append(ThinkingContent(thinking=detail["text"], thinking_signature=signature))
        if message.get("content"):
            content.append(TextContent(text=message["content"]))
        for call in message.get("tool_calls") or []:
            function = call["function"]
            arguments = json.loads(function["arguments"])
            content.append(ToolCall(id=call["id"], name=function["name"], arguments=arguments))
        return content
