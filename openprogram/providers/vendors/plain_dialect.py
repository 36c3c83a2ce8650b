"""What a dialect says where its api has nothing of its own: nothing comes back, and parts are what their names say.

Dialect modules import from here what they don't write themselves; see Dialect for what each is asked.
"""

from typing import Any

from pydantic_ai.messages import ModelResponsePart, TextPart, ToolCallPart
from pydantic_ai.models import StreamedResponse

from openprogram.providers.types import ProviderContent, TextContent, ToolCall

__all__ = [
    "closing_blocks",
    "provider_block",
    "provider_part",
    "text_part",
    "text_signature",
    "thought_signature",
    "tool_call_part",
]


def thought_signature(part: ToolCallPart) -> str | None:
    """Nothing comes back with a call."""
    return None


def tool_call_part(call: ToolCall, system: str | None) -> ToolCallPart:
    """Name, arguments and id."""
    return ToolCallPart(call.name, call.arguments, tool_call_id=call.id)


def text_signature(part: TextPart) -> str | None:
    """Nothing comes back with text."""
    return None


def text_part(block: TextContent, system: str) -> TextPart:
    """The text. Citations are for readers."""
    return TextPart(block.text)


def provider_block(part: ModelResponsePart) -> tuple[str, dict[str, Any]] | None:
    """There are none."""
    return None


def provider_part(block: ProviderContent, system: str) -> ModelResponsePart | None:
    """pydantic-ai has no place for it; where the api has one, its own module writes it."""
    return None


def closing_blocks(response: StreamedResponse) -> list[tuple[str, dict[str, Any]]]:
    """None: what there is comes as parts."""
    return []
