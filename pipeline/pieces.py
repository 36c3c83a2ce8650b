"""What grows at its end, kept in few pieces, so that no growing step copies what was there before."""

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

__all__ = ["with_piece", "with_text"]

T = TypeVar("T")

#: Pieces of about one size after which they become one. Texts are long: they are seldom copied, and soon written.
_TEXTS: Final = 16


def with_piece(
    pieces: tuple[T, ...], last: T, size: Callable[[T], int], join: Callable[[Sequence[T]], T], width: int = 2
) -> tuple[T, ...]:
    """The pieces with one more behind them. As soon as the last `width` are of about one size, they become one.

    So that of n about `width` log n are left, each copied about log n times, to the base of `width`.
    """
    kept = [*pieces, last]
    while len(kept) >= width and size(kept[-width]) <= 2 * size(kept[-1]):
        kept[-width:] = [join(kept[-width:])]
    return tuple(kept)


def with_text(pieces: tuple[bytes, ...], more: bytes) -> tuple[bytes, ...]:
    """The pieces of a text with more behind them."""
    return with_piece(pieces, more, len, b"".join, _TEXTS)
