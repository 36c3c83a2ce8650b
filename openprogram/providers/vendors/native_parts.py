"""Parts that pydantic-ai has for a vendor's own tools, files and compactions, as opaque data and back.

For apis whose dialect has no better form. The data is the part as pydantic-ai writes it in its message histories, which
it promises to read again in later releases, without what it makes up on arrival: a time.
"""

from typing import Any

from pydantic import TypeAdapter
from pydantic_ai.messages import ModelResponsePart, SpeechPart, TextPart, ThinkingPart, ToolCallPart

from openprogram.providers.types import ProviderContent

__all__ = ["native_block", "native_part"]

_PARTS: TypeAdapter[ModelResponsePart] = TypeAdapter(ModelResponsePart)

#: What pydantic-ai adds for programs and never sends, and the name that `native_part` sets anew.
_LEFT_OUT = frozenset({"timestamp", "metadata", "outcome", "provider_name"})


def native_block(part: ModelResponsePart) -> tuple[str, dict[str, Any]] | None:
    """`kind` and `data` of a part, None for parts that have a type of ours: see Dialect.provider_block."""
    if isinstance(part, TextPart | ThinkingPart | ToolCallPart | SpeechPart):
        return None
    dumped = _PARTS.dump_python(part, mode="json")
    data = {key: value for key, value in dumped.items() if key not in _LEFT_OUT and value is not None}
    return part.part_kind, data


def native_part(block: ProviderContent, system: str) -> ModelResponsePart:
    """The inverse. Raises ValueError (pydantic's): the data is no part."""
    return _PARTS.validate_python({**block.data, "provider_name": system})
