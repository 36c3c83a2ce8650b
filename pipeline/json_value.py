"""JSON values: the one conversion into them, their limits, and how two of them are shown.

A JSON value here is what `json.loads` returns: str, int, float (finite), bool, None, list, dict with str keys.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, final

from pydantic import JsonValue
from pydantic_core import PydanticSerializationError, to_jsonable_python

__all__ = [
    "ABSENT",
    "MAX_DEPTH",
    "MAX_LINE_BYTES",
    "Absent",
    "JsonValue",
    "NotJson",
    "join_path",
    "show_difference",
    "show_value",
    "to_json_text",
    "to_json_value",
    "to_line",
]

#: Nested containers a line may have. Below the recursion limits of every JSON parser in use (jiter's is 200).
MAX_DEPTH: Final = 128
#: Bytes a line may have, its end included: a context full of images fits, a runaway file doesn't fill the memory.
MAX_LINE_BYTES: Final = 64 * 1024 * 1024
#: Bytes of MAX_LINE_BYTES kept for `type` and `call_index`, which are put before a request that is encoded already.
_RESERVED_BYTES: Final = 64

_SHOWN_CHARACTERS: Final = 160

_READABLE: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_ESCAPED: Final = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":"))


@final
class Absent:
    """The type of `ABSENT`: a key that isn't there, as distinct from one whose value is null."""

    _instance: "Absent | None" = None

    def __new__(cls) -> "Absent":
        if cls._instance is None:
            cls._instance = super().__new__(cls)
        return cls._instance

    def __reduce__(self) -> str:
        return "ABSENT"

    def __repr__(self) -> str:
        return "absent"

    def __bool__(self) -> bool:
        return False


ABSENT: Final = Absent()


class NotJson(ValueError):
    """A value that strict JSON can't hold. `field_path`: where. `reason`: why."""

    def __init__(self, field_path: str, reason: str) -> None:
        super().__init__(f"{field_path or 'value'}: {reason}")
        self.field_path, self.reason = field_path, reason


def join_path(parent: str, key: str | int) -> str:
    """`a`, `b` → `a.b`; `a`, 2 → `a[2]`. A key with a dot, a bracket or nothing in it is quoted: `a["x.y"]`."""
    if isinstance(key, int):
        return f"{parent}[{key}]"
    if key.isascii() and key.isidentifier():  # as nearly every key is
        return f"{parent}.{key}" if parent else key
    if not key or not key.isprintable() or any(character in key for character in '.[]"'):
        return f"{parent}[{json.dumps(key)}]"
    return f"{parent}.{key}" if parent else key


def to_json_value(value: Any, path: str = "", depth: int = 1) -> JsonValue:
    """A copy of `value` as a JSON value, every string and key unchanged, lone surrogates included.

    pydantic's own JSON mode replaces lone surrogates in keys (two keys may become one) and keeps NaN, so
    containers are walked here and pydantic converts only what JSON doesn't know: leaves (dates, enums, URLs), and
    keys that aren't strings. A set becomes a list in an order that is the same in every process.
    `path`: where it stands, for the error. `depth`: how deep, from 1.
    Raises NotJson: NaN or Infinity, an object pydantic can't convert, two keys that become one, or nesting beyond
    MAX_DEPTH.
    """
    try:
        return _value(value, depth)
    except NotJson as error:
        raise NotJson(_below(path, error.field_path), error.reason) from None


#: What is a JSON value as it is: most of what there is.
_LEAVES: Final = frozenset({str, int, bool, type(None)})


def _value(value: Any, depth: int) -> JsonValue:
    """As `to_json_value`; the path in the error begins at `value`, and is only made where there is one."""
    kind = type(value)
    if kind in _LEAVES:
        return value  # type: ignore[no-any-return]
    if kind is float:
        if not math.isfinite(value):
            raise NotJson("", f"{value} is not a JSON number")
        return value  # type: ignore[no-any-return]
    if depth > MAX_DEPTH:
        raise NotJson("", f"nested deeper than {MAX_DEPTH} levels")
    if kind is dict or isinstance(value, Mapping):
        return _object(value, depth)
    if isinstance(value, (list, tuple)):
        return _list(value, depth)
    if isinstance(value, (set, frozenset)):
        return sorted((_value(item, depth + 1) for item in value), key=to_json_text)
    return _convert_leaf(value, depth)


def _object(value: Mapping[Any, Any], depth: int) -> dict[str, JsonValue]:
    members: dict[str, JsonValue] = {}
    for key, item in value.items():
        name = key if type(key) is str else _key(key)
        if name in members:
            raise NotJson("", f"two keys are both written as {name!r}")
        try:
            members[name] = item if type(item) in _LEAVES else _value(item, depth + 1)
        except NotJson as error:
            raise NotJson(_below(join_path("", name), error.field_path), error.reason) from None
    return members


def _list(value: Sequence[Any], depth: int) -> list[JsonValue]:
    items: list[JsonValue] = []
    try:
        for item in value:
            items.append(item if type(item) in _LEAVES else _value(item, depth + 1))  # noqa: PERF401 -- counted below
    except NotJson as error:
        raise NotJson(_below(join_path("", len(items)), error.field_path), error.reason) from None
    return items


def _below(parent: str, path: str) -> str:
    """`a`, `b.c` → `a.b.c`; `a`, `[2]` → `a[2]`."""
    return f"{parent}.{path}" if parent and path and not path.startswith("[") else parent + path


def _key(key: Any) -> str:
    if isinstance(key, str):
        return str.__str__(key)  # not str(): a string enum's member would come out under its Python name
    try:
        (name,) = to_jsonable_python({key: None})
    except (PydanticSerializationError, ValueError, RecursionError):
        raise NotJson("", f"the key {_shorten(repr(key))} has no JSON form") from None
    return str(name)


def _convert_leaf(value: Any, depth: int) -> JsonValue:
    if isinstance(value, str):
        return str.__str__(value)  # a subclass, such as an enum's member or a safe string
    if isinstance(value, Iterator):
        raise NotJson("", f"{type(value).__name__} can be read only once, and the provider must read it")
    try:
        converted = to_jsonable_python(value, inf_nan_mode="constants", bytes_mode="base64")
    except (PydanticSerializationError, ValueError, RecursionError) as error:
        raise NotJson("", f"{type(value).__name__} has no JSON form ({error})") from None
    if type(converted) is type(value):
        raise NotJson("", f"{type(value).__name__} has no JSON form")
    return _value(converted, depth)


def to_json_text(value: JsonValue) -> bytes:
    """Strict JSON on one line. Readable UTF-8 where it can be, escapes where a lone surrogate is in it.

    Raises NotJson: NaN or Infinity, or what isn't a JSON value.
    """
    try:
        text = _READABLE.encode(value)
    except (ValueError, TypeError, RecursionError) as error:
        raise NotJson("", str(error)) from None
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _ESCAPED.encode(value).encode()


def to_line(value: JsonValue) -> bytes:
    """A line of strict JSON, its `\\n` included. Raises NotJson: NaN or Infinity, or above MAX_LINE_BYTES."""
    line = to_json_text(value) + b"\n"
    if len(line) > MAX_LINE_BYTES - _RESERVED_BYTES:
        raise NotJson("", f"{len(line):,} bytes in one line, above the limit of {MAX_LINE_BYTES:,}")
    return line


def show_value(value: JsonValue | Absent) -> str:
    """Printable on one line: control characters and lone surrogates escaped, the middle left out when long."""
    try:
        return _shorten(repr(value))
    except ValueError:  # an integer beyond Python's limit for digits
        return f"<a {type(value).__name__} too long to show>"


def show_difference(recorded: JsonValue | Absent, incoming: JsonValue | Absent) -> tuple[str, str]:
    """Both values, printable, shortened around the place where they start to differ."""
    if not (isinstance(recorded, str) and isinstance(incoming, str)):
        return show_value(recorded), show_value(incoming)
    if max(len(recorded), len(incoming)) <= _SHOWN_CHARACTERS:
        return repr(recorded), repr(incoming)
    start = max(0, _common_prefix(recorded, incoming) - _SHOWN_CHARACTERS // 4)
    return _window(recorded, start), _window(incoming, start)


def _common_prefix(one: str, other: str) -> int:
    for index, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return index
    return min(len(one), len(other))


def _window(text: str, start: int) -> str:
    end = start + _SHOWN_CHARACTERS
    return ("…" if start else "") + repr(text[start:end]) + ("…" if end < len(text) else "")


def _shorten(text: str) -> str:
    if len(text) <= _SHOWN_CHARACTERS:
        return text
    half = _SHOWN_CHARACTERS // 2
    return f"{text[:half]}…{text[-half:]}"
