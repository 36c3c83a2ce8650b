"""Expressions for words in any case. The flag for that would make the engine look at every word of a list in turn."""

import re
from collections.abc import Iterable
from typing import Final

__all__ = ["any_of"]

#: Letters that are another one in lower or upper case, as `re.IGNORECASE` has it.
_TWINS: Final = {"s": "ſ", "k": "\u212a", "i": "İı"}


def any_of(words: Iterable[str]) -> str:
    """One of `words`, ASCII in small letters, in any case: it matches what `(?i:…)` does, told by the first letter."""
    rests: dict[str, list[str]] = {}
    for word in sorted(words, reverse=True):
        for initial in _forms(word[0]):
            rests.setdefault(initial, []).append("".join(map(_letter, word[1:])))
    return f"(?:{'|'.join([re.escape(initial) + _either(tails) for initial, tails in rests.items()])})"


def _either(tails: list[str]) -> str:
    return tails[0] if len(tails) == 1 else f"(?:{'|'.join(tails)})"


def _forms(character: str) -> list[str]:
    return sorted({character, character.upper(), *_TWINS.get(character, "")})


def _letter(character: str) -> str:
    return f"[{''.join(_forms(character))}]" if character.isalpha() else re.escape(character)
