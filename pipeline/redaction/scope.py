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

__all__ = [
    "MAX_NAME",
    "OPENINGS",
    "PLAIN_LIST",
    "PLAIN_OBJECT",
    "TELLING_KEYS",
    "ListScope",
    "ObjectScope",
    "Place",
    "is_name",
    "list_scope",
    "opens",
    "place_of",
]

#: Characters of a string that may be a name; a longer one is none.
MAX_NAME: Final = 128
#: Keys whose string names what a value key beside it holds: `{"name": "Authorization", "value": …}`.
_NAME_KEYS: Final = frozenset("name key field header variable var param parameter option headername".split())
#: Keys whose text says into which field of a page something is typed: `{"element": "Password field", "text": …}`.
_TARGET_KEYS: Final = frozenset("element selector locator label placeholder".split())
_SECRET_TARGET: Final = re.compile(r"(?i)pass(?:word|wd|code|phrase|wort)|\bpwd\b|secret|api.?key")
#: Keys that say something of what stands under the others.
TELLING_KEYS: Final = _NAME_KEYS | _TARGET_KEYS
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


_PROOFS: Final = {Place.NEARBY: Proof.NEARBY, Place.NAMED: Proof.NAMED}
#: The rule with which the scan of a string begins, by its place.
OPENINGS: Final[dict[Place, Match]] = {
    **{place: _opening(proof) for place, proof in _PROOFS.items()},
    Place.STRING: _certain,
    Place.WHOLE: _certain,
}


def opens(text: str, place: Place) -> bool:
    """Whether the opening rule of `place` may find something in all of a string."""
    return place is not Place.LOOK and (place not in _PROOFS or is_secret_value(text[:WINDOW], _PROOFS[place]))


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

    __slots__ = ("_keys", "named")

    def __init__(self) -> None:
        self.named = Secrecy.NONE  # what the name in the last of _NAME_KEYS, or a target, says
        self._keys: _Numbering | None = None  # most objects have no secret in a key

    def new_key(self, key: str, scanned: str) -> str:
        """The key to record for `key`, of which redaction left `scanned`: numbered where another key has it already."""
        if SECRET_PLACEHOLDER not in scanned:
            return scanned
        self._keys = self._keys or _Numbering()
        return self._keys.new_key(key, scanned)

    def place(self, key: str) -> Place:
        """The place of the value under `key` (the key to record)."""
        place = place_of(key)
        if self.named and place is Place.LOOK and key.lower() in _VALUE_KEYS:
            return Place.STRING if self.named >= Secrecy.STRING else Place.NAMED
        if self.named and place is Place.LOOK and key.lower() == "text":
            return Place.NAMED
        return place

    def saw(self, key: str, text: str) -> None:
        """The string `text`, redacted, stands under `key`."""
        name = key.lower()
        if name in _TARGET_KEYS and len(text) <= MAX_NAME and _SECRET_TARGET.search(text):
            self.named = max(self.named, Secrecy.PERHAPS)
        if name in _NAME_KEYS:
            self.named = name_secrecy(text) if len(text) <= MAX_NAME and text.lower() != "key" else Secrecy.NONE


#: An object of which no member says anything of another. It is shared, so nothing is to be told to it.
PLAIN_OBJECT: Final = ObjectScope()


class _Numbering:
    """The keys of one object that have a placeholder in them, kept apart."""

    def __init__(self) -> None:
        self._taken: dict[str, str] = {}  # what was made of a key
        self._used: set[str] = set()
        self._numbers: dict[str, int] = {}

    def new_key(self, key: str, scanned: str) -> str:
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


class ListScope:
    """What the items of a list so far say about the next one.

    Never changed, since there are few and all lists share them: nothing is made for a bracket.
    """

    __slots__ = ("after_name", "after_text", "after_value", "place")

    def __init__(self, place: Place) -> None:
        self.place = place  # of the next item
        self.after_value = self.after_text = self.after_name = self

    def after(self, text: str) -> "ListScope":
        """The scope behind the string `text`, redacted."""
        return self.after_name if self.after_name is not self.after_text and is_name(text) else self.after_text


def is_name(text: str) -> bool:
    """Whether the item `text` of a list says that a secret follows it: `--token`."""
    return len(text) <= MAX_NAME and name_secrecy(text.lstrip("-")) >= Secrecy.STRING


def _beginnings(place: Place) -> tuple[ListScope, ListScope]:
    """Of lists at `place`: the scope before the first item, and that of a list whose first item is a user."""
    plain, login = ListScope(place), ListScope(place)
    named = ListScope(Place.NAMED) if place is Place.LOOK else plain
    named.after_value = named.after_text = login.after_value = plain
    plain.after_name = login.after_text = login.after_name = named
    return plain, login


#: For the places that say something of the strings in a list too.
_BEGINNINGS: Final = {place: _beginnings(place) for place in (Place.LOOK, Place.NEARBY, Place.STRING)}
#: The beginning of a list that stands in a list.
PLAIN_LIST: Final = _BEGINNINGS[Place.LOOK][0]


def list_scope(key: str, place: Place) -> ListScope:
    """The scope before the first item of a list under `key`, at `place`."""
    plain, login = _BEGINNINGS[place] if place in _BEGINNINGS else _BEGINNINGS[Place.LOOK]
    return login if key.lower() in _LOGIN_KEYS else plain
