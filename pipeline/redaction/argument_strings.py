"""A string in JSON text, cut anywhere: it is scanned decoded, and what is decided is said of the raw text."""

from openprogram.pipeline.redaction.json_pieces import raw_width
from openprogram.pipeline.redaction.known import MAX_PLAIN, first_secret, remember_waiting, waiting
from openprogram.pipeline.redaction.scanner import Piece, Scanner
from openprogram.pipeline.redaction.scope import MAX_NAME, OPENINGS, Place, opens
from openprogram.pipeline.redaction.search import begins_nothing

__all__ = ["OpenString", "in_raw"]


class OpenString:
    """Like Scanner: `feed()` and `finish()` return decided pieces, of the raw text.

    `raw` is always text of the string's own, escapes and all, and `text` the characters that it stands for.
    """

    __slots__ = ("_length", "_place", "_raw", "_scanner", "_seen", "_seen_length", "_source", "_text", "is_key")

    def __init__(self, place: Place, *, is_key: bool) -> None:
        self.is_key, self._place = is_key, place
        self._scanner: Scanner | None = None  # most strings end before they need one
        self._raw = self._text = ""  # undecided
        self._source, self._length = list[str](), 0  # all of a key so far, or more of a value than a name has
        self._seen, self._seen_length = list[str](), 0  # that, redacted

    @property
    def count(self) -> int:
        """Places replaced so far."""
        return self._scanner.count if self._scanner else 0

    @property
    def owed(self) -> str:
        """After `finish()`: the placeholder of a secret without a character."""
        return self._scanner.owed if self._scanner else ""

    @property
    def source(self) -> str:
        """The string as it came: all of a key, or more of a value than a name has."""
        return "".join(self._source)

    @property
    def seen(self) -> str:
        """After `finish()`: that, as it is recorded."""
        return "".join(self._seen) + self.owed

    def feed(self, raw: str, text: str) -> list[Piece]:
        """The string goes on."""
        self._take(raw, text)
        first, short = len(self._source) == 1, self._length <= MAX_PLAIN
        if short and self._scanner is None:
            if self._place is Place.LOOK:
                if (left := self._left(text)) is not None:
                    return self._in_raw([(len(self._text) - left, None)])
            elif self._place < Place.STRING and "[" not in text:
                return []  # the rule for this place asks for more
        self._scanner = self._scanner or self._scanner_before()
        pieces = self._in_raw(self._scanner.feed(text))
        if first and short and self._place is Place.LOOK and not self._scanner.count:
            remember_waiting(text, len(self._text))
        return pieces

    def finish(self, raw: str, text: str) -> list[Piece]:
        """The rest of the string: its closing quote follows, or nothing does."""
        self._take(raw, text)
        if self._length > MAX_PLAIN or self.count:
            self._scanner = self._scanner or self._scanner_before()
            return self._in_raw(self._scanner.finish(text))
        source = self.source
        opened = opens(source, self._place)
        first = None if opened else first_secret(source)
        if not opened and first is None:
            return self._in_raw([(len(self._text), None)])
        self._scanner = Scanner(OPENINGS[self._place] if opened else None)
        return self._in_raw(_behind(self._scanner.scan(source, first), len(source) - len(self._text)))

    def _left(self, text: str) -> int | None:
        """How many characters of the short string so far wait, or None where only a scan tells."""
        if len(self._source) == 1:
            return waiting(text)
        return 0 if begins_nothing(self.source) else None  # what waits depends on what was decided before

    def _take(self, raw: str, text: str) -> None:
        self._raw += raw
        self._text += text
        if self.is_key or self._length <= MAX_NAME:
            self._source.append(text)
            self._length += len(text)

    def _scanner_before(self) -> Scanner:
        """A scanner that has read what came before the last piece: what it decides was decided then."""
        scanner = Scanner(OPENINGS.get(self._place))
        if len(self._source) > 1:
            scanner.feed("".join(self._source[:-1]))
        return scanner

    def _in_raw(self, pieces: list[Piece]) -> list[Piece]:
        start = 0
        for length, new in pieces:
            if self.is_key or self._seen_length <= MAX_NAME:
                self._seen.append(self._text[start : start + length] if new is None else new)
                self._seen_length += len(self._seen[-1])
            start += length
        decided = in_raw(pieces, self._raw, self._text)
        self._raw, self._text = self._raw[sum(length for length, _ in decided) :], self._text[start:]
        return decided


def _behind(pieces: list[Piece], decided: int) -> list[Piece]:
    """The pieces behind so many characters that stay, as was decided before."""
    rest = list[Piece]()
    for length, new in pieces:
        passed = min(length, decided)
        decided -= passed
        if length > passed:
            rest.append((length - passed, new))
    return rest


def in_raw(pieces: list[Piece], raw: str, text: str) -> list[Piece]:
    """What was decided of the characters of `text`, said of the raw text that stands for them."""
    if len(raw) == len(text):
        return pieces  # every escape is longer than its character
    start, decided = 0, list[Piece]()
    for length, new in pieces:
        width = raw_width(raw, start, length)
        start += width
        decided.append((width, new))
    return decided
