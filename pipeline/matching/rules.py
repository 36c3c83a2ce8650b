"""Volatile rules: which values of a request differ in every run, and where they stand in a text.

A rule is a text, as it stands in a recording's header: `uuid`, `uuid-hex`, `iso-time`, `unix-time`, `tmp-path`,
`regex:<pattern>` or `field:<path>`. Source: docs/comparison.md, Volatile values.
"""

import re
from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from openprogram.pipeline.matching.patterns import PatternError, compile_pattern

__all__ = ["MAX_RULES", "NAMED_PATTERNS", "RuleError", "Token", "VolatileRule", "VolatileRules"]

MAX_RULES: Final = 32
_MAX_FIELD_CHARACTERS: Final = 200

_COMPONENT: Final = r"/[^\s/\"'`<>|:;,()\[\]{}\\*?\x00-\x1f]{1,255}+"

#: Name → pattern. Ours, and so of the whole language; each takes a bounded time at every position.
NAMED_PATTERNS: Final[dict[str, str]] = {
    "uuid": r"(?<![0-9A-Za-z])[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}(?![0-9A-Za-z])",
    # Only what uuid.UUID.hex can be, by its version and variant: of eight digests of that length, seven are none.
    "uuid-hex": r"(?<![0-9A-Za-z])[0-9a-fA-F]{12}[1-8][0-9a-fA-F]{3}[89abAB][0-9a-fA-F]{15}(?![0-9A-Za-z])",
    "iso-time": (
        r"(?<![0-9])[0-9]{4}-[01][0-9]-[0-3][0-9][T ][0-2][0-9]:[0-5][0-9](?::[0-6][0-9](?:[.,][0-9]{1,9}+)?+)?+"
        r"(?:Z|[+-][0-2][0-9]:?[0-5][0-9])?+(?![0-9])"
    ),
    # Of the years 2017 to 2033; in seconds, or with three, six or nine digits more.
    "unix-time": r"(?<![0-9A-Za-z.,])1[5-9][0-9]{8}(?:[0-9]{3}){0,3}+(?:\.[0-9]{1,9}+)?+(?![0-9A-Za-z])",
    "tmp-path": (
        r"(?:(?<=://)|(?<![\w/.~-]))(?:/private)?(?:/var/folders/[^/\s]{1,64}+/[^/\s]{1,64}+/[A-Z]|/var/tmp|/tmp)"
        rf"(?P<below>(?:{_COMPONENT}){{1,64}}+)"
    ),
}

_FIELD: Final = re.compile(r"(?:model|context|options)(?:\.[^.\[\]\"]+|\[(?:\*|[0-9]+|\"(?:[^\"\\]|\\.)*\")\])+")


class RuleError(ValueError):
    """A rule that cannot be used. The text names the rule and says why."""


class Token(NamedTuple):
    """A volatile value in a text: where it stands, by which rule (its index), and itself."""

    start: int
    end: int
    rule: int
    value: str


@dataclass(frozen=True, slots=True)
class VolatileRule:
    """One rule. `text`: as in the header. `pattern`: what finds it in a text, or `field`: the paths it names."""

    text: str
    pattern: re.Pattern[str] | None
    field: re.Pattern[str] | None

    @property
    def is_path(self) -> bool:
        """Whether values are paths, which are bound folder by folder."""
        return self.text == "tmp-path"

    @property
    def ignores_case(self) -> bool:
        """Whether a value is the same in capitals."""
        return self.text in ("uuid", "uuid-hex")

    @property
    def may_fall_together(self) -> bool:
        """Whether two recorded values may be one in this run: times of a run that is over sooner."""
        return self.text in ("iso-time", "unix-time")

    def find(self, text: str) -> list[tuple[int, int]]:
        """Start and end of every value in `text`, in order."""
        if self.pattern is None:
            return []
        if self.is_path:
            return _find_paths(self.pattern, text)
        group = self.pattern.groups
        return [found.span(group) for found in self.pattern.finditer(text)]

    def folders(self, path: str) -> list[str]:
        """The folders and the file of a temporary path, the outermost first, each whole: `/tmp/a`, `/tmp/a/b`."""
        assert self.pattern is not None
        found = self.pattern.fullmatch(path)
        start = found.start("below") if found is not None else 0
        ends = [index for index in range(start + 1, len(path)) if path[index] == "/"]
        return [path[:end] for end in [*ends, len(path)]]

    def is_same_form(self, value: str, other: str) -> bool:
        """Whether two values may stand for each other: paths as deep, both in capitals or neither, the same unit."""
        if self.is_path:
            return len(self.folders(value)) == len(self.folders(other))
        if self.text == "unix-time":
            return len(value.partition(".")[0]) == len(other.partition(".")[0])
        ours, theirs = (value.isupper(), value.islower()), (other.isupper(), other.islower())
        return not self.ignores_case or ours == theirs or not any(ours) or not any(theirs)


def _find_paths(pattern: re.Pattern[str], text: str) -> list[tuple[int, int]]:
    spans = []
    for found in pattern.finditer(text):
        start, end = found.span()
        while text[end - 1] in ".!":  # the sentence's, not the path's
            end -= 1
        if text[end - 1] != "/" and end > found.start("below"):
            spans.append((start, end))
    return spans


class VolatileRules:
    """The rules of one recording. `texts`: as in the header. Raises RuleError."""

    def __init__(self, texts: Sequence[str]) -> None:
        if len(texts) > MAX_RULES:
            raise RuleError(f"{len(texts)} volatile rules, more than {MAX_RULES}")
        self.rules = tuple(_parse(text) for text in texts)
        self._patterns = [(index, rule) for index, rule in enumerate(self.rules) if rule.pattern is not None]
        self._fields = [(index, rule.field) for index, rule in enumerate(self.rules) if rule.field is not None]

    @property
    def has_fields(self) -> bool:
        """Whether any rule names field paths."""
        return bool(self._fields)

    def field_rule(self, path: str) -> int | None:
        """The index of the first rule that names this field path, or None."""
        for index, field in self._fields:
            if field.fullmatch(path):
                return index
        return None

    def tokens(self, text: str, without: int | None = None) -> list[Token]:
        """The volatile values in a text, in order, none within another. `without`: a rule that is left out.

        Of two that overlap the longer one stands; of two as long the earlier; of two in one place the earlier rule's.
        """
        found = [
            Token(start, end, index, text[start:end])
            for index, rule in self._patterns
            if index != without
            for start, end in rule.find(text)
        ]
        if len(found) < 2:
            return found
        chosen: list[Token] = []
        for token in sorted(found, key=lambda token: (token.start - token.end, token.start, token.rule)):
            at = bisect(chosen, token)
            is_free_before = at == 0 or chosen[at - 1].end <= token.start
            if is_free_before and (at == len(chosen) or token.end <= chosen[at].start):
                chosen.insert(at, token)
        return chosen


def _parse(text: str) -> VolatileRule:
    kind, colon, rest = text.partition(":")
    if text in NAMED_PATTERNS:
        return VolatileRule(text, re.compile(NAMED_PATTERNS[text]), None)
    if colon and kind == "regex":
        try:
            return VolatileRule(text, compile_pattern(rest), None)
        except (PatternError, re.error) as error:
            raise RuleError(f"the volatile rule {text[:_MAX_FIELD_CHARACTERS]!r} can't be used: {error}") from None
    if colon and kind == "field":
        return VolatileRule(text, None, _field_pattern(text, rest))
    known = ", ".join([*NAMED_PATTERNS, "regex:<pattern>", "field:<path>"])
    raise RuleError(f"unknown volatile rule {text[:_MAX_FIELD_CHARACTERS]!r}; this release knows {known}")


def _field_pattern(text: str, path: str) -> re.Pattern[str]:
    if len(path) > _MAX_FIELD_CHARACTERS or _FIELD.fullmatch(path) is None:
        raise RuleError(
            f"the volatile rule {text[:_MAX_FIELD_CHARACTERS]!r} can't be used: a field path begins with model, "
            "context or options, such as options.metadata.run_id or context.messages[*].details.id"
        )
    return re.compile(re.escape(path).replace(r"\[\*\]", r"\[[0-9]+\]"))
