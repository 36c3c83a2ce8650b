"""The list that grows from request to request: an agent's conversation. What it began with is proven at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import is_
from typing import Any, Final, NamedTuple

from openprogram.pipeline.flat import Flat
from openprogram.pipeline.pieces import with_piece, with_text
from openprogram.pipeline.snapshots import Snapshot

__all__ = ["CleanPart", "KnownList", "KnownPart"]

#: Bytes that what is known of a list takes, about, beside what is known of each of its items.
_LIST_BYTES: Final = 4096
#: Bytes that a source, its snapshot and what it holds take, about: the least there is, and for each reference in it.
_SOURCE_BYTES: Final = 1536
_REFERENCE_BYTES: Final = 100
#: What a byte of text takes as values, where nothing is known of them.
_BYTES_AS_VALUES: Final = 4


@dataclass(frozen=True, slots=True)
class CleanPart:
    """A part's redacted JSON text, cut in three: `stamp` is a number that is not compared, or empty.

    `count`: places that were redacted.
    """

    head: bytes
    stamp: bytes
    tail: bytes
    count: int

    @property
    def text(self) -> bytes:
        """All of it."""
        return self.head + self.stamp + self.tail

    @property
    def size(self) -> int:
        """Bytes of its text."""
        return len(self.head) + len(self.stamp) + len(self.tail)


class KnownPart(NamedTuple):
    """What became of a source. `snapshot`: of the source then, or None where it can't be told whether it changed."""

    source: Any
    snapshot: Snapshot | None
    clean: CleanPart

    @property
    def is_current(self) -> bool:
        """Whether the source is still what it was."""
        return self.snapshot is not None and self.snapshot.is_current()

    @property
    def size(self) -> int:
        """Bytes that are held with it, about: the source is most of them, where its texts are short."""
        text = self.clean.size
        values = text * _BYTES_AS_VALUES if self.snapshot is None else len(self.snapshot) * _REFERENCE_BYTES
        return _SOURCE_BYTES + text + values


class KnownList:
    """The items of a list with what became of them. It never changes: a longer list is another KnownList.

    `items`; `text`: pieces that make the JSON text of the items, with the commas between them; `count`: places that
    were redacted; `size`: bytes that are held with it, about.
    """

    __slots__ = ("_flat", "_snapshots", "_sources", "count", "items", "size", "text")

    def __init__(self, items: Sequence[KnownPart]) -> None:
        self.items = items
        self.text: tuple[bytes, ...] = (_text(items),)
        self.count = sum(item.clean.count for item in items)
        self.size = _LIST_BYTES + len(self.text[0]) + sum(item.size for item in items)
        self._sources = [item.source for item in items]
        self._snapshots = _joined(items)
        self._flat: tuple[int, Flat] | None = None  # of the first so many items; made when it is asked for

    def extended(self, items: Sequence[KnownPart]) -> "KnownList":
        """This list with items behind it. Costs what is new, and a pointer for what is not."""
        longer = KnownList(items)
        longer.text = with_text(self.text, b"," + longer.text[0])
        longer.items = [*self.items, *items]
        longer.count += self.count
        longer.size += self.size
        longer._sources = [*self._sources, *longer._sources]
        if self._snapshots is not None and longer._snapshots is not None:
            longer._snapshots = with_piece(self._snapshots, longer._snapshots[0], len, Snapshot.joined)
        else:
            longer._snapshots = None
        longer._flat = self._flat
        return longer

    def begins(self, sources: Sequence[Any]) -> bool:
        """Whether a list begins with these very items, and each is still what it was."""
        return (
            len(self._sources) <= len(sources)
            and all(map(is_, self._sources, sources))
            and self._snapshots is not None
            and all(snapshot.is_current() for snapshot in self._snapshots)
        )

    def begins_alike(self, sources: Sequence[Any]) -> bool:
        """Whether a list begins with items that hold the same as these did, be they other objects."""
        count = len(self._sources)
        if count > len(sources):
            return False
        flat = self._flattened()
        return flat is not None and flat.is_of(sources[:count])

    def _flattened(self) -> Flat | None:
        begun, flat = self._flat or (0, None)
        behind = self.items[begun:]
        if behind:
            more = (
                Flat.of([item.source for item in behind]) if all(item.snapshot is not None for item in behind) else None
            )
            # Behind the look: another thread may have changed one.
            if more is None or not all(item.is_current for item in behind):
                return None
            flat = more if flat is None else flat.followed_by(more)
            self._flat = (len(self.items), flat)
        return flat


def _text(items: Sequence[KnownPart]) -> bytes:
    pieces: list[bytes] = []
    for item in items:
        pieces += (item.clean.head, item.clean.stamp, item.clean.tail, b",")
    return b"".join(pieces[:-1])


def _joined(items: Sequence[KnownPart]) -> tuple[Snapshot, ...] | None:
    """One snapshot of all items, or None where one of them has none."""
    snapshots = [item.snapshot for item in items if item.snapshot is not None]
    return (Snapshot.joined(snapshots),) if len(snapshots) == len(items) else None
