"""JSON that goes through pydantic-ai unread: a part of a message as the vendor sent it, to be sent back.

pydantic-ai maps its own parts to the vendor's, and what its parts have no place for is lost. Its text parts it hands to
the SDK as they are. So a text stands for the JSON on the way through, and the JSON takes its place before the SDK.
"""

import json
from typing import Any

from pydantic_ai.messages import TextPart

__all__ = ["Verbatim", "json_text", "parsed", "verbatim_part"]


class Verbatim(str):
    """A text that stands for `value`, a JSON object."""

    value: dict[str, Any]


def verbatim_part(value: dict[str, Any]) -> TextPart:
    """The part that pydantic-ai carries."""
    text = Verbatim("(verbatim)")
    text.value = value
    return TextPart(text)


def json_text(value: Any) -> str:
    """Opaque data as one string: the same for the same data."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def parsed(signature: str | None) -> dict[str, Any] | None:
    """The inverse; None where the string is no JSON object, but another vendor's or another release's."""
    try:
        value = json.loads(signature or "")
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
