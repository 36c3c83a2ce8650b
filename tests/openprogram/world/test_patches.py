"""The difference of two values as JSON Patch, and its application."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openprogram.pipeline.canonical import canonical
from openprogram.world import WorldError, freeze
from openprogram.world.patches import ABSENT, apply_patch, patch_between

LEAVES = (
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([0.0, 1.0, 2.5]) | st.sampled_from(["", "a", "~/"])
)
JSON = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["a", "b", "~", "/", "", "a/b"]), inner)
    ),
    max_leaves=12,
)


def exactly(value: Any) -> str:
    """JSON tells 1, 1.0 and true apart, and so must the comparison of results."""
    return repr(value)


@given(JSON, JSON)
def test_the_patch_between_two_values_turns_one_into_the_other(before: Any, after: Any) -> None:
    patch = patch_between(freeze(before), freeze(after))
    applied = apply_patch("kind/id", freeze(before), patch)
    assert exactly(_sorted(applied)) == exactly(_sorted(after))


@given(JSON)
def test_equal_values_need_no_patch(value: Any) -> None:
    assert patch_between(freeze(value), freeze(value)) == []


def test_one_one_point_zero_and_true_differ() -> None:
    for before, after in [(1, 1.0), (1, True), (0, False), (1.0, True)]:
        assert patch_between({"a": before}, {"a": after}) == [{"op": "replace", "path": "/a", "value": after}]


def test_only_what_changed_is_in_the_patch_in_sorted_order() -> None:
    before = {"b": 1, "a": {"x": [1, 2, 3]}, "c": 1}
    after = {"a": {"x": [1, 5]}, "c": 1, "d": 2}
    assert patch_between(before, after) == [
        {"op": "replace", "path": "/a/x/1", "value": 5},
        {"op": "remove", "path": "/a/x/2"},
        {"op": "remove", "path": "/b"},
        {"op": "add", "path": "/d", "value": 2},
    ]


def test_a_resource_comes_and_goes_by_patches_of_its_root() -> None:
    assert patch_between(ABSENT, {"a": 1}) == [{"op": "add", "path": "", "value": {"a": 1}}]
    assert patch_between({"a": 1}, ABSENT) == [{"op": "remove", "path": ""}]
    assert apply_patch("k/i", ABSENT, patch_between(ABSENT, {"a": 1})) == {"a": 1}
    assert apply_patch("k/i", {"a": 1}, patch_between({"a": 1}, ABSENT)) is ABSENT


@pytest.mark.parametrize(
    ("before", "patch"),
    [
        ({"a": 1}, [{"op": "replace", "path": "/b", "value": 1}]),
        ({"a": 1}, [{"op": "remove", "path": "/b"}]),
        ({"a": 1}, [{"op": "test", "path": "/a", "value": 2}]),
        ({"a": [1]}, [{"op": "add", "path": "/a/5", "value": 2}]),
        ({"a": 1}, [{"op": "fly", "path": "/a"}]),
        ({"a": 1}, [{"path": "/a"}]),
        ({"a": 1}, [{"op": "replace", "path": "a", "value": 2}]),
        (ABSENT, [{"op": "replace", "path": "/a", "value": 1}]),
        (ABSENT, [{"op": "remove", "path": ""}]),
        (ABSENT, []),
    ],
)
def test_a_patch_that_does_not_apply_is_an_error_that_names_the_resource(before: Any, patch: Any) -> None:
    value = freeze(before) if before is not ABSENT else ABSENT
    with pytest.raises(WorldError) as refused:
        apply_patch("orders/17", value, patch)
    assert refused.value.resource == "orders/17"


def test_what_a_patch_applies_to_stays_as_it_was() -> None:
    before = freeze({"a": [1]})
    after = apply_patch("k/i", before, [{"op": "add", "path": "/a/-", "value": 2}])
    assert (before, after) == ({"a": [1]}, {"a": [1, 2]})


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_sorted(item) for item in value]
    return value


@pytest.mark.parametrize("before", [0, 0.0, -0.0, False, 1, 1.0, True])
@pytest.mark.parametrize("after", [0, 0.0, -0.0, False, 1, 1.0, True])
def test_what_has_other_bytes_is_a_change(before: Any, after: Any) -> None:
    patch = patch_between({"n": before}, {"n": after})
    assert bool(patch) == (canonical(before) != canonical(after))
    assert canonical(apply_patch("a/b", {"n": before}, patch)) == canonical({"n": after})
