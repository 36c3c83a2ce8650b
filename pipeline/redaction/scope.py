"""What the place of a value says about it: its key, the pair it belongs to, the list it stands in.

The walk over a value and the reading of a tool call's streamed arguments share these, so they can't disagree.
Everything here looks back only: a name that comes after its value doesn't count.
"""

import re
from enum import IntEnum
from typing import Final

from openprogram.pipeline.redaction.judge import WINDOW, Proof, is_secret_value
from openprogram.pipeline.redaction.names import SECRET_PLACEHOLDER, Secrecy, name_secrecy
from openprogram.pipeline.redaction.reader import NeedMore, Reader
from openprogram.pipeline.redaction.spans import Match, Span, kept

__all__ = ["MAX_NAME", "NAME_KEYS", "OPENINGS", "ListScope", "ObjectScope", "Place", "place_of"]

#: Characters of a string that may be a name; a longer one is none.
MAX_NAME: Final = 128
#: Keys whose string names what a value key beside it holds: `{"name": "Authorization", "value": …}`.
NAME_KEYS: Final = frozenset("name key field header variable var param parameter option headername".split())
_VALUE_KEYS: Final = frozenset("value val content secretstring stringvalue plaintext headervalue".split())
#: Keys of lists whose first item is a user and whose second a password: `"auth": ["bob", …]`.
_LOGIN_KEYS: Final = frozenset("login auth basicauth basic_auth httpauth http_auth credentials userpass".split())


class Place(IntEnum):
    """What becomes of the value at a place."""

    #: Look into it.
    LOOK = 0
    #: A string there goes if it looks much like a secret.
    NEARBY = 1
    #: A string there goes if it looks like a secret.
    NAMED = 2
    #: A string there goes, and so do the strings of a list there.
    STRING = 3
    #: It goes, whatever it is.
    WHOLE = 4


_ANY: Final = re.compile(r"[^\[]*")


def _opening(proof: Proof) -> Match:
    """The rule for a string that is the value of a name elsewhere: all of it is the secret, or none."""

    def match(reader: Reader, start: int, _end: int) -> Span | None:
        head = reader.run(_ANY, start, WINDOW, "[")
        return Span(start, start, _everything) if is_secret_value(reader.text[start:head], proof) else None

    return match


def _certain(reader: Reader, start: int, _end: int) -> Span | None:
    """All of the string goes, unless it is the placeholder."""
    if reader.text == SECRET_PLACEHOLDER and not reader.closed:
        raise NeedMore
    if reader.text == SECRET_PLACEHOLDER or (not reader.closed and SECRET_PLACEHOLDER.startswith(reader.text)):
        return kept(start) if reader.literal(start, SECRET_PLACEHOLDER) else None
    return Span(start, start, _everything)


def _everything(reader: Reader, _index: int) -> tuple[int, bool]:
    return reader.end, reader.closed


#: The rule with which the scan of a string begins, by its place.
OPENINGS: Final[dict[Place, Match]] = {
    Place.NEARBY: _opening(Proof.NEARBY),
    Place.NAMED: _opening(Proof.NAMED),
    Place.STRING: _certain,
    Place.WHOLE: _certain,
}
_PLACES: Final = {
    Secrecy.NONE: Place.LOOK,
    Secrecy.PERHAPS: Place.NEARBY,
    Secrecy.STRING: Place.STRING,
    Secrecy.WHOLE: Place.WHOLE,
}


def place_of(key: str) -> Place:
    """The place of a value under `key`, whatever its neighbours."""
    return _PLACES[name_secrecy(key)]


class ObjectScope:
    """The members of one object, in their order."""

    __slots__ = ("_named", "_numbers", "_taken", "_used")

    def __init__(self) -> None:
        self._named = Secrecy.NONE
        self._taken: dict[str, str] = {}  # what was made of a key with a placeholder in it
        self._used: set[str] = set()
        self._numbers: dict[str, int] = {}

    def new_key(self, key: str, scanned: str) -> str:
        """The key to record for `key`, of which redaction left `scanned`: numbered where another key has it already."""
        if SECRET_PLACEHOLDER not in scanned:
            return scanned
        if key in self._taken:
            return self._taken[key]
        name, number = scanned, self._numbers.get(scanned, 1)
        while name in self._used:
            number += 1
            name = f"{scanned} ({number})"
        self._numbers[scanned] = number
        self._used.add(name)
        self._taken[key] = name
        return name

    def place(self, key: str) -> Place:
        """The place of the value under `key` (the key to record)."""
        place = place_of(key)
        if self._named and place is Place.LOOK and key.lower() in _VALUE_KEYS:
            return Place.STRING if self._named >= Secrecy.STRING else Place.NAMED
        return place

    def saw(self, key: str, text: str) -> None:
        """The string `text`, redacted, stands under `key`."""
        if key.lower() in NAME_KEYS:
            self._named = name_secrecy(text) if len(text) <= MAX_NAME and text.lower() != "key" else Secrecy.NONE


class ListScope:
    """The items of one list, in their order. `key`: the key it stands under, `place`: what that says."""

    __slots__ = ("_login", "_named", "_place")

    def __init__(self, key: str, place: Place) -> None:
        self._place = place if place in (Place.STRING, Place.NEARBY) else Place.LOOK
        self._login = key.lower() in _LOGIN_KEYS
        self._named = False

    def place(self) -> Place:
        """The place of the next item."""
        if self._place is Place.LOOK and self._named:
            return Place.NAMED
        return self._place

    def saw(self, text: str | None) -> None:
        """The item was the string `text`, redacted, or something else."""
        if text is None:
            self._named = self._login = False
            return
        self._named = self._login or (len(text) <= MAX_NAME and name_secrecy(text.lstrip("-")) >= Secrecy.STRING)
        self._login = False
