"""What grows at its end, kept in few pieces, so that no growing step copies what was there before."""

from collections.abc import Callable
from operator import add
from typing import TypeVar

__all__ = ["with_piece", "with_text"]

T = TypeVar("T")


def with_piece(pieces: tuple[T, ...], last: T, size: Callable[[T], int], join: Callable[[T, T], T]) -> tuple[T, ...]:
    """The pieces with one more behind them, which is joined to those before it that are not more than twice as large.

    So each piece is less than half of the one before: about log n are left of n, and each was copied about log n times.
    """
    kept = list(pieces)
    while kept and size(kept[-1]) <= 2 * size(last):
        last = join(kept.pop(), last)
    return (*kept, last)


def with_text(pieces: tuple[bytes, ...], more: bytes) -> tuple[bytes, ...]:
    """The pieces of a text with more behind them."""
    return with_piece(pieces, more, len, add)
