"""A Context as pydantic-ai's messages.

Its list alternates: everything between two answers is one request. So tool results stand before what the user
says next, in one turn, as Anthropic demands.
"""

import base64
from collections.abc import Iterable, Iterator

from pydantic_ai.messages import (
    BinaryContent,
    CachePoint,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)

from openprogram.providers.types import (
    AssistantContent,
    AssistantMessage,
    Context,
    DocumentContent,
    ImageContent,
    Model,
    ProviderContent,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from openprogram.providers.types import UserContent as OurContent
from openprogram.providers.vendors.dialect import Dialect
from openprogram.providers.vendors.documents import document_content
from openprogram.providers.vendors.history import sendable_turns
from openprogram.providers.vendors.surrogates import encodable_text

__all__ = ["vendor_messages"]


def vendor_messages(context: Context, model: Model, dialect: Dialect, system: str) -> list[ModelMessage]:
    """The conversation, in order. `system`: pydantic-ai's name of the vendor.

    What can be sent at all, `openprogram.providers.vendors.history` decides. Raises ValueError: an image's or a
    document's `data` is not base64, or a document has not exactly one of data, text and url.
    """
    messages: list[ModelMessage] = []
    asked: list[ModelRequestPart] = []
    if context.system_prompt:
        asked.append(SystemPromptPart(encodable_text(context.system_prompt)))
    for group in sendable_turns(context.messages, dialect.CALL_IDS):
        if isinstance(group, AssistantMessage):
            if asked:
                messages.append(ModelRequest(parts=asked))
                asked = []
            messages.append(_response(group, model, dialect, system))
        else:
            asked.extend(_asked(group, dialect))
    if asked:
        messages.append(ModelRequest(parts=asked))
    return messages


def _asked(group: list[UserMessage | ToolResultMessage], dialect: Dialect) -> Iterator[ModelRequestPart]:
    shown: list[UserContent] = []
    for message in group:
        if isinstance(message, ToolResultMessage):
            if dialect.RICH_TOOL_RESULTS:
                yield _rich_result(message, dialect)
            else:
                yield _text_result(message)
                shown.extend(_result_media(message, dialect))
            continue
        if shown:
            # Tool results first, then what they showed: nothing may come between a call and its results.
            yield UserPromptPart(shown)
            shown = []
        text = message.content
        yield UserPromptPart(text if isinstance(text, str) else list(_user_content(text, dialect)))
    if shown:
        yield UserPromptPart(shown)


def _user_content(blocks: Iterable[OurContent], dialect: Dialect) -> Iterator[UserContent]:
    for block in blocks:
        if isinstance(block, ImageContent):
            yield _image(block)
        elif isinstance(block, DocumentContent):
            yield from document_content(block, dialect.DOCUMENTS)
        else:
            yield block.text
            if isinstance(block.cache_control, dict):
                yield CachePoint(ttl=block.cache_control.get("ttl", "5m"))


def _image(block: ImageContent) -> BinaryContent:
    return BinaryContent(base64.b64decode(block.data, validate=True), media_type=block.mime_type)


def _rich_result(message: ToolResultMessage, dialect: Dialect) -> ToolReturnPart:
    # A cache mark has no place in pydantic-ai's tool results.
    shown = [item for item in _user_content(message.content, dialect) if not isinstance(item, CachePoint)]
    return ToolReturnPart(
        tool_name=message.tool_name,
        tool_call_id=message.tool_call_id,
        content=shown,
        outcome="failed" if message.is_error else "success",
    )


def _text_result(message: ToolResultMessage) -> ToolReturnPart:
    """The text alone. There is no error mark to set: that a tool failed, its text must say."""
    texts = [block.text for block in message.content if isinstance(block, TextContent)]
    return ToolReturnPart(
        tool_name=message.tool_name,
        tool_call_id=message.tool_call_id,
        content="\n".join(texts) if texts or not message.content else f"(see the {message.content[0].type} below)",
    )


def _result_media(message: ToolResultMessage, dialect: Dialect) -> Iterator[UserContent]:
    media = [block for block in message.content if not isinstance(block, TextContent)]
    if media:
        yield f"Shown by the tool {message.tool_name!r} (call {message.tool_call_id}):"
        yield from _user_content(media, dialect)


def _response(message: AssistantMessage, model: Model, dialect: Dialect, system: str) -> ModelResponse:
    # A signature means something to the vendor that made it. Without a provider's name pydantic-ai keeps it back
    # and sends foreign thinking as text.
    origin = system if (message.api, message.provider) == (model.api, model.provider) else None
    parts = [
        _own_part(block, model, dialect, origin) if origin else _foreign_part(block, dialect)
        for block in message.content
    ]
    return ModelResponse(parts=[part for part in parts if part is not None], provider_name=origin)


def _own_part(block: AssistantContent, model: Model, dialect: Dialect, system: str) -> ModelResponsePart | None:
    match block:
        case TextContent():
            return dialect.text_part(block, system)
        case ThinkingContent():
            return dialect.thinking_part(block, system)
        case ToolCall():
            return dialect.tool_call_part(block, system)
        case ProviderContent():
            is_own = (block.api, block.provider) == (model.api, model.provider)
            return dialect.provider_part(block, system) if is_own else None


def _foreign_part(block: AssistantContent, dialect: Dialect) -> ModelResponsePart | None:
    match block:
        case TextContent():
            return TextPart(block.text) if block.text else None
        case ThinkingContent():
            return ThinkingPart(block.thinking) if block.thinking else None
        case ToolCall():
            return dialect.tool_call_part(block, None)
        case ProviderContent():
            return None
