"""Frozen values: JSON that looks like any other and can't be changed."""

import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openprogram.world import freeze, thaw

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)

CHANGES: list[Callable[[Any], Any]] = [
    lambda value: value["d"].__setitem__("a", 2),
    lambda value: value["d"].__delitem__("a"),
    lambda value: value["d"].update(a=2),
    lambda value: value["d"].pop("a"),
    lambda value: value["d"].popitem(),
    lambda value: value["d"].setdefault("b", 2),
    lambda value: value["d"].clear(),
    lambda value: value["d"].__ior__({"b": 1}),
    lambda value: value["l"].__setitem__(0, 2),
    lambda value: value["l"].__delitem__(0),
    lambda value: value["l"].append(2),
    lambda value: value["l"].extend([2]),
    lambda value: value["l"].insert(0, 2),
    lambda value: value["l"].pop(),
    lambda value: value["l"].remove(1),
    lambda value: value["l"].reverse(),
    lambda value: value["l"].sort(),
    lambda value: value["l"].clear(),
    lambda value: value["l"].__iadd__([2]),
    lambda value: value["l"].__imul__(2),
]


@pytest.mark.parametrize("position", range(len(CHANGES)))
def test_no_method_changes_it_at_any_depth(position: int) -> None:
    value = freeze({"d": {"a": 1}, "l": [1]})
    with pytest.raises(TypeError, match="thaw"):
        CHANGES[position](value)
    assert value == {"d": {"a": 1}, "l": [1]}


@given(JSON)
def test_it_is_equal_to_what_was_frozen_and_serialises_the_same(value: Any) -> None:
    frozen = freeze(value)
    assert frozen == value
    assert json.dumps(frozen) == json.dumps(value)
    assert thaw(frozen) == value


@given(JSON)
def test_copies_and_pickles_are_as_frozen_as_it_is(value: Any) -> None:
    frozen = freeze(value)
    for other in (copy.copy(frozen), copy.deepcopy(frozen), pickle.loads(pickle.dumps(frozen))):
        assert other == frozen
        assert type(other) is type(frozen)


def test_what_was_frozen_stays_apart_from_its_original() -> None:
    original = {"a": [1]}
    frozen = freeze(original)
    original["a"].append(2)
    assert frozen == {"a": [1]}


def test_a_thawed_value_is_plain_at_every_depth() -> None:
    thawed = thaw(freeze({"a": [{"b": 1}]}))
    thawed["a"][0]["b"] = 2
    thawed["a"].append(3)
    assert thawed == {"a": [{"b": 2}, 3]}
