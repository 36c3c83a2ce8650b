"""A Context as the `contents` of Gemini's generateContent API.

Written out here, not left to pydantic-ai: a thought signature belongs to the very part that it came with, parts of the
vendor's own tools go back as they came, and a function call has no id where Gemini gave it none.
Source: https://ai.google.dev/api/caching#Content, https://ai.google.dev/gemini-api/docs/thought-signatures.
"""

import base64
import re
from collections.abc import Iterable, Iterator, Sequence
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
)
from openprogram.providers.vendors.history import ANY_CALL_ID, Turn, sendable_turns

__all__ = ["CALL_IDS", "METADATA_KINDS", "SIGNATURE_ALONE", "first_call_number", "google_contents", "made_call_id"]

CALL_IDS = ANY_CALL_ID

#: Kinds of our blocks that are no parts of Gemini's, but what it says of an answer.
METADATA_KINDS = ("groundingMetadata", "urlContextMetadata", "citationMetadata")

#: The kind of a part that has a signature and nothing else: a step of Gemini's own that it refuses to take back.
SIGNATURE_ALONE = "thoughtSignature"

#: For a call that Gemini demands a signature with and has not signed. In base64, as the field is bytes.
_NO_SIGNATURE = base64.b64encode(b"skip_thought_signature_validator").decode()

_MADE = "gemini_call_"

_Part = dict[str, Any]


def made_call_id(number: int) -> str:
    """The id of a call that came without one. It is never sent to Gemini."""
    return f"{_MADE}{number}"


def first_call_number(messages: Sequence[Message]) -> int:
    """The number of the next call that comes without an id: none that the conversation has.

    Counted, not drawn: the same conversation must give the same request in every run.
    """
    ids = [call.id for message in messages if isinstance(message, AssistantMessage) for call in message.tool_calls]
    numbers = [int(found[1]) for each in ids if (found := re.fullmatch(rf"{_MADE}(\d+)", each))]
    return max(numbers, default=0) + 1


def google_contents(messages: Sequence[Message], model: Model) -> list[dict[str, Any]]:
    """The conversation, in order.

    Raises ValueError: data that is no base64, or a document that has not exactly one of data, text and url.
    """
    contents: list[dict[str, Any]] = []
    for turn in sendable_turns(messages, CALL_IDS):
        contents += _answered(turn, model) if isinstance(turn, AssistantMessage) else _asked(turn)
    return [content for content in contents if content["parts"]]


# ---- what was asked


def _asked(turn: Turn) -> list[dict[str, Any]]:
    """Results by themselves: Gemini takes a content with a result in it for its own words, whatever else it says."""
    results: list[_Part] = []
    said: list[_Part] = []
    for message in turn if isinstance(turn, list) else []:
        if isinstance(message, ToolResultMessage):
            results.append(_result(message))
            said += _shown_by(message)
        elif isinstance(message.content, str):
            said.append({"text": message.content})
        else:
            said += _parts(message.content)
    return [{"role": "user", "parts": parts} for parts in (results, said)]


def _result(message: ToolResultMessage) -> _Part:
    text = "\n".join(block.text for block in message.content if isinstance(block, TextContent))
    if not text and message.content:
        text = f"(see the {message.content[0].type} below)"
    response = {"name": message.tool_name, "response": {"error" if message.is_error else "output": text}}
    return {"functionResponse": {**_id(message.tool_call_id), **response}}


def _id(call_id: str) -> dict[str, str]:
    return {} if call_id.startswith(_MADE) else {"id": call_id}


def _shown_by(message: ToolResultMessage) -> Iterator[_Part]:
    media = [block for block in message.content if not isinstance(block, TextContent)]
    if media:
        yield {"text": f"Shown by the tool {message.tool_name!r} (call {message.tool_call_id}):"}
        yield from _parts(media)


def _parts(blocks: Iterable[UserContent]) -> Iterator[_Part]:
    for block in blocks:
        match block:
            case TextContent():
                yield {"text": block.text}
            case ImageContent():
                yield _inline(block.data, block.mime_type)
            case DocumentContent():
                yield from _document(block)


def _inline(data: str, mime_type: str) -> _Part:
    base64.b64decode(data, validate=True)
    return {"inlineData": {"mimeType": mime_type, "data": data}}


def _document(block: DocumentContent) -> Iterator[_Part]:
    source = block.source()
    if source == "text":
        yield {"text": f"Document {block.name!r}:\n\n{block.text}" if block.name else f"Document:\n\n{block.text}"}
        return
    if block.name:
        yield {"text": f"Document {block.name!r}:"}
    if source == "url":
        yield {"fileData": {"fileUri": block.url, "mimeType": block.mime_type}}
    else:
        yield _inline(block.data or "", block.mime_type)


# ---- what was answered


def _answered(message: AssistantMessage, model: Model) -> list[dict[str, Any]]:
    own = (message.api, message.provider) == (model.api, model.provider)
    parts = [part for block in message.content for part in _answer(block, model, own=own)]
    calls = [part for part in parts if "functionCall" in part]
    if calls and "thoughtSignature" not in calls[0] and not (own and message.model == model.id):
        calls[0]["thoughtSignature"] = _NO_SIGNATURE  # a model that signs its calls takes no other's without
    return [{"role": "model", "parts": parts}]


def _answer(
    block: TextContent | ThinkingContent | ToolCall | ProviderContent, model: Model, *, own: bool
) -> Iterator[_Part]:
    match block:
        case TextContent(text=text):
            if text or (own and block.text_signature):
                yield {"text": text, **_signed(block.text_signature, own=own)}
        case ThinkingContent(thinking=text):
            if text or (own and block.thinking_signature):
                yield {"text": text, "thought": True, **_signed(block.thinking_signature, own=own)}
        case ToolCall():
            call = {"functionCall": {**_id(block.id), "name": block.name, "args": block.arguments}}
            yield {**call, **_signed(block.thought_signature, own=own)}
        case ProviderContent(kind=kind):
            if (block.api, block.provider) == (model.api, model.provider) and kind not in _NOT_SENT:
                yield block.data


_NOT_SENT = frozenset({*METADATA_KINDS, SIGNATURE_ALONE})


def _signed(signature: str | None, *, own: bool) -> dict[str, str]:
    return {"thoughtSignature": signature} if own and signature else {}
