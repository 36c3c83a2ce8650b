"""Which objects a list refers to, as bytes that can be compared at once.

To ask for each pair of objects whether the two are one costs more than all else that is known of a message.
"""

import sys
from collections.abc import Callable, Sequence
from struct import pack
from typing import Any, Final

__all__ = ["identities", "one_by_one"]


def one_by_one(objects: Sequence[Any]) -> bytes:
    """The `id` of each object, one behind the other. Two are one object where both live and have one id."""
    return pack(f"{len(objects)}P", *map(id, objects))


def _fastest() -> Callable[[Sequence[Any]], bytes]:
    """The same as `one_by_one`, where this interpreter allows for it at a thirtieth of the cost."""
    if sys.implementation.name != "cpython":
        return one_by_one
    try:
        from ctypes import string_at  # there are builds without it
    except ImportError:
        return one_by_one

    def as_they_lie(objects: Sequence[Any]) -> bytes:
        # In CPython an id is an address, and a tuple ends with the addresses of its items.
        held = tuple(objects)
        return string_at(id(held) + tuple.__basicsize__, len(held) * tuple.__itemsize__)

    return as_they_lie


identities: Final = _fastest()
