"""Chance: the same draws everywhere, stream by stream."""

import subprocess
import sys
from collections.abc import Callable
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openprogram.world import Chance, Draw, RandomStream


def chance(seed: str = "7", branch: str = "main", positions: dict[str, int] | None = None) -> Chance:
    return Chance(seed, branch, lambda draw: None, positions)


def test_these_draws_never_change() -> None:
    """Written down: a later release that drew differently would change every scenario."""
    stream = chance().stream("tool:pay")
    assert [stream.integer(1, 6) for _ in range(8)] == GOLDEN_INTEGERS
    assert stream.uuid() == GOLDEN_UUID
    assert stream.fraction() == GOLDEN_FRACTION
    assert stream.text(8) == GOLDEN_TEXT


GOLDEN_INTEGERS = [4, 6, 3, 2, 5, 1, 3, 1]
GOLDEN_UUID = "93122f4c-f890-438d-bc89-f1779fe18155"
GOLDEN_FRACTION = 0.8297954064871341
GOLDEN_TEXT = "M76R58E1"


def test_another_process_with_another_hash_seed_draws_the_same() -> None:
    program = (
        "from openprogram.world import Chance\n"
        "s = Chance('7', 'main', lambda draw: None).stream('tool:pay')\n"
        "print([s.integer(1, 6) for _ in range(8)], s.uuid(), s.fraction(), s.text(8))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("0", "1", "4242")
    }
    assert outputs == {f"{GOLDEN_INTEGERS} {GOLDEN_UUID} {GOLDEN_FRACTION} {GOLDEN_TEXT}\n"}


METHODS: list[Callable[[RandomStream], object]] = [
    lambda stream: stream.integer(0, 10**12),
    lambda stream: stream.fraction(),
    lambda stream: stream.uuid(),
    lambda stream: stream.text(12),
    lambda stream: stream.choice(range(10**9)),
]


@given(st.lists(st.integers(0, 4), max_size=12), st.integers(0, 12))
def test_a_further_draw_in_one_stream_shifts_no_other(others: list[int], extra: int) -> None:
    plain, busy = chance(), chance()
    for method in others:
        for _ in range(extra):
            busy.stream("other").fraction()
        assert METHODS[method](plain.stream("mine")) == METHODS[method](busy.stream("mine"))


def test_seed_branch_and_name_all_count_and_do_not_run_together() -> None:
    draws = {
        chance(seed, branch).stream(name).uuid()
        for seed, branch, name in [("a", "b", "c"), ("ab", "", "c"), ("a", "bc", ""), ("", "ab", "c"), ("b", "a", "c")]
    }
    assert len(draws) == 5


@given(st.integers(-100, 100), st.integers(0, 50), st.integers(0, 20))
def test_an_integer_lies_between_its_bounds_both_included(low: int, width: int, index: int) -> None:
    stream = chance(positions={"s": index}).stream("s")
    assert low <= stream.integer(low, low + width) <= low + width


def test_both_bounds_come_up_and_fractions_stay_below_one() -> None:
    stream = chance().stream("s")
    assert {stream.integer(1, 3) for _ in range(60)} == {1, 2, 3}
    assert all(0 <= stream.fraction() < 1 for _ in range(100))


def test_a_uuid_is_one_of_version_4() -> None:
    drawn = UUID(chance().stream("s").uuid())
    assert (drawn.version, drawn.variant) == (4, "specified in RFC 4122")


@pytest.mark.parametrize(
    "wrong",
    [
        lambda stream: stream.integer(2, 1),
        lambda stream: stream.choice([]),
        lambda stream: stream.text(0),
        lambda stream: stream.text(41),
        lambda stream: stream.text(3, ""),
    ],
)
def test_what_cannot_be_drawn_is_an_error_and_no_draw(wrong: Callable[[RandomStream], object]) -> None:
    draws: list[Draw] = []
    stream = Chance("7", "main", draws.append).stream("s")
    with pytest.raises(ValueError):
        wrong(stream)
    assert draws == []


def test_each_draw_is_told_with_its_stream_and_number() -> None:
    draws: list[Draw] = []
    source = Chance("7", "main", draws.append)
    first, second, third = source.stream("a").integer(1, 9), source.stream("b").fraction(), source.stream("a").text(3)
    assert draws == [Draw("a", 0, first), Draw("b", 0, second), Draw("a", 1, third)]


def test_from_a_checkpoint_it_goes_on_where_it_was() -> None:
    whole = chance()
    first = [whole.stream("a").integer(0, 99) for _ in range(3)]
    resumed = chance(positions=whole.positions)
    assert resumed.stream("a").integer(0, 99) == whole.stream("a").integer(0, 99)
    assert len(first) == 3
    assert resumed.positions == whole.positions == {"a": 4}
