"""Keys and strings of a value, as they are redacted; the same few come again and again, and are remembered."""

from typing import Final, NamedTuple

from openprogram.pipeline.redaction.names import SECRET_PLACEHOLDER
from openprogram.pipeline.redaction.scanner import First, first_in, removed, scan_text
from openprogram.pipeline.redaction.scope import MAX_NAME, OPENINGS, TELLING_KEYS, Place, opens, place_of
from openprogram.pipeline.redaction.search import begins_nothing

__all__ = ["KEYS", "MAX_PLAIN", "PLAIN", "Key", "first_secret", "know", "remember_waiting", "scan", "waiting"]

_MAX: Final = 4096
#: Keys, without case and `_`, whose strings the provider must get back as they were.
_UNTOUCHED: Final = frozenset(
    {
        "thinkingsignature",
        "textsignature",
        "thoughtsignature",
        "signature",
        "encryptedcontent",
        "encryptedindex",
        "encryptedstdout",
        "redactedcontent",
        "toolcallid",
        "tooluseid",
        "callid",
    }
)


class Key(NamedTuple):
    """What is known of a key: what the scan made of it, and what that says."""

    scanned: str
    removed: int
    place: Place
    scoped: bool  # it matters to its neighbours
    untouched: str  # "always", "id", "data", "result" or ""


#: Keys seen before. A key with a secret in it is never one of them.
KEYS: Final[dict[str, Key]] = {}
#: Short strings seen before in which nothing was found: roles, types, names of tools and models.
PLAIN: Final[set[str]] = set()
MAX_PLAIN: Final = 48
#: Short beginnings of strings seen before, and how many of their characters wait.
_BEGUN: Final[dict[str, int]] = {}


def know(key: str, scanned: str, removed: int) -> Key:
    """What is known of `key`, of which the scan left `scanned`; remembered for the next time."""
    squeezed = key.lower().replace("_", "")
    untouched = "always" if squeezed in _UNTOUCHED else key if key in ("id", "data", "result") else ""
    scoped = SECRET_PLACEHOLDER in scanned or key.lower() in TELLING_KEYS
    known = Key(scanned, removed, place_of(scanned), scoped, untouched)
    if not removed and len(key) <= MAX_NAME:
        if len(KEYS) >= _MAX:
            KEYS.clear()
        KEYS[key] = known
    return known


def first_secret(text: str) -> First | None:
    """Where redaction begins in a string whose place says nothing of it; None where nothing is removed from it."""
    if text in PLAIN:
        return None
    first = None if text == SECRET_PLACEHOLDER else first_in(text)
    if first is None:
        _remember_plain(text)
    return first


def _remember_plain(text: str) -> None:
    if len(text) <= MAX_PLAIN:
        if len(PLAIN) >= _MAX:
            PLAIN.clear()
        PLAIN.add(text)


def waiting(text: str) -> int | None:
    """How many characters of a short beginning of a string wait for more, or None where only a scan tells."""
    if text in _BEGUN:
        return _BEGUN[text]
    if not begins_nothing(text):
        return None
    remember_waiting(text, 0)
    return 0


def remember_waiting(text: str, count: int) -> None:
    """Of the beginning `text` of a string, from which nothing is removed yet, `count` characters wait."""
    if len(_BEGUN) >= _MAX:
        _BEGUN.clear()
    _BEGUN[text] = count


def scan(text: str, place: Place) -> tuple[str, int]:
    """A string without its secrets, and how many were removed."""
    if opens(text, place):
        return scan_text(text, OPENINGS[place])
    first = first_secret(text)
    return (text, 0) if first is None else removed(text, first)
