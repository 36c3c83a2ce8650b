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
    """An event in the queue. `delta`: its text of a block, if it has one; `decided`: characters of that.

    `parts`: what the decided characters became.
    """

    __slots__ = ("decided", "delta", "event", "parts")

    def __init__(self, event: _Event, delta: str | None = None) -> None:
        self.event, self.delta, self.decided = event, delta, 0
        self.parts: list[str] = []

    @property
    def waits(self) -> bool:
        """Whether some of its text is undecided."""
        return self.delta is not None and self.decided < len(self.delta)

    def take(self, length: int, new: str | None) -> int:
        """The next characters, `length` at most, are decided. Returns how many are left for the next event."""
        assert self.delta is not None
        size = min(length, len(self.delta) - self.decided)
        self.parts.append(self.delta[self.decided : self.decided + size] if new is None else new)
        self.decided += size
        return length - size


class _Block:
    """A content block whose text is streaming in: its scanner, and its events that have undecided text."""

    __slots__ = ("_unscanned", "entries", "scanner")

    def __init__(self, kind: str) -> None:
        self.scanner: _TextScanner = ArgumentsScanner() if kind == "toolcall" else Scanner()
        self.entries: deque[_Entry] = deque()
        self._unscanned: list[str] = []

    def add(self, entry: _Entry, delta: str) -> None:
        if delta:
            self.entries.append(entry)
            self._unscanned.append(delta)

    def scan(self) -> None:
        """Scan what was added as one text: how it was cut makes no difference to what is found."""
        text = "".join(self._unscanned)
        self._unscanned.clear()
        self._settle(self.scanner.feed(text))

    def close(self) -> None:
        self._settle(self.scanner.close())

    def _settle(self, pieces: list[Piece]) -> None:
        for length, new in pieces:
            left, replacement = length, new
            while left:
                left = self.entries[0].take(left, replacement)
                if not self.entries[0].waits:
                    self.entries.popleft()
                if replacement:
                    replacement = ""


class StreamRedactor:
    """Redacts the events of one provider call, in their order. Not for use from several threads."""

    def __init__(self) -> None:
        self._queue: deque[_Entry] = deque()
        self._blocks: dict[tuple[str, str], _Block] = {}
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
        return self.feed_all((event,))

    def feed_all(self, events: Iterable[_Event]) -> list[_Event]:
        """As `feed`, for the next few events: deltas of a block that follow each other cost one scan."""
        unscanned: _Block | None = None
        for event in events:
            if "partial" in event:
                event = {key: item for key, item in event.items() if key != "partial"}
            kind, delta = event.get("type"), event.get("delta")
            is_delta = isinstance(kind, str) and kind in _DELTAS and isinstance(delta, str)
            block = self._delta(event, kind, delta) if is_delta else None  # type: ignore[arg-type]
            if unscanned is not None and block is not unscanned:
                unscanned.scan()
            if block is None:
                self._other(kind, event)
            unscanned = block
        if unscanned is not None:
            unscanned.scan()
        return self._decided()

    def close(self) -> list[_Event]:
        """The call's stream has ended or was cut off. Returns every event that still waits."""
        self._close_blocks()
        return self._decided()

    def _delta(self, event: _Event, kind: str, delta: str) -> _Block:
        """Queue an event with text, to be scanned; the block that it belongs to."""
        index = event.get("content_index")
        key = _DELTAS[kind], repr(index)
        block = self._blocks.get(key)
        if block is None:
            block = self._blocks[key] = _Block(_DELTAS[kind])
        if len(event) > 3 or type(index) is not int:  # else it holds nothing but its type, index and text
            event = self._clean_rest(event)
        entry = _Entry(event, delta)
        self._queue.append(entry)
        block.add(entry, delta)
        return block

    def _clean_rest(self, event: _Event) -> _Event:
        rest = {name: item for name, item in event.items() if name != "delta"}
        clean, count = redact(rest)
        self._count += count
        return event if clean is rest else {**event, **clean}  # type: ignore[dict-item]

    def _other(self, kind: JsonValue, event: _Event) -> None:
        if isinstance(kind, str) and kind in _ENDS:
            block = self._blocks.pop((_ENDS[kind], repr(event.get("content_index"))), None)
            if block is not None:
                self._finish(block)
        elif kind in _TERMINAL:
            self._close_blocks()
        clean, count = redact(event)
        self._count += count
        assert isinstance(clean, dict)
        self._queue.append(_Entry(clean))

    def _close_blocks(self) -> None:
        for block in self._blocks.values():
            self._finish(block)
        self._blocks.clear()

    def _finish(self, block: _Block) -> None:
        block.close()
        self._count += block.scanner.count

    def _decided(self) -> list[_Event]:
        events = []
        while self._queue and not self._queue[0].waits:
            entry = self._queue.popleft()
            event = entry.event
            if entry.delta is not None and (text := "".join(entry.parts)) != entry.delta:
                event = {**event, "delta": text}
            events.append(event)
        return events
