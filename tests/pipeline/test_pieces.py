"""A text that grows at its end is kept in few pieces."""

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openprogram.pipeline.pieces import with_piece, with_text


@given(st.lists(st.binary(max_size=50), max_size=200))
def test_the_pieces_are_the_text_and_few(texts: list[bytes]) -> None:
    pieces: tuple[bytes, ...] = ()
    for text in texts:
        pieces = with_text(pieces, text)
    assert b"".join(pieces) == b"".join(texts)
    assert len(pieces) <= 16 * (math.log2(len(b"".join(texts)) + 1) + 1)


@pytest.mark.parametrize("width", [2, 16])
@pytest.mark.parametrize(
    "sizes",
    [
        [1] * 1000,
        range(1000, 0, -1),
        range(1000),
        [10_000, *[1] * 1000],
        [1, 1000] * 500,
        [1, 10_000, *[1] * 14] * 60,
        [2**at for at in range(60, 0, -1)],
    ],
    ids=["equal", "falling", "rising", "a long one first", "in turns", "long ones now and then", "halved each time"],
)
def test_of_many_pieces_few_are_left_and_none_was_copied_often(sizes: Sequence[int], width: int) -> None:
    copied = most = 0

    def join(pieces: Sequence[int]) -> int:
        nonlocal copied
        copied += sum(pieces)
        return sum(pieces)

    pieces: tuple[int, ...] = ()
    for size in sizes:
        pieces = with_piece(pieces, size, int, join, width)
        most = max(most, len(pieces))
    assert sum(pieces) == sum(sizes)
    assert most <= (width - 1) * (math.log2(sum(sizes)) + 1)
    assert copied <= 2 * math.log(len(sizes), width) * sum(sizes)
