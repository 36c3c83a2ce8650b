"""`remove_secret_values()`: the walk over a dumped value.

Knows what the protocol needs back byte for byte (signatures, call ids, images) and where a schema names a property.
Text goes through the scanner, names through `scope`.
"""

from typing import Final, NamedTuple

from pydantic import JsonValue

from openprogram.pipeline.redaction.names import SECRET_PLACEHOLDER
from openprogram.pipeline.redaction.scanner import scan_text
from openprogram.pipeline.redaction.scope import OPENINGS, ListScope, ObjectScope, Place

__all__ = ["REDACTION_VERSION", "Redacted", "redact", "remove_secret_values"]

#: Raised with every change of what is removed: replay then runs today's rules over an older recording too.
REDACTION_VERSION: Final = 1

#: Keys, without case and `_`, whose strings the provider must get back as they were.
_UNTOUCHED: Final = frozenset(
    {
        "thinkingsignature",
        "textsignature",
        "thoughtsignature",
        "signature",
        "encryptedcontent",
        "toolcallid",
        "tooluseid",
        "callid",
    }
)
_CALL_TYPES: Final = frozenset({"toolCall", "tool_call", "tool_use", "function_call", "toolcall_start"})
_MEDIA_TYPES: Final = frozenset({"image", "audio", "video", "document", "file", "base64", "redacted_thinking"})
#: Keys of a schema that hold data, not schemas.
_SCHEMA_DATA: Final = frozenset({"default", "example", "examples", "const", "enum"})


class Redacted(NamedTuple):
    """`value` without secrets; `count`: how many places were replaced."""

    value: JsonValue
    count: int  # type: ignore[assignment]  # the promised name; nobody needs tuple.count here


class _Mode(NamedTuple):
    """Where the walk is. `free`: below a tool call's arguments, where keys are the tool's own."""

    free: bool = False
    schema: bool = False
    names: bool = False  # the keys of this object are names of properties
    tools: bool = False


_PROTOCOL: Final = _Mode()
_FREE: Final = _Mode(free=True)
_SCHEMA: Final = _Mode(schema=True)
_PROPERTIES: Final = _Mode(schema=True, names=True)
_TOOLS: Final = _Mode(tools=True)


def remove_secret_values(value: JsonValue) -> JsonValue:
    """`value` without secrets. Never changes `value`; what holds no secret is returned as it is.

    `value`: what `json.loads` returns. Deterministic, and applied twice the same as once. Raises: nothing.
    """
    return redact(value).value


def redact(value: JsonValue) -> Redacted:
    """`value` without secrets, and how many places were replaced."""
    walk = _Walk()
    return Redacted(walk.look(value, _PROTOCOL, Place.LOOK, ""), walk.count)


class _Walk:
    def __init__(self) -> None:
        self.count = 0

    def look(self, value: JsonValue, mode: _Mode, place: Place, key: str) -> JsonValue:
        """`value`, which stands at `place` under `key`."""
        if isinstance(value, str):
            if place >= Place.STRING:
                return self._remove(value)
            text, count = scan_text(value, OPENINGS.get(place))
            self.count += count
            return text
        if place is Place.WHOLE:
            return self._remove(value)
        if isinstance(value, dict):
            return self._object(value, mode)
        if isinstance(value, list):
            return self._list(value, mode, place, key)
        return value

    def _remove(self, value: JsonValue) -> JsonValue:
        self.count += value != SECRET_PLACEHOLDER
        return SECRET_PLACEHOLDER

    def _object(self, value: dict[str, JsonValue], mode: _Mode) -> JsonValue:
        scope, new, changed = ObjectScope(), dict[str, JsonValue](), False
        kind = None if mode.free else value.get("type")
        for key, item in value.items():
            scanned, count = scan_text(key)
            self.count += count
            name = scope.new_key(key, scanned)
            if isinstance(item, str) and not mode.free and _is_untouched(key, kind):
                redacted: JsonValue = item
            elif mode.names and isinstance(item, (dict, bool)):
                redacted = self.look(item, _SCHEMA, Place.LOOK, name)
            else:
                redacted = self.look(item, _inner(mode, key), scope.place(name), name)
            if isinstance(redacted, str):
                scope.saw(name, redacted)
            changed = changed or redacted is not item or name != key
            new[name] = redacted
        return new if changed else value

    def _list(self, value: list[JsonValue], mode: _Mode, place: Place, key: str) -> JsonValue:
        scope, new, changed = ListScope(key, place), list[JsonValue](), False
        for item in value:
            redacted = self.look(item, mode, scope.place() if isinstance(item, str) else Place.LOOK, "")
            scope.saw(redacted if isinstance(redacted, str) else None)
            changed = changed or redacted is not item
            new.append(redacted)
        return new if changed else value


def _is_untouched(key: str, kind: JsonValue) -> bool:
    if key == "id":
        return isinstance(kind, str) and kind in _CALL_TYPES
    if key == "data":
        return isinstance(kind, str) and kind in _MEDIA_TYPES
    return key.lower().replace("_", "") in _UNTOUCHED


def _inner(mode: _Mode, key: str) -> _Mode:
    """The mode below `key`."""
    if mode.free or key == "arguments":
        return _FREE
    if mode.schema:
        if mode.names:
            return _PROTOCOL
        if key in ("properties", "$defs", "definitions"):
            return _PROPERTIES
        return _PROTOCOL if key in _SCHEMA_DATA else _SCHEMA
    if key == "response_format" or (mode.tools and key == "parameters"):
        return _SCHEMA
    return _TOOLS if key == "tools" else _PROTOCOL
