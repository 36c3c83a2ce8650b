"""A tool call's arguments while they stream in: JSON text, cut anywhere.

What is recorded parses to what `remove_secret_values()` makes of the parsed arguments, and every character that
belongs to no secret stays. Strings are scanned decoded, so an escape can't hide a secret. Text that isn't JSON is
scanned as plain text from the first character on that doesn't fit.

What is expected next is the state, and each state has the method that reads on. A method takes as much as is sure at
one look: the blanks and the comma behind a value, a run of items in which nothing can be found, a run of brackets.
"""

import re
from collections.abc import Callable
from typing import Final

from openprogram.pipeline.redaction.argument_strings import OpenString, in_raw
from openprogram.pipeline.redaction.json_pieces import (
    BLANKS,
    CHUNK,
    SIMPLE,
    STRING,
    decoded,
    may_go_on,
    valid_length,
)
from openprogram.pipeline.redaction.known import KEYS, PLAIN, Key, first_secret, know
from openprogram.pipeline.redaction.names import SECRET_PLACEHOLDER
from openprogram.pipeline.redaction.reader import Reader
from openprogram.pipeline.redaction.scanner import First, Piece, Scanner, applied, first_in
from openprogram.pipeline.redaction.scope import (
    OPENINGS,
    PLAIN_LIST,
    PLAIN_OBJECT,
    ListScope,
    ObjectScope,
    Place,
    list_scope,
    opens,
)
from openprogram.pipeline.redaction.spans import Span, rest_of

__all__ = ["ArgumentsScanner"]

_CHUNK: Final = re.compile(CHUNK)
_VALUE: Final = re.compile(STRING)
_KEY: Final = re.compile(rf"{STRING}{BLANKS}(:{BLANKS})?")
_MORE_BLANKS: Final = re.compile(BLANKS)
#: Behind a value.
_BEHIND: Final = re.compile(rf"{BLANKS}(,{BLANKS})?")
_COLON: Final = re.compile(f":{BLANKS}")
_BRACKETS: Final = re.compile(rf"(?:\[{BLANKS})++")
_SIMPLE: Final = re.compile(rf"{SIMPLE}(?=[,\]}} \t\r\n])")
#: Items of a list.
_ITEMS: Final = re.compile(rf"(?:{SIMPLE}{BLANKS},{BLANKS})++")
_STRINGS: Final = re.compile(rf"(?:{STRING}{BLANKS},{BLANKS})++")
_BARE: Final = re.compile(r"[-+.0-9A-Za-z]*")
_PLAIN: Final = re.compile(r'[^"\\]*')
_SKIPPED: Final = re.compile(r'[^"\[\]{}]*')
_DIGITS: Final = re.compile(r"[0-9]+")
_BLANK: Final = frozenset(" \t\r\n")

#: First characters of a value that is no string.
_STARTS: Final = frozenset("{[-0123456789tfnNI")


class ArgumentsScanner:
    """Like Scanner, for JSON text: `feed()`, then `close()`; both return decided pieces of the raw text."""

    def __init__(self) -> None:
        self._rest = ""  # raw text that waits: part of an escape, never more than twelve characters
        self._pieces: list[Piece] = []
        self._kept = 0  # characters behind those pieces that stay
        self._mark = 0  # index in the text being read, up to which it is in those two or part of the open string
        self._scope: ObjectScope | ListScope | None = None  # of the innermost open object or list
        self._outer: list[ObjectScope | ListScope | None] = []  # of those around it
        self._key = ""  # of the member being read, as it is recorded
        self._scoped = False  # that key matters to its neighbours
        self._place = Place.LOOK  # of the value being read
        self._expect = "value"
        self._string: OpenString | None = None
        self._broken: Scanner | None = None
        self._bare = ""
        self._depth = 0  # of containers that go as a whole
        self._skipped_string = False
        self._count = 0

    @property
    def count(self) -> int:
        """Places replaced so far."""
        inner = self._string.count if self._string else 0
        return self._count + inner + (self._broken.count if self._broken else 0)

    def feed(self, text: str) -> list[Piece]:
        """`text` goes on. Returns the pieces decided by it."""
        return self._read(self._rest + text, closed=False)

    def close(self) -> list[Piece]:
        """The text has ended, whether it is complete or not."""
        return self._read(self._rest, closed=True)

    def _read(self, text: str, *, closed: bool) -> list[Piece]:
        self._pieces, self._mark, index = [], 0, 0
        while index < len(text):
            before, expect = index, self._expect
            index = _STEPS[expect](self, text, index)
            if index == before and self._expect is expect:
                break
        if self._expect not in ("string", "broken"):
            self._keep(index)
        self._rest = text[index:]
        if closed:
            if self._broken is not None:
                self._add(self._broken.close())
            elif self._string is not None:
                self._add(self._string.finish("", ""))
            self._kept += len(self._rest)
        self._flush()
        return self._pieces

    def _read_value(self, text: str, index: int) -> int:
        """The value of a member, or all of the arguments."""
        found = text[index]
        if found == '"':
            return self._begin_string(text, index, self._place)
        if self._place is Place.WHOLE and found in _STARTS:
            return self._remove(text, index)
        return self._begin_other(text, index, self._place)

    def _read_item(self, text: str, index: int) -> int:
        """An item of a list, or the end of an empty one."""
        scope, found, first = self._scope, text[index], self._expect == "item"
        assert isinstance(scope, ListScope)
        if found == "]" and first:
            return self._close(text, index)
        place = Place.LOOK if first else scope.place
        if found == '"':
            if run := _STRINGS.match(text, index):
                self._scope, self._expect = self._read_strings(text, index, run.end(), scope), "next"
                return run.end()
            self._place = place  # should it break off
            return self._begin_string(text, index, scope.place)
        if found not in "[{" and (items := _ITEMS.match(text, index)):
            self._scope, self._expect = scope.after_value, "next"
            return items.end()
        return self._begin_other(text, index, place)

    def _read_strings(self, text: str, start: int, end: int, scope: ListScope) -> ListScope:
        """A run of strings in a list. Returns the scope behind it."""
        for string in _VALUE.finditer(text, start, end):
            raw = string[1]
            if scope.place is Place.LOOK and raw in PLAIN and "\\" not in raw:
                scope = scope.after(raw)
            else:
                scope = scope.after(self._whole_string(raw, string.start(1), scope.place))
        return scope

    def _begin_string(self, text: str, index: int, place: Place) -> int:
        whole = _VALUE.match(text, index)
        if whole is not None:
            return self._end_value(text, whole.end(), self._whole_string(whole[1], index + 1, place))
        self._open_string(index, OpenString(place, is_key=False))
        return index + 1

    def _open_string(self, index: int, string: OpenString) -> None:
        self._keep(index + 1)
        self._string, self._expect = string, "string"

    def _whole_string(self, raw: str, start: int, place: Place) -> str:
        """A string that is there from quote to quote, as it is recorded."""
        string = decoded(raw)
        if place >= Place.STRING:
            return self._remove_string(string, raw, start)
        if opens(string, place):
            return self._scan_string(Scanner(OPENINGS[place]), raw, string, start, None)
        first = first_secret(string)
        return string if first is None else self._scan_string(Scanner(), raw, string, start, first)

    def _remove_string(self, string: str, raw: str, start: int) -> str:
        if string != SECRET_PLACEHOLDER:
            self._count += 1
            if raw:
                self._replace(start, len(raw), SECRET_PLACEHOLDER)
            else:
                self._replace(start, 1, f'{SECRET_PLACEHOLDER}"')
        return SECRET_PLACEHOLDER

    def _scan_string(self, scanner: Scanner, raw: str, text: str, start: int, first: First | None) -> str:
        """A whole string that holds something, as it is recorded. `first`: as `Scanner.scan` has it."""
        pieces = scanner.scan(text, first)
        self._keep(start)
        self._add(in_raw(pieces, raw, text))
        self._mark += len(raw)
        self._count += scanner.count
        return applied(text, pieces) + scanner.owed

    def _begin_other(self, text: str, index: int, place: Place) -> int:
        """A value that is no string. `place`: should it be no value at all."""
        found = text[index]
        if found == "{":
            self._outer.append(self._scope)
            self._scope, self._expect = PLAIN_OBJECT, "member"
        elif found == "[":
            return self._open_lists(text, index)
        elif simple := _SIMPLE.match(text, index):
            return self._end_value(text, simple.end(), None)
        elif found in _STARTS:
            self._expect, self._bare = "bare", found
        elif found in _BLANK:
            return self._skip_blanks(text, index)
        else:
            return self._break(index, place)
        return index + 1

    def _open_lists(self, text: str, index: int) -> int:
        """One list, or several, each the first item of the one before."""
        scope = self._scope
        run = _BRACKETS.match(text, index)
        assert run is not None
        inner = run[0].count("[") - 1
        self._outer.append(scope)
        self._scope = list_scope(self._key, self._place) if isinstance(scope, ObjectScope) else PLAIN_LIST
        if inner:
            self._outer += [self._scope, *[PLAIN_LIST] * (inner - 1)]
            self._scope = PLAIN_LIST
        self._expect = "item"
        return run.end()

    def _close(self, text: str, index: int) -> int:
        """The end of a list or an object, which is a value too."""
        self._scope = self._outer.pop()
        return self._end_value(text, index + 1, None)

    def _end_value(self, text: str, index: int, seen: str | None) -> int:
        """A value ended at `index`. `seen`: its redacted string, or None for anything else."""
        scope = self._scope
        if scope is None:
            self._expect = "end"
            return index
        if isinstance(scope, ListScope):
            self._scope, following = scope.after_value if seen is None else scope.after(seen), "next"
        else:
            following = "key"
            if seen is not None and self._scoped:
                scope.saw(self._key, seen)
        behind = _BEHIND.match(text, index)
        assert behind is not None
        self._expect = following if behind[1] else "comma"
        return behind.end()

    def _read_comma(self, text: str, index: int) -> int:
        """A comma, or the end of what the value before stands in."""
        in_list = isinstance(self._scope, ListScope)
        behind = _BEHIND.match(text, index)
        assert behind is not None
        if behind[1]:
            self._expect = "next" if in_list else "key"
        elif behind.end() == index:
            return self._close(text, index) if text[index] == ("]" if in_list else "}") else self._break(index)
        return behind.end()

    def _read_key(self, text: str, index: int) -> int:
        """A key with the colon behind it, or the end of an empty object."""
        whole = _KEY.match(text, index)
        if whole is None:
            found = text[index]
            if found == "}" and self._expect == "member":
                return self._close(text, index)
            if found != '"':
                return self._skip_blanks(text, index) if found in _BLANK else self._break(index)
            self._place = Place.LOOK
            self._open_string(index, OpenString(Place.LOOK, is_key=True))
            return index + 1
        key = decoded(whole[1])
        known = KEYS.get(key) or self._learn(key, whole[1], index + 1)
        self._begin_member(key, known, whole.end(1))
        self._expect = "value" if whole[2] else "colon"
        return whole.end()

    def _learn(self, key: str, raw: str, start: int) -> Key:
        """What is known of a key that is there from quote to quote."""
        first = first_in(key)
        if first is None:
            return know(key, key, 0)
        scanner = Scanner()
        return know(key, self._scan_string(scanner, raw, key, start, first), scanner.count)

    def _begin_member(self, key: str, known: Key, quote: int) -> None:
        """A key is complete. `quote`: index of the quote that closes it."""
        scope = self._scope
        assert isinstance(scope, ObjectScope)
        self._key, self._place, self._scoped = key, known.place, known.scoped
        if known.scoped and scope is PLAIN_OBJECT:
            self._scope = scope = ObjectScope()  # its members will matter to each other
        if known.scoped or scope.named:
            self._key = scope.new_key(key, known.scanned)
            self._place = scope.place(self._key)
            if len(self._key) > len(known.scanned):
                self._replace(quote, 1, f'{self._key[len(known.scanned) :]}"')

    def _read_colon(self, text: str, index: int) -> int:
        if colon := _COLON.match(text, index):
            self._expect = "value"
            return colon.end()
        return self._skip_blanks(text, index) if text[index] in _BLANK else self._break(index, self._place)

    def _read_end(self, text: str, index: int) -> int:
        """Behind all of the arguments."""
        return self._skip_blanks(text, index) if text[index] in _BLANK else self._break(index)

    def _skip_blanks(self, text: str, index: int) -> int:
        blanks = _MORE_BLANKS.match(text, index)
        return blanks.end() if blanks else index

    def _read_string(self, text: str, index: int) -> int:
        """An open string goes on: characters, escapes, the closing quote."""
        string, chunk = self._string, _CHUNK.match(text, index)
        assert string is not None
        assert chunk is not None
        raw, end = chunk[0], chunk.end()
        self._mark = end
        if end == len(text) or (text[end] != '"' and may_go_on(text, end)):
            if raw:
                self._add(string.feed(raw, decoded(raw)))
            return end
        self._string = None
        if text[end] != '"':
            self._add(string.finish(raw, decoded(raw)))
            self._count += string.count
            return self._break(end, self._place)
        return self._end_string(string, raw, text, end)

    def _end_string(self, string: OpenString, raw: str, text: str, end: int) -> int:
        """An open string ends with the quote at `end`. `raw`: the last of it."""
        self._add(string.finish(raw, decoded(raw)))
        self._count += string.count
        if string.owed:
            self._replace(end, 1, f'{string.owed}"')
        if not string.is_key:
            return self._end_value(text, end + 1, string.seen)
        key = string.source
        self._begin_member(key, KEYS.get(key) or know(key, string.seen, string.count), end)
        self._expect = "colon"
        return end + 1

    def _remove(self, text: str, index: int) -> int:
        """A value that is no string goes, whatever it is."""
        self._count += 1
        if simple := _SIMPLE.match(text, index):
            self._replace(index, simple.end() - index, f'"{SECRET_PLACEHOLDER}"')
            return self._end_value(text, simple.end(), None)
        self._expect, self._depth = ("skip", 1) if text[index] in "{[" else ("rest", 0)
        self._replace(index, 1, f'"{SECRET_PLACEHOLDER}"')
        return index + 1

    def _drop_rest(self, text: str, index: int) -> int:
        """A number or a constant that goes as a whole goes on."""
        end = _end_of_bare(text, index)
        self._drop(index, end)
        return end if end == len(text) else self._end_value(text, end, None)

    def _read_bare(self, text: str, index: int) -> int:
        """A number or a constant goes on."""
        end = _end_of_bare(text, index)
        bare = self._bare + text[index:end]
        valid = valid_length(bare)
        if valid < len(bare):
            return self._break(index + valid - len(self._bare))
        self._bare = _DIGITS.sub("0", bare)  # one digit says as much as many
        return end if end == len(text) else self._end_value(text, end, None)

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
        self._drop(start, index)
        return index if self._depth else self._end_value(text, index, None)

    def _read_broken(self, text: str, index: int) -> int:
        """Text behind what isn't JSON."""
        assert self._broken is not None
        self._add(self._broken.feed(text[index:]))
        self._mark = len(text)
        return len(text)

    def _break(self, index: int, place: Place = Place.LOOK) -> int:
        """The text isn't JSON from `index` on. A value under a secret name goes all the same."""
        self._keep(index)
        self._expect, self._broken = "broken", Scanner(_malformed if place >= Place.STRING else None)
        return index

    def _keep(self, index: int) -> None:
        """All up to `index` stays, but for what was replaced."""
        self._kept += index - self._mark
        self._mark = index

    def _replace(self, index: int, length: int, new: str) -> None:
        kept = self._kept + index - self._mark
        if kept:
            self._pieces.append((kept, None))
            self._kept = 0
        self._pieces.append((length, new))
        self._mark = index + length

    def _drop(self, start: int, end: int) -> None:
        if end > start:
            self._replace(start, end - start, "")

    def _add(self, pieces: list[Piece]) -> None:
        """Pieces of a scanned text, which ends at the mark or goes on there."""
        for piece in pieces:
            length, new = piece
            if new is None:
                self._kept += length
            else:
                self._flush()
                self._pieces.append(piece)

    def _flush(self) -> None:
        if self._kept:
            self._pieces.append((self._kept, None))
            self._kept = 0


def _end_of_bare(text: str, index: int) -> int:
    match = _BARE.match(text, index)
    return match.end() if match else index


#: By what is expected: how it is read.
_STEPS: Final[dict[str, Callable[[ArgumentsScanner, str, int], int]]] = {
    "value": ArgumentsScanner._read_value,
    "item": ArgumentsScanner._read_item,
    "next": ArgumentsScanner._read_item,
    "member": ArgumentsScanner._read_key,
    "key": ArgumentsScanner._read_key,
    "colon": ArgumentsScanner._read_colon,
    "comma": ArgumentsScanner._read_comma,
    "end": ArgumentsScanner._read_end,
    "string": ArgumentsScanner._read_string,
    "bare": ArgumentsScanner._read_bare,
    "rest": ArgumentsScanner._drop_rest,
    "skip": ArgumentsScanner._skip,
    "broken": ArgumentsScanner._read_broken,
}

_TO_NEXT_MEMBER: Final = rest_of(re.compile(r"[^,}\]\n\[]*"), "[")


def _malformed(_reader: Reader, start: int, _end: int) -> Span:
    """The rule for what stands, not as JSON, where the value of a secret name should."""
    return Span(start, start, _TO_NEXT_MEMBER)
