"""A request as the text of its line, in parts: a part that came in an earlier request is not dumped and redacted again.

An agent sends its whole conversation with every call, so that all but the last messages of a request were in the one
before. A request is a list of literal bytes (`{"model":`, a comma) and of parts (a message, the tools) between them.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, NewType, TypeAlias

from openprogram.pipeline.errors import RecordingValueError
from openprogram.pipeline.json_value import MAX_LINE_BYTES, JsonValue, to_json_text
from openprogram.pipeline.log.lines import LINE_END, load_payload

__all__ = ["CleanBody", "CleanPart", "DumpedPart", "Part", "PartMemo", "RequestText", "clean_part", "dump_parts"]

#: A request line without its `type` and `call_index`, redacted, its end included. Minted by RequestText only.
CleanBody = NewType("CleanBody", bytes)

#: Bytes kept free for `type` and `call_index`, which the writer puts before the body.
_RESERVED_BYTES: Final = 64
_REQUEST_PREFIX: Final = re.compile(rb'\{"type":"request","call_index":(?:0|[1-9][0-9]{0,14}),')
_NUMBER: Final = re.compile(rb"-?[0-9]+")


class Part(NamedTuple):
    """A value of a request, not dumped yet.

    `name`: the key it stands under, which says something to redaction. `key`: bytes that are equal for two parts only
    where their dumps are equal; None: unknown, never taken from the memo. `dump()`: the value; raises NotJson.
    """

    name: str
    key: bytes | None
    dump: Callable[[], JsonValue]


class DumpedPart(NamedTuple):
    """A part that the memo doesn't know, with its value."""

    name: str
    key: bytes | None
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


class PartMemo:
    """Clean parts of the latest requests, by key. Bounded: what no request asked for lately is forgotten."""

    #: Bytes of text after which a generation ends: about that many are kept in each of two.
    GENERATION_BYTES: Final = 16 * 1024 * 1024

    def __init__(self) -> None:
        self._young: dict[bytes, CleanPart] = {}
        self._old: dict[bytes, CleanPart] = {}
        self._young_bytes = 0

    def get(self, key: bytes) -> CleanPart | None:
        """The part of that key, which lives on."""
        part = self._young.get(key)
        if part is None and (part := self._old.get(key)) is not None:
            self.add(key, part)
        return part

    def add(self, key: bytes, part: CleanPart) -> None:
        """Keep a part. Threads may race here; at worst one works out anew what another had."""
        if self._young_bytes > self.GENERATION_BYTES:
            self._old, self._young, self._young_bytes = self._young, {}, 0
        self._young[key] = part
        self._young_bytes += len(key) + len(part.head) + len(part.tail)


def dump_parts(parts: Iterable[bytes | Part], memo: PartMemo) -> DumpedParts:
    """Each part as the memo has it, or else dumped. Raises NotJson."""
    dumped: DumpedParts = []
    for part in parts:
        if isinstance(part, bytes):
            dumped.append(part)
        else:
            known = memo.get(part.key) if part.key is not None else None
            dumped.append(known or DumpedPart(part.name, part.key, part.dump()))
    return dumped


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
        body = b"".join(pieces) + LINE_END
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
