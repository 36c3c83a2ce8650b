"""`remove_secret_values()`: the walk over a dumped value.

Knows what the protocol needs back byte for byte (signatures, call ids, images) and where a schema names a property.
Text goes through the scanner, names through `scope`.
"""

from typing import Final, NamedTuple

from pydantic import JsonValue

from openprogram.pipeline.redaction.known import KEYS, PLAIN, know, scan
from openprogram.pipeline.redaction.names import SECRET_PLACEHOLDER
from openprogram.pipeline.redaction.scanner import scan_text
from openprogram.pipeline.redaction.scope import ObjectScope, Place, list_scope

__all__ = ["REDACTION_VERSION", "Redacted", "redact", "remove_secret_values"]

#: Raised with every change of what is removed: replay then runs today's rules over an older recording too.
REDACTION_VERSION: Final = 3

_CALL_TYPES: Final = frozenset({"toolCall", "tool_call", "tool_use", "function_call", "toolcall_start"})
#: The ends of the types of a vendor's own calls: `server_tool_use`, `web_search_call`.
_CALL_ENDS: Final = ("_tool_use", "_call")
_MEDIA_TYPES: Final = frozenset({"image", "audio", "video", "document", "file", "base64", "redacted_thinking"})
#: Keys of a schema that hold data, not schemas.
_SCHEMA_DATA: Final = frozenset({"default", "example", "examples", "const", "enum"})


class Redacted(NamedTuple):
    """`value` without secrets; `count`: how many places were replaced."""

    value: JsonValue
    count: int  # type: ignore[assignment]  # the promised name; nobody needs tuple.count here


class _Mode(NamedTuple):
    """Where the walk is. `free`: below a tool call's arguments or a parsed answer, where keys are the program's own."""

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
    """One walk. `count`: places replaced so far."""

    def __init__(self) -> None:
        self.count = 0

    def look(self, value: JsonValue, mode: _Mode, place: Place, key: str) -> JsonValue:
        """`value`, which stands at `place` under `key`."""
        if isinstance(value, str):
            if place >= Place.STRING:
                return self._remove(value)
            text, count = scan(value, place)
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

    def _object(self, value: dict[str, JsonValue], mode: _Mode) -> dict[str, JsonValue]:
        scope: ObjectScope | None = None
        new: dict[str, JsonValue] | None = None  # a copy from the first change on: most objects have none
        for key, item in value.items():
            known = KEYS.get(key) or know(key, *scan_text(key))
            name, place = key, known.place
            if known.scoped or scope is not None:
                scope = scope or ObjectScope()
                self.count += known.removed
                name = scope.new_key(key, known.scanned)
                place = scope.place(name)
            redacted: JsonValue = item
            if isinstance(item, str):
                if not (known.untouched and not mode.free and _is_untouched(known.untouched, value)):
                    if place is not Place.LOOK or item not in PLAIN:
                        redacted = self.look(item, mode, place, name)
                    if scope is not None and isinstance(redacted, str):
                        scope.saw(name, redacted)
            elif mode.names and isinstance(item, (dict, bool)):
                redacted = self.look(item, _SCHEMA, Place.LOOK, name)
                if place >= Place.STRING and isinstance(redacted, dict):
                    redacted = self._property(redacted)
            elif isinstance(item, (dict, list)):
                redacted = self.look(item, _inner(mode, key), place, name)
            elif place is Place.WHOLE:
                redacted = self._remove(item)
            if new is not None:
                new[name] = redacted
            elif redacted is not item or name != key:
                new = _members_before(value, key)
                new[name] = redacted
        return value if new is None else new

    def _property(self, schema: dict[str, JsonValue]) -> dict[str, JsonValue]:
        """The schema of a property that holds a secret: its default may be one that the program took from somewhere."""
        new = schema
        for key in _SCHEMA_DATA.intersection(schema):
            item = schema[key]
            redacted = self.look(item, _PROTOCOL, Place.NAMED if isinstance(item, str) else Place.NEARBY, key)
            if redacted is not item:
                new = {**new, key: redacted}
        return new

    def _list(self, value: list[JsonValue], mode: _Mode, place: Place, key: str) -> list[JsonValue]:
        scope = list_scope(key, place)
        new: list[JsonValue] | None = None  # a copy from the first change on
        for index, item in enumerate(value):
            redacted: JsonValue = item
            if isinstance(item, str):
                if scope.place is not Place.LOOK or item not in PLAIN:
                    redacted = self.look(item, mode, scope.place, "")
                scope = scope.after(redacted) if isinstance(redacted, str) else scope.after_value
            else:
                if isinstance(item, (dict, list)):
                    redacted = self.look(item, mode, Place.LOOK, "")
                scope = scope.after_value
            if new is not None:
                new.append(redacted)
            elif redacted is not item:
                new = [*value[:index], redacted]
        return value if new is None else new


def _members_before(value: dict[str, JsonValue], stop: str) -> dict[str, JsonValue]:
    members = {}
    for key, item in value.items():
        if key == stop:
            break
        members[key] = item
    return members


def _is_untouched(rule: str, value: dict[str, JsonValue]) -> bool:
    if rule == "always":
        return True
    kind = value.get("type")
    if rule == "data" and ("mime_type" in value or "mimeType" in value):
        return True  # Gemini's data of media has no type
    if not isinstance(kind, str):
        return False
    if rule == "id":
        return kind in _CALL_TYPES or kind.endswith(_CALL_ENDS)
    return kind in _MEDIA_TYPES if rule == "data" else kind == "image_generation_call"


def _inner(mode: _Mode, key: str) -> _Mode:
    """The mode below `key`."""
    if mode.free or key in ("arguments", "parsed"):
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
