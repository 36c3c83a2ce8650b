"""What redaction would remove, named by path and rule and never by value."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openprogram.pipeline.redaction import redact, remove_secret_values
from openprogram.pipeline.redaction.findings import find_secrets, text_rules
from openprogram.pipeline.redaction.rules import Rule
from openprogram.pipeline.redaction.table import RULES
from tests.pipeline.redaction.corpus_scoring import load_corpus
from tests.pipeline.redaction.texts import JSON_OBJECTS, TEXTS

_TOKEN = "ghp_" + "Zx4Qm81LwT7vBn2KdP9s"


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.name != "placeholder"], ids=lambda rule: rule.name)
def test_each_rule_is_named_for_its_own_example(rule: Rule) -> None:
    assert text_rules(rule.example) == [rule.name]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"options": {"api_key": None}}, ("options.api_key", "field api_key", 1)),
        ({"headers": {"X-Any": f"is {_TOKEN} and {_TOKEN}"}}, ("headers.X-Any", "github-token", 2)),
        ({"a": [{"b": ["fine", f"see {_TOKEN}"]}]}, ("a[0].b[1]", "github-token", 1)),
        ({"name": "Authorization", "value": "Zx4Qm81LwT7v"}, ("value", "named beside it", 1)),
        ({"argv": ["--token", "Zx4Qm81LwT7v"]}, ("argv[1]", "named beside it", 1)),
        ({"db_password": ["Zx4Qm81LwT7v"]}, ("db_password[0]", "field db_password", 1)),
        ({_TOKEN: 1}, ('["[secret removed]"]', "in the key: github-token", 1)),
        (f"see {_TOKEN}", ("", "github-token", 1)),
    ],
)
def test_a_secret_is_named_by_its_path_and_its_rule(value: Any, expected: Any) -> None:
    (found,) = find_secrets(value)
    assert found == expected


def test_as_many_places_are_found_as_redaction_counts_in_the_corpus() -> None:
    for case in load_corpus():
        assert sum(found.places for found in find_secrets(case["value"])) == redact(case["value"]).count, case["id"]


@settings(max_examples=200, deadline=None)
@given(st.one_of(JSON_OBJECTS, st.dictionaries(TEXTS, TEXTS, max_size=3), st.lists(TEXTS, max_size=3), TEXTS))
def test_something_is_found_exactly_where_redaction_changes_something(value: Any) -> None:
    clean = remove_secret_values(value)
    assert bool(find_secrets(value)) == (json.dumps(clean) != json.dumps(value))
    assert find_secrets(clean) == []


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.sampled_from(["password", "text", "name", "value", _TOKEN]), TEXTS, max_size=4))
def test_no_secret_is_in_what_is_said_of_it(value: Any) -> None:
    said = json.dumps(find_secrets(value))
    assert "Zx4Qm81LwT7vBn2KdP9s" not in said
    assert remove_secret_values(said) == said
