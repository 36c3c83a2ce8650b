"""Where values of a request or an answer may be volatile at all."""

from typing import Final

from openprogram.pipeline.json_value import JsonValue

__all__ = ["is_scalar", "may_hold_symbols"]

#: Keys of our own types whose strings are words of the protocol, or go back to the vendor as they came.
_FIXED_NAMES: Final = frozenset(
    {
        "api",
        "mime_type",
        "provider",
        "role",
        "signature",
        "stop_reason",
        "text_signature",
        "thinking_signature",
        "thought_signature",
        "type",
    }
)


def may_hold_symbols(key: str, holder: dict[str, JsonValue], *, free_form: bool) -> bool:
    """Whether volatile rules apply to what stands under `key`. `free_form`: the key is not one of our own types'."""
    if free_form:
        return True
    return key not in _FIXED_NAMES and not (key == "data" and holder.get("type") == "image")


def is_scalar(value: JsonValue) -> bool:
    """Whether a field rule may name this value: a text or a number."""
    return isinstance(value, str | int | float) and not isinstance(value, bool)
