"""How the calls of a recording are matched: its header says so, and replay obeys.

    {"type":"header","format_version":1,…,"match":"content","volatile":["uuid","regex:order-(\\\\d+)"]}

Without these fields calls are answered in order and every value is compared. Source: docs/format/v1.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, get_args

from openprogram.pipeline.json_value import JsonValue, show_value
from openprogram.pipeline.matching.rules import RuleError, VolatileRules

__all__ = ["EXACT", "MATCH_WORDS", "POLICY_FIELD_NAMES", "MatchWord", "MatchingPolicy", "PolicyError", "choose_policy"]

#: Which recorded call answers a request. `order`: the next one. `content`: the first unused one with that request.
MatchWord: TypeAlias = Literal["order", "content"]
MATCH_WORDS: Final[tuple[MatchWord, ...]] = get_args(MatchWord)

#: The header's fields that decide how requests are matched. Readers must not ignore them.
POLICY_FIELD_NAMES: Final = ("match", "volatile")


class PolicyError(ValueError):
    """A policy that this release can't follow. The text names it."""


@dataclass(frozen=True, slots=True)
class MatchingPolicy:
    """`match`: which recorded call answers. `volatile`: kinds of value that differ in every run, in order.

    Raises PolicyError: a word or rule that isn't known, or a rule that can't be used.
    """

    match: MatchWord = "order"
    volatile: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.match not in MATCH_WORDS:
            raise PolicyError(f"unknown match {show_value(self.match)}; this release knows {', '.join(MATCH_WORDS)}")
        self.rules()

    def rules(self) -> VolatileRules:
        """The volatile rules, compiled."""
        try:
            return VolatileRules(self.volatile)
        except RuleError as error:
            raise PolicyError(str(error)) from None

    @property
    def is_exact(self) -> bool:
        """Whether calls are answered in order and every value is compared."""
        return self == EXACT

    def header_fields(self) -> dict[str, JsonValue]:
        """What a header says of it: nothing where it is the usual one."""
        fields: dict[str, JsonValue] = {}
        if self.match != "order":
            fields["match"] = self.match
        if self.volatile:
            fields["volatile"] = list(self.volatile)
        return fields

    def __str__(self) -> str:
        rules = ", ".join(self.volatile) or "nothing"
        return f"match {self.match}, volatile {rules}"

    @classmethod
    def from_header(cls, header: Mapping[str, Any]) -> "MatchingPolicy":
        """The policy that a header declares. Raises PolicyError: one that this release doesn't know."""
        match, volatile = header.get("match", "order"), header.get("volatile", [])
        if not isinstance(match, str):
            raise PolicyError(f"match is {show_value(match)}, not a word")
        if not isinstance(volatile, list) or not all(isinstance(rule, str) for rule in volatile):
            raise PolicyError(f"volatile is {show_value(volatile)}, not a list of rules")
        return cls(match, tuple(volatile))  # type: ignore[arg-type]  # checked by the class


EXACT: Final = MatchingPolicy()


def choose_policy(match: str | None, volatile: Sequence[str] | None, otherwise: MatchingPolicy) -> MatchingPolicy:
    """The policy of which each side is given or is that of `otherwise`. Raises PolicyError."""
    rules = otherwise.volatile if volatile is None else tuple(volatile)
    return MatchingPolicy(otherwise.match if match is None else match, rules)  # type: ignore[arg-type]
