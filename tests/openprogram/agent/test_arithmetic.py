"""Arithmetic for models: only arithmetic, and bounded."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openprogram.agent.arithmetic import MAX_CHARACTERS, MAX_RESULT_BITS, calculate


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("(3 + 4) * 2 ** 8 / 5", 358.4),
        (" 7 // 2 + 7 % 4 - -1", 7),
        ("2 ** -1", 0.5),
        ("9 ** 0.5", 3.0),
        ("+1.5e3", 1500.0),
        ("0 ** 0", 1),
        (f"2 ** {MAX_RESULT_BITS // 2}", 2 ** (MAX_RESULT_BITS // 2)),
    ],
)
def test_arithmetic_is_computed(expression: str, value: float) -> None:
    result = calculate(expression)
    assert result == value
    assert type(result) is type(value)


@pytest.mark.parametrize(
    "expression",
    [
        "", "1 +", "a", "abs(1)", "__import__('os')", "(1).real", "[1][0]", "True", "'a' * 3", "1 if 1 else 2", "1 < 2",
        "1j", "lambda: 1", "1; 2", "x := 1", "1 << 9", "~1", "f'{1}'", "\0", "(" * 100,
    ],
)  # fmt: skip
def test_what_is_no_arithmetic_is_refused(expression: str) -> None:
    with pytest.raises(ValueError):
        calculate(expression)


@pytest.mark.parametrize(
    "expression",
    ["9 ** 9 ** 9", "9 ** 9999", "1e308 * 10", "1e999", "2.0 ** 99999", "(2 ** 2000) ** 3", "2 ** 4000 * 2 ** 4000"],
)
def test_results_are_bounded_before_they_are_computed(expression: str) -> None:
    with pytest.raises(ValueError, match="too large"):
        calculate(expression)


def test_a_power_that_is_no_real_number_is_refused() -> None:
    with pytest.raises(ValueError, match="not a real number"):
        calculate("(-1) ** 0.5")


@pytest.mark.parametrize("expression", ["1 / 0", "1 // 0", "1 % 0", "0 ** -1"])
def test_division_by_zero_says_so(expression: str) -> None:
    with pytest.raises(ZeroDivisionError):
        calculate(expression)


def test_the_length_is_bounded_and_the_deepest_expression_is_still_computed() -> None:
    assert calculate("-" * (MAX_CHARACTERS - 1) + "1") == -1
    with pytest.raises(ValueError, match=f"at most {MAX_CHARACTERS}"):
        calculate("1" * (MAX_CHARACTERS + 1))


@given(st.text("0123456789.+-*/%() e", max_size=MAX_CHARACTERS))
def test_any_text_gives_a_number_or_a_value_error(expression: str) -> None:
    with suppress(ValueError, ZeroDivisionError):
        assert type(calculate(expression)) in (int, float)
