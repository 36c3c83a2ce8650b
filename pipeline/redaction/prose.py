"""A value near its name in prose or output: `the password is …`, `pass …`, `--token …`, a line of its own below."""

import re
from functools import lru_cache
from typing import Final, NamedTuple

from openprogram.pipeline.redaction.gaps import read_gap
from openprogram.pipeline.redaction.judge import Proof
from openprogram.pipeline.redaction.names import Secrecy
from openprogram.pipeline.redaction.reader import Reader
from openprogram.pipeline.redaction.spans import Span
from openprogram.pipeline.redaction.values import BARE, SCHEMES, Style, read_value

__all__ = ["DULL_PROSE", "LEADING_WORDS", "SOON_BLANK", "value_behind_aside", "value_in_prose", "value_on_its_line"]

_WORD: Final = re.compile(r"[^\W\d_]*")
_ASIDE: Final = re.compile(r"[^()\[\n]*")
_VERBS: Final = frozenset(
    """is was be are ist lautet war est era es è é jest är er as to by je este ir yra là adalah e е є це это είναι
    היא הוא هي هو""".split()
)
_CONNECTORS: Final = _VERBS | frozenset(
    """on for of from will the my our your user admin account this that now currently still set root de del la für
    pour της του σας שלך الخاصة بك của bạn anda tu su votre""".split()
)
_OF: Final = frozenset("for of de für pour para".split())
#: Words with which a refusal echoes what it was given: `Incorrect API key provided: …`.
_GIVEN: Final = frozenset(
    "provided supplied given received used passed sent entered specified presented submitted".split()
)
#: Words with which one says what is wrong with it; what follows them may be its name as well: `secret not found: …`.
_REFUSED: Final = frozenset(
    "you we i not no does has been found exist valid invalid incorrect wrong unknown expired revoked rejected".split()
)
_LEADING: Final = _CONNECTORS | _GIVEN | _REFUSED
#: Words behind a name after which a value may come.
LEADING_WORDS: Final = _LEADING | {"value", "val", "content"}
#: Behind punctuation: what follows it is too short to make a generated password of what stands before it.
SOON_BLANK: Final = r"""[^\s"'`\[]{0,3}+[\s"'`\[]"""
#: So many of such words in a row are followed.
_MAX_LEADS: Final = 6
#: Words with nothing but blanks behind each, or backslashes too, and then a character of no gap and no placeholder.
_PLAIN_WORDS: Final = re.compile(
    r"""(?:[^\W\d_]{1,15}+\s{1,40}+\\{0,6}+(?=[^\s"'`\\:=>,;|(\[\])：%&*bBrRuUfFN@$]|[bBrRuUfFN@$][^"'\[])){1,"""
    rf"{_MAX_LEADS}}}+"
)


def _dull_words() -> str:
    """Words that lead to a value, then a word that is none: so it goes in most prose.

    Whatever of these the rule takes for the value, it is a short word in small letters, and those are never removed.
    Of many words that lead on, the rule follows _MAX_LEADS and takes the next one, so nothing behind it is looked at.
    """
    of = "|".join(sorted(word for word in _OF & _LEADING if word.isascii()))
    leading = "|".join(sorted(word for word in _LEADING - _OF if word.isascii()))
    gap = r"[ \n]{1,3}+"
    lead = rf"(?:(?:(?:{of}){gap}){{1,3}}+[a-z]{{1,15}}{gap}|(?:{leading}){gap})"
    end = rf"\.?(?:[ \n]|[,;)<>]{SOON_BLANK})"
    dull = rf"(?!(?:{of}|{leading})\b)[a-z]{{1,15}}+{end}"
    listed = rf"(?:{of}) [a-z]{{1,15}}+[,;] (?!(?:{'|'.join(SCHEMES)})\b)[a-z]{{1,15}}+{end}"
    return f" {lead}{{0,{_MAX_LEADS}}}+(?:{dull}|{listed}|{lead})"


#: Behind a name and a blank, a text in which `value_in_prose` finds nothing, as it would find out slowly.
DULL_PROSE: Final = re.compile(_dull_words())
_DASHES: Final = frozenset("-–—")
_SAYS_WHICH: Final = frozenset({":", "=", "："})


class _Lead(NamedTuple):
    """What the words said that lead from a name to its value. `expected`: whatever word comes next: "for bob"."""

    proof: Proof
    expected: bool = False
    given: bool = False
    refused: bool = False

    def behind(self, word: str, *, certain: bool) -> "_Lead | None":
        """What is said with one more word, in small letters, or None where it doesn't lead on."""
        if word not in _LEADING and not (self.expected and word):
            return None
        proof, given = self.proof, self.given or word in _GIVEN
        if word in _VERBS and not given and proof is Proof.NEARBY and certain:
            proof = Proof.NAMED
        return _Lead(proof, word in _OF, given, self.refused or word in _REFUSED)

    def behind_blanks(self) -> "_Lead":
        """What is said where the value, or one more word, follows."""
        return self._replace(proof=Proof.NEARBY) if self.refused and self.proof is Proof.NAMED else self


@lru_cache(maxsize=1024)
def _follow(words: str, lead: _Lead, certain: bool) -> tuple[_Lead, int, int]:  # noqa: FBT001  # a cache's key
    """What `words`, _MAX_LEADS at most, lead to; how many of them do, and how many characters are left of the rest."""
    words = words.replace("\\", " ")
    for count, word in enumerate(words.lower().split()):
        following = lead.behind(word, certain=certain)
        if following is None:
            return lead, count, len(words.split(maxsplit=count)[count])
        lead = following.behind_blanks()
    return lead, len(words.split()), 0


def value_in_prose(reader: Reader, index: int, name: str, secrecy: Secrecy) -> Span | None:
    """The value at `index` behind a name and a blank, or behind some words that lead to it."""
    proof = Proof.NAMED if name.startswith("-") else Proof.ALONE if name.lower() == "key" else Proof.NEARBY
    if reader.text[index : index + 1] in _DASHES and reader.char(index + 1) == " ":
        return read_value(reader, index + 2, Proof.NEARBY, BARE, scheme=False)  # `password - …`, as in a list
    certain, lead, count, rest = secrecy >= Secrecy.STRING, _Lead(proof), 0, 0
    if words := _PLAIN_WORDS.match(reader.text, index):
        lead, count, rest = _follow(words[0], lead, certain)
        reader.hold = index = words.end() - rest
    while not rest and count < _MAX_LEADS:
        end = reader.run(_WORD, index, 16)
        following = lead.behind(reader.text[index:end].lower(), certain=certain)
        if following is None:
            break
        gap = read_gap(reader, end)
        if gap is None or gap.end == end:
            break  # it is the beginning of the value: `token as-…`
        if gap.close:
            return None
        lead = following.behind_blanks()
        if gap.sep or gap.quote:
            proof = lead.proof
            if lead.given and gap.sep in _SAYS_WHICH and proof is Proof.NEARBY and certain:
                proof = Proof.NAMED
            return read_value(reader, gap.end, proof, Style(quote=gap.quote, slashes=gap.slashes))
        index, count = gap.end, count + 1
    return read_value(reader, index, lead.proof, BARE, scheme=False)


def value_behind_aside(reader: Reader, index: int) -> Span | None:
    """`password (changed today): …`, `API key (…) is invalid`; `index` is behind the parenthesis."""
    span = read_value(reader, index, Proof.NEARBY, BARE, scheme=False)
    if span is not None:
        return span
    reader.hold = reader.end
    end = reader.run(_ASIDE, index, 48)
    if reader.char(end) != ")":
        return None
    gap = read_gap(reader, end + 1)
    if gap is None or gap.sep not in (":", "=", "："):
        return None
    return read_value(reader, gap.end, Proof.NAMED, Style(quote=gap.quote, slashes=gap.slashes))


def value_on_its_line(reader: Reader, index: int) -> Span | None:
    """A value that has the line below its name for itself."""
    return read_value(reader, index, Proof.NEARBY, BARE)
