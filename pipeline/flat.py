"""What values hold, whatever objects hold it: so that messages which are made anew for each request are known again.

They are new objects of the same texts. What thousands of values hold is fetched and compared in a few calls: first all
their types, then all that is no container, then what is in the containers, which is a list of values again.
"""

from collections.abc import Iterable, Sequence
from itertools import chain, compress
from operator import attrgetter
from struct import pack
from typing import Any, Final, NamedTuple

from openprogram.pipeline.plain import ATOMS

__all__ = ["Flat"]

_FIELDS: Final = attrgetter("__dict__")
_EXTRA: Final = attrgetter("__pydantic_extra__")


class _NotFlat(ValueError):
    """A model has extra fields: few have, and looking for them in each would cost all."""


class _Containers(NamedTuple):
    """The containers of one kind among some values. `keys`, `inner`: of all of them, one behind the other."""

    is_one: bytes
    sizes: list[int]
    keys: list[str]
    inner: "Flat"


class Flat:
    """What plain values hold, in their order. It never changes."""

    __slots__ = ("_atoms", "_containers", "_is_atom", "_signs", "_types", "_zeros")

    _types: list[type]
    _is_atom: bytes
    _atoms: list[Any]
    _zeros: list[int]  # where there is a float among the atoms that equals another, of another sign
    _signs: bytes
    _containers: dict[type, _Containers]

    @classmethod
    def of(cls, values: Sequence[Any]) -> "Flat | None":
        """What plain values hold; None where it isn't known."""
        try:
            return cls._of(list(values))
        except (_NotFlat, RecursionError):
            return None

    @classmethod
    def _of(cls, values: list[Any]) -> "Flat":
        flat = cls()
        flat._types = list(map(type, values))
        flat._is_atom = bytes(map(ATOMS.__contains__, flat._types))
        flat._atoms = list(compress(values, flat._is_atom))
        flat._zeros = [at for at, atom in enumerate(flat._atoms) if type(atom) is float and not atom]
        flat._signs = _signs(flat._atoms, flat._zeros)
        flat._containers = {}
        kinds = [None if kind in ATOMS else kind if kind in (list, dict) else object for kind in flat._types]
        for kind in dict.fromkeys(kinds):
            if kind is not None:
                is_one = bytes(kind is each for each in kinds)
                opened = _opened(kind, compress(values, is_one))
                inner = cls._of(_items(kind, opened))
                flat._containers[kind] = _Containers(is_one, list(map(len, opened)), _keys(kind, opened), inner)
        return flat

    def followed_by(self, other: "Flat") -> "Flat":
        """What these values hold and, behind them, others."""
        longer = Flat()
        longer._types = self._types + other._types
        longer._is_atom = self._is_atom + other._is_atom
        longer._atoms = self._atoms + other._atoms
        longer._zeros = self._zeros + [len(self._atoms) + at for at in other._zeros]
        longer._signs = self._signs + other._signs
        longer._containers = {
            kind: _joined(self._containers.get(kind), len(self._types), other._containers.get(kind), len(other._types))
            for kind in self._containers | other._containers
        }
        return longer

    def is_of(self, values: Sequence[Any]) -> bool:
        """Whether these values, whatever they are, hold the same."""
        try:
            return self._is_of(list(values))
        except (_NotFlat, AttributeError, RecursionError):
            return False

    def _is_of(self, values: list[Any]) -> bool:
        if list(map(type, values)) != self._types:  # before anything else: from here on, no one else's code runs
            return False
        atoms = list(compress(values, self._is_atom)) if self._containers else values
        if atoms != self._atoms or _signs(atoms, self._zeros) != self._signs:
            return False
        for kind, those in self._containers.items():
            opened = _opened(kind, compress(values, those.is_one))
            if list(map(len, opened)) != those.sizes or _keys(kind, opened) != those.keys:
                return False
            if not those.inner._is_of(_items(kind, opened)):
                return False
        return True


def _signs(atoms: list[Any], zeros: list[int]) -> bytes:
    """0.0 and -0.0 are equal."""
    return pack(f"{len(zeros)}d", *map(atoms.__getitem__, zeros))


def _opened(kind: type, containers: Iterable[Any]) -> list[Any]:
    """The containers, in the place of models the dicts of their fields. Raises _NotFlat."""
    if kind is not object:
        return list(containers)
    models = list(containers)
    if any(map(_EXTRA, models)):
        raise _NotFlat
    return list(map(_FIELDS, models))


def _keys(kind: type, opened: list[Any]) -> list[str]:
    return [] if kind is list else list(chain.from_iterable(opened))


def _items(kind: type, opened: list[Any]) -> list[Any]:
    return list(chain.from_iterable(opened if kind is list else map(dict.values, opened)))


def _joined(left: _Containers | None, left_values: int, right: _Containers | None, right_values: int) -> _Containers:
    nothing = _Containers(b"", [], [], Flat._of([]))
    left = left or nothing._replace(is_one=bytes(left_values))
    right = right or nothing._replace(is_one=bytes(right_values))
    return _Containers(
        left.is_one + right.is_one,
        left.sizes + right.sizes,
        left.keys + right.keys,
        left.inner.followed_by(right.inner),
    )
