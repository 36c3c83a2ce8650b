"""Whether a value is plain: whether its dump can depend on nothing but what is in it."""

from typing import Any, Final

__all__ = ["ATOMS", "PlainLook"]

#: Types of values that hold no others and never change.
ATOMS: Final = frozenset({str, int, float, bool, bytes, type(None)})
#: What has one spelling in JSON, whoever writes it.
_SPELLED_ALIKE: Final = ATOMS - {float}


class PlainLook:
    """One look at a value.

    `is_plain`: it is made of lists, dicts with string keys, what JSON has, and pydantic models of the types in `plain`:
    those whose dump depends on their fields alone. `depth`: containers that are nested in it. `is_spelled_alike`: every
    writer of JSON spells its numbers alike.
    """

    __slots__ = ("_plain", "depth", "is_plain", "is_spelled_alike")

    def __init__(self, value: Any, plain: frozenset[type]) -> None:
        self._plain = plain
        self.is_spelled_alike = self.is_plain = True
        try:
            self.depth = self._depth(value)
        except RecursionError:
            self.is_plain = False

    def _depth(self, value: Any) -> int:
        """How deep a value is nested, 0 where it is no container; of no meaning where it is not plain."""
        kind = type(value)
        if kind in self._plain:
            return self._depth_of_model(value)
        if kind is dict:
            for key in value:
                if type(key) is not str:
                    self.is_plain = False
            return self._below(value.values())
        if kind is list:
            return self._below(value)
        if kind is float:
            # From where on a number has an exponent, and how that is written, is a writer's own choice.
            if not (1e-4 <= abs(value) < 1e16 or value == 0.0):
                self.is_spelled_alike = False
        elif kind not in ATOMS:
            self.is_plain = False
        return 0

    def _depth_of_model(self, value: Any) -> int:
        extra, fields = value.__pydantic_extra__, value.__dict__
        if not extra:
            return self._below(fields.values())
        if not fields.keys().isdisjoint(extra):
            self.is_plain = False  # one of the two would be written, or both
        return max(self._below(fields.values()), self._depth(extra))

    def _below(self, items: Any) -> int:
        deepest = 0
        for item in items:
            if type(item) not in _SPELLED_ALIKE:
                deepest = max(deepest, self._depth(item))
        return deepest + 1
