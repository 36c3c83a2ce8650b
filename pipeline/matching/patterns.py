"""Patterns of volatile values: the part of the regular-expression language that cannot be slow.

A recording brings its patterns with it, so they are untrusted. A pattern here is a sequence of characters and
classes, each with at most one repetition, and at most one group. Where a repetition ends must be decided by the next
character alone; then it never gives anything back, is compiled as possessive, and finds what `re` would find. The time
for a text is linear in its length. Source: docs/comparison.md, Volatile values.
"""

import re
from typing import Final, NamedTuple

__all__ = ["MAX_MATCH_CHARACTERS", "MAX_PATTERN_CHARACTERS", "PatternError", "compile_pattern"]

MAX_PATTERN_CHARACTERS: Final = 200
#: The most that a repetition without a bound takes, and the largest bound.
MAX_REPETITION: Final = 256
#: The most characters that all of a pattern may match.
MAX_MATCH_CHARACTERS: Final = 1024

_ASCII: Final = frozenset(range(128))
_WORD: Final = frozenset(code for code in range(128) if chr(code).isalnum() or chr(code) == "_")
_DIGIT: Final = frozenset(range(ord("0"), ord("9") + 1))
_SPACE: Final = frozenset(b" \t\n\r\f\v")
_CONTROL: Final = {"t": "\t", "n": "\n", "r": "\r"}
_QUANTIFIER: Final = re.compile(r"[?*+]|\{([0-9]{1,4})(,([0-9]{1,4})?)?\}")


class PatternError(ValueError):
    """A pattern outside the language. The text says what and where, and what to write instead."""


class _Characters(NamedTuple):
    """A set of characters: those of ASCII one by one, all others together."""

    ascii: frozenset[int]
    beyond: bool = False

    def __or__(self, other: "_Characters") -> "_Characters":
        return _Characters(self.ascii | other.ascii, self.beyond or other.beyond)

    def inverted(self) -> "_Characters":
        # Beyond ASCII a set may hold some characters and not others, and so may its opposite.
        return _Characters(_ASCII - self.ascii, beyond=True)

    def meets(self, other: "_Characters") -> bool:
        return bool(self.ascii & other.ascii) or (self.beyond and other.beyond)

    def is_all_word_or_none(self) -> bool:
        return (self.ascii <= _WORD and not self.beyond) or not self.ascii & _WORD


_CLASSES: Final = {"d": _Characters(_DIGIT), "w": _Characters(_WORD), "s": _Characters(_SPACE)}


class _Atom(NamedTuple):
    """`source`: as `re` reads it, without the repetition. `characters`: None where it takes none (`\\b`, `^`, `$`)."""

    source: str
    characters: _Characters | None
    least: int = 1
    most: int = 1

    @property
    def length(self) -> int:
        return self.most if self.characters is not None else 0


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """The pattern for `re`, with classes of ASCII. Its group, where it has one, is the value.

    Raises PatternError: outside the language above, longer than MAX_PATTERN_CHARACTERS, or matching nothing at all.
    """
    if len(pattern) > MAX_PATTERN_CHARACTERS:
        raise PatternError(f"it has {len(pattern)} characters, more than {MAX_PATTERN_CHARACTERS}")
    parser = _Parser(pattern)
    atoms, group = parser.parse()
    _refuse_empty(atoms, group)
    for index in range(len(atoms)):
        _refuse_ambiguous(atoms, index)
    if sum(atom.length for atom in atoms) > MAX_MATCH_CHARACTERS:
        raise PatternError(
            f"it may match more than {MAX_MATCH_CHARACTERS} characters: bound its repetitions, as {{1,64}}"
        )
    sources = [_source(atom) for atom in atoms]
    if group is not None:
        start, end = group
        sources[start:end] = ["(", *sources[start:end], ")"]
    return re.compile("".join(sources), re.ASCII)


def _source(atom: _Atom) -> str:
    if (atom.least, atom.most) == (1, 1):
        return atom.source
    if atom.least == atom.most:
        return f"{atom.source}{{{atom.least}}}"
    return f"{atom.source}{{{atom.least},{atom.most}}}+"


def _refuse_empty(atoms: list[_Atom], group: tuple[int, int] | None) -> None:
    value = atoms if group is None else atoms[group[0] : group[1]]
    if sum(atom.least for atom in value if atom.characters is not None) == 0:
        raise PatternError("its value may be empty: use + for *, or leave the ? out")


def _refuse_ambiguous(atoms: list[_Atom], index: int) -> None:
    """Refuse a repetition that could end in more than one place."""
    repeated = atoms[index]
    if repeated.characters is None or repeated.least == repeated.most:
        return
    for following in atoms[index + 1 :]:
        if following.characters is None:
            if following.source == r"\b" and not (repeated.least and repeated.characters.is_all_word_or_none()):
                raise PatternError(f"where '{repeated.source}' ends is not clear before '\\b': leave '\\b' out")
            return
        if repeated.characters.meets(following.characters):
            raise PatternError(
                f"where '{repeated.source}' ends is not clear, as '{following.source}' may match the same character: "
                "give the repetition a count, as {4}, or a narrower class, as [^/]"
            )
        if following.least:
            return


class _Parser:
    def __init__(self, pattern: str) -> None:
        self._pattern, self._at = pattern, 0

    def parse(self) -> tuple[list[_Atom], tuple[int, int] | None]:
        atoms: list[_Atom] = []
        opened: int | None = None
        group: tuple[int, int] | None = None
        while self._at < len(self._pattern):
            if self._takes("("):
                if opened is not None or group is not None:
                    raise self._error("more than one group")
                if self._peek() == "?":
                    raise self._error("only a plain group, as (…), can be used")
                opened = len(atoms)
            elif self._takes(")"):
                if opened is None:
                    raise self._error("a ) without its (; for the character, write \\)")
                group, opened = (opened, len(atoms)), None
                if self._quantifier() is not None:
                    raise self._error("a group can't be repeated")
            else:
                atoms.append(self._atom())
        if opened is not None:
            raise self._error("a ( without its ); for the character, write \\(")
        return atoms, group

    def _atom(self) -> _Atom:
        start = self._at
        source, characters = self._characters()
        quantifier = self._quantifier()
        if quantifier is None:
            return _Atom(source, characters)
        if characters is None:
            raise self._error(f"'{self._pattern[start : start + 2]}' can't be repeated")
        return _Atom(source, characters, *quantifier)

    def _characters(self) -> tuple[str, _Characters | None]:
        at, character = self._at, self._next()
        if character == "^" and at == 0:
            return r"\A", None
        if character == "$" and self._at == len(self._pattern):
            return r"\Z", None
        if character == "\\":
            return self._escape()
        if character == "[":
            return self._class()
        if character == ".":
            return ".", _Characters(_ASCII - {10}, beyond=True)
        if character == "|":
            raise self._error("no alternatives: write two rules; for the character, write \\|")
        if character in "?*+{}]^$":
            raise self._error(f"for the character '{character}', write '\\{character}'")
        return re.escape(character), _one(character)

    def _escape(self) -> tuple[str, _Characters | None]:
        character = self._next()
        if character == "b":
            return r"\b", None
        if character.lower() in _CLASSES:
            known = _CLASSES[character.lower()]
            return f"\\{character}", known if character.islower() else known.inverted()
        if character in _CONTROL:
            return re.escape(_CONTROL[character]), _one(_CONTROL[character])
        if character.isalnum():
            raise self._error(f"'\\{character}' can't be used")
        return re.escape(character), _one(character)

    def _class(self) -> tuple[str, _Characters]:
        source, characters = "", _Characters(frozenset())
        negated = self._takes("^")
        while not self._takes("]"):
            item, found = self._class_item()
            if found is None:
                raise self._error("'\\b' can't stand in a class")
            if self._peek() == "-" and self._pattern[self._at + 1 : self._at + 2] not in ("", "]"):
                self._next()
                last, end = self._class_item()
                item, found = f"{item}-{last}", self._range(found, end, item, last)
            source, characters = source + item, characters | found
        if not source:
            raise self._error("an empty class; for the character ], write \\]")
        return f"[{'^' if negated else ''}{source}]", characters.inverted() if negated else characters

    def _class_item(self) -> tuple[str, _Characters | None]:
        character = self._next()
        return self._escape() if character == "\\" else (re.escape(character), _one(character))

    def _range(self, start: _Characters, end: _Characters | None, first: str, last: str) -> _Characters:
        low, high = first.removeprefix("\\"), last.removeprefix("\\")
        if end is None or len(start.ascii) > 1 or len(end.ascii) > 1 or low > high:
            raise self._error(f"'{first}-{last}' is no range")
        if start.beyond:
            return start
        return _Characters(frozenset(range(ord(low), min(ord(high), 127) + 1)), end.beyond)

    def _quantifier(self) -> tuple[int, int] | None:
        found = _QUANTIFIER.match(self._pattern, self._at)
        if found is None:
            return None
        self._at = found.end()
        if self._peek() in ("?", "+", "*", "{"):
            raise self._error("one repetition after another")
        match found[0][0]:
            case "?":
                return 0, 1
            case "*":
                return 0, MAX_REPETITION
            case "+":
                return 1, MAX_REPETITION
        least = int(found[1])
        most = least if found[2] is None else MAX_REPETITION if found[3] is None else int(found[3])
        if not least <= most <= MAX_REPETITION or most == 0:
            raise self._error(f"{found[0]} is no repetition of at most {MAX_REPETITION}")
        return least, most

    def _peek(self) -> str:
        return self._pattern[self._at : self._at + 1]

    def _takes(self, character: str) -> bool:
        if self._peek() != character:
            return False
        self._at += 1
        return True

    def _next(self) -> str:
        character = self._peek()
        if not character:
            raise self._error("it ends too early")
        self._at += 1
        return character

    def _error(self, reason: str) -> PatternError:
        return PatternError(f"{reason} (at character {self._at})")


def _one(character: str) -> _Characters:
    code = ord(character)
    return _Characters(frozenset({code})) if code < 128 else _Characters(frozenset(), beyond=True)
