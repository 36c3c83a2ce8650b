"""What is plain: its JSON text tells all that its dump does, and mostly letter for letter."""

import datetime
import enum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import from_json

from openprogram.pipeline.json_value import to_json_text
from openprogram.pipeline.plain import PlainLook
from openprogram.pipeline.request_parts import Part
from openprogram.providers.types import ToolResultMessage, UserMessage
from tests.pipeline.requests import CODEC, json_values, messages

PLAIN = CODEC.plain_types


class Color(enum.StrEnum):
    RED = "red"


class Loud(UserMessage):
    """A type of somebody else's."""


def result(details: Any) -> ToolResultMessage:
    return ToolResultMessage(tool_call_id="c", tool_name="t", content=[], details=details)


@pytest.mark.parametrize(
    "value",
    [
        Loud(content="x"),
        {"a": object()},
        {1: 2},
        [datetime.date(2026, 1, 1)],
        {"s"},
        Color.RED,
        ("a",),
        result({"a": {1: 2}}),
        [[{"s"}], 1],
    ],
    ids=range(9),
)
def test_what_is_of_an_unknown_type_is_not_plain(value: object) -> None:
    assert not PlainLook(value, PLAIN).is_plain


def test_what_has_no_end_is_not_plain() -> None:
    endless: list[object] = []
    endless.append(endless)
    assert not PlainLook(endless, PLAIN).is_plain


def test_a_model_with_a_field_and_an_extra_field_of_one_name_is_not_plain() -> None:
    message = UserMessage(content="x")
    message.later = 1  # type: ignore[attr-defined]
    assert PlainLook(message, PLAIN).is_plain
    vars(message)["later"] = 2
    assert not PlainLook(message, PLAIN).is_plain


@pytest.mark.parametrize(
    ("value", "depth"),
    [(1, 0), ("a", 0), ([], 1), ({"a": [1]}, 2), ([[], [[1.5]]], 3), (UserMessage(content="a"), 1), (result([[]]), 3)],
    ids=range(7),
)
def test_its_depth_is_how_many_containers_are_nested(value: object, depth: int) -> None:
    assert PlainLook(value, PLAIN).depth == depth


def test_the_depth_of_a_message_counts_its_extra_fields() -> None:
    message = UserMessage(content="x")
    message.later = {"a": []}  # type: ignore[attr-defined]
    assert PlainLook(message, PLAIN).depth == 3


numbers = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**70), 2**70)


@given(messages | json_values | st.lists(numbers) | st.lists(st.binary()))
def test_the_text_of_what_is_plain_says_what_its_dump_does(value: Any) -> None:
    part = Part("messages", value)
    look, text = PlainLook(value, PLAIN), CODEC.text(part)
    assert look.is_plain
    if text is not None:
        dumped = CODEC.dump_part(part)
        assert repr(from_json(text)) == repr(dumped)  # the order of keys too
        if look.is_spelled_alike:
            assert text == to_json_text(dumped)


@pytest.mark.parametrize("number", [1e-05, 3.6e-05, 1e16, 1e300, 5e-324, float("nan"), float("inf")])
def test_a_number_with_an_exponent_may_be_spelled_in_several_ways(number: float) -> None:
    assert not PlainLook([[number]], PLAIN).is_spelled_alike


@pytest.mark.parametrize("number", [0.0, -0.0, 0.0001, 0.1, 1.0, 9999999999999998.0, -123456.789])
def test_a_number_without_one_is_spelled_alike(number: float) -> None:
    assert PlainLook([[number], number], PLAIN).is_spelled_alike
