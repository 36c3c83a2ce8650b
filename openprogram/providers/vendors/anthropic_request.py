"""A Context as the `messages` of Anthropic's Messages API.

Written out here, not left to pydantic-ai, which has no place for much of what must go back as it came: the blocks of
server-side tools, citations, a document's title, cache marks other than on texts that a user said.
Source: https://platform.claude.com/docs/en/api/messages.
"""

import base64
import re
from collections.abc import Iterator, Sequence
from typing import Any

from openprogram.providers.types import (
    AssistantMessage,
    DocumentContent,
    ImageContent,
    Message,
    Model,
    ProviderContent,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserContent,
    UserMessage,
)
from openprogram.providers.vendors.history import CallIds, Turn, sendable_turns

__all__ = ["CALL_IDS", "CONTAINER", "anthropic_messages", "last_container"]

CALL_IDS = CallIds(re.compile(r"[a-zA-Z0-9_-]+"), 24)

#: Our kind for the container of code execution: a field of the answer, not one of its blocks.
CONTAINER = "container"

_Block = dict[str, Any]


def anthropic_messages(messages: Sequence[Message], model: Model) -> list[dict[str, Any]]:
    """The conversation, in order.

    Raises ValueError: data that is no base64, or a document that has not exactly one of data, text and url.
    """
    turns = sendable_turns(messages, CALL_IDS)
    written = [_Writer(model, _unpaired(turns)).message(turn) for turn in turns]
    return [message for message in written if message["content"]]


def last_container(messages: Sequence[Message], model: Model) -> str | None:
    """The id of the container that the last answer with one ran its code in; None: none of this vendor did."""
    for message in reversed(messages):
        for block in message.content if isinstance(message, AssistantMessage) else ():
            if isinstance(block, ProviderContent) and block.kind == CONTAINER and _is_own(block, model):
                found = block.data.get("id")
                return found if isinstance(found, str) else None
    return None


def _is_own(made: AssistantMessage | ProviderContent, model: Model) -> bool:
    return (made.api, made.provider) == (model.api, model.provider)


def _unpaired(turns: list[Turn]) -> set[str]:
    """Ids of server-side calls that have no result anywhere. The API takes them in the last answer only."""
    answers = [turn for turn in turns if isinstance(turn, AssistantMessage)]
    blocks = [block.data for turn in answers for block in turn.content if isinstance(block, ProviderContent)]
    with_result = {data.get("tool_use_id") for data in blocks}
    last = answers[-1].content if answers else []
    open_still = {block.data.get("id") for block in last if isinstance(block, ProviderContent)}
    calls = {str(data["id"]) for data in blocks if str(data.get("type")).endswith("_tool_use") and "id" in data}
    return calls - with_result - open_still


class _Writer:
    def __init__(self, model: Model, unpaired: set[str]) -> None:
        self._model, self._unpaired = model, unpaired

    def message(self, turn: Turn) -> dict[str, Any]:
        if isinstance(turn, AssistantMessage):
            return {"role": "assistant", "content": list(self._answer(turn))}
        if len(turn) == 1 and isinstance(turn[0], UserMessage) and isinstance(turn[0].content, str):
            return {"role": "user", "content": turn[0].content}
        return {"role": "user", "content": [block for message in turn for block in self._asked(message)]}

    # ---- what was asked

    def _asked(self, message: UserMessage | ToolResultMessage) -> Iterator[_Block]:
        if isinstance(message, ToolResultMessage):
            yield self._result(message)
        elif isinstance(message.content, str):
            yield {"type": "text", "text": message.content}
        else:
            yield from (self._shown(block) for block in message.content)

    def _result(self, message: ToolResultMessage) -> _Block:
        content = [self._shown(block) for block in message.content if not isinstance(block, TextContent) or block.text]
        result: _Block = {"type": "tool_result", "tool_use_id": message.tool_call_id}
        if content:
            result["content"] = content
        if message.is_error:
            result["is_error"] = True
        return _marked(result, message)

    def _shown(self, block: UserContent) -> _Block:
        match block:
            case TextContent():
                return _marked({"type": "text", "text": block.text}, block)
            case ImageContent():
                return _marked({"type": "image", "source": _base64_source(block.data, block.mime_type)}, block)
            case DocumentContent():
                return _marked(_document(block), block)

    # ---- what was answered

    def _answer(self, message: AssistantMessage) -> Iterator[_Block]:
        own = _is_own(message, self._model)
        for block in message.content:
            match block:
                case TextContent() if not block.text:
                    continue  # it held a signature of another vendor's
                case TextContent():
                    cited = {"citations": block.citations} if own and block.citations else {}
                    yield _marked({"type": "text", "text": block.text, **cited}, block)
                case ThinkingContent():
                    yield from _thinking(block, own=own)
                case ToolCall():
                    written = {"type": "tool_use", "id": block.id, "name": block.name, "input": block.arguments}
                    yield _marked(written, block)
                case ProviderContent():
                    if self._goes_back(block):
                        yield block.data

    def _goes_back(self, block: ProviderContent) -> bool:
        is_block = block.kind != CONTAINER and block.data.get("id") not in self._unpaired
        return is_block and _is_own(block, self._model)


def _marked(written: _Block, ours: UserContent | ToolResultMessage | ToolCall) -> _Block:
    mark = getattr(ours, "cache_control", None)
    return {**written, "cache_control": mark} if isinstance(mark, dict) else written


def _thinking(block: ThinkingContent, *, own: bool) -> Iterator[_Block]:
    if own and block.thinking_signature and block.redacted:
        yield {"type": "redacted_thinking", "data": block.thinking_signature}
    elif own and block.thinking_signature:
        yield {"type": "thinking", "thinking": block.thinking, "signature": block.thinking_signature}
    elif block.thinking.strip():
        # What nobody signed, the API takes as text alone.
        yield {"type": "text", "text": f"<thinking>\n{block.thinking}\n</thinking>"}


def _base64_source(data: str, mime_type: str) -> dict[str, Any]:
    base64.b64decode(data, validate=True)  # a request with anything else would come back as the vendor's riddle
    return {"type": "base64", "media_type": mime_type, "data": data}


def _document(block: DocumentContent) -> _Block:
    source: dict[str, Any]
    match block.source():
        case "data":
            if block.mime_type.startswith("text/"):
                text = base64.b64decode(block.data or "", validate=True).decode("utf-8", "replace")
                source = {"type": "text", "media_type": "text/plain", "data": text}
            else:
                source = _base64_source(block.data or "", block.mime_type)
        case "text":
            source = {"type": "text", "media_type": "text/plain", "data": block.text}
        case "url":
            source = {"type": "url", "url": block.url}
    written: _Block = {"type": "document", "source": source}
    if block.name:
        written["title"] = block.name
    # The API's own fields of a document, such as `citations` and `context`.
    return {**written, **{key: value for key, value in (block.model_extra or {}).items() if key != "cache_control"}}
