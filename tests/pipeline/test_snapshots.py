"""A snapshot tells whether a value was changed in between, anywhere in it, by whatever means."""

import copy
import enum
import gc
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openprogram.pipeline.plain import PlainLook
from openprogram.pipeline.snapshots import Snapshot, take_snapshot
from openprogram.providers.types import AssistantMessage, TextContent, ToolCall, Usage, UserMessage
from tests.pipeline.requests import CODEC, json_values, messages
from tests.pipeline.touching import containers, touch

PLAIN = CODEC.plain_types


class Color(enum.StrEnum):
    RED = "red"


def snapshot(value: Any) -> Snapshot:
    taken = take_snapshot(value)
    assert taken is not None, "this interpreter lists what containers refer to, so that known messages cost little"
    return taken


@given(messages | json_values)
def test_whatever_a_message_holds_it_is_current_as_long_as_nobody_touches_it(value: Any) -> None:
    taken = snapshot(value)
    assert PlainLook(value, PLAIN).is_plain
    assert taken.is_current()
    gc.collect()
    repr(value)
    assert taken.is_current()


@given(messages | json_values, st.data())
def test_a_change_at_any_depth_shows(value: Any, data: st.DataObject) -> None:
    taken = snapshot(value)
    places = list(containers(value))
    if places and touch(data.draw(st.sampled_from(places)), data.draw(st.integers(0, 5))):
        assert not taken.is_current()


@pytest.mark.parametrize(
    ("one", "other"), [(1, True), (1, 1.0), (0.0, -0.0), ("red", Color.RED), (None, 0), ("", b""), ([], ()), ({}, [])]
)
def test_an_equal_value_of_another_kind_is_a_change(one: Any, other: Any) -> None:
    held = {"a": [one]}
    taken = snapshot(held)
    held["a"][0] = other
    assert not taken.is_current()
    held["a"][0] = one
    assert taken.is_current()


def test_an_item_that_moves_from_one_list_to_its_neighbour_shows() -> None:
    one, other = ["a", "b"], ["c"]
    taken = snapshot([one, other])
    moves: list[Callable[[], object]] = [
        lambda: other.append(one.pop(0)),
        lambda: one.append(other.pop(0)),
        lambda: other.insert(0, "b"),
    ]
    for moved in moves:
        before = copy.deepcopy([one, other])
        moved()
        assert [one, other] == before or not taken.is_current()


CHANGES: list[Callable[[AssistantMessage], object]] = [
    lambda message: setattr(message, "stop_reason", "length"),
    lambda message: setattr(message.content[0], "text", "TEXT"),
    lambda message: message.content.reverse(),
    lambda message: message.content[1].arguments["rows"].append(3),  # type: ignore[union-attr]
    lambda message: message.content[1].arguments.clear(),  # type: ignore[union-attr]
    lambda message: setattr(message.usage, "output", 8),
    lambda message: setattr(message, "__dict__", {**vars(message), "model": "n"}),
    lambda message: setattr(message, "__class__", UserMessage),
    lambda message: setattr(message, "later_field", 1),
    lambda message: message.__pydantic_extra__.update(later=1),  # type: ignore[union-attr]
    lambda message: setattr(message, "__pydantic_extra__", {"later": 1}),
    lambda message: delattr(message, "model"),
]


@pytest.mark.parametrize("change", CHANGES)
def test_every_way_to_change_a_message_shows(change: Callable[[AssistantMessage], object]) -> None:
    call = ToolCall(id="c", name="t", arguments={"rows": [1, 2]})
    message = AssistantMessage(content=[TextContent(text="text"), call], usage=Usage(output=7), model="m")
    taken, other = snapshot(message), snapshot(UserMessage(content="hi"))
    joined = Snapshot.joined([other, taken])
    assert joined.is_current()
    change(message)
    assert not taken.is_current()
    assert not joined.is_current()
    assert other.is_current()


def test_what_the_interpreter_does_not_list_has_no_snapshot(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where `gc` knows less than all, as in another interpreter, nothing is taken for known."""
    listed = gc.get_referents
    value = [{"a": "x", "b": "y"}, UserMessage(content="hi")]
    snapshot(value)
    for hidden in (value[0], "x", value[1], vars(value[1]), "hi", UserMessage):
        monkeypatch.setattr(
            gc, "get_referents", lambda *of, hidden=hidden: [item for item in listed(*of) if item is not hidden]
        )
        assert take_snapshot(value) is None
