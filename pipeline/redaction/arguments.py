"""A tool call's arguments while they stream in: JSON text, cut anywhere.

What is recorded parses to what `remove_secret_values()` makes of the parsed arguments, and every character that
belongs to no secret stays. Strings are scanned decoded, so an escape can't hide a secret. Text that isn't JSON is
scanned as plain text from the first character on that doesn't fit.
"""

import re
from collections import deque
from typing import Final

from openprogram.pipeline.redaction.json_pieces import read_escape, valid_length
from openprogram.pipeline.redaction.names import SECRET_PLACEHOLDER
from openprogram.pipeline.redaction.reader import Reader
from openprogram.pipeline.redaction.scanner import Piece, Scanner, scan_text
from openprogram.pipeline.redaction.scope import MAX_NAME, OPENINGS, ListScope, ObjectScope, Place
from openprogram.pipeline.redaction.spans import Span, rest_of

__all__ = ["ArgumentsScanner"]

_BLANKS: Final = re.compile(r"[ \t\r\n]*")
_PLAIN: Final = re.compile(r'[^"\\]*')
_BARE: Final = re.compile(r"[-+.0-9A-Za-z]*")
_SKIPPED: Final = re.compile(r'[^"\[\]{}]*')
_DIGITS: Final = re.compile(r"[0-9]+")

_WHOLE_STRING: Final = re.compile(r'"([^"\\]*)"')
_SIMPLE: Final = r"(?:-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|true|false|null)"
_WHOLE_BARE: Final = re.compile(_SIMPLE + r"(?=[,\]} \t\r\n])")
_ITEMS: Final = re.compile(rf"(?:{_SIMPLE}[ \t\r\n]*+,[ \t\r\n]*+)++")
_BLANK: Final = frozenset(" \t\r\n")

#: First characters of a value that is no string.
_STARTS: Final = frozenset("{[-0123456789tfnNI")


class _String:
    """An open string: its scanner, and how the scanner's characters lie in the raw text."""

    __slots__ = ("is_key", "raw", "scanner", "seen", "seen_length", "source", "waiting")

    def __init__(self, *, is_key: bool, place: Place) -> None:
        self.is_key, self.scanner = is_key, Scanner(OPENINGS.get(place))
        self.raw: deque[tuple[int, int]] = deque()  # (characters, raw characters): 1:1 runs, or one escape
        self.source: list[str] = []  # a key as it came
        self.seen: list[str] = []  # redacted: a key, or as much of a value as tells whether it is a name
        self.seen_length = 0
        self.waiting = ""  # undecided characters


class ArgumentsScanner:
    """Like Scanner, for JSON text: `feed()`, then `close()`; both return decided pieces of the raw text."""

    def __init__(self) -> None:
        self._rest = ""  # raw text that waits: part of an escape, never more than twelve characters
        self._pieces: list[Piece] = []
        self._kept = 0  # characters behind those pieces that stay
        self._scopes: list[ObjectScope | ListScope] = []  # of the open objects and lists
        self._key = ""  # of the member being read, as it is recorded
        self._string: _String | None = None
        self._broken: Scanner | None = None
        self._expect = "value"
        self._place = Place.LOOK
        self._bare = ""
        self._depth = 0  # of containers that go as a whole
        self._skipped_string = False
        self._count = 0

    @property
    def count(self) -> int:
        """Places replaced so far."""
        inner = self._string.scanner.count if self._string else 0
        return self._count + inner + (self._broken.count if self._broken else 0)

    def feed(self, text: str) -> list[Piece]:
        """`text` goes on. Returns the pieces decided by it."""
        return self._read(self._rest + text, closed=False)

    def close(self) -> list[Piece]:
        """The text has ended, whether it is complete or not."""
        return self._read(self._rest, closed=True)

    def _read(self, text: str, *, closed: bool) -> list[Piece]:
        self._pieces, index = [], 0
        while index < len(text):
            if self._string is None and self._broken is None and self._expect not in ("skip", "bare"):
                index = self._structure(text, index)
                continue
            before = index, self._expect, self._string, self._broken
            index = self._go_on(text, index)
            if (index, self._expect, self._string, self._broken) == before:
                break
        self._rest = text[index:]
        if closed:
            if self._broken is not None:
                self._add(self._broken.close())
            elif self._string is not None:
                self._take(self._string, self._string.scanner.close())
            self._keep(len(self._rest))
        self._flush()
        return self._pieces

    def _go_on(self, text: str, index: int) -> int:
        """What has begun goes on."""
        if self._broken is not None:
            self._add(self._broken.feed(text[index:]))
            return len(text)
        if self._string is not None:
            return self._read_string(self._string, text, index)
        return self._skip(text, index) if self._expect == "skip" else self._read_bare(text, index)

    def _structure(self, text: str, index: int) -> int:
        """Blanks, one character of the structure, or a value's first, with all of it where that is simple."""
        found = text[index]
        if found in _BLANK:
            blanks = _BLANKS.match(text, index)
            end = blanks.end() if blanks else index
            self._keep(end - index)
            return end
        expect, scope = self._expect, self._scopes[-1] if self._scopes else None
        if expect in ("value", "item") and not (expect == "item" and found == "]"):
            return self._begin_value(text, index)
        if found == '"' and expect in ("key", "member"):
            if whole := _WHOLE_STRING.match(text, index):
                self._whole_string(whole[1], Place.LOOK, is_key=True)
                return whole.end()
            self._string = _String(is_key=True, place=Place.LOOK)
        elif found == ":" and expect == "colon" and isinstance(scope, ObjectScope):
            self._expect, self._place = "value", scope.place(self._key)
        elif found == "," and expect == "comma" and scope is not None:
            self._expect = "key" if isinstance(scope, ObjectScope) else "value"
        elif (
            scope is not None
            and found == ("}" if isinstance(scope, ObjectScope) else "]")
            and expect in ("comma", "member", "item")
        ):
            self._scopes.pop()
            self._end_value(None)
        else:
            return self._break(index)
        self._keep(1)
        return index + 1

    def _begin_value(self, text: str, index: int) -> int:
        found, scope = text[index], self._scopes[-1] if self._scopes else None
        if scope is None:
            self._place = Place.LOOK
        elif isinstance(scope, ListScope):
            if found not in '"[{' and (items := _ITEMS.match(text, index)):
                self._keep(items.end() - index)
                scope.saw(None)
                self._expect = "value"
                return items.end()
            self._place = scope.place()
        if found == '"':
            if whole := _WHOLE_STRING.match(text, index):
                self._whole_string(whole[1], self._place, is_key=False)
                return whole.end()
            self._string = _String(is_key=False, place=self._place)
            self._keep(1)
            return index + 1
        if self._place is Place.WHOLE and found in _STARTS:
            self._count += 1
            self._expect, self._depth = ("skip", 1) if found in "{[" else ("bare", 0)
            self._replace(1, f'"{SECRET_PLACEHOLDER}"')
            return index + 1
        if found == "{":
            self._scopes.append(ObjectScope())
            self._expect = "member"
        elif found == "[":
            if isinstance(scope, ObjectScope):
                self._scopes.append(ListScope(self._key, self._place))
            else:
                self._scopes.append(ListScope("" if scope else "arguments", Place.LOOK))
            self._expect = "item"
        elif whole := _WHOLE_BARE.match(text, index):
            self._keep(whole.end() - index)
            self._end_value(None)
            return whole.end()
        elif found in _STARTS:
            self._expect, self._bare = "bare", found
        else:
            return self._break(index)
        self._keep(1)
        return index + 1

    def _end_value(self, text: str | None) -> None:
        """A value is complete. `text`: its redacted string, or None for anything else."""
        self._expect = "comma" if self._scopes else "end"
        if self._scopes:
            scope = self._scopes[-1]
            if isinstance(scope, ListScope):
                scope.saw(text)
            elif text is not None:
                scope.saw(self._key, text)

    def _read_bare(self, text: str, index: int) -> int:
        """A number or a constant goes on."""
        match = _BARE.match(text, index)
        end = match.end() if match else index
        if self._place is Place.WHOLE:
            self._drop(end - index)
        else:
            bare = self._bare + text[index:end]
            valid = valid_length(bare)
            self._keep(valid - len(self._bare))
            if valid < len(bare):
                return self._break(index + valid - len(self._bare))
            self._bare = _DIGITS.sub("0", bare)  # one digit says as much as many
        if end < len(text):
            self._end_value(SECRET_PLACEHOLDER if self._place is Place.WHOLE else None)
        return end

    def _skip(self, text: str, index: int) -> int:
        """A container that goes as a whole goes on."""
        start = index
        while index < len(text) and self._depth:
            if self._skipped_string:
                match = _PLAIN.match(text, index)
                index = match.end() if match else index
                if index >= len(text):
                    break
                if text[index] == "\\":
                    if index + 1 >= len(text):
                        break
                    index += 2
                    continue
                self._skipped_string = False
            else:
                match = _SKIPPED.match(text, index)
                index = match.end() if match else index
                if index >= len(text):
                    break
                self._skipped_string = text[index] == '"'
                self._depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(text[index], 0)
            index += 1
        self._drop(index - start)
        if not self._depth:
            self._end_value(SECRET_PLACEHOLDER)
        return index

    def _read_string(self, string: _String, text: str, index: int) -> int:
        """A string goes on: plain characters, escapes, the closing quote."""
        decoded: list[str] = []
        while index < len(text):
            match = _PLAIN.match(text, index)
            end = match.end() if match else index
            if end > index:
                decoded.append(text[index:end])
                string.raw.append((end - index, end - index))
                index = end
                continue
            if text[index] == '"':
                self._feed(string, decoded)
                self._end_string(string)
                return index + 1
            escape = read_escape(text, index)
            if escape is None:
                break
            character, width = escape
            if not width:
                self._feed(string, decoded)
                self._take(string, string.scanner.close())
                self._count += string.scanner.count
                self._string = None
                return self._break(index)
            decoded.append(character)
            string.raw.append((1, width))
            index += width
        self._feed(string, decoded)
        return index

    def _feed(self, string: _String, decoded: list[str]) -> None:
        if decoded:
            text = "".join(decoded)
            string.waiting += text
            if string.is_key:
                string.source.append(text)
            self._take(string, string.scanner.feed(text))

    def _end_string(self, string: _String) -> None:
        self._take(string, string.scanner.close())
        self._string = None
        self._count += string.scanner.count
        self._close_string("".join(string.source), "".join(string.seen), string.scanner.owed, is_key=string.is_key)

    def _whole_string(self, text: str, place: Place, *, is_key: bool) -> None:
        """A string without escapes that is there from quote to quote."""
        opening, owed, seen = OPENINGS.get(place), "", text
        self._keep(1)
        if opening is None and not scan_text(text)[1]:
            self._keep(len(text))
        else:
            scanner = Scanner(opening)
            parts, start = [], 0
            for length, new in scanner.scan(text):
                parts.append(text[start : start + length] if new is None else new)
                start += length
                self._replace(length, new)
            owed, seen = scanner.owed, "".join(parts)
            self._count += scanner.count
        self._close_string(text, seen, owed, is_key=is_key)

    def _close_string(self, source: str, seen: str, owed: str, *, is_key: bool) -> None:
        """The closing quote. `seen`: what redaction made of `source`, but for the placeholder that is `owed`."""
        seen += owed
        if is_key:
            scope = self._scopes[-1]
            assert isinstance(scope, ObjectScope)
            self._key = scope.new_key(source, seen)
            owed += self._key[len(seen) :]
            self._expect = "colon"
        else:
            self._end_value(seen)
        self._replace(1, f'{owed}"' if owed else None)

    def _take(self, string: _String, pieces: list[Piece]) -> None:
        """Decided pieces of a string, in decoded characters, become pieces of the raw text."""
        start = 0
        for length, new in pieces:
            if string.is_key or string.seen_length <= MAX_NAME:
                string.seen.append(string.waiting[start : start + length] if new is None else new)
                string.seen_length += len(string.seen[-1])
            start += length
            width = 0
            while length:
                characters, raw = string.raw.popleft()
                if characters > length:
                    string.raw.appendleft((characters - length, raw - length))
                    characters = raw = length
                length -= characters
                width += raw
            self._replace(width, new)
        string.waiting = string.waiting[start:]

    def _break(self, index: int) -> int:
        """The text isn't JSON from `index` on. A value under a secret name goes all the same."""
        place = self._place if self._expect == "value" else Place.LOOK
        scope = self._scopes[-1] if self._scopes else None
        if self._expect == "colon" and isinstance(scope, ObjectScope):
            place = scope.place(self._key)
        self._broken = Scanner(_malformed if place >= Place.STRING else None)
        return index

    def _keep(self, length: int) -> None:
        self._kept += length

    def _replace(self, length: int, new: str | None) -> None:
        if new is None:
            self._kept += length
        else:
            self._flush()
            self._pieces.append((length, new))

    def _drop(self, length: int) -> None:
        if length:
            self._replace(length, "")

    def _add(self, pieces: list[Piece]) -> None:
        for length, new in pieces:
            self._replace(length, new)

    def _flush(self) -> None:
        if self._kept:
            self._pieces.append((self._kept, None))
            self._kept = 0


_TO_NEXT_MEMBER: Final = rest_of(re.compile(r"[^,}\]\n\[]*"), "[")


def _malformed(_reader: Reader, start: int, _end: int) -> Span:
    """The rule for what stands, not as JSON, where the value of a secret name should."""
    return Span(start, start, _TO_NEXT_MEMBER)
