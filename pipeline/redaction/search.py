"""The search for triggers: one regular expression over all rules, made once from the table.

Triggers are taken in the order of their anchors, which doesn't depend on how the text was cut."""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from openprogram.pipeline.redaction.reader import Reader
from openprogram.pipeline.redaction.rules import COSTLY_ANCHORS, Rule, Trigger, any_case, rarity
from openprogram.pipeline.redaction.spans import Match
from openprogram.pipeline.redaction.table import RULES

__all__ = [
    "MAX_LITERAL",
    "MAX_SUFFIX",
    "Found",
    "Search",
    "begins_nothing",
    "find_trigger",
    "first_start",
    "open_trigger",
    "search_of",
]

_LITERALS: Final[tuple[tuple[Trigger, Rule], ...]] = tuple((t, rule) for rule in RULES for t in rule.triggers)

#: Characters that a trigger may need from its anchor on, and before it.
MAX_SUFFIX: Final = max(len(t.literal) - t.anchor for t, _ in _LITERALS)
_MAX_PREFIX: Final = max(t.anchor for t, _ in _LITERALS if t.direct)
MAX_LITERAL: Final = max(len(t.literal) for t, _ in _LITERALS)
_MAX_DIRECT: Final = max(len(t.literal) for t, _ in _LITERALS if t.direct)


def _pattern(literal: str, *, folded: bool) -> str:
    return any_case(literal) if folded else re.escape(literal)


def _prefixes(literal: str, *, folded: bool) -> str:
    """Every proper prefix of `literal`, the empty one included, at the end of the text."""
    pattern = ""
    for character in reversed(literal[:-1]):
        pattern = f"(?:{_pattern(character, folded=folded)}{pattern})?"
    return pattern + r"\Z"


class Found(NamedTuple):
    """A trigger in text: the index of its `anchor`, the bounds of its literal, and its rule.

    `direct`: the secret may begin with the literal, and doesn't stand behind it.
    """

    anchor: int
    start: int
    end: int
    direct: bool
    rule: Rule


def _nothing(_reader: Reader, _start: int, _end: int) -> None:
    """In the place of group 0, which is all of the match and no trigger."""


class Search:
    """One regular expression for many literals; its groups, all empty, say which one was found."""

    def __init__(self, literals: Iterable[tuple[Trigger, Rule]]) -> None:
        self.groups: list[tuple[Trigger, Rule]] = []
        # the most frequent anchors first: the search engine tries the alternatives in this order
        by_anchor = sorted(_by_anchor(literals).items(), key=lambda row: (rarity(row[0]), row[0]))
        self.pattern: Final = re.compile(
            "|".join([re.escape(anchor) + self._behind(rows) for anchor, rows in by_anchor])
        )
        #: By the number of the group: where the anchor stands in its literal, and the rule's match.
        self.rows: Final[list[tuple[int, Match]]] = [
            (0, _nothing),
            *((t.anchor, rule.match) for t, rule in self.groups),
        ]

    def _behind(self, rows: list[tuple[Trigger, Rule]]) -> str:
        """What stands behind an anchor. Plain characters first: they leave most anchors at the first look."""
        heads: dict[str, list[tuple[Trigger, Rule]]] = {}
        for t, rule in sorted(rows, key=lambda row: (-row[0].anchor, -len(row[0].literal))):
            # the longest first: `gsk_` ends in `sk_`, and one anchor has one trigger
            head = _pattern(t.literal[t.anchor + 1 :][:1], folded=t.folded)
            heads.setdefault(head, []).append((t, rule))
        neighbours = [t for t, _ in rows]
        if ends := heads.pop("", None):
            heads[_before_anchors([t for t, _ in ends])] = ends
        return _either(
            [head + _either([self._tail(*row, neighbours) for row in heads[head]]) for head in _by_case(heads)]
        )

    def _tail(self, t: Trigger, rule: Rule, neighbours: list[Trigger]) -> str:
        self.groups.append((t, rule))
        behind = f"(?<={_pattern(t.literal, folded=t.folded)})" if t.anchor else ""
        return _pattern(t.literal[t.anchor + 2 :], folded=t.folded) + behind + _unless(t, neighbours) + "()"


def _before_anchors(triggers: list[Trigger]) -> str:
    """Where nothing stands behind an anchor, what stands before it is looked at first, for all at once."""
    sets: list[str] = []
    for back in range(1, min(2, *(t.anchor for t in triggers)) + 1):
        before = {_pattern(t.literal[t.anchor - back], folded=t.folded).strip("[]") for t in triggers}
        sets.insert(0, f"[{''.join(sorted(before))}]")
    return f"(?<={''.join(sets)}.)" if sets else ""


def _by_case(heads: Iterable[str]) -> list[str]:
    """First those of one case: where `[eE]` came before `e`, a name in any case would be found in a token's prefix."""
    return sorted(heads, key=lambda head: head.startswith("["))


def _unless(t: Trigger, neighbours: list[Trigger]) -> str:
    """What passes by `t`, but not where another literal stands at the same anchor: that one would be found instead."""
    if not t.unless:
        return ""
    others = [_stands_at(other, t) for other in neighbours if other is not t and _may_share(t, other)]
    return _either([f"(?!{t.unless})", *others])


def _may_share(t: Trigger, other: Trigger) -> bool:
    """Whether both literals may stand in a text with one anchor."""
    shift = other.anchor - t.anchor
    pairs = [(c, other.literal[at + shift]) for at, c in enumerate(t.literal) if 0 <= at + shift < len(other.literal)]
    return all(not set(_forms(c, t)).isdisjoint(_forms(d, other)) for c, d in pairs)


def _stands_at(other: Trigger, t: Trigger) -> str:
    """Behind `t`, an expression for `other` at the same anchor."""
    begun = other.anchor + len(t.literal) - t.anchor  # characters from the beginning of `other` to the end of `t`
    left, right = other.literal[:begun], other.literal[begun:]
    passed = "." * (begun - len(left))
    ahead = f"(?={_pattern(right, folded=other.folded)})" if right else ""
    return f"(?<={_pattern(left, folded=other.folded)}{passed}){ahead}"


def _forms(character: str, t: Trigger) -> list[str]:
    return sorted({character.lower(), character.upper()}) if t.folded else [character]


def _either(alternatives: list[str]) -> str:
    return alternatives[0] if len(alternatives) == 1 else f"(?:{'|'.join(alternatives)})"


def _by_anchor(literals: Iterable[tuple[Trigger, Rule]]) -> dict[str, list[tuple[Trigger, Rule]]]:
    by_anchor: dict[str, list[tuple[Trigger, Rule]]] = {}
    for t, rule in literals:
        for form in _forms(t.literal[t.anchor], t):
            by_anchor.setdefault(form, []).append((t, rule))
    return by_anchor


def _compile_open() -> re.Pattern[str]:
    """The search for literals that the end of the text cuts short behind their anchor."""
    alternatives = []
    for anchor, literals in sorted(_by_anchor(_LITERALS).items()):
        rows = []
        for t, _ in literals:
            if after := t.literal[t.anchor + 1 :]:
                rows.append(
                    f"(?<={_pattern(t.literal[: t.anchor + 1], folded=t.folded)}){_prefixes(after, folded=t.folded)}"
                )
        if rows:
            alternatives.append(f"{re.escape(anchor)}(?:{'|'.join(rows)})")
    return re.compile("|".join(alternatives))


def _openings(literals: list[str]) -> str:
    """A tree of all proper prefixes of `literals`, at the end of the text."""
    heads: dict[str, list[str]] = {}
    for literal in literals:
        heads.setdefault(literal[0], []).append(literal[1:])
    parts = []
    for head, tails in sorted(heads.items()):
        rest = [tail for tail in tails if tail]
        if rest:
            parts.append(rf"{re.escape(head)}(?:\Z|{_openings(rest)})")
    return "|".join(parts) or r"(?!)"


_ALL: Final = Search(_LITERALS)
#: Anchors that are not ASCII: most text has none, and is searched without their literals, which is much faster.
_FOREIGN: Final = re.compile(f"[{''.join(sorted(c for c in _by_anchor(_LITERALS) if not c.isascii()))}]")
#: Most text lacks the literals that only a frequent character tells, too: a third of what would stop the search.
_COSTLY: Final = [t.literal.lower().encode() for t, _ in _LITERALS if t.literal[t.anchor] in COSTLY_ANCHORS]
_CHEAP: Final = Search(
    (t, rule) for t, rule in _LITERALS if (c := t.literal[t.anchor]).isascii() and c not in COSTLY_ANCHORS
)
_OPEN: Final = _compile_open()
_OPEN_DIRECT: Final = re.compile(_openings([t.literal for t, _ in _LITERALS if t.direct]))


class _Ends:
    """How a text ends that cuts a literal short: told at a glance, where a search costs more than the text's own.

    `last`: characters that are all there is of a literal. `more`: the last two or three where there is more of it,
    in small letters; then a search says which, and whether.
    """

    def __init__(self, literals: Iterable[tuple[Trigger, int]]) -> None:
        """`literals`: each with how many of its characters must be there at least."""
        rows = [(t, least) for t, least in literals if len(t.literal) > 1]
        self.last: Final = frozenset(form for t, least in rows if least == 1 for form in _forms(t.literal[0], t))
        self.more: Final = frozenset(
            t.literal[max(0, size - 3) : size].lower()
            for t, least in rows
            for size in range(max(least, 2), len(t.literal))
        )

    def may_be_more(self, text: str) -> bool:
        """Whether two characters of a literal or more may end `text`."""
        tail = text[-3:].lower()
        return tail in self.more or tail[-2:] in self.more


_ENDS: Final = _Ends((t, t.anchor + 1) for t, _ in _LITERALS)
_DIRECT_ENDS: Final = _Ends((t, 1) for t, _ in _LITERALS if t.direct)


def search_of(text: str) -> Search:
    """The search for the triggers of `text`. Looks at all of it, so not to be asked again for every trigger."""
    if not text.isascii() and _FOREIGN.search(text) is not None:
        return _ALL
    folded = text.encode(errors="replace").lower()
    for literal in _COSTLY:
        if literal in folded:
            return _ALL
    return _CHEAP


def find_trigger(search: Search, text: str, position: int = 0) -> Found | None:
    """The first trigger whose anchor stands at `position` or behind. `search`: that of `text`."""
    match = search.pattern.search(text, position)
    if match is None:
        return None
    t, rule = search.groups[(match.lastindex or 0) - 1]
    anchor, end = match.span()
    return Found(anchor, anchor - t.anchor, end, t.direct, rule)


def open_trigger(reader: Reader, start: int) -> int:
    """Index of the first anchor from `start` on whose literal the end of the text cuts short, or the end."""
    text, end = reader.text, reader.end
    if not _ENDS.may_be_more(text):
        return end - 1 if start < end and text[-1] in _ENDS.last else end
    found = _OPEN.search(text, max(start, end - MAX_SUFFIX + 1))
    return found.start() if found else end


def first_start(search: Search | None, reader: Reader, decided: int, position: int, end: int) -> int:
    """Index in `decided`..`end` before which no secret begins whose trigger is looked for from `position` on.

    That is the first literal, whole or cut short by the end of the text, with which a secret may begin, or the end
    of the first other literal, since its secret stands somewhere behind it.
    """
    text = reader.text
    # in the order of their anchors, so one that begins earlier may be found later: a token with a name in it
    while search is not None and (found := search.pattern.search(text, position)) is not None:
        anchor = found.start()
        if anchor >= end + _MAX_PREFIX:
            break
        t = search.groups[(found.lastindex or 0) - 1][0]
        begin = anchor - t.anchor if t.direct else found.end()
        if decided <= begin < end and (not t.direct or _may_begin(reader, begin)):
            if begin == decided:
                return begin
            end = begin
        position = anchor + 1
    last = reader.end - 1
    if not _DIRECT_ENDS.may_be_more(text):
        return last if decided <= last < end and text[last] in _DIRECT_ENDS.last and _may_begin(reader, last) else end
    position = max(decided, last - _MAX_DIRECT + 2)
    while (opening := _OPEN_DIRECT.search(text, position)) is not None and opening.start() < end:
        if _may_begin(reader, opening.start()):
            return opening.start()
        position = opening.start() + 1
    return end


def begins_nothing(text: str) -> bool:
    """Whether no trigger stands in `text`, nor at its end the beginning of one with which a secret may begin."""
    if _OPEN_DIRECT.search(text, max(0, len(text) - _MAX_DIRECT + 1)) is not None:
        return False
    return search_of(text).pattern.search(text) is None


def _may_begin(reader: Reader, index: int) -> bool:
    """Whether a secret may begin at `index`: tokens are words, private keys begin with dashes anywhere."""
    return not reader.text[index].isalnum() or reader.at_word_start(index)
