"""Sensitive fields: what a contract says is never shown in messages and reports."""

from collections.abc import Iterable
from typing import Any, Final

__all__ = ["MASK", "is_sensitive", "masked"]

MASK: Final = "[sensitive]"


def masked(value: Any, paths: Iterable[str]) -> Any:
    """A copy of the JSON value with what stands at `paths` replaced. A path names members by dots: `card.number`.

    In a list, it is about every item. A path that leads nowhere changes nothing.
    """
    for path in paths:
        value = _masked(value, path.split("."))
    return value


def is_sensitive(field_path: str, paths: Iterable[str]) -> bool:
    """Whether `field_path` (`card.number`, `cards[0].number`) is one of `paths`, or below one."""
    names = [name.split("[")[0] for name in field_path.split(".")]
    return any(names[: len(parts)] == parts for parts in (path.split(".") for path in paths))


def _masked(value: Any, names: list[str]) -> Any:
    if not names:
        return MASK
    if isinstance(value, list):
        return [_masked(item, names) for item in value]
    if isinstance(value, dict) and names[0] in value:
        return {**value, names[0]: _masked(value[names[0]], names[1:])}
    return value
