"""Other objects are told from those that are known by what they hold, and by nothing else."""

import copy
import enum
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openprogram.pipeline.flat import Flat
from openprogram.providers.types import AssistantMessage, TextContent, ToolCall, Usage, UserMessage
from tests.pipeline.requests import json_values, messages
from tests.pipeline.touching import containers, touch


class Color(enum.StrEnum):
    RED = "red"


values = st.lists(messages | json_values, max_size=4)


def flat_of(*plain: Any) -> Flat:
    flat = Flat.of(plain)
    assert flat is not None
    return flat


@given(values, values)
def test_copies_hold_the_same_as_one_list_and_as_two(begun: list[Any], more: list[Any]) -> None:
    whole = flat_of(*begun, *more)
    joined = flat_of(*begun).followed_by(flat_of(*more))
    for same in ([*begun, *more], copy.deepcopy([*begun, *more])):
        assert whole.is_of(same)
        assert joined.is_of(same)


@given(values, values, st.data())
def test_a_change_at_any_depth_of_a_copy_shows(begun: list[Any], more: list[Any], data: st.DataObject) -> None:
    flats = flat_of(*begun, *more), flat_of(*begun).followed_by(flat_of(*more))
    other = copy.deepcopy([*begun, *more])
    places = list(containers(other))
    if touch(data.draw(st.sampled_from(places)), data.draw(st.integers(0, 5))):
        same = repr(other) == repr([*begun, *more])  # an item may have taken the place of an equal one
        assert [flat.is_of(other) for flat in flats] == [same, same]


@given(values, values)
def test_values_hold_the_same_only_where_they_are_written_the_same(one: list[Any], other: list[Any]) -> None:
    assert flat_of(*one).is_of(other) == (repr(one) == repr(other))


@pytest.mark.parametrize(
    ("one", "other"), [(1, True), (1, 1.0), (0.0, -0.0), ("red", Color.RED), (None, 0), ("", b""), ([], ()), ({}, [])]
)
def test_an_equal_value_of_another_kind_is_another(one: Any, other: Any) -> None:
    before, behind = flat_of({"a": [2.5, 0.0]}), flat_of("b", -0.0)
    known = before.followed_by(flat_of({"a": [one]})).followed_by(behind)
    assert known.is_of([{"a": [2.5, 0.0]}, {"a": [one]}, "b", -0.0])
    assert not known.is_of([{"a": [2.5, 0.0]}, {"a": [other]}, "b", -0.0])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([["a", "b"], ["c"]], [["a"], ["b", "c"]]),
        ([{"a": 1, "b": 2}, {"c": 3}], [{"a": 1}, {"b": 2, "c": 3}]),
        ([{"a": 1, "b": 2}], [{"b": 1, "a": 2}]),
        ([{"a": 1, "b": 1}], [{"b": 1, "a": 1}]),
        ([[], {}], [{}, []]),
        ([["a"], "a"], ["a", ["a"]]),
    ],
)
def test_what_is_in_another_place_is_another(one: list[Any], other: list[Any]) -> None:
    assert flat_of(*one).is_of(one)
    assert not flat_of(*one).is_of(other)


CHANGES: list[Callable[[AssistantMessage], object]] = [
    lambda message: setattr(message.usage, "output", 8),
    lambda message: setattr(message.content[0], "text", "TEXT"),
    lambda message: setattr(message, "__class__", UserMessage),
    lambda message: setattr(message, "later_field", 1),
    lambda message: setattr(message.usage, "later_field", 1),
    lambda message: delattr(message, "model"),
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_message_that_was_changed_is_another(change: Callable[[AssistantMessage], object]) -> None:
    call = ToolCall(id="c", name="t", arguments={"rows": [1, 2]})
    message = AssistantMessage(content=[TextContent(text="text"), call], usage=Usage(output=7), model="m")
    flat, other = flat_of(message), message.model_copy(deep=True)
    assert flat.is_of([other])
    change(other)
    assert not flat.is_of([other])


def test_of_a_message_with_extra_fields_nothing_is_known() -> None:
    message = UserMessage(content="x")
    message.later = 1  # type: ignore[attr-defined]
    assert Flat.of([message]) is None


def test_a_message_that_was_never_made_is_another() -> None:
    flat = flat_of(UserMessage(content="x"))
    assert not flat.is_of([UserMessage.__new__(UserMessage)])
