"""The shape of a rule, and the helpers that make triggers of it.

A rule is found by a trigger: a literal that stands in the text, recognised at its *anchor*, one of its rarer
characters, because the search for anchors is what every character of every recording pays for.
"""

import re
from typing import Final, NamedTuple

from openprogram.pipeline.redaction.spans import Match

__all__ = ["COSTLY_ANCHORS", "Rule", "Trigger", "any_case", "context_rule", "rarity", "trigger"]

#: So frequent in text that a literal with nothing rarer in it is only searched for where it stands somewhere.
COSTLY_ANCHORS: Final = frozenset("hH")
#: Characters by which a literal is found, the rarest in agent traffic first.
_ANCHORS: Final = "~QZz$Jqj[IKkñьł密パ비üöşłxSGVA198|wvbufgcp-:h_<"


class Trigger(NamedTuple):
    """`literal`, recognised at index `anchor`. `folded`: in any case. `direct`: the secret may begin with it.

    `unless`: an expression for what stands behind the literal where its rule surely says no. The search passes by such
    a trigger, which costs a hundredth of asking. It only looks at characters that are there, and has no groups.
    """

    literal: str
    anchor: int
    folded: bool
    direct: bool
    unless: str = ""


class Rule(NamedTuple):
    """One row of the table: what it is called, where its format is documented, how it is found and matched.

    `source`: an address, or "own". `example`: a text with a made-up secret that this rule, and no other, removes.
    """

    name: str
    source: str
    example: str
    triggers: tuple[Trigger, ...]
    match: Match


def trigger(
    literal: str, *, folded: bool = False, direct: bool = False, anchor: int | None = None, unless: str = ""
) -> Trigger:
    """The trigger of `literal`, anchored at its rarest character unless `anchor` says where."""
    if anchor is None:
        anchor = max(range(len(literal)), key=lambda index: (rarity(literal[index]), -index))
        if literal[anchor] == "f" and literal[-1] in "-_":
            anchor = len(literal) - 1  # an anchor of others anyway, which leaves the search with one less
    return Trigger(literal, anchor, folded, direct, unless)


def rarity(character: str) -> int:
    """How rare a character is in agent traffic: the higher the rarer."""
    if character in _ANCHORS:
        return len(_ANCHORS) - _ANCHORS.index(character)
    return len(_ANCHORS) if character > "\u024f" and not "\u1e00" <= character <= "\u1eff" else 0  # but "José" is Latin


def any_case(literal: str) -> str:
    """A regular expression for `literal` in any case, without a flag: a flag would cost the search its fast path."""
    return "".join(f"[{c.lower()}{c.upper()}]" if c.lower() != c.upper() else re.escape(c) for c in literal)


def context_rule(
    name: str,
    example: str,
    literals: str,
    match: Match,
    *,
    folded: bool = False,
    source: str = "own",
    unless: str = "",
) -> Rule:
    """A rule for `literals` (`¦` between them). An option is anchored at its dash: its letter belongs to names too."""
    triggers = [
        trigger(literal, folded=folded, anchor=1 if literal.startswith(" -") else None, unless=unless)
        for literal in literals.split("¦")
    ]
    return Rule(name, source, example, tuple(triggers), match)
