"""The one machine that finds secrets in text, left to right, whether the text comes whole or in pieces.

A whole string is scanned by feeding it once and closing. The result doesn't depend on the cuts, because triggers
are taken in the order of their anchors, and a rule either answers from characters that are there or waits.
Work is linear: nothing is searched twice but LEFT_CONTEXT characters a piece and what waits, which is bounded.
"""

import re
from typing import Final, NamedTuple

from openprogram.pipeline.redaction.answers import NEAR, Answers
from openprogram.pipeline.redaction.names import SECRET_PLACEHOLDER
from openprogram.pipeline.redaction.reader import LEFT_CONTEXT, NeedMore, Reader, Stop
from openprogram.pipeline.redaction.search import MAX_LITERAL, MAX_SUFFIX, Search, first_start, open_trigger, search_of
from openprogram.pipeline.redaction.spans import Match, Span, Swallow

__all__ = ["First", "Piece", "Scanner", "applied", "first_in", "removed", "scan_text"]

#: Text behind which a piece may be cut off: what triggers and colour codes need on the left of LEFT_CONTEXT.
_KEPT: Final = LEFT_CONTEXT + 64
#: So much more is kept before it is cut off at once.
_SLACK: Final = 512

_START: Final = search_of("")

#: The next so many characters of the text are decided: they stay (None), or become the string.
Piece = tuple[int, str | None]


class First(NamedTuple):
    """The first secret of a whole text. `anchor`: of its trigger; `search` and `reader`: what it was found with."""

    search: Search
    anchor: int
    span: Span
    reader: Reader


class Scanner:
    """Scans one text. `feed()` its pieces, then `close()`; both return what is decided, in order, without gaps."""

    def __init__(self, opening: Match | None = None) -> None:
        """`opening`: a rule that is tried at the start of the text, for a value whose name stands elsewhere."""
        self._reader = Reader()
        self._position = 0  # where the search goes on
        self._decided = 0  # everything before is decided and was returned
        self._swallow: Swallow | None = None
        self._owed: str | None = None  # the placeholder, until a character of its secret has come
        self._opening = opening
        self._ahead: re.Match[str] | None = None  # what was found last, for a search from before it
        self._first: Span | None = None  # found already, by the trigger before the position
        self._answers: Answers | None = Answers()
        self._use(_START)
        self.count = 0

    def feed(self, text: str) -> list[Piece]:
        """`text` goes on. Returns the pieces decided by it."""
        reader = self._reader
        cut = min(self._position, self._decided) - _KEPT
        if cut > _SLACK:
            reader.text = reader.text[cut:]
            self._position -= cut
            self._decided -= cut
            reader.floor = max(reader.floor - cut, -1)
            reader.run_on = None  # its places are those of before
        reader.text += text
        reader.end = len(reader.text)
        if reader.run_on is not None and self._decided >= reader.hold and reader.runs_on():
            return []
        self._look_again()
        return self._advance()

    def scan(self, text: str, first: First | None = None) -> list[Piece]:
        """All of a text that is there. `first`: its `first_in`, where that is known and nothing opens the text."""
        if first is None:
            self._reader = Reader(text, closed=True)
            self._use(search_of(text))
        else:
            self._reader, self._position, self._first = first.reader, first.anchor + 1, first.span
            self._use(first.search)
        return self._advance()

    def close(self) -> list[Piece]:
        """The text has ended: everything is decided."""
        self._reader.closed = True
        self._look_again()
        return self._advance()

    def finish(self, text: str) -> list[Piece]:
        """The last of the text: as `feed`, then `close`."""
        self._reader.closed, self._reader.run_on = True, None
        return self.feed(text)

    @property
    def buffered(self) -> int:
        """Characters of the text that are remembered. Bounded, however long the text."""
        return len(self._reader.text)

    @property
    def owed(self) -> str:
        """After `close()`: the placeholder of a secret without a character, an empty string that goes all the same."""
        return self._owed or ""

    def _look_again(self) -> None:
        """More of the text is there than when it was searched last."""
        self._reader.run_on = self._ahead = None
        self._use(search_of(self._reader.text[max(self._position - MAX_LITERAL, 0) :]))

    def _use(self, search: Search) -> None:
        self._search, self._rows = search, search.rows

    def _advance(self) -> list[Piece]:
        reader, pieces = self._reader, list[Piece]()
        if self._opening is not None and not self._open(pieces):
            return pieces
        while True:
            if self._swallow is not None:
                end, ended = self._swallow(reader, self._decided)
                self._drop(pieces, end)
                if not ended:
                    return pieces
                self._swallow = None
            span = self._next(pieces)
            if span is None:
                return pieces
            self._begin(span, pieces)

    def _open(self, pieces: list[Piece]) -> bool:
        """Try the rule for the start of the text. Whether it has answered."""
        assert self._opening is not None
        self._reader.hold = 0
        try:
            span = self._opening(self._reader, 0, 0)
        except NeedMore:
            return False
        except Stop:
            span = None
        self._opening = None
        if span is not None:
            self._begin(span, pieces)
        return True

    def _next(self, pieces: list[Piece]) -> Span | None:
        """The next secret, or None where there is none or it waits; what stands before it is decided."""
        reader, position, first = self._reader, self._position, self._first
        if first is not None:
            self._first = None
            if position >= first.start:
                return first
        end, floor = reader.end, reader.floor
        whole, limit = end - MAX_SUFFIX, end if reader.closed else -1  # a literal with an anchor up to there is whole
        search, rows, text = self._search.pattern.search, self._rows, reader.text
        answers = self._answers
        found = self._ahead
        while True:
            # a secret may stand far behind its trigger, and another one between the two: that one comes first
            if found is None or found.start() < position:
                found = search(text, position)
            anchor = found.start() if found else end
            if anchor > whole and limit < 0:
                limit = open_trigger(reader, position)
            if first is not None and anchor >= first.start and not 0 <= limit < first.start:
                self._ahead = found
                return first
            if found is None or 0 <= limit <= anchor:
                break
            offset, match = rows[found.lastindex or 0]
            start = anchor - offset
            reader.hold = end
            try:
                if start < floor:
                    span = None
                elif answers is None or anchor - position > NEAR:
                    span = match(reader, start, found.end())
                else:
                    span = answers.ask(reader, match, start, found.end())
            except NeedMore:
                if first is None:
                    self._position = anchor
                if reader.hold == end:
                    reader.run_on = None  # nothing waits, and more will not either
                self._wait(pieces, first, reader.hold)
                return None
            except Stop:
                span = None
            position = anchor + 1
            if span is not None and (first is None or span.start < first.start):
                first = span
            if first is not None and position >= first.start:
                return first
            if first is None:
                self._position = position
        if first is not None:
            self._wait(pieces, first, end)
            return None
        self._position = limit  # the literal of what is found from there on may not be all there
        if not reader.closed:
            end = first_start(self._search if found else None, reader, self._decided, limit, end)
        self._keep(pieces, end)
        return None

    def _wait(self, pieces: list[Piece], first: Span | None, hold: int) -> None:
        """The search stays at its position; what can't be removed by what is found from there on needs not wait."""
        hold = hold if first is None else min(hold, first.start)
        if hold > self._decided:
            self._keep(pieces, first_start(self._search, self._reader, self._decided, self._position + 1, hold))

    def _begin(self, span: Span, pieces: list[Piece]) -> None:
        start, end, swallow = span
        self._keep(pieces, start)
        reader = self._reader
        # a placeholder stands at `start` from now on: what rules see to the left of what follows it
        reader.past = reader.context(start, LEFT_CONTEXT) + SECRET_PLACEHOLDER
        if swallow is None and reader.text.startswith(SECRET_PLACEHOLDER, start):
            self._keep(pieces, end)
            self._position = reader.floor = end
            return
        self.count += 1
        self._owed, self._swallow = SECRET_PLACEHOLDER, swallow
        self._drop(pieces, end)

    def _keep(self, pieces: list[Piece], end: int) -> None:
        if end > self._decided:
            pieces.append((end - self._decided, None))
            self._decided = end

    def _drop(self, pieces: list[Piece], end: int) -> None:
        if end > self._decided:
            pieces.append((end - self._decided, self._owed or ""))
            self._owed, self._decided = None, end
        self._position = self._reader.floor = self._decided


def scan_text(text: str, opening: Match | None = None) -> tuple[str, int]:
    """`text` without its secrets, and how many were removed."""
    if opening is not None:
        return removed(text, None, opening)
    first = first_in(text)
    return (text, 0) if first is None else removed(text, first)


def removed(text: str, first: First | None, opening: Match | None = None) -> tuple[str, int]:
    """As `scan_text`, of a text in which `first` was found, or that `opening` is tried on."""
    scanner = Scanner(opening)
    pieces = scanner.scan(text, first)
    return (applied(text, pieces), scanner.count) if scanner.count else (text, 0)


def applied(text: str, pieces: list[Piece]) -> str:
    """What `pieces`, the decisions on all of `text`, make of it."""
    parts, start = [], 0
    for length, new in pieces:
        parts.append(text[start : start + length] if new is None else new)
        start += length
    return "".join(parts)


def first_in(text: str) -> First | None:
    """The first secret of a whole text. Most texts have none."""
    search = search_of(text)
    find, rows = search.pattern.search, search.rows
    found, position = find(text), 0
    if found is None:
        return None
    reader, answers = Reader(text, closed=True), None
    while found is not None:
        offset, match = rows[found.lastindex or 0]
        anchor = found.start()
        reader.hold = reader.end
        try:
            if anchor - position > NEAR:
                span = match(reader, anchor - offset, found.end())
            else:
                answers = answers or Answers()
                span = answers.ask(reader, match, anchor - offset, found.end())
            if span is not None:
                return First(search, anchor, span, reader)
        except Stop:
            pass
        position = anchor + 1
        found = find(text, position)
    return None
