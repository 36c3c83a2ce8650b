"""A text that grows at its end is kept in few pieces."""

import itertools
import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openprogram.pipeline.pieces import with_piece, with_text


@given(st.lists(st.binary(max_size=50), max_size=200))
def test_the_pieces_are_the_text_and_few_and_the_larger_ones_come_first(texts: list[bytes]) -> None:
    pieces: tuple[bytes, ...] = ()
    for text in texts:
        pieces = with_text(pieces, text)
    assert b"".join(pieces) == b"".join(texts)
    sizes = list(map(len, pieces))
    assert all(left > 2 * right for left, right in itertools.pairwise(sizes))


@pytest.mark.parametrize(
    "sizes",
    [[1] * 1000, range(1000, 0, -1), range(1000), [10_000, *[1] * 1000], [1, 1000] * 500],
    ids=["equal", "falling", "rising", "a long one first", "in turns"],
)
def test_of_many_pieces_few_are_left_and_none_was_copied_often(sizes: Sequence[int]) -> None:
    copied = most = 0

    def join(left: int, right: int) -> int:
        nonlocal copied
        copied += left + right
        return left + right

    pieces: tuple[int, ...] = ()
    for size in sizes:
        pieces = with_piece(pieces, size, int, join)
        most = max(most, len(pieces))
    assert most <= math.log2(sum(sizes)) + 1
    assert copied <= 2 * math.log2(len(sizes)) * sum(sizes)
