"""Values that a program mints anew in every run, and the volatile rules under which they are no difference.

A rule is only proposed where it works: the two values are compared under it, by the code that a replay would use.
"""

import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from openprogram.pipeline.json_value import Absent, JsonValue
from openprogram.pipeline.matching.bindings import Bindings, is_same_frame
from openprogram.pipeline.matching.comparison import SymbolComparison
from openprogram.pipeline.matching.rules import NAMED_PATTERNS, RuleError, Token, VolatileRules
from openprogram.pipeline.stages.compare import ComparisonRules, Difference

__all__ = ["Minted", "find_minted", "rules_for_all"]

_WORDS: Final = {
    "uuid": "a UUID",
    "uuid-hex": "a UUID without dashes",
    "iso-time": "a time",
    "unix-time": "a Unix time",
    "tmp-path": "a temporary path",
}
_ADDRESS, _ID = "a memory address", "an id"
_ADDRESS_RULE: Final = r"regex:\b0x[0-9a-f]{6,16}\b"

#: Classes that take any word, the narrowest first.
_LETTERS: Final = ("[0-9a-z]", "[0-9A-Z]", "[0-9A-Za-z]")

_WORD: Final = re.compile(r"[0-9A-Za-z]+")
_UNIX_TIME: Final = re.compile(r"1[5-9][0-9]{8}(?:[0-9]{3}){0,3}")
#: What stands before an id and says what it is the id of: `TKT-`, `"id": "`, `ticket `.
_LABEL: Final = re.compile(r"[A-Za-z]{1,24}[^0-9A-Za-z\n]{1,4}\Z")
_LABEL_CHARACTERS: Final = 28
#: Of these lengths a hexadecimal text is a digest: the content has changed, and no id.
_DIGEST_LENGTHS: Final = frozenset({40, 56, 64, 96, 128})
#: Requests are looked through for so many values to be named at once.
_MOST_VALUES: Final = 16


class Minted(NamedTuple):
    """What two values differ in alone. `words`: what it is. `rules`: which name it, beside those declared already.

    `is_certain`: it can be nothing else than made anew in every run; an id may be another one for a reason.
    """

    words: str
    rules: tuple[str, ...]
    is_certain: bool


class _Found(NamedTuple):
    words: str
    rule: str


def find_minted(difference: Difference, declared: Sequence[str]) -> Minted | None:
    """What the two sides differ in alone, where that is minted in every run. `declared`: the recording's rules.

    None also where the declared rules name it: then it is not the values that differ, but their bindings.
    """
    path, recorded, incoming = difference
    if isinstance(recorded, str) and isinstance(incoming, str):
        found = _in_texts(path, recorded, incoming, declared)
    else:
        found = _in_numbers(path, recorded, incoming)
    if not found:
        return None
    words = list(dict.fromkeys(one.words for one in found))
    rules = tuple(dict.fromkeys(one.rule for one in found))
    return Minted(" and ".join(words), rules, _ID not in words)


def rules_for_all(
    requests: tuple[dict[str, Any], dict[str, Any]],
    difference: Difference,
    declared: Sequence[str],
    comparison: ComparisonRules,
) -> tuple[str, ...]:
    """The declared rules and those that name all minted values of two requests, from their first difference on.

    Empty where a rule does not take the first difference away: recorded under it, the next run would differ as well.
    """
    rules = tuple(declared)
    for _ in range(_MOST_VALUES):
        found = find_minted(difference, rules)
        if found is None:
            break
        try:
            bindings = Bindings(VolatileRules([*rules, *found.rules]))
        except RuleError:  # more rules than a recording may have
            break
        left = SymbolComparison(bindings, comparison).compare(*requests, 0).difference
        if left is not None and left.field_path == difference.field_path:
            break  # a place where no rule applies, such as a signature
        rules = (*rules, *found.rules)
        if left is None:
            break
        difference = left
    return rules if len(rules) > len(declared) else ()


# ---- numbers


def _in_numbers(path: str, recorded: JsonValue | Absent, incoming: JsonValue | Absent) -> list[_Found]:
    if not (_is_unix_time(recorded) and _is_unix_time(incoming) and type(recorded) is type(incoming)):
        return []
    return [_Found("a Unix time", _field_rule(path))]


def _is_unix_time(value: JsonValue | Absent) -> bool:
    return type(value) in (int, float) and _UNIX_TIME.fullmatch(repr(value).partition(".")[0]) is not None


def _field_rule(path: str) -> str:
    # Of any message: the conversation has more of the kind as it goes on.
    return "field:" + re.sub(r"^context\.messages\[\d+\]", "context.messages[*]", path)


# ---- texts


def _in_texts(path: str, recorded: str, incoming: str, declared: Sequence[str]) -> list[_Found]:
    names = [*declared, *(name for name in NAMED_PATTERNS if name not in declared)]
    try:
        volatile = VolatileRules(names)
    except RuleError:
        return []
    ours, theirs = volatile.tokens(recorded), volatile.tokens(incoming)
    if [token.rule for token in ours] != [token.rule for token in theirs]:
        return []
    found = [
        _Found(_WORDS[names[our.rule]], names[our.rule])
        for our, their in zip(ours, theirs, strict=True)
        if our.value != their.value and our.rule >= len(declared)
    ]
    ids = _ids(path, recorded, incoming, ours, theirs)
    if ids is None:
        return []
    found += ids
    rules = [*declared, *dict.fromkeys(one.rule for one in found)]
    whole = all(one.rule.startswith("field:") for one in found)
    return found if whole or _is_equal_under(rules, recorded, incoming) else []


def _is_equal_under(rules: Sequence[str], recorded: str, incoming: str) -> bool:
    try:
        volatile = VolatileRules(rules)
    except RuleError:
        return False
    return is_same_frame(volatile, recorded, volatile.tokens(recorded), incoming, volatile.tokens(incoming))


def _ids(
    path: str, recorded: str, incoming: str, ours: Sequence[Token], theirs: Sequence[Token]
) -> list[_Found] | None:
    """The words around the tokens that differ, each as an id; None where the texts differ in anything else."""
    found: list[_Found] = []
    start = other_start = 0
    ends = [(token.start, token.end) for token in ours], [(token.start, token.end) for token in theirs]
    for (end, next_start), (other_end, other_next) in zip(
        [*ends[0], (len(recorded), 0)], [*ends[1], (len(incoming), 0)], strict=True
    ):
        gap, other_gap = recorded[start:end], incoming[other_start:other_end]
        if _WORD.sub("\0", gap) != _WORD.sub("\0", other_gap):
            return None
        for word, other in zip(_WORD.finditer(gap), _WORD.finditer(other_gap), strict=True):
            if word[0] == other[0]:
                continue
            first, last = start + word.start(), start + word.end()
            one = _id(
                path, recorded[max(0, first - _LABEL_CHARACTERS) : first], word[0], other[0], recorded[last : last + 1]
            )
            if one is None:
                return None
            found.append(one)
        start, other_start = next_start, other_next
    return found


def _id(path: str, before: str, word: str, other: str, after: str) -> _Found | None:
    """A rule for two words that may be ids; None where nothing tells them from prose.

    `before`, `after`: what stands beside them, as far as it is looked at; empty at the text's own ends.
    """
    if all(re.fullmatch(r"0x[0-9a-f]{6,16}", side) for side in (word, other)):
        return _Found(_ADDRESS, _ADDRESS_RULE)
    own = _own_prefix(word, other)
    kind = _characters(word[len(own) :], other[len(own) :])
    if kind is None:
        return None
    if not (before or own or after) and ("options." in path[:8] or ".details" in path):
        return _Found(_ID, _field_rule(path))
    label = _LABEL.search(before)
    known = own or (label[0] if label is not None else "")
    if not known and (before or after):
        return None
    # Digits alone may be an amount, and letters a word: then the id's name stands directly before it, as in INV-104958.
    if kind == r"\d" and not (known and known[-1] in "-_#"):
        return None
    if kind in _LETTERS and not (own or (known and known[-1] in "-_#:=/\"'")):
        return None
    length = len(word) - len(own)
    start = _escaped(known) if known else "^"
    end = "" if after[:1] == "_" else r"\b"
    return _Found(_ID, f"regex:{start}({kind}{{{length}}}){end if known else '$'}")


def _own_prefix(word: str, other: str) -> str:
    """Letters that both words begin with and that no hexadecimal number has at its end: `TKT` of `TKT85f0`."""
    same = 0
    while same < min(len(word), len(other)) and word[same] == other[same] and word[same].isalpha():
        same += 1
    found = re.match(r"[A-Za-z]+[G-Zg-z]", word[:same])
    return found[0] if found is not None else ""


def _characters(one: str, other: str) -> str | None:
    """The class of the characters of two ids as long as each other; None where they may as well be words or counts."""
    if len(one) != len(other) or len(one) < 6:
        return None
    both = one + other
    if both.isdigit():
        return r"\d"
    if not any(map(str.isdigit, both)):
        return None
    for kind in ("[0-9a-f]", "[0-9A-F]"):
        if re.fullmatch(f"{kind}+", both):
            return None if len(one) in _DIGEST_LENGTHS else kind
    if len(one) < 8 or not all(any(map(str.isdigit, side)) and any(map(str.isalpha, side)) for side in (one, other)):
        return None
    return next(kind for kind in _LETTERS if re.fullmatch(f"{kind}+", both))


def _escaped(text: str) -> str:
    return re.sub(r"([\\.^$*+?{}\[\]|()])", r"\\\1", text)
