"""Whether a value is still what it was, told from what its containers refer to, however long the texts in it are.

Messages of a growing conversation are long texts in small structures, and a caller may change a list or a field of
one at any time. A container that still refers to the same objects, of which those that can change are watched as well,
is as it was. The interpreter lists what many containers refer to in one call, at a few nanoseconds for each.
"""

import gc
from collections.abc import Iterable
from itertools import chain
from typing import Any, Self

from openprogram.pipeline.identities import identities, one_by_one
from openprogram.pipeline.plain import ATOMS

__all__ = ["Snapshot", "take_snapshot"]


class Snapshot:
    """What the containers of a value referred to. It holds them, so that no other object can take their identity."""

    __slots__ = ("_containers", "_dicts", "_empty", "_identities", "_keys", "_referents", "_sized", "_sizes")

    def __init__(self, models: list[Any], sized: list[Any], referents: list[Any]) -> None:
        self._empty = [container for container in sized if not container]  # nearly every model has a dict for more
        filled = [container for container in sized if container]
        self._containers = [*models, *filled]
        self._referents, self._identities = referents, bytearray(one_by_one(referents))
        # Where one container ends and the next begins, and what a dict calls its members, referents don't say.
        self._sized, self._sizes = filled, list(map(len, filled))
        self._dicts = [container for container in filled if type(container) is dict]
        self._keys = list(chain.from_iterable(self._dicts))

    @classmethod
    def joined(cls, snapshots: Iterable["Snapshot"]) -> Self:
        """One of many values, which is current where each of them is."""
        whole = cls([], [], [])
        for snapshot in snapshots:
            for name in cls.__slots__:
                getattr(whole, name).extend(getattr(snapshot, name))
        return whole

    def __len__(self) -> int:
        """How many references it holds, about."""
        return len(self._referents)

    def is_current(self) -> bool:
        """Whether every container refers to what it did, under the same keys, in the same order."""
        return (
            identities(gc.get_referents(*self._containers)) == self._identities
            and not any(self._empty)
            and self._sizes == list(map(len, self._sized))
            and self._keys == list(chain.from_iterable(self._dicts))
        )


def take_snapshot(value: Any) -> Snapshot | None:
    """A snapshot of a plain value. None where this interpreter doesn't list all that a container refers to."""
    models: list[Any] = []
    sized: list[Any] = []
    members: list[Any] = []
    _collect(value, models, sized, members)
    of_models, of_sized = gc.get_referents(*models), gc.get_referents(*sized)
    if not _are_all_listed(models, of_models) or not _are_same_objects(of_sized, members):
        return None
    return Snapshot(models, sized, of_models + of_sized)


def _collect(value: Any, models: list[Any], sized: list[Any], members: list[Any]) -> None:
    """The containers in a plain value, and what each of them holds."""
    kind = type(value)
    if kind in ATOMS:
        return
    if kind is not list and kind is not dict:
        models.append(value)
        if value.__pydantic_extra__ is not None:
            _collect(value.__pydantic_extra__, models, sized, members)
        value = value.__dict__
    sized.append(value)
    items = value if kind is list else value.values()
    members += items
    for item in items:
        if type(item) not in ATOMS:
            _collect(item, models, sized, members)


def _are_all_listed(models: list[Any], listed: list[Any]) -> bool:
    """Whether what the models refer to was listed: the dict of their fields, that of their extra fields, their type."""
    found = set(map(id, listed))
    return all(
        id(model.__dict__) in found
        and id(type(model)) in found
        and (model.__pydantic_extra__ is None or id(model.__pydantic_extra__) in found)
        for model in models
    )


def _are_same_objects(left: list[Any], right: list[Any]) -> bool:
    """In whatever order: of a list, the interpreter names the last item first."""
    return len(left) == len(right) and set(map(id, left)) == set(map(id, right))
