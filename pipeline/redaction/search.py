"""The search for triggers: one regular expression over all rules, made once from the table."""

import re
from typing import Final

from openprogram.pipeline.redaction.reader import Reader
from openprogram.pipeline.redaction.rules import Rule, Trigger, any_case
from openprogram.pipeline.redaction.spans import Span
from openprogram.pipeline.redaction.table import RULES

__all__ = ["MAX_SUFFIX", "TRIGGERS", "first_start", "match_trigger", "open_trigger", "rule_of"]

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


def _compile() -> tuple[re.Pattern[str], tuple[int, ...]]:
    """The search, and for each of its groups the number of the literal that it stands for.

    Every alternative begins with its anchor as a plain character, and goes on with plain characters where it can:
    then the search engine skips in C what has no anchor, and leaves most anchors at the first look behind them.
    """
    groups: list[int] = []
    alternatives = []
    for anchor, numbers in sorted(_by_anchor().items()):
        # the longest first: `gsk_` ends in `sk_`, and one anchor has one trigger
        numbers.sort(key=lambda number: (-_LITERALS[number][0].anchor, -len(_LITERALS[number][0].literal)))
        heads: dict[str, list[int]] = {}
        for number in numbers:
            t = _LITERALS[number][0]
            after, before = t.literal[t.anchor + 1 :][:1], t.literal[: t.anchor][-1:]
            heads.setdefault(
                _pattern(after, folded=t.folded) if after else f"(?<={_pattern(before, folded=t.folded)}.)", []
            ).append(number)
        rows = []
        for head, members in heads.items():
            tails = []
            for number in members:
                t = _LITERALS[number][0]
                groups.append(number)
                behind = f"(?<={_pattern(t.literal, folded=t.folded)})" if t.anchor else ""
                tails.append(_pattern(t.literal[t.anchor + 2 :], folded=t.folded) + behind + "()")
            rows.append(head + (tails[0] if len(tails) == 1 else f"(?:{'|'.join(tails)})"))
        alternatives.append(re.escape(anchor) + (rows[0] if len(rows) == 1 else f"(?:{'|'.join(rows)})"))
    return re.compile("|".join(alternatives)), tuple(groups)


def _by_anchor() -> dict[str, list[int]]:
    by_anchor: dict[str, list[int]] = {}
    for number, (t, _) in enumerate(_LITERALS):
        anchor = t.literal[t.anchor]
        for form in sorted({anchor.lower(), anchor.upper()}) if t.folded else [anchor]:
            by_anchor.setdefault(form, []).append(number)
    return by_anchor


def _compile_open() -> re.Pattern[str]:
    """The search for literals that the end of the text cuts short behind their anchor."""
    alternatives = []
    for anchor, numbers in sorted(_by_anchor().items()):
        rows = []
        for number in numbers:
            t = _LITERALS[number][0]
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


TRIGGERS, _GROUPS = _compile()
_OPEN_TRIGGERS: Final = _compile_open()
_DIRECT: Final = [t.literal for t, _ in _LITERALS if t.direct]
_OPEN_DIRECT: Final = re.compile(_openings(_DIRECT))


def match_trigger(reader: Reader, found: re.Match[str]) -> Span | None:
    """What the rule of a found trigger says. Raises NeedMore, Stop."""
    t, rule = _LITERALS[_GROUPS[(found.lastindex or 0) - 1]]
    start = found.start() - t.anchor
    return rule.match(reader, start, found.end()) if start >= reader.floor else None


def rule_of(found: re.Match[str]) -> Rule:
    """The rule whose trigger was found."""
    return _LITERALS[_GROUPS[(found.lastindex or 0) - 1]][1]


def open_trigger(reader: Reader, start: int) -> int:
    """Index of the first anchor from `start` on whose literal the end of the text cuts short, or the end."""
    found = _OPEN_TRIGGERS.search(reader.text, max(start, reader.end - MAX_SUFFIX + 1))
    return found.start() if found else reader.end


def _may_begin(reader: Reader, index: int) -> bool:
    """Whether a secret may begin at `index`: tokens are words, private keys begin with dashes anywhere."""
    return not reader.text[index].isalnum() or reader.at_word_start(index)


def first_start(reader: Reader, decided: int, position: int, end: int) -> int:
    """Index in `decided`..`end` before which no secret begins whose trigger is looked for from `position` on.

    That is the first literal, whole or cut short by the end of the text, with which a secret may begin, or the end
    of the first other literal, since its secret stands somewhere behind it.
    """
    while (found := TRIGGERS.search(reader.text, position)) is not None:
        t = _LITERALS[_GROUPS[(found.lastindex or 0) - 1]][0]
        begin = found.start() - t.anchor if t.direct else found.end()
        if found.start() - t.anchor >= end:
            break
        if begin >= decided and (not t.direct or _may_begin(reader, begin)):
            end = min(end, begin)
            break
        position = found.start() + 1
    position = max(decided, reader.end - _MAX_DIRECT + 1)
    while (found := _OPEN_DIRECT.search(reader.text, position)) is not None and found.start() < end:
        if _may_begin(reader, found.start()):
            return found.start()
        position = found.start() + 1
    return end
