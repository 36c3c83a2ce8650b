"""A fixture that says otherwise than the resource it reads: told where both sides are known, and only there."""

from typing import Any

import pytest

from openprogram.fixtures.fixture import Fixture
from openprogram.scenarios.contradictions import contradictions
from openprogram.world import InitialResources
from tests.openprogram.scenarios.stage import CONTRACTS

WORLD = InitialResources(
    {
        "orders": {"17": {"price": 35, "status": "open", "paid": False, "to": {"city": "Delft"}, "items": ["a", "b"]}},
        "rates": {"eur": 1.1},
    }
)


def fixture(value: Any, **fields: Any) -> Fixture:
    given = {
        "scenario_version": "1",
        "tool": "get_order",
        "contract_revision": "1",
        "arguments": {"id": "17"},
        "reads": {"orders/17": 1},
        "events": [{"type": "result", "value": value}],
    }
    return Fixture.model_validate(given | fields)


def found(value: Any, tool: str = "get_order", **fields: Any) -> list[tuple[str, Any, Any]]:
    told = contradictions(fixture(value, **fields), CONTRACTS[tool], WORLD)
    return [(one.field, one.served, one.held) for one in told]


def test_each_field_that_differs_is_told_with_both_values() -> None:
    served = {"price": 30, "status": "shipped", "paid": True, "to": {"city": "Gouda"}}
    assert found(served) == [
        ("price", 30, 35),
        ("status", "shipped", "open"),
        ("paid", True, False),
        ("to.city", "Gouda", "Delft"),
    ]


@pytest.mark.parametrize(
    "value",
    [
        {"price": 35, "status": "open"},
        {"price": 35.0},  # the same number
        {"price": "thirty-five"},  # another type: shown in another way
        {"paid": 1},
        {"price": None},
        {"items": ["b"]},  # picked, or sorted
        {"to": "Delft"},
        {"weight": 3},
        "price: 30",
        30,
        [{"price": 30}],
    ],
)
def test_what_agrees_or_cannot_be_compared_is_no_contradiction(value: Any) -> None:
    assert found(value) == []


@pytest.mark.parametrize(
    "fields",
    [
        {"reads": {"orders/17": 2}},  # as a run has changed it
        {"reads": {"orders/*": 1}},
        {"reads": {"orders/18": 1}},
        {"reads": {"orders/17": 1, "customers/a": 1}},  # whose price it is can't be told
        {"reads": {}},
        {"events": [{"type": "drop_connection"}]},
        {"reads": {"rates/eur": 1}, "events": [{"type": "result", "value": 1.2}]},  # of no name
    ],
)
def test_nothing_is_told_where_the_resource_at_that_moment_is_not_known(fields: dict[str, Any]) -> None:
    assert found({"price": 30}, **fields) == []


def test_a_tool_that_writes_may_answer_with_what_it_wrote() -> None:
    assert found({"price": 30}, tool="pay") == []
