"""The search for triggers: one regular expression over all rules, made once from the table.

Triggers are taken in the order of their anchors, which doesn't depend on how the text was cut."""

import re
import sys
from typing import Final, NamedTuple

from openprogram.pipeline.redaction.reader import Reader
from openprogram.pipeline.redaction.rules import Rule, Trigger, any_case, rarity
from openprogram.pipeline.redaction.spans import Match
from openprogram.pipeline.redaction.table import RULES

__all__ = ["MAX_SUFFIX", "Found", "find_trigger", "first_start", "has_trigger", "open_trigger", "rules_of", "search_of"]

_LITERALS: Final[tuple[tuple[Trigger, Rule], ...]] = tuple((t, rule) for rule in RULES for t in rule.triggers)

#: Characters that a trigger may need from its anchor on, and before it.
MAX_SUFFIX: Final = max(len(t.literal) - t.anchor for t, _ in _LITERALS)
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


class _Search:
    """One regular expression for many literals; its groups, all empty, say which one was found."""

    def __init__(self, *, ascii_only: bool) -> None:
        self.groups: list[tuple[Trigger, Rule]] = []
        alternatives = []
        # the most frequent anchors first: the search engine tries the alternatives in this order
        for anchor, rows in sorted(_by_anchor().items(), key=lambda row: (rarity(row[0]), row[0])):
            if anchor.isascii() or not ascii_only:
                alternatives.append(re.escape(anchor) + self._behind(rows))
        self.pattern: Final = re.compile("|".join(alternatives))
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
        if ends := heads.pop("", None):
            # where nothing stands behind the anchor, what stands before it is looked at first, for all at once
            before = {_pattern(t.literal[t.anchor - 1], folded=t.folded).strip("[]") for t, _ in ends if t.anchor}
            heads[f"(?<=[{''.join(sorted(before))}].)" if all(t.anchor for t, _ in ends) else ""] = ends
        return _either([head + _either([self._tail(*row) for row in members]) for head, members in heads.items()])

    def _tail(self, t: Trigger, rule: Rule) -> str:
        self.groups.append((t, rule))
        behind = f"(?<={_pattern(t.literal, folded=t.folded)})" if t.anchor else ""
        return _pattern(t.literal[t.anchor + 2 :], folded=t.folded) + behind + "()"


def _either(alternatives: list[str]) -> str:
    return alternatives[0] if len(alternatives) == 1 else f"(?:{'|'.join(alternatives)})"


def _by_anchor() -> dict[str, list[tuple[Trigger, Rule]]]:
    by_anchor: dict[str, list[tuple[Trigger, Rule]]] = {}
    for t, rule in _LITERALS:
        anchor = t.literal[t.anchor]
        for form in sorted({anchor.lower(), anchor.upper()}) if t.folded else [anchor]:
            by_anchor.setdefault(form, []).append((t, rule))
    return by_anchor


def _compile_open() -> re.Pattern[str]:
    """The search for literals that the end of the text cuts short behind their anchor."""
    alternatives = []
    for anchor, literals in sorted(_by_anchor().items()):
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


#: Most text is ASCII, where the search for ASCII literals alone is much faster and finds the same.
_ASCII: Final = _Search(ascii_only=True)
_ALL: Final = _Search(ascii_only=False)
#: Anchors that are not ASCII: without one in it, any text is searched as an ASCII text is.
_FOREIGN: Final = re.compile(f"[{''.join(sorted(anchor for anchor in _by_anchor() if not anchor.isascii()))}]")
_OPEN: Final = _compile_open()
_OPEN_DIRECT: Final = re.compile(_openings([t.literal for t, _ in _LITERALS if t.direct]))


def search_of(text: str) -> tuple[re.Pattern[str], list[tuple[int, Match]]]:
    """The search for the triggers of `text`, for the scanner's loop, which every trigger passes.

    Of a match, `lastindex` is the row: the anchor's index in its literal, and the match of its rule. Looks at all of
    `text`, so not to be asked again for every trigger.
    """
    search = _ASCII if text.isascii() or _FOREIGN.search(text) is None else _ALL
    return search.pattern, search.rows


def rules_of(text: str) -> list[Rule | None]:
    """The rule of each row of `search_of(text)`, for those who want to know which one removed something."""
    search = _ASCII if text.isascii() or _FOREIGN.search(text) is None else _ALL
    return [None, *(rule for _, rule in search.groups)]


def has_trigger(text: str) -> bool:
    """Whether any rule may have something to say about `text`."""
    return search_of(text)[0].search(text) is not None


def find_trigger(text: str, position: int = 0, stop: int = sys.maxsize) -> Found | None:
    """The first trigger whose anchor stands at `position` or behind, and that ends before `stop`."""
    search = _ASCII if text.isascii() else _ALL
    match = search.pattern.search(text, position, stop)
    if match is None:
        return None
    t, rule = search.groups[(match.lastindex or 0) - 1]
    anchor, end = match.span()
    return Found(anchor, anchor - t.anchor, end, t.direct, rule)


def open_trigger(reader: Reader, start: int) -> int:
    """Index of the first anchor from `start` on whose literal the end of the text cuts short, or the end."""
    found = _OPEN.search(reader.text, max(start, reader.end - MAX_SUFFIX + 1))
    return found.start() if found else reader.end


def first_start(reader: Reader, decided: int, position: int, end: int) -> int:
    """Index in `decided`..`end` before which no secret begins whose trigger is looked for from `position` on.

    That is the first literal, whole or cut short by the end of the text, with which a secret may begin, or the end
    of the first other literal, since its secret stands somewhere behind it.
    """
    while (found := find_trigger(reader.text, position)) is not None and found.start < end:
        begin = found.start if found.direct else found.end
        if begin >= decided and (not found.direct or _may_begin(reader, begin)):
            end = min(end, begin)
            break
        position = found.anchor + 1
    position = max(decided, reader.end - _MAX_DIRECT + 1)
    while (opening := _OPEN_DIRECT.search(reader.text, position)) is not None and opening.start() < end:
        if _may_begin(reader, opening.start()):
            return opening.start()
        position = opening.start() + 1
    return end


def _may_begin(reader: Reader, index: int) -> bool:
    """Whether a secret may begin at `index`: tokens are words, private keys begin with dashes anywhere."""
    return not reader.text[index].isalnum() or reader.at_word_start(index)
