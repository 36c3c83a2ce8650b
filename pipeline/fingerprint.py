"""Whether a value is still what it was, told from the identity of its immutable parts and not from their content.

Messages of a growing conversation are long texts in small structures. The structure is walked; a text that is the
same object is the same text, however long. A caller may have changed a list or a field in between: that shows.
"""

from operator import is_
from typing import Any, Final

__all__ = ["fingerprint", "is_same"]

_ATOMS: Final = frozenset({str, int, float, bool, bytes, type(None)})
_END: Final = object()
_EXTRA: Final = object()


def fingerprint(value: Any, plain: frozenset[type]) -> list[Any] | None:
    """The immutable values in `value`, in order, with marks for its containers.

    Walks lists, dicts with string keys, and pydantic models of the types in `plain`: those whose dump depends on
    their fields alone. None where there is anything else in it. Keep it with `value`: it holds the objects alive,
    so that no other one can take their identity.
    """
    leaves: list[Any] = []
    try:
        return leaves if _collect(value, leaves, plain) else None
    except RecursionError:
        return None


def is_same(before: list[Any], now: list[Any]) -> bool:
    """Whether two fingerprints are of values that are equal in every part, types included."""
    return len(before) == len(now) and all(map(is_, before, now))


def _collect(value: Any, leaves: list[Any], plain: frozenset[type]) -> bool:
    kind = type(value)
    if kind in _ATOMS:
        leaves.append(value)
        return True
    if kind in plain:
        return _collect_model(value, leaves, plain)
    leaves.append(kind)
    if kind is list:
        found = all(_collect(item, leaves, plain) for item in value)
    elif kind is dict:
        found = all(type(key) is str and _collect_member(key, item, leaves, plain) for key, item in value.items())
    else:
        return False
    leaves.append(_END)
    return found


def _collect_model(value: Any, leaves: list[Any], plain: frozenset[type]) -> bool:
    fields = value.__dict__
    leaves += (type(value), len(fields))
    for item in fields.values():
        if type(item) in _ATOMS:
            leaves.append(item)
        elif not _collect(item, leaves, plain):
            return False
    extra = value.__pydantic_extra__
    if not extra:
        return True
    leaves.append(_EXTRA)
    return _collect(extra, leaves, plain)


def _collect_member(key: str, item: Any, leaves: list[Any], plain: frozenset[type]) -> bool:
    leaves.append(key)
    return _collect(item, leaves, plain)
