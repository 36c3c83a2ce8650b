"""JSON text as values, with nothing that strict JSON doesn't have: no NaN, no Infinity, no key twice in a line.

Two parsers: a fast one, and a slower one that decides and explains wherever the fast one refuses.
"""

import json
import math
import re
from collections.abc import Iterator
from typing import Any, Final

from pydantic_core import from_json

from openprogram.pipeline.json_value import MAX_DEPTH, show_value

__all__ = ["LineDefect", "field_text", "load_line", "load_payload"]

_SPACE: Final = re.compile(r"[ \t\r\n]*")
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
#: Types of values that can be neither too deep nor infinite: most events hold no others.
_FLAT: Final[frozenset[type]] = frozenset({str, int, bool, type(None)})
_INFINITE: Final = (math.inf, -math.inf)


class LineDefect(ValueError):
    """A line isn't what the format says. `reason`: what is wrong. `call_index`: of its call, where it is known."""

    def __init__(self, reason: str, call_index: int | None = None) -> None:
        super().__init__(reason)
        self.reason, self.call_index = reason, call_index


def load_payload(payload: bytes) -> Any:
    """The value of strict JSON text, such as an event's within its line. Raises LineDefect.

    Nested no deeper than MAX_DEPTH, the line around it counted.
    """
    try:
        value = from_json(payload, allow_inf_nan=False)
    except ValueError:
        # The fast parser refuses lone surrogates, which strict JSON text may hold; the other decides.
        text = _text(payload)
        value, end = _decode(text, 0)
        if _skip_space(text, end) != len(text):
            raise LineDefect(f"not valid JSON: extra data at column {end + 1}") from None
    if type(value) is not dict or not _FLAT.issuperset(map(type, value.values())):
        _refuse_beyond_limits([value], MAX_DEPTH)
    return value


def load_line(raw: bytes) -> dict[str, Any]:
    """A line as a dict, a duplicate key at its own level refused: the last would win and hide the first.

    Raises LineDefect.
    """
    text = _text(raw)
    fields: dict[str, Any] = {}
    for key, value, _ in _fields(text):
        if key in fields:
            raise LineDefect(f"the key {show_value(key)} stands twice in one line")
        fields[key] = value
    _refuse_beyond_limits(fields, MAX_DEPTH)
    return fields


def field_text(raw: bytes, name: str) -> bytes:
    """The JSON text of one field of a line, as it is spelled there. Raises LineDefect: the line has none."""
    text = _text(raw)
    for key, _, span in _fields(text):
        if key == name:
            return text[span].encode()
    raise LineDefect(f"the line has no {name}")


def _fields(text: str) -> Iterator[tuple[str, Any, slice]]:
    """Key, value and where the value's text stands, for each field of an object, with nothing after it."""
    at = _skip_space(text, 0)
    if text[at : at + 1] != "{":
        raise LineDefect("an empty line" if at == len(text) else "not a JSON object")
    at = _skip_space(text, at + 1)
    more = text[at : at + 1] != "}"
    while more:
        key, at = _key(text, at)
        value, end = _decode(text, at)
        yield key, value, slice(at, end)
        at = _skip_space(text, end)
        more = text[at : at + 1] == ","
        if more:
            at = _skip_space(text, at + 1)
        elif text[at : at + 1] != "}":
            raise LineDefect(f"not valid JSON: expected ',' or '}}' at column {at + 1}")
    if _skip_space(text, at + 1) != len(text):
        raise LineDefect(f"not valid JSON: extra data at column {at + 2}")


def _key(text: str, at: int) -> tuple[str, int]:
    """A key, and where its value begins."""
    if text[at : at + 1] != '"':
        raise LineDefect(f"not valid JSON: expected a key at column {at + 1}")
    key, at = _decode(text, at)
    at = _skip_space(text, at)
    if text[at : at + 1] != ":":
        raise LineDefect(f"not valid JSON: expected ':' at column {at + 1}")
    return key, _skip_space(text, at + 1)


def _refuse_beyond_limits(outermost: Any, depth: int) -> None:
    """Refuse nesting beyond `depth`, and the infinity that the fast parser makes of a number such as 1e999."""
    level = [outermost]
    for _ in range(depth):
        inner = []
        for container in level:
            for value in container.values() if type(container) is dict else container:
                kind = type(value)
                if kind is dict or kind is list:
                    inner.append(value)
                elif kind is float and value in _INFINITE:
                    raise LineDefect("not valid JSON: a number is beyond what a float can hold")
        if not inner:
            return
        level = inner
    raise LineDefect(f"nested deeper than {MAX_DEPTH} levels")


def _no_constant(name: str) -> Any:
    raise LineDefect(f"not valid JSON: {name} is not a JSON number")


_decoder: Final = json.JSONDecoder(parse_constant=_no_constant)


def _text(raw: bytes) -> str:
    if raw.startswith(_BYTE_ORDER_MARK):
        raise LineDefect("a byte order mark stands before it; save the file as UTF-8 without one")
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise LineDefect(f"not UTF-8 at byte {error.start + 1} of the line") from None


def _decode(text: str, at: int) -> tuple[Any, int]:
    try:
        return _decoder.raw_decode(text, at)
    except LineDefect:
        raise
    except json.JSONDecodeError as error:
        raise LineDefect(f"not valid JSON: {error.msg} at column {error.pos + 1}") from None
    except RecursionError:
        raise LineDefect(f"nested deeper than {MAX_DEPTH} levels") from None
    except ValueError as error:  # a whole number of more digits than Python converts
        raise LineDefect(f"not valid JSON: {error}") from None


def _skip_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found is not None else at
