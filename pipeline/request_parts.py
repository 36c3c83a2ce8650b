"""A request as the text of its line, in parts: a part that came in an earlier request is not dumped and redacted again.

An agent sends its whole conversation with every call, so that all but the last messages of a request were in the one
before. A request is a list of literal bytes (`{"model":`, a comma) and of parts (a message, the tools) between them.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, NewType, Protocol, TypeAlias

from openprogram.pipeline.errors import RecordingValueError
from openprogram.pipeline.fingerprint import fingerprint, is_same
from openprogram.pipeline.json_value import MAX_LINE_BYTES, JsonValue, to_json_text
from openprogram.pipeline.log.lines import LINE_END, load_payload

__all__ = [
    "CleanBody",
    "CleanPart",
    "DumpedPart",
    "Part",
    "PartCodec",
    "PartMemo",
    "RequestText",
    "clean_part",
    "dump_parts",
]

#: A request line without its `type` and `call_index`, redacted, its end included. Minted by RequestText only.
CleanBody = NewType("CleanBody", bytes)

#: Bytes kept free for `type` and `call_index`, which the writer puts before the body.
_RESERVED_BYTES: Final = 64
_REQUEST_PREFIX: Final = re.compile(rb'\{"type":"request","call_index":(?:0|[1-9][0-9]{0,14}),')
_POINTER_BYTES: Final = 8
_NUMBER: Final = re.compile(rb"-?[0-9]+")


class Part(NamedTuple):
    """A value of a request, not dumped yet.

    `name`: the key it stands under, which says something to redaction. `source`: the value as the caller holds it.
    `position`: where it stands in the list of that name, or None where it is the whole value.
    """

    name: str
    source: Any
    position: int | None = None


class PartCodec(Protocol):
    """What is needed of a codec to dump parts. `plain_types`: see `fingerprint`."""

    @property
    def plain_types(self) -> frozenset[type]: ...

    def key(self, part: Part) -> bytes | None:
        """Bytes that are equal for two parts only where their dumps are equal, or None where there is doubt."""
        ...

    def dump_part(self, part: Part) -> JsonValue:
        """The JSON value. Raises NotJson."""
        ...


class DumpedPart(NamedTuple):
    """A part that the memo doesn't know, with its value. `leaves`: the fingerprint that its source had by then."""

    part: Part
    key: bytes | None
    leaves: list[Any] | None
    value: JsonValue


@dataclass(frozen=True, slots=True)
class CleanPart:
    """A part's redacted JSON text, cut in three: `stamp` is a number that is not compared, or empty.

    `count`: places that were redacted.
    """

    head: bytes
    stamp: bytes
    tail: bytes
    count: int


#: What normalizing a request gives, and redacting it.
DumpedParts: TypeAlias = list[bytes | DumpedPart | CleanPart]


class _Seen(NamedTuple):
    """A source object that a part was made of, and what it was like then."""

    source: Any  # held, so that no other object takes its id
    leaves: list[Any]
    clean: CleanPart


class PartMemo:
    """Clean parts of the latest requests. Bounded: what no request asked for lately is forgotten.

    Asked by object first: the same one, unchanged, costs a walk over its structure. Then by key: an equal message
    costs its length. Threads may race here; at worst one works out anew what another had.
    """

    #: Bytes of text after which a generation ends: about that many are kept in each of two.
    GENERATION_BYTES: Final = 16 * 1024 * 1024

    def __init__(self) -> None:
        self._young: dict[Any, Any] = {}
        self._old: dict[Any, Any] = {}
        self._young_bytes = 0

    def find_object(self, part: Part, leaves: list[Any]) -> CleanPart | None:
        """The clean part of that very source, if it is still what it was."""
        seen: _Seen | None = self._get((part.name, id(part.source)))
        if seen is None or seen.source is not part.source or not is_same(seen.leaves, leaves):
            return None
        return seen.clean

    def find_equal(self, key: bytes) -> CleanPart | None:
        """The clean part of an equal source."""
        found: CleanPart | None = self._get(key)
        return found

    def keep(self, part: Part, key: bytes | None, leaves: list[Any] | None, clean: CleanPart) -> None:
        """Remember what became of a part whose source had that key and that fingerprint."""
        if key is not None:
            self._put(key, clean, len(key) + len(clean.head) + len(clean.tail))
        if leaves is not None:
            self._put((part.name, id(part.source)), _Seen(part.source, leaves, clean), _POINTER_BYTES * len(leaves))

    def _get(self, name: Any) -> Any:
        found = self._young.get(name)
        if found is None and (found := self._old.get(name)) is not None:
            self._put(name, found, _POINTER_BYTES)
        return found

    def _put(self, name: Any, value: Any, size: int) -> None:
        if self._young_bytes > self.GENERATION_BYTES:
            self._old, self._young, self._young_bytes = self._young, {}, 0
        self._young[name] = value
        self._young_bytes += size


def dump_parts(parts: Iterable[bytes | Part], memo: PartMemo, codec: PartCodec) -> DumpedParts:
    """Each part as the memo has it, or else dumped. Raises NotJson."""
    return [part if isinstance(part, bytes) else _dump_part(part, memo, codec) for part in parts]


def _dump_part(part: Part, memo: PartMemo, codec: PartCodec) -> CleanPart | DumpedPart:
    leaves = fingerprint(part.source, codec.plain_types)
    if leaves is not None and (known := memo.find_object(part, leaves)) is not None:
        return known
    # Only of what was walked: an unknown type may have a JSON form of its own, or be used up by asking for it.
    key = codec.key(part) if leaves is not None else None
    if key is not None and (known := memo.find_equal(key)) is not None:
        memo.keep(part, None, leaves, known)
        return known
    return DumpedPart(part, key, leaves, codec.dump_part(part))


def clean_part(value: JsonValue, count: int, stamps: frozenset[str]) -> CleanPart:
    """The text of a redacted value. `stamps`: keys of its own whose integers are not compared; the first counts."""
    name = next((key for key in stamps if isinstance(value, dict) and type(value.get(key)) is int), None)
    if name is None or not isinstance(value, dict):
        return CleanPart(to_json_text(value), b"", b"", count)
    keys = list(value)
    at = keys.index(name)
    before = _members({key: value[key] for key in keys[:at]})
    after = _members({key: value[key] for key in keys[at + 1 :]})
    head = b"{" + before + (b"," if before else b"") + to_json_text(name) + b":"
    return CleanPart(head, to_json_text(value[name]), (b"," if after else b"") + after + b"}", count)


def _members(value: Mapping[str, JsonValue]) -> bytes:
    return to_json_text(dict(value))[1:-1]


class RequestText:
    """A redacted request. `count`: places that were redacted in it."""

    def __init__(self, parts: Iterable[bytes | CleanPart]) -> None:
        self._parts = list(parts)
        self.count = sum(part.count for part in self._parts if isinstance(part, CleanPart))

    def body(self) -> CleanBody:
        """The text to write. Raises RecordingValueError: longer than a line may be."""
        pieces: list[bytes] = []
        for part in self._parts:
            if isinstance(part, bytes):
                pieces.append(part)
            else:
                pieces += (part.head, part.stamp, part.tail)
        pieces.append(LINE_END)
        body = b"".join(pieces)
        if len(body) > MAX_LINE_BYTES - _RESERVED_BYTES:
            reason = f"{len(body):,} bytes in one line, above the limit of {MAX_LINE_BYTES:,}"
            raise RecordingValueError(field_path="the request", reason=reason)
        return CleanBody(body)

    def value(self) -> dict[str, Any]:
        """The request as JSON values: `model`, `context`, `options`."""
        value: dict[str, Any] = load_payload(self.body())
        return value

    def is_line(self, line: bytes) -> bool:
        """Whether a request line has this very text, but for the numbers that are not compared.

        Then the requests are equal, and no value was looked at. Otherwise they may still be equal: another release
        or another program may spell the same request in another way.
        """
        prefix = _REQUEST_PREFIX.match(line)
        if prefix is None:
            return False
        at = prefix.end() - 1
        for part in self._parts:
            if isinstance(part, bytes):
                if at == prefix.end() - 1:
                    part, at = part[1:], at + 1  # the line's own `{` stands before its type
                if not line.startswith(part, at):
                    return False
                at += len(part)
                continue
            if not line.startswith(part.head, at):
                return False
            at += len(part.head)
            if part.stamp:
                number = _NUMBER.match(line, at)
                if number is None or not line.startswith(part.tail, number.end()):
                    return False
                at = number.end() + len(part.tail)
        return line[at:].strip() == b""
