"""The one conversion into JSON values, its limits, and how two values are shown."""

import copy
import datetime
import enum
import json
import pickle
from collections import OrderedDict
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, HttpUrl, SecretStr

from openprogram.pipeline.json_value import (
    ABSENT,
    MAX_DEPTH,
    MAX_LINE_BYTES,
    Absent,
    NotJson,
    join_path,
    show_difference,
    show_value,
    to_json_value,
    to_line,
)
from tests.pipeline.log.values import any_machine, json_values, texts


class Colour(enum.Enum):
    RED = "red"


class Point(BaseModel):
    x: int
    y: float = 1.5


# ---- conversion


@any_machine
@given(json_values)
def test_a_json_value_is_copied_unchanged(value: Any) -> None:
    copied = to_json_value(value)
    assert json.dumps(copied) == json.dumps(value)
    assert copied is not value or not isinstance(value, dict | list)


def test_a_copy_shares_no_container_with_the_original() -> None:
    value = {"a": [{"b": 1}]}
    copied = to_json_value(value)
    value["a"][0]["b"] = 2
    assert copied == {"a": [{"b": 1}]}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ((1, (2,)), [1, [2]]),
        (OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
        (MappingProxyType({"a": 1}), {"a": 1}),
        (Colour.RED, "red"),
        (datetime.date(2026, 1, 2), "2026-01-02"),
        (Decimal("1.50"), "1.50"),
        (HttpUrl("https://example.org/"), "https://example.org/"),
        (Point(x=1), {"x": 1, "y": 1.5}),
        ([{"a": (Colour.RED, None, True, 1, 1.0)}], [{"a": ["red", None, True, 1, 1.0]}]),
    ],
)
def test_what_pydantic_can_convert_becomes_json(value: Any, expected: Any) -> None:
    assert json.dumps(to_json_value(value)) == json.dumps(expected)


def test_keys_that_are_not_strings_become_what_json_makes_of_them() -> None:
    assert to_json_value({1: "a", 2.5: "b", None: "c"}) == {"1": "a", "2.5": "b", "None": "c"}


def test_a_string_enum_is_its_value_as_a_key_and_as_a_value() -> None:
    class Colour(str, enum.Enum):  # noqa: UP042 - what programs have
        RED = "red"

    assert to_json_value({Colour.RED: Colour.RED, "Colour.RED": 1}) == {"red": "red", "Colour.RED": 1}


def test_a_set_has_the_same_order_in_every_process() -> None:
    assert to_json_value({"pear", "apple", "fig"}) == ["apple", "fig", "pear"]
    assert to_json_value(frozenset({10, 9, "10"})) == ["10", 10, 9]


def test_an_integer_beyond_pythons_limit_for_digits_is_shown_all_the_same() -> None:
    assert "too long" in show_value(10**5000)


def test_keys_with_lone_surrogates_stay_apart() -> None:
    value = {chr(0xD800): 1, chr(0xD801): 2, "?": 3}
    assert to_json_value(value) == value
    assert json.loads(to_line(to_json_value(value))) == value


@pytest.mark.parametrize(
    ("value", "path", "reason"),
    [
        (float("nan"), "", "nan is not a JSON number"),
        ({"a": [1, {"b.c": float("inf")}]}, 'a[1]["b.c"]', "inf is not a JSON number"),
        ({"a": {1: 2, "1": 3}}, "a", "two keys are both written as '1'"),
        ({object: 1}, "", "the key <class 'object'> has no JSON form"),
        ({"a": object()}, "a", "object has no JSON form"),
    ],
)
def test_what_json_can_not_hold_is_refused_with_its_path(value: Any, path: str, reason: str) -> None:
    with pytest.raises(NotJson) as failure:
        to_json_value(value)
    assert failure.value.field_path == path
    assert failure.value.reason.startswith(reason)


keys = texts | st.sampled_from(["", "a.b", "[0]", "plain", "two words", '"'])


@any_machine
@given(st.lists(keys | st.integers(0, 3), max_size=6), keys | st.just("options"))
def test_the_path_of_what_is_refused_is_every_key_and_position_on_the_way(steps: list[str | int], root: str) -> None:
    value: Any = float("nan")
    path = ""
    for step in reversed(steps):
        value = {step: value} if isinstance(step, str) else [*range(step), value]
    for step in steps:
        path = join_path(path, step)
    with pytest.raises(NotJson) as failure:
        to_json_value(value)
    assert failure.value.field_path == path
    with pytest.raises(NotJson) as failure:
        to_json_value({root: value})
    below = join_path("", root)
    for step in steps:
        below = join_path(below, step)
    assert failure.value.field_path == below
    with pytest.raises(NotJson) as failure:
        to_json_value(value, path=below)
    assert failure.value.field_path.startswith(below)


def nested(levels: int) -> Any:
    value: Any = 0
    for _ in range(levels):
        value = {"a": [value]}
    return value


def test_nesting_is_limited_and_names_the_place() -> None:
    assert to_json_value(nested(MAX_DEPTH // 2)) == nested(MAX_DEPTH // 2)
    for levels in (MAX_DEPTH // 2 + 1, 100_000):
        with pytest.raises(NotJson) as failure:
            to_json_value(nested(levels))
        assert failure.value.reason == f"nested deeper than {MAX_DEPTH} levels"
        assert failure.value.field_path.startswith("a[0].a[0]")


def test_a_value_that_contains_itself_is_too_deep() -> None:
    value: list[Any] = []
    value.append(value)
    with pytest.raises(NotJson):
        to_json_value(value)


def test_a_secret_of_pydantic_does_not_come_out() -> None:
    assert to_json_value(SecretStr("hunter2")) == "**********"


# ---- a line


@any_machine
@given(json_values)
def test_a_line_is_strict_json_in_utf_8_with_one_line_end(value: Any) -> None:
    line = to_line(value)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert json.dumps(json.loads(line.decode())) == json.dumps(value)


def test_a_line_keeps_what_unicode_calls_a_line_end_as_it_is() -> None:
    assert to_line("\u2028\u2029\u0085") == '"\u2028\u2029\u0085"\n'.encode()


def test_a_line_keeps_the_order_of_keys() -> None:
    assert to_line({"b": 1, "a": 2}) == b'{"b":1,"a":2}\n'


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_a_line_holds_no_number_that_json_lacks(number: float) -> None:
    with pytest.raises(NotJson):
        to_line([number])


def test_a_line_above_the_limit_is_refused() -> None:
    with pytest.raises(NotJson) as failure:
        to_line("x" * MAX_LINE_BYTES)
    assert "above the limit of 67,108,864" in failure.value.reason


# ---- paths


@pytest.mark.parametrize(
    ("parent", "key", "path"),
    [
        ("", "a", "a"),
        ("a", "b", "a.b"),
        ("a", 2, "a[2]"),
        ("", 0, "[0]"),
        ("a", "x.y", 'a["x.y"]'),
        ("a", "", 'a[""]'),
        ("a", "[0]", 'a["[0]"]'),
        ("a", 'q"', 'a["q\\""]'),
        ("a", "\n", 'a["\\n"]'),
        ("a", "\ud800", 'a["\\ud800"]'),
        ("a", "0", "a.0"),
        ("", "", '[""]'),
    ],
)
def test_a_path_names_one_place(parent: str, key: str | int, path: str) -> None:
    assert join_path(parent, key) == path


@any_machine
@given(st.lists(texts | st.integers(0, 20), max_size=4), st.lists(texts | st.integers(0, 20), max_size=4))
def test_different_places_have_different_printable_paths(one: list[str | int], other: list[str | int]) -> None:
    def path(keys: list[str | int]) -> str:
        found = ""
        for key in keys:
            found = join_path(found, key)
        return found

    assert path(one).isprintable()
    if one != other:
        assert path(one) != path(other)


# ---- absent


def test_absent_is_one_object_through_copies_and_pickles() -> None:
    assert Absent() is ABSENT
    assert copy.deepcopy(ABSENT) is ABSENT
    assert pickle.loads(pickle.dumps(ABSENT)) is ABSENT
    assert repr(ABSENT) == "absent"
    assert not ABSENT
    assert ABSENT is not None


# ---- showing


@any_machine
@given(json_values)
def test_a_value_is_shown_on_one_printable_line(value: Any) -> None:
    assert show_value(value).isprintable()
    assert len(show_value(value)) < 200


def test_a_long_value_is_shortened_in_the_middle() -> None:
    shown = show_value("a" * 500 + "b" * 500)
    assert shown.startswith("'aaa")
    assert shown.endswith("bbb'")
    assert "…" in shown


def test_a_difference_deep_in_two_long_texts_is_in_sight() -> None:
    recorded, incoming = show_difference("x" * 5000 + "one" + "y" * 5000, "x" * 5000 + "two" + "y" * 5000)
    assert "one" in recorded
    assert "two" in incoming
    assert max(len(recorded), len(incoming)) < 250


def test_a_difference_in_length_only_is_in_sight() -> None:
    recorded, incoming = show_difference("x" * 5000, "x" * 5000 + "!")
    assert "!" in incoming
    assert "!" not in recorded


@any_machine
@given(texts, texts)
def test_two_texts_that_differ_are_shown_differently(one: str, other: str) -> None:
    prefix = "x" * 400
    for shown in (show_difference(one, other), show_difference(prefix + one, prefix + other)):
        assert all(text.isprintable() for text in shown)
        if one != other:
            assert shown[0] != shown[1]


def test_values_of_different_types_are_shown_as_they_are() -> None:
    assert show_difference(1, "1") == ("1", "'1'")
    assert show_difference(None, ABSENT) == ("None", "absent")
    assert show_difference(True, 1) == ("True", "1")
