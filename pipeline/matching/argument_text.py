"""The strings and numbers in a JSON text, where each stands in it. Takes a text that is cut off or broken as far as it
goes: the model wrote it.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from openprogram.pipeline.json_value import JsonValue, join_path

__all__ = ["Piece", "json_pieces", "json_string_text"]

_TOKEN: Final = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[{}\[\],:]|[^\s{}\[\],:"]++', re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})(?:\\u([dD][c-fC-F][0-9a-fA-F]{2}))?|(.))", re.DOTALL)
_SHORT: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


@dataclass(frozen=True, slots=True)
class Piece:
    """A string or number. `value`: decoded. `start`, `end`: where it stands, a string without its quotes.

    `path`: its place, in the path syntax of `find_first_difference`. `is_key`: it is the name of a member.
    """

    value: JsonValue
    start: int
    end: int
    path: str
    is_key: bool
    escapes: list[tuple[int, int]] = field(default_factory=list)  #: position in the value, characters it is behind by

    def at(self, position: int) -> int:
        """Where the character at `position` of the value stands in the text."""
        behind = 0
        for where, more in self.escapes:
            if where >= position:
                break
            behind += more
        return self.start + position + behind


@dataclass(slots=True)
class _Holder:
    """A container that is open. `key`: of the member that follows; `index`: of the item."""

    path: str
    is_list: bool
    key: str = ""
    index: int = 0
    expects_key: bool = True


def json_pieces(text: str, root: str) -> Iterator[Piece]:
    """The strings and numbers of a JSON text, in order. `root`: the path of the whole. Raises: nothing."""
    holders: list[_Holder] = []
    for found in _TOKEN.finditer(text):
        token = found[0]
        holder = holders[-1] if holders else None
        if token[0] == '"':
            is_key = holder is not None and not holder.is_list and holder.expects_key
            piece = _string(found.start() + 1, token, _place(holder, root), is_key=is_key)
            if is_key and holder is not None:
                holder.key, holder.expects_key = str(piece.value), False
            yield piece
        elif token in "{[":
            holders.append(_Holder(_place(holder, root), is_list=token == "["))
        elif token in "}]":
            if holders:
                holders.pop()
        elif token == ",":
            if holder is not None:
                holder.index, holder.expects_key = holder.index + 1, True
        elif token != ":" and (number := _number(token)) is not None:
            yield Piece(number, found.start(), found.end(), _place(holder, root), is_key=False)


def json_string_text(value: JsonValue) -> str:
    """What stands for a value in a JSON text; a string without its quotes."""
    text = json.dumps(value, ensure_ascii=False)
    return text[1:-1] if isinstance(value, str) else text


def _place(holder: _Holder | None, root: str) -> str:
    if holder is None:
        return root
    return join_path(holder.path, holder.index if holder.is_list else holder.key)


def _string(start: int, token: str, path: str, *, is_key: bool) -> Piece:
    end = len(token) - 1 if len(token) > 1 and _is_closed(token) else len(token)
    raw = token[1:end]
    if "\\" not in raw:
        return Piece(raw, start, start + len(raw), path, is_key)
    value, escapes, at, done = "", [], 0, 0
    parts: list[str] = []
    for found in _ESCAPE.finditer(raw):
        parts.append(raw[done : found.start()])
        at += found.start() - done
        character, taken = _decoded(found)
        parts.append(character)
        escapes.append((at, taken - len(character)))
        at, done = at + len(character), found.start() + taken
    value = "".join(parts) + raw[done:]
    return Piece(value, start, start + len(raw), path, is_key, escapes)


def _is_closed(token: str) -> bool:
    backslashes = len(token) - 1 - len(token[:-1].rstrip("\\"))
    return token[-1] == '"' and backslashes % 2 == 0


def _decoded(found: re.Match[str]) -> tuple[str, int]:
    """The character of an escape, and how many characters of the text it takes."""
    if found[3] is not None:
        return _SHORT.get(found[3], found[3]), 2
    code = int(found[1], 16)
    if found[2] is None:
        return chr(code), 6
    if not 0xD800 <= code < 0xDC00:  # the second one is no half of this: it is looked at by itself
        return chr(code) + chr(int(found[2], 16)), 12
    return chr(0x10000 + ((code - 0xD800) << 10) + (int(found[2], 16) - 0xDC00)), 12


def _number(token: str) -> int | float | None:
    try:
        value = json.loads(token)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
