"""`StreamRedactor`: the events of one provider call, redacted while they come.

An event waits while its text may be part of a secret, and all events of the call wait behind it. Once a secret is
certain, the delta with its first character carries the placeholder, and the rest of its text is left out.
"""

from collections import deque
from collections.abc import Iterable
from typing import Final, Protocol

from pydantic import JsonValue

from openprogram.pipeline.redaction.arguments import ArgumentsScanner
from openprogram.pipeline.redaction.scanner import Piece, Scanner
from openprogram.pipeline.redaction.walk import redact

__all__ = ["StreamRedactor"]

_Event = dict[str, JsonValue]

#: Event types that carry a piece of a block's text in `delta`, and the kind of block.
_DELTAS: Final = {"text_delta": "text", "thinking_delta": "thinking", "toolcall_delta": "toolcall"}
_ENDS: Final = {"text_end": "text", "thinking_end": "thinking", "toolcall_end": "toolcall"}
_TERMINAL: Final = frozenset({"done", "error"})


class _TextScanner(Protocol):
    @property
    def count(self) -> int: ...

    def feed(self, text: str) -> list[Piece]: ...

    def close(self) -> list[Piece]: ...


class _Entry:
    """An event in the queue. `delta`: its text of a block, or nothing; `undecided`: characters left at its end.

    `parts`: what the decided characters became, or None while they all stay.
    """

    __slots__ = ("delta", "event", "parts", "undecided")

    def __init__(self, event: _Event, delta: str = "") -> None:
        self.event, self.delta, self.undecided = event, delta, len(delta)
        self.parts: list[str] | None = None

    def take(self, length: int, new: str | None) -> int:
        """The next characters, `length` at most, are decided. Returns how many are left for the next event."""
        size, start = min(length, self.undecided), len(self.delta) - self.undecided
        if new is not None:
            if self.parts is None:
                self.parts = [self.delta[:start]]
            self.parts.append(new)
        elif self.parts is not None:
            self.parts.append(self.delta[start : start + size])
        self.undecided -= size
        return length - size


class _Block:
    """A content block whose text is streaming in: its scanner, and its events that have undecided text."""

    __slots__ = ("entries", "scanner")

    def __init__(self, kind: str) -> None:
        self.scanner: _TextScanner = ArgumentsScanner() if kind == "toolcall" else Scanner()
        self.entries: deque[_Entry] = deque()

    def close(self) -> None:
        self.settle(self.scanner.close())

    def settle(self, pieces: list[Piece]) -> None:
        entries = self.entries
        for length, new in pieces:
            left, replacement = length, new
            while left:
                entry = entries[0]
                if new is None and entry.parts is None and left >= entry.undecided:  # as most: all that is left stays
                    left -= entry.undecided
                    entry.undecided = 0
                    entries.popleft()
                    continue
                left = entry.take(left, replacement)
                if not entry.undecided:
                    entries.popleft()
                if replacement:
                    replacement = ""


def _is_bare(event: _Event) -> bool:
    """Whether a delta holds nothing but its type, index and text."""
    return len(event) == 3 and type(event.get("content_index")) is int


def _index_of(event: _Event) -> int | str:
    """What tells the block of `event` from others of its kind."""
    index = event.get("content_index")
    return index if type(index) is int else repr(index)


def _all_stays(pieces: list[Piece], length: int) -> bool:
    if len(pieces) == 1:
        return pieces[0] == (length, None)
    return sum(size for size, new in pieces if new is None) == length


class StreamRedactor:
    """Redacts the events of one provider call, in their order. Not for use from several threads."""

    def __init__(self) -> None:
        self._ready: list[_Event] = []  # decided before there was a queue, and not given back yet
        self._queue: deque[_Entry] = deque()
        self._blocks: dict[tuple[str, int | str], _Block] = {}
        self._count = 0

    @property
    def count(self) -> int:
        """Places replaced so far."""
        return self._count + sum(block.scanner.count for block in self._blocks.values())

    @property
    def waiting(self) -> int:
        """How many events are held."""
        return len(self._queue)

    def feed(self, event: _Event) -> list[_Event]:
        """The next event of the call, dumped. Returns the events that are now decided, redacted, in their order.

        `event` isn't changed. A `partial` in it is left out. Every event comes out once, here or from `close()`.
        """
        block = None if "partial" in event else self._block_of(event)
        if block is None or not _is_bare(event):
            return self.feed_all((event,))
        self._scan(block, [event])
        return self._decided()

    def feed_all(self, events: Iterable[_Event]) -> list[_Event]:
        """As `feed`, for the next few events: deltas of a block that follow each other cost one scan."""
        block: _Block | None = None
        run: list[_Event] = []  # deltas of that block, not scanned yet
        for event in events:
            if "partial" in event:
                event = {key: item for key, item in event.items() if key != "partial"}
            owner = self._block_of(event)
            if block is not None and owner is not block:
                self._scan(block, run)
                run = []
            if owner is None:
                self._other(event)
            elif _is_bare(event):
                run.append(event)
            else:
                run.append(self._clean_rest(event))
            block = owner
        if block is not None:
            self._scan(block, run)
        return self._decided()

    def close(self) -> list[_Event]:
        """The call's stream has ended or was cut off. Returns every event that still waits."""
        self._close_blocks()
        return self._decided()

    def _block_of(self, event: _Event) -> _Block | None:
        """The block whose text goes on with this event, or None where the event is no such delta."""
        kind = event.get("type")
        if not isinstance(kind, str) or kind not in _DELTAS or not isinstance(event.get("delta"), str):
            return None
        key = _DELTAS[kind], _index_of(event)
        block = self._blocks.get(key)
        if block is None:
            block = self._blocks[key] = _Block(_DELTAS[kind])
        return block

    def _scan(self, block: _Block, run: list[_Event]) -> None:
        """Scan deltas of a block as one text: how it was cut makes no difference to what is found."""
        deltas = [str(event["delta"]) for event in run]
        text = deltas[0] if len(deltas) == 1 else "".join(deltas)
        pieces = block.scanner.feed(text)
        if not self._queue and _all_stays(pieces, len(text)):
            self._ready += run  # by far the most frequent: all of it stays, and nothing waits before it
            return
        for event, delta in zip(run, deltas, strict=True):
            entry = _Entry(event, delta)
            self._queue.append(entry)
            if delta:
                block.entries.append(entry)
        if pieces:
            block.settle(pieces)

    def _clean_rest(self, event: _Event) -> _Event:
        rest = {name: item for name, item in event.items() if name != "delta"}
        clean, count = redact(rest)
        self._count += count
        return event if clean is rest else {**event, **clean}  # type: ignore[dict-item]

    def _other(self, event: _Event) -> None:
        kind = event.get("type")
        if isinstance(kind, str) and kind in _ENDS:
            block = self._blocks.pop((_ENDS[kind], _index_of(event)), None)
            if block is not None:
                self._finish(block)
        elif kind in _TERMINAL:
            self._close_blocks()
        clean, count = redact(event)
        self._count += count
        assert isinstance(clean, dict)
        if self._queue:
            self._queue.append(_Entry(clean))
        else:
            self._ready.append(clean)

    def _close_blocks(self) -> None:
        for block in self._blocks.values():
            self._finish(block)
        self._blocks.clear()

    def _finish(self, block: _Block) -> None:
        block.close()
        self._count += block.scanner.count

    def _decided(self) -> list[_Event]:
        events, self._ready = self._ready, []
        while self._queue and not self._queue[0].undecided:
            entry = self._queue.popleft()
            changed = entry.parts is not None and (text := "".join(entry.parts)) != entry.delta
            events.append({**entry.event, "delta": text} if changed else entry.event)
        return events
