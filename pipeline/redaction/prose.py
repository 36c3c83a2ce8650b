"""A value near its name in prose or output: `the password is …`, `pass …`, `--token …`, a line of its own below."""

import re
from typing import Final

from openprogram.pipeline.redaction.gaps import read_gap
from openprogram.pipeline.redaction.judge import Proof
from openprogram.pipeline.redaction.names import Secrecy
from openprogram.pipeline.redaction.reader import Reader
from openprogram.pipeline.redaction.spans import Span
from openprogram.pipeline.redaction.values import Style, read_value

__all__ = ["LEADING_WORDS", "value_behind_aside", "value_in_prose", "value_on_its_line"]

_WORD: Final = re.compile(r"[^\W\d_]*")
_ASIDE: Final = re.compile(r"[^()\[\n]*")
_VERBS: Final = frozenset("is was are ist lautet war est era es è é jest är er as to by".split())
_CONNECTORS: Final = _VERBS | frozenset(
    "on for of the my our your user admin account this that now currently still set root de del la für pour".split()
)
_OF: Final = frozenset("for of de für pour para".split())
#: Words behind a name after which a value may come.
LEADING_WORDS: Final = _CONNECTORS | {"value", "val", "content"}


def value_in_prose(reader: Reader, index: int, name: str, secrecy: Secrecy) -> Span | None:
    """The value at `index` behind a name and a blank, or behind some words that lead to it."""
    proof = Proof.NAMED if name.startswith("--") else Proof.ALONE if name.lower() == "key" else Proof.NEARBY
    expected = False  # whatever word comes next: "for bob"
    for _ in range(6):
        end = reader.run(_WORD, index, 16)
        word = reader.text[index:end].lower()
        if word not in _CONNECTORS and not (expected and word):
            break
        expected = word in _OF
        if word in _VERBS and proof is Proof.NEARBY and secrecy >= Secrecy.STRING:
            proof = Proof.NAMED
        gap = read_gap(reader, end)
        if gap is None or gap.end == end or gap.close:
            return None
        if gap.sep or gap.quote:
            return read_value(reader, gap.end, proof, Style(quote=gap.quote, slashes=gap.slashes))
        index = gap.end
    return read_value(reader, index, proof, Style(), scheme=False)


def value_behind_aside(reader: Reader, index: int) -> Span | None:
    """`password (changed today): …`; `index` is behind the parenthesis."""
    end = reader.run(_ASIDE, index, 48)
    if reader.char(end) != ")":
        return None
    gap = read_gap(reader, end + 1)
    if gap is None or gap.sep not in (":", "=", "："):
        return None
    return read_value(reader, gap.end, Proof.NAMED, Style(quote=gap.quote, slashes=gap.slashes))


def value_on_its_line(reader: Reader, index: int) -> Span | None:
    """A value that has the line below its name for itself."""
    return read_value(reader, index, Proof.NEARBY, Style())
