"""A request as the text of its line, in parts: a part that came in an earlier request is not dumped and redacted again.

An agent sends its whole conversation with every call, so that all but the last messages of a request were in the one
before. A request is a list of literal bytes (`{"model":`), of parts (the model, the tools) and of a list of parts (the
messages).
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple, NewType, Protocol, TypeAlias

from pydantic_core import from_json

from openprogram.pipeline.errors import RecordingValueError
from openprogram.pipeline.json_value import MAX_LINE_BYTES, JsonValue, to_json_text
from openprogram.pipeline.log.lines import LINE_END, load_payload
from openprogram.pipeline.part_lists import CleanPart, KnownList, KnownPart
from openprogram.pipeline.plain import PlainLook
from openprogram.pipeline.snapshots import Snapshot, take_snapshot

__all__ = [
    "CleanBody",
    "DumpedList",
    "DumpedPart",
    "Part",
    "PartCodec",
    "PartList",
    "PartMemo",
    "RequestParts",
    "RequestText",
    "clean_part",
    "dump_parts",
]

#: A request line without its `type` and `call_index`, redacted, its end included; in pieces, so that the text of a
#: long conversation is not copied for each of its calls. Minted by RequestText only.
CleanBody = NewType("CleanBody", tuple[bytes, ...])

#: Bytes kept free for `type` and `call_index`, which the writer puts before the body.
_RESERVED_BYTES: Final = 64
#: What an entry takes beside what it holds.
_ENTRY_BYTES: Final = 256
#: Nested containers up to which no part, wherever it stands, is near MAX_DEPTH.
_SURELY_NOT_TOO_DEEP: Final = 100


class Part(NamedTuple):
    """A value of a request, not dumped yet.

    `name`: the key it stands under, which says something to redaction. `source`: the value as the caller holds it.
    `position`: where it stands in the list of that name, or None where it is the whole value.
    """

    name: str
    source: Any
    position: int | None = None


class PartList(NamedTuple):
    """The items of a list of a request, the brackets around them left out. `name`: the key it stands under."""

    name: str
    sources: Sequence[Any]


#: What a codec makes of a request.
RequestParts: TypeAlias = Iterable[bytes | Part | PartList]


class PartCodec(Protocol):
    """What is needed of a codec to dump parts. `plain_types`: see `PlainLook`."""

    @property
    def plain_types(self) -> frozenset[type]: ...

    def text(self, part: Part) -> bytes | None:
        """The JSON text of a plain part: that of its dump, and of no other dump. None where there is doubt.

        Numbers may be spelled in another way than elsewhere. No other thread has a turn meanwhile.
        """
        ...

    def dump_part(self, part: Part) -> JsonValue:
        """The JSON value. Raises NotJson."""
        ...


#: By which a part is known: its name, and its JSON text.
PartKey: TypeAlias = tuple[str, bytes]


class DumpedPart(NamedTuple):
    """A part that the memo doesn't know, with its value. `snapshot`: of its source, taken before it was dumped.

    `text`: the JSON text of the value where it is known already.
    """

    part: Part
    key: PartKey | None
    snapshot: Snapshot | None
    value: JsonValue
    text: bytes | None = None


class DumpedList(NamedTuple):
    """A list whose first items, or none, were in an earlier request, and what there is behind them.

    `first`: the JSON text of the first item where the list wasn't known by that object.
    """

    name: str
    known: KnownList | None
    items: list[DumpedPart | KnownPart]
    first: bytes | None = None


#: What normalizing a request gives, and redacting it.
DumpedParts: TypeAlias = list[bytes | DumpedPart | KnownPart | DumpedList]


class PartMemo:
    """Clean parts of the latest requests. Bounded: what no request asked for lately is forgotten.

    Asked by object first: the same one, unchanged, costs a look at its structure. Then by key: an equal message
    costs its length. Threads may race here; at worst one works out anew what another had.
    """

    #: Bytes after which a generation ends: about that many are kept in each of two.
    GENERATION_BYTES: Final = 16 * 1024 * 1024

    def __init__(self) -> None:
        self._young: dict[Any, Any] = {}
        self._old: dict[Any, Any] = {}
        self._young_bytes = 0

    def find_object(self, part: Part) -> KnownPart | None:
        """What became of that very source, whether or not it is still what it was."""
        found: KnownPart | None = self._get((part.name, id(part.source)))
        return found if found is not None and found.source is part.source else None

    def find_equal(self, key: PartKey) -> CleanPart | None:
        """The clean part of an equal source."""
        found: CleanPart | None = self._get(key)
        return found

    def find_list(self, name: str, sources: Sequence[Any]) -> KnownList | None:
        """The latest list of that name that began with the same object. How much more they share is to be seen."""
        found: KnownList | None = self._get((name, "list", id(sources[0]))) if sources else None
        return found if found is not None and found.items[0].source is sources[0] else None

    def keep(self, part: Part, key: PartKey | None, known: KnownPart) -> None:
        """Remember what became of a part whose source had that key."""
        clean = known.clean
        if key is not None:
            self._put(key, clean, _ENTRY_BYTES + len(key[1]) + clean.size)
        if part.position is None:
            self._put((part.name, id(part.source)), known, _ENTRY_BYTES + known.size)

    def find_list_alike(self, name: str, first: bytes) -> KnownList | None:
        """The latest list of that name whose first item had that text."""
        found: KnownList | None = self._get((name, "list", first))
        return found

    def keep_list(self, name: str, known: KnownList, new_bytes: int, first: bytes | None) -> None:
        """Remember a list, in the place of the one that began alike. `new_bytes`: more than that one.

        `first`: the text of its first item, where it is to be known by that as well.
        """
        self._put((name, "list", id(known.items[0].source)), known, new_bytes)
        if first is not None:
            self._put((name, "list", first), known, _ENTRY_BYTES + len(first))

    def _get(self, name: Any) -> Any:
        found = self._young.get(name)
        if found is None and (found := self._old.get(name)) is not None:
            self._put(name, found, _ENTRY_BYTES)
        return found

    def _put(self, name: Any, value: Any, size: int) -> None:
        if self._young_bytes > self.GENERATION_BYTES:
            self._old, self._young, self._young_bytes = self._young, {}, 0
        self._young[name] = value
        self._young_bytes += size


def dump_parts(parts: RequestParts, memo: PartMemo, codec: PartCodec) -> DumpedParts:
    """Each part as the memo has it, or else dumped. Raises NotJson."""
    return [_dump(part, memo, codec) for part in parts]


def _dump(
    part: bytes | Part | PartList, memo: PartMemo, codec: PartCodec
) -> bytes | DumpedPart | KnownPart | DumpedList:
    if isinstance(part, bytes):
        return part
    if isinstance(part, PartList):
        return _dump_list(part, memo, codec)
    known = memo.find_object(part)
    if known is not None and known.is_current:
        return known
    return _dump_part(part, memo, codec, is_kept=known is not None)


def _dump_list(part: PartList, memo: PartMemo, codec: PartCodec) -> DumpedList:
    known = memo.find_list(part.name, part.sources)
    if known is not None and known.begins(part.sources):
        return _continued(part, known, None, memo, codec)
    first = _text_of_first(part, codec) if known is None else None
    alike = memo.find_list_alike(part.name, first) if first is not None else None
    if alike is not None and alike.begins_alike(part.sources):
        return _continued(part, alike, first, memo, codec)
    # An item was changed, taken out or put in between: those that are still as they were need no more than a look.
    by_object = {id(item.source): item for item in known.items} if known is not None else {}
    items: list[DumpedPart | KnownPart] = []
    for at, source in enumerate(part.sources):
        item = by_object.get(id(source))
        if item is not None and item.is_current:
            items.append(item)
        else:
            is_kept = item is not None or alike is not None
            items.append(_dump_part(Part(part.name, source, at), memo, codec, is_kept=is_kept))
    return DumpedList(part.name, None, items, first)


def _continued(part: PartList, known: KnownList, first: bytes | None, memo: PartMemo, codec: PartCodec) -> DumpedList:
    """A list that begins as one that is known."""
    begun = len(known.items)
    behind = (Part(part.name, part.sources[at], at) for at in range(begun, len(part.sources)))
    return DumpedList(part.name, known, [_dump_part(item, memo, codec, is_kept=True) for item in behind], first)


def _text_of_first(part: PartList, codec: PartCodec) -> bytes | None:
    if not part.sources or not PlainLook(part.sources[0], codec.plain_types).is_plain:
        return None
    return codec.text(Part(part.name, part.sources[0], 0))


def _dump_part(part: Part, memo: PartMemo, codec: PartCodec, *, is_kept: bool = False) -> KnownPart | DumpedPart:
    """`is_kept`: it is likely new, and a snapshot of it will be asked for."""
    # A text only of what was walked: an unknown type may have a JSON form of its own, or be used up by asking for it.
    look = PlainLook(part.source, codec.plain_types)
    if not look.is_plain:
        return DumpedPart(part, None, None, codec.dump_part(part))
    # Whoever makes a new object of the same content for each request will not send this one again: no snapshot.
    if not is_kept and (clean := _find_equal(part, codec.text(part), memo)) is not None:
        return _known(part, None, clean, memo)
    # Another thread may change the source at any time. What is remembered of it has to be of one and the same state.
    snapshot = take_snapshot(part.source)
    text = codec.text(part)
    if (clean := _find_equal(part, text, memo)) is not None:
        return _known(part, _if_current(snapshot), clean, memo)
    dumped = _dump_text(part, look, text) or DumpedPart(part, None, None, codec.dump_part(part))
    return dumped._replace(snapshot=_if_current(snapshot))


def _find_equal(part: Part, text: bytes | None, memo: PartMemo) -> CleanPart | None:
    return None if text is None else memo.find_equal((part.name, text))


def _known(part: Part, snapshot: Snapshot | None, clean: CleanPart, memo: PartMemo) -> KnownPart:
    known = KnownPart(part.source, snapshot, clean)
    memo.keep(part, None, known)
    return known


def _if_current(snapshot: Snapshot | None) -> Snapshot | None:
    return snapshot if snapshot is not None and snapshot.is_current() else None


def _dump_text(part: Part, look: PlainLook, text: bytes | None) -> DumpedPart | None:
    """What the text says. None where that is not sure, and where the dump would refuse it, and say what and where."""
    if text is None or look.depth > _SURELY_NOT_TOO_DEEP:
        return None
    try:
        value = from_json(text, allow_inf_nan=False)
    except ValueError:
        return None
    return DumpedPart(part, (part.name, text), None, value, text if look.is_spelled_alike else None)


def clean_part(value: JsonValue, count: int, stamps: frozenset[str], text: bytes | None = None) -> CleanPart:
    """A redacted value. `stamps`: keys of its own whose integers are not compared; the first counts. `text`: its text.

    Raises NotJson: a number has more digits than can be written.
    """
    text = to_json_text(value) if text is None else text
    name = next((key for key in stamps if isinstance(value, dict) and type(value.get(key)) is int), None)
    if name is None or not isinstance(value, dict):
        return CleanPart(text, b"", b"", count)
    members = list(value.items())
    behind = dict(members[list(value).index(name) + 1 :])
    stamp = str(value[name]).encode()
    tail = b"," + to_json_text(behind)[1:] if behind else b"}"
    if not text.endswith(stamp + tail):  # escaped throughout, for a lone surrogate that stands before
        return CleanPart(text, b"", b"", count)
    return CleanPart(text[: -len(stamp + tail)], stamp, tail, count)


class RequestText:
    """A redacted request: `parts` of it, and `count`: places that were redacted in it."""

    def __init__(self, parts: Iterable[bytes | CleanPart | KnownList]) -> None:
        self.parts = list(parts)
        self.count = sum(part.count for part in self.parts if not isinstance(part, bytes))

    def body(self) -> CleanBody:
        """The text to write. Raises RecordingValueError: longer than a line may be."""
        pieces: list[bytes] = []
        for part in self.parts:
            if isinstance(part, bytes):
                pieces.append(part)
            elif isinstance(part, CleanPart):
                pieces.append(part.text)
            else:
                pieces += part.text
        pieces.append(LINE_END)
        size = sum(map(len, pieces))
        if size > MAX_LINE_BYTES - _RESERVED_BYTES:
            reason = f"{size:,} bytes in one line, above the limit of {MAX_LINE_BYTES:,}"
            raise RecordingValueError(field_path="the request", reason=reason)
        return CleanBody(tuple(pieces))

    def value(self) -> dict[str, Any]:
        """The request as JSON values: `model`, `context`, `options`."""
        value: dict[str, Any] = load_payload(b"".join(self.body()))
        return value
