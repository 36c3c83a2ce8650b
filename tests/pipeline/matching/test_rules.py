"""Which values of a text are volatile: golden cases, and what holds for every text."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openprogram.pipeline.matching.policy import EXACT, MatchingPolicy, PolicyError, choose_policy
from openprogram.pipeline.matching.rules import MAX_RULES, NAMED_PATTERNS, RuleError, VolatileRules

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "token_cases.json").read_text("utf-8"))


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_golden_values(case: dict[str, Any]) -> None:
    rules = VolatileRules(case["rules"])
    found = [[case["rules"][token.rule], token.value] for token in rules.tokens(case["text"])]
    assert found == case["values"]


_PIECES = st.sampled_from(
    [
        "3f2b8c1e-9a4d-4f6b-8e2a-1c5d7e9f0a2b",
        "2026-01-02T03:04:05Z",
        "3f2b8c1e9a4d4f6b8e2a1c5d7e9f0a2b",
        "1735787045.25",
        "/tmp/run-1/a.txt",
        "order-12",
        " ",
        "-",
        "/",
        "x",
        "7",
        ".",
    ]
)
_RULES = [*NAMED_PATTERNS, r"regex:order-(\d+)", r"regex:run-[^/]+", r"regex:\d+"]


@given(pieces=st.lists(_PIECES, max_size=12), chosen=st.permutations(_RULES))
def test_values_stand_in_order_apart_and_as_they_are_in_the_text(pieces: list[str], chosen: list[str]) -> None:
    text = "".join(pieces)
    tokens = VolatileRules(chosen).tokens(text)
    assert [text[token.start : token.end] for token in tokens] == [token.value for token in tokens]
    assert all(left.end <= right.start for left, right in pairwise(tokens))
    assert all(token.value for token in tokens)


@given(pieces=st.lists(_PIECES, max_size=12), chosen=st.permutations(_RULES))
def test_what_is_chosen_does_not_depend_on_the_order_of_rules_where_lengths_differ(
    pieces: list[str], chosen: list[str]
) -> None:
    text = "".join(pieces)
    spans = {(token.start, token.end) for token in VolatileRules(chosen).tokens(text)}
    assert spans == {(token.start, token.end) for token in VolatileRules(_RULES).tokens(text)}


@pytest.mark.parametrize(
    ("rule", "path", "names_it"),
    [
        ("field:options.session_id", "options.session_id", True),
        ("field:options.session_id", "options.session_id2", False),
        ("field:options.session_id", "options", False),
        ("field:context.messages[*].details.id", "context.messages[12].details.id", True),
        ("field:context.messages[*].details.id", "context.messages[x].details.id", False),
        ("field:context.messages[3].details", "context.messages[3].details", True),
        ('field:options.metadata["a.b"]', 'options.metadata["a.b"]', True),
    ],
)
def test_a_field_rule_names_paths(rule: str, path: str, names_it: bool) -> None:
    assert (VolatileRules([rule]).field_rule(path) == 0) is names_it


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        (
            "uid",
            "unknown volatile rule 'uid'; this release knows uuid, uuid-hex, iso-time, unix-time, tmp-path, regex",
        ),
        ("", "unknown volatile rule ''"),
        ("UUID", "unknown volatile rule"),
        ("regex:(a+)+", r"the volatile rule 'regex:\(a\+\)\+' can't be used: a group can't be repeated"),
        ("regex:", "its value may be empty"),
        ("field:messages[0]", "a field path begins with model, context or options"),
        ("field:options", "a field path begins with"),
        ("field:options.a.", "a field path begins with"),
        ("field:options." + "a" * 300, "a field path begins with"),
    ],
)
def test_a_rule_that_cannot_be_used_is_refused_by_name(rule: str, reason: str) -> None:
    with pytest.raises(RuleError, match=reason):
        VolatileRules([rule])
    with pytest.raises(PolicyError, match=reason):
        MatchingPolicy("order", (rule,))


def test_there_is_a_limit_to_the_number_of_rules() -> None:
    with pytest.raises(RuleError, match="33 volatile rules, more than 32"):
        VolatileRules(["uuid"] * (MAX_RULES + 1))


# ---- the policy


def test_a_policy_is_what_its_header_fields_say() -> None:
    for policy in (EXACT, MatchingPolicy("content"), MatchingPolicy("order", ("uuid", r"regex:a-(\d+)"))):
        assert MatchingPolicy.from_header({"type": "header", **policy.header_fields()}) == policy
    assert EXACT.header_fields() == {}
    assert MatchingPolicy.from_header({"match": "order", "volatile": []}).is_exact


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ({"match": "fuzzy"}, "unknown match 'fuzzy'; this release knows order, content"),
        ({"match": ["content"]}, r"match is \['content'\], not a word"),
        ({"match": None}, "match is None, not a word"),
        ({"volatile": "uuid"}, "volatile is 'uuid', not a list of rules"),
        ({"volatile": [1]}, r"volatile is \[1\], not a list of rules"),
        ({"volatile": ["near"]}, "unknown volatile rule 'near'"),
    ],
)
def test_a_policy_that_is_not_known_is_refused_by_name(header: dict[str, Any], reason: str) -> None:
    with pytest.raises(PolicyError, match=reason):
        MatchingPolicy.from_header(header)


def test_each_side_of_a_policy_is_given_or_that_of_the_other() -> None:
    other = MatchingPolicy("content", ("uuid",))
    assert choose_policy(None, None, other) == other
    assert choose_policy("order", None, other) == MatchingPolicy("order", ("uuid",))
    assert choose_policy(None, [], other) == MatchingPolicy("content")
