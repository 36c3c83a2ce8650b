"""The first place where two JSON values differ: which, how it is named, and what is no difference."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openprogram.pipeline.json_value import ABSENT, join_path
from openprogram.pipeline.stages.compare import (
    FREE_FORM_FIELD_NAMES,
    NON_DETERMINISTIC_FIELD_NAMES,
    ComparisonRules,
    Difference,
    find_first_difference,
)


@pytest.mark.parametrize(
    ("recorded", "incoming"),
    [
        (1, 1.0),
        (1, True),
        (0, False),
        (1.0, True),
        ("1", 1),
        ("", None),
        ({}, []),
        ([], None),
        ({}, None),
        ("a", "a "),
        ("é", "e\u0301"),
        (0, None),
    ],
)
def test_values_of_different_kinds_differ_at_the_root(recorded: Any, incoming: Any) -> None:
    assert find_first_difference(recorded, incoming) == Difference("", recorded, incoming)
    assert find_first_difference(incoming, recorded) == Difference("", incoming, recorded)


def test_a_difference_is_named_by_its_path() -> None:
    recorded: Any = {"context": {"messages": [{}, {}, {"content": [{"text": "echo:hi"}]}]}}
    incoming = copy.deepcopy(recorded)
    incoming["context"]["messages"][2]["content"] = [{"text": "echo:bye"}]
    assert find_first_difference(recorded, incoming) == (
        "context.messages[2].content[0].text",
        "echo:hi",
        "echo:bye",
    )


def test_keys_are_walked_in_sorted_order_and_lists_by_index() -> None:
    assert find_first_difference({"b": 1, "a": [1, 2]}, {"b": 2, "a": [1, 3]}) == ("a[1]", 2, 3)


@pytest.mark.parametrize(
    ("recorded", "incoming", "difference"),
    [
        ([1, 2], [1], ("[1]", 2, ABSENT)),
        ([1], [1, 2], ("[1]", ABSENT, 2)),
        ([], [None], ("[0]", ABSENT, None)),
        ([1, 2, 3], [0], ("[0]", 1, 0)),
    ],
)
def test_a_longer_list_differs_at_the_first_item_that_the_other_lacks(
    recorded: Any, incoming: Any, difference: Any
) -> None:
    assert find_first_difference(recorded, incoming) == difference


@pytest.mark.parametrize(
    ("key", "path"),
    [
        ("plain", "plain"),
        ("with space", "with space"),
        ("x.y", '["x.y"]'),
        ("a[0]", '["a[0]"]'),
        ("", '[""]'),
        ('say "hi"', r'["say \"hi\""]'),
        ("line\nbreak", r'["line\nbreak"]'),
        ("\ud800", r'["\ud800"]'),
        ("ключ", "ключ"),
    ],
)
def test_a_key_that_could_be_read_as_a_path_is_quoted(key: str, path: str) -> None:
    assert find_first_difference({key: 1}, {key: 2}) == (path, 1, 2)
    found = find_first_difference({"above": {key: 1}}, {"above": {key: 2}})
    assert found is not None
    assert found.field_path == (f"above{path}" if path.startswith("[") else f"above.{path}")


@pytest.mark.parametrize(("recorded", "incoming"), [({"key": None}, {}), ({}, {"key": None})])
def test_null_and_absent_are_the_same_in_our_own_types(recorded: Any, incoming: Any) -> None:
    assert find_first_difference(recorded, incoming) is None
    assert find_first_difference({"context": [recorded]}, {"context": [incoming]}) is None


@pytest.mark.parametrize("name", sorted(FREE_FORM_FIELD_NAMES))
def test_null_and_absent_differ_below_a_free_form_key(name: str) -> None:
    assert find_first_difference({name: {"key": None}}, {name: {}}) == (f"{name}.key", None, ABSENT)
    assert find_first_difference({name: {}}, {name: {"key": None}}) == (f"{name}.key", ABSENT, None)


@pytest.mark.parametrize("name", sorted(FREE_FORM_FIELD_NAMES))
def test_a_free_form_key_itself_may_be_null_or_absent(name: str) -> None:
    assert find_first_difference({name: None}, {}) is None
    assert find_first_difference({name: {}}, {}) == (name, {}, ABSENT)


def test_a_key_with_a_value_differs_from_an_absent_one() -> None:
    assert find_first_difference({"a": 0}, {}) == ("a", 0, ABSENT)
    assert find_first_difference({}, {"a": False}) == ("a", ABSENT, False)


def test_a_timestamp_is_not_compared() -> None:
    assert find_first_difference({"messages": [{"timestamp": 1}]}, {"messages": [{"timestamp": 2}]}) is None
    assert find_first_difference({"timestamp": 1}, {}) is None


@pytest.mark.parametrize("name", ["arguments", "details", "parameters", "metadata", "response_format", "headers"])
def test_a_timestamp_is_compared_below_a_free_form_key(name: str) -> None:
    recorded: Any = {name: [{"timestamp": 1}]}
    incoming: Any = {name: [{"timestamp": 2}]}
    assert find_first_difference(recorded, incoming) == (f"{name}[0].timestamp", 1, 2)
    assert find_first_difference({name: {"timestamp": 1}}, {name: {}}) == (f"{name}.timestamp", 1, ABSENT)


def test_everything_is_compared_however_far_below_a_free_form_key() -> None:
    def nested(value: Any) -> Any:
        return {"arguments": {"steps": [{"when": {"timestamp": value}}]}}

    assert find_first_difference(nested(1), nested(2)) == ("arguments.steps[0].when.timestamp", 1, 2)
    recorded: Any = {"details": {"a": [{"b": {"c": None}}]}}
    incoming: Any = {"details": {"a": [{"b": {}}]}}
    assert find_first_difference(recorded, incoming) == ("details.a[0].b.c", None, ABSENT)


def test_a_free_form_key_below_an_ignored_one_is_not_reached() -> None:
    assert find_first_difference({"timestamp": {"arguments": 1}}, {"timestamp": {"arguments": 2}}) is None


def test_an_ignored_path_is_that_path_alone() -> None:
    rules = ComparisonRules(ignored_paths={"model.name": "shown to people"})
    assert find_first_difference({"model": {"name": "A"}}, {"model": {"name": "B"}}, rules) is None
    assert find_first_difference({"model": {"name": "A"}}, {"model": {}}, rules) is None
    assert find_first_difference({"name": "A"}, {"name": "B"}, rules) == ("name", "A", "B")
    assert find_first_difference({"model.name": 1}, {"model.name": 2}, rules) == ('["model.name"]', 1, 2)


def test_the_promised_names_hold_what_the_documentation_says() -> None:
    assert frozenset({"timestamp"}) == NON_DETERMINISTIC_FIELD_NAMES
    assert {"arguments", "parameters", "details", "metadata", "response_format"} <= FREE_FORM_FIELD_NAMES


# ---- properties

KEYS = st.one_of(
    st.sampled_from(["a", "b", "", "x.y", "[0]", "timestamp", "arguments", "details", "text", "\ud800"]), st.text()
)
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=4))
)


def _canonical(value: Any, *, free_form: bool = False) -> Any:
    """What is left of a value once all that is no difference is gone: an independent account of the rules."""
    if isinstance(value, dict):
        return {
            key: _canonical(item, free_form=free_form or key in FREE_FORM_FIELD_NAMES)
            for key, item in value.items()
            if free_form or (item is not None and key not in NON_DETERMINISTIC_FIELD_NAMES)
        }
    if isinstance(value, list):
        return [_canonical(item, free_form=free_form) for item in value]
    return (type(value).__name__, value)


@given(VALUES)
def test_a_value_does_not_differ_from_its_copy(value: Any) -> None:
    assert find_first_difference(value, copy.deepcopy(value)) is None
    assert find_first_difference(value, json.loads(json.dumps(value))) is None


@given(VALUES)
def test_the_order_of_keys_is_no_difference(value: Any) -> None:
    def reversed_keys(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: reversed_keys(value[key]) for key in reversed(list(value))}
        return [reversed_keys(item) for item in value] if isinstance(value, list) else value

    assert find_first_difference(value, reversed_keys(value)) is None


@given(VALUES, VALUES)
def test_two_values_differ_where_their_canonical_forms_do(recorded: Any, incoming: Any) -> None:
    assert (find_first_difference(recorded, incoming) is None) == (_canonical(recorded) == _canonical(incoming))


@given(VALUES, VALUES)
def test_the_difference_is_the_same_from_both_sides(recorded: Any, incoming: Any) -> None:
    there, back = find_first_difference(recorded, incoming), find_first_difference(incoming, recorded)
    if there is None:
        assert back is None
    else:
        assert back == Difference(there.field_path, there.incoming, there.recorded)


Steps = tuple[str | int, ...]


def _compared_leaves(value: Any, steps: Steps = (), *, free_form: bool = False) -> list[Steps]:
    """Where the scalars are that a change of must be found."""
    if isinstance(value, dict):
        return [
            leaf
            for key, item in value.items()
            if free_form or key not in NON_DETERMINISTIC_FIELD_NAMES
            for leaf in _compared_leaves(item, (*steps, key), free_form=free_form or key in FREE_FORM_FIELD_NAMES)
        ]
    if isinstance(value, list):
        return [
            leaf
            for index, item in enumerate(value)
            for leaf in _compared_leaves(item, (*steps, index), free_form=free_form)
        ]
    return [steps]


def _replaced(value: Any, steps: Steps, new: Any) -> Any:
    if not steps:
        return new
    changed = copy.copy(value)
    changed[steps[0]] = _replaced(value[steps[0]], steps[1:], new)
    return changed


@given(VALUES, SCALARS, st.data())
def test_a_single_change_is_found_where_it_was_made(value: Any, new: Any, data: st.DataObject) -> None:
    leaves = _compared_leaves(value)
    if not leaves:
        return
    steps = data.draw(st.sampled_from(leaves))
    old = value
    for step in steps:
        old = old[step]
    if type(old) is type(new) and old == new:
        return
    path = ""
    for step in steps:
        path = join_path(path, step)
    assert find_first_difference(value, _replaced(value, steps, new)) == Difference(path, old, new)
