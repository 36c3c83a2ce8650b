"""A text that grows at its end is kept in few pieces."""

import itertools

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
    assert all(left > right for left, right in itertools.pairwise(sizes))


def test_of_many_pieces_few_are_left_and_none_was_copied_often() -> None:
    copied = 0

    def join(left: str, right: str) -> str:
        nonlocal copied
        copied += len(left) + len(right)
        return left + right

    pieces: tuple[str, ...] = ()
    for _ in range(1000):
        pieces = with_piece(pieces, "x", len, join)
    assert len(pieces) <= 10
    assert copied <= 10 * 1000
