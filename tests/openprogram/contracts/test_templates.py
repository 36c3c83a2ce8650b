"""Templates of resource ids over a call's arguments."""

from typing import Any

import pytest

from openprogram.contracts.templates import fill, fits


@pytest.mark.parametrize(
    ("template", "arguments", "filled"),
    [
        ("orders/{id}", {"id": "17"}, "orders/17"),
        ("orders/{id}", {"id": 17}, "orders/17"),
        ("orders/{order.id}", {"order": {"id": "17"}}, "orders/17"),
        ("{a}-{b}", {"a": 1, "b": True}, "1-true"),
        ("orders/*", {}, "orders/*"),
        ("orders/{id}", {}, None),
        ("orders/{id}", {"id": None}, None),
        ("orders/{id}", {"id": 1.5}, None),
        ("orders/{id}", {"id": ["17"]}, None),
        ("orders/{order.id}", {"order": "17"}, None),
    ],
)
def test_a_hole_takes_its_argument_or_the_template_has_no_value(
    template: str, arguments: dict[str, Any], filled: str | None
) -> None:
    assert fill(template, arguments) == filled


def test_a_value_is_put_in_as_it_is_and_not_filled_again() -> None:
    assert fill("orders/{a}", {"a": "{b}", "b": "x"}) == "orders/{b}"


def test_a_star_covers_its_kind_and_no_other() -> None:
    assert fits("orders/17", ["orders/*"], {})
    assert not fits("users/17", ["orders/*"], {})
    assert not fits("orders/18", ["orders/{id}"], {"id": "17"})
    assert fits("orders/17", ["users/*", "orders/{id}"], {"id": "17"})
