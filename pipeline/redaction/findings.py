"""What redaction would remove from a value, and by which rule: where it stands, never what it is.

The rules are those of `redact()` itself: a value is redacted, and what came out is held against what went in. So
nothing is found that would not be removed, and nothing is removed that isn't found.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from pydantic import JsonValue

from openprogram.pipeline.json_value import join_path
from openprogram.pipeline.redaction.names import Secrecy, name_secrecy
from openprogram.pipeline.redaction.reader import Reader
from openprogram.pipeline.redaction.scanner import Piece, Scanner
from openprogram.pipeline.redaction.search import Search
from openprogram.pipeline.redaction.spans import Match, Span
from openprogram.pipeline.redaction.walk import redact

__all__ = ["Finding", "changed_places", "find_secrets", "text_rules"]

#: Said of a value that no rule removes by itself: a name elsewhere, or the list it stands in, says what it is.
_NAMED_ELSEWHERE: Final = "named beside it"


class Finding(NamedTuple):
    """`field_path`: where, without secrets too; `rule`: a text rule's name, or `field <name>`; `places`: how many."""

    field_path: str
    rule: str
    places: int


def find_secrets(value: JsonValue) -> list[Finding]:
    """What `remove_secret_values(value)` would remove, in the order in which it stands there."""
    clean = redact(value)
    return list(changed_places(value, clean.value)) if clean.count else []


def changed_places(before: JsonValue, after: JsonValue, path: str = "", key: str = "") -> Iterator[Finding]:
    """Where a redacted value is another than before. `key`: what it stands under."""
    if before is after:
        return
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _members(before, after, path)
    elif isinstance(before, list) and isinstance(after, list):
        for index, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from changed_places(old, new, join_path(path, index), key)
    elif before != after:
        yield from _leaf(before, path, key)


def _members(before: dict[str, JsonValue], after: dict[str, JsonValue], path: str) -> Iterator[Finding]:
    for (old_key, old), (new_key, new) in zip(before.items(), after.items(), strict=False):
        here = join_path(path, new_key)
        if old_key != new_key:
            rules = text_rules(old_key)
            yield Finding(here, f"in the key: {', '.join(dict.fromkeys(rules))}", max(len(rules), 1))
        yield from changed_places(old, new, here, new_key)
    if len(before) != len(after):
        yield Finding(path, "in the keys", len(before) - len(after))


def _leaf(before: JsonValue, path: str, key: str) -> Iterator[Finding]:
    if name_secrecy(key) > Secrecy.PERHAPS:
        yield Finding(path, f"field {key}", 1)
        return
    rules = text_rules(before) if isinstance(before, str) else []
    for rule in dict.fromkeys(rules):
        yield Finding(path, rule, rules.count(rule))
    if not rules:
        yield Finding(path, f"field {key}" if name_secrecy(key) else _NAMED_ELSEWHERE, 1)


def text_rules(text: str) -> list[str]:
    """The rule of each secret that the scan of a text removes, in their order."""
    scanner = _NamingScanner()
    scanner.scan(text)
    return scanner.names


class _NamingScanner(Scanner):
    """Knows which rule each span is of. Only for text in which something was found: the scan itself asks nobody."""

    def __init__(self) -> None:
        super().__init__()
        self._answers = None  # each rule is asked itself
        self.names: list[str] = []
        self._found: dict[int, str] = {}  # start of a span → the rule that gave it

    def _use(self, search: Search) -> None:
        super()._use(search)
        self._rows = [search.rows[0], *((t.anchor, self._named(rule.match, rule.name)) for t, rule in search.groups)]

    def _named(self, match: Match, name: str) -> Match:
        def named(reader: Reader, start: int, end: int) -> Span | None:
            span = match(reader, start, end)
            if span is not None and span.start not in self._found:
                self._found[span.start] = name
            return span

        return named

    def _begin(self, span: Span, pieces: list[Piece]) -> None:
        before = self.count
        super()._begin(span, pieces)
        if self.count > before:
            self.names.append(self._found[span.start])
