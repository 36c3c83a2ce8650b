"""The table of rules: each finds its own example, and has a name and a source."""

import json
from hashlib import sha256

import pytest

from openprogram.pipeline.redaction import REDACTION_VERSION, SECRET_PLACEHOLDER, names
from openprogram.pipeline.redaction.reader import NeedMore, Reader, Stop
from openprogram.pipeline.redaction.rules import Rule
from openprogram.pipeline.redaction.scanner import scan_text
from openprogram.pipeline.redaction.search import find_trigger, search_of
from openprogram.pipeline.redaction.table import RULES

_WITH_EXAMPLE = [rule for rule in RULES if rule.name != "placeholder"]


def first_rule(text: str) -> Rule | None:
    """The rule that removes the first secret of `text`."""
    reader, position = Reader(text, closed=True), 0
    while (found := find_trigger(search_of(text), text, position)) is not None:
        try:
            if found.rule.match(reader, found.start, found.end) is not None:
                return found.rule
        except (NeedMore, Stop):
            pass
        position = found.anchor + 1
    return None


@pytest.mark.parametrize("rule", _WITH_EXAMPLE, ids=lambda rule: rule.name)
def test_the_example_of_a_rule_is_redacted_by_that_rule(rule: Rule) -> None:
    clean, count = scan_text(rule.example)
    assert count == 1
    assert SECRET_PLACEHOLDER in clean
    assert first_rule(rule.example) is rule


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_says_where_its_format_is_documented(rule: Rule) -> None:
    assert rule.source == "own" or rule.source.startswith("https://")
    assert rule.triggers


def test_names_of_rules_are_unique() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_every_trigger_of_a_rule_is_found_in_text(rule: Rule) -> None:
    for trigger in rule.triggers:
        for text in {trigger.literal, trigger.literal.upper() if trigger.folded else trigger.literal}:
            found = find_trigger(search_of(text), text, trigger.anchor)
            assert found is not None
            assert (found.start, found.end) == (0, len(text)), text


def test_a_change_of_what_is_removed_is_a_new_version_of_redaction() -> None:
    """Otherwise a recording that holds what older rules left in it is taken for one of today's, and doesn't match."""
    rules = [(rule.name, rule.example, [trigger.literal for trigger in rule.triggers]) for rule in RULES]
    said = {name: sorted(value) for name, value in vars(names).items() if isinstance(value, frozenset | tuple)}
    digest = sha256(json.dumps([rules, said]).encode()).hexdigest()[:16]
    assert (REDACTION_VERSION, digest) == (3, "073c14f5ad602ea1"), (
        "If more or less is removed than before, raise REDACTION_VERSION. Then write version and digest here."
    )
