"""Pieces of JSON text that may be cut anywhere: blanks, strings, escapes, numbers, constants (RFC 8259)."""

import json
import re
from typing import Final

__all__ = ["BLANKS", "CHUNK", "SIMPLE", "STRING", "decoded", "may_go_on", "raw_width", "valid_length"]

#: Expressions for what stands between values; for the characters of a string that are all there; for a string.
#: A high surrogate that the end of the text follows isn't: the low one may come, and two escapes are one character.
BLANKS: Final = r"[ \t\r\n]*+"
_HEX: Final = "[0-9a-fA-F]"
_CHARACTER: Final = r'[^"\\]++|\\["\\/bfnrt]'
CHUNK: Final = rf"(?:{_CHARACTER}|\\u(?![dD][89abAB]){_HEX}{{4}}|\\u{_HEX}{{4}}(?!\\?\Z|\\u{_HEX}{{0,3}}\Z))*+"
STRING: Final = rf'"((?:{_CHARACTER}|\\u{_HEX}{{4}})*+)"'

_CONSTANTS: Final = ("true", "false", "null", "NaN", "Infinity", "-Infinity")
_NUMBER: Final = r"-?(?:[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]*)?)?"
_BEGINS_NUMBER: Final = re.compile(_NUMBER)


def _begun(constant: str) -> str:
    """An expression for `constant`, or as much of its beginning as there is."""
    pattern = ""
    for character in reversed(constant[1:]):
        pattern = f"(?:{character}{pattern})?+"
    return constant[0] + pattern


#: An expression for a number or a constant, or as much of its beginning as `valid_length` takes.
SIMPLE: Final = rf"(?:{'|'.join([f'(?=[-0-9]){_NUMBER}', *map(_begun, _CONSTANTS)])})"
_OPEN_ESCAPE: Final = re.compile(rf"\\(?:\Z|u{_HEX}{{0,3}}\Z|u{_HEX}{{4}})")
_PLAIN: Final = re.compile(r"[^\\]*")
_ESCAPE: Final = re.compile(r"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u....|\\.")
_DECODER: Final = json.JSONDecoder(strict=False)


def decoded(chunk: str) -> str:
    """The characters that raw text of a string, without its quotes, stands for. Every escape is one and all there."""
    if "\\" not in chunk:
        return chunk
    characters: str = _DECODER.raw_decode(f'"{chunk}"')[0]
    return characters


def raw_width(raw: str, start: int, count: int) -> int:
    """The width of `count` characters of a string from `start` on in its raw text."""
    index = start
    while count:
        plain = _PLAIN.match(raw, index, index + count)
        end = plain.end() if plain else index
        count -= end - index
        index = end
        if count and (escape := _ESCAPE.match(raw, index)):
            index = escape.end()
            count -= 1
    return index - start


def valid_length(bare: str) -> int:
    """How many characters of `bare` begin a number or a constant."""
    number = _BEGINS_NUMBER.match(bare)
    length = number.end() if number else 0
    for constant in _CONSTANTS:
        while length < len(bare) and constant.startswith(bare[: length + 1]):
            length += 1
    return length


def may_go_on(text: str, index: int) -> bool:
    """Whether the escape at `index`, with which CHUNK ended, isn't all there; otherwise it is none."""
    return _OPEN_ESCAPE.match(text, index) is not None
