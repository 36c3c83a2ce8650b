"""Pieces of JSON text that may be cut anywhere: escapes, numbers, constants (RFC 8259)."""

import re
from typing import Final

__all__ = ["read_escape", "valid_length"]

_CONSTANTS: Final = ("true", "false", "null", "NaN", "Infinity", "-Infinity")
_NUMBER: Final = re.compile(r"-?(?:[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]*)?)?")
_ESCAPES: Final = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_HEX: Final = frozenset("0123456789abcdefABCDEF")


def valid_length(bare: str) -> int:
    """How many characters of `bare` begin a number or a constant."""
    number = _NUMBER.match(bare)
    length = number.end() if number else 0
    for constant in _CONSTANTS:
        while length < len(bare) and constant.startswith(bare[: length + 1]):
            length += 1
    return length


def read_escape(text: str, index: int) -> tuple[str, int] | None:
    """The character of the escape at `index` and its width in the text; width 0: no escape; None: it isn't all there.

    Two escapes of a surrogate pair are one character, as `json.loads` has it.
    """
    kind = text[index + 1 : index + 2]
    if kind != "u":
        return (_ESCAPES[kind], 2) if kind in _ESCAPES else None if not kind else ("", 0)
    first = _code_unit(text, index)
    if first is None or first < 0 or not 0xD800 <= first < 0xDC00:
        return None if first is None else ("", 0) if first < 0 else (chr(first), 6)
    if not "\\u".startswith(text[index + 6 : index + 8]):
        return chr(first), 6
    second = _code_unit(text, index + 6)
    if second is None:
        return None
    if 0xDC00 <= second < 0xE000:
        return chr(0x10000 + ((first & 0x3FF) << 10) + (second & 0x3FF)), 12
    return chr(first), 6


def _code_unit(text: str, index: int) -> int | None:
    """The number of the `\\uXXXX` at `index`; -1: it is none; None: it isn't all there."""
    digits = text[index + 2 : index + 6]
    if not all(digit in _HEX for digit in digits):
        return -1
    return int(digits, 16) if len(digits) == 4 else None
