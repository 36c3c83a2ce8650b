"""Two requests, equal but for volatile values: the first difference that no consistent binding of them takes away.

The walk is that of `find_first_difference`; without a volatile value in either request it finds the same.
"""

from hashlib import blake2b
from typing import Final, NamedTuple, TypeAlias

from openprogram.pipeline.json_value import ABSENT, JsonValue, join_path
from openprogram.pipeline.matching.bindings import (
    Attempt,
    Binding,
    Bindings,
    Birthplace,
    Contradiction,
    is_same_frame,
)
from openprogram.pipeline.matching.leaves import is_scalar, may_hold_symbols
from openprogram.pipeline.stages.compare import ComparisonRules, Difference

__all__ = ["Compared", "SymbolComparison"]

#: Texts that were compared and found consistent are remembered, up to so many pairs.
_REMEMBERED: Final = 200_000
_DIGEST_ABOVE: Final = 64

_Pair: TypeAlias = tuple[str, str] | bytes


class Compared(NamedTuple):
    """What a comparison found. `difference`: None where the requests are equal. `contradiction`: where that is why.

    `differs`: equal, but not value for value. `new`: the bindings made.
    """

    difference: Difference | None
    contradiction: Contradiction | None = None
    differs: bool = False
    new: tuple[Binding, ...] = ()


class SymbolComparison:
    """Compares the requests of a session, each under the bindings of those before it."""

    def __init__(self, bindings: Bindings, rules: ComparisonRules) -> None:
        self._bindings, self._rules = bindings, rules
        # A pair that was consistent once stays so, as no binding is ever changed: a conversation is looked at once.
        self._consistent: dict[_Pair, bool] = {}

    def compare(self, recorded: JsonValue, incoming: JsonValue, call_index: int) -> Compared:
        """Compare with the request of a recorded call; where they are equal, keep the bindings that make them so."""
        walk = _Walk(self._bindings.attempt(), self._bindings, self._rules, self._consistent, call_index)
        found = walk.differ(recorded, incoming, "", free_form=False)
        if found is not None:
            return Compared(found, walk.contradiction)
        if len(self._consistent) > _REMEMBERED:
            self._consistent.clear()
        self._consistent.update(walk.pairs)
        return Compared(None, differs=walk.attempt.differs, new=tuple(walk.attempt.keep()))


class _Walk:
    def __init__(
        self,
        attempt: Attempt,
        bindings: Bindings,
        rules: ComparisonRules,
        consistent: dict[_Pair, bool],
        call_index: int,
    ) -> None:
        self.attempt = attempt
        self.contradiction: Contradiction | None = None
        self.pairs: dict[_Pair, bool] = {}
        self._volatile, self._rules = bindings.rules, rules
        self._consistent, self._call_index = consistent, call_index

    def differ(
        self, recorded: JsonValue, incoming: JsonValue, path: str, *, free_form: bool, is_fixed: bool = False
    ) -> Difference | None:
        field = self._volatile.field_rule(path)
        if field is not None and type(recorded) is type(incoming) and is_scalar(recorded):
            return self._bind(field, recorded, incoming, path)
        if isinstance(recorded, dict) and isinstance(incoming, dict):
            return self._dicts_differ(recorded, incoming, path, free_form=free_form)
        if isinstance(recorded, list) and isinstance(incoming, list):
            return self._lists_differ(recorded, incoming, path, free_form=free_form)
        if isinstance(recorded, str) and isinstance(incoming, str) and not is_fixed:
            return self._texts_differ(recorded, incoming, path)
        return (
            None if type(recorded) is type(incoming) and recorded == incoming else Difference(path, recorded, incoming)
        )

    def _dicts_differ(
        self, recorded: dict[str, JsonValue], incoming: dict[str, JsonValue], path: str, *, free_form: bool
    ) -> Difference | None:
        # No value is born in a key: one that isn't bound stands for itself.
        here = {key: self.attempt.known_text(key) if free_form else key for key in recorded}
        for key in sorted(recorded.keys() | (incoming.keys() - set(here.values()))):
            if not free_form and key in self._rules.ignored_names:
                continue
            place = join_path(path, key)
            if place in self._rules.ignored_paths:
                continue
            if key not in recorded or here[key] not in incoming:
                left, right = recorded.get(key, ABSENT), incoming.get(here.get(key, key), ABSENT)
                if free_form or (incoming[key] if left is ABSENT else left) is not None:
                    return Difference(place, left, right)
                continue
            below = free_form or key in self._rules.free_form_names
            is_fixed = not may_hold_symbols(key, recorded, free_form=free_form)
            found = self.differ(recorded[key], incoming[here[key]], place, free_form=below, is_fixed=is_fixed)
            if found is not None:
                return found
            self.attempt.differs = self.attempt.differs or here[key] != key
        return None

    def _lists_differ(
        self, recorded: list[JsonValue], incoming: list[JsonValue], path: str, *, free_form: bool
    ) -> Difference | None:
        for index, (left, right) in enumerate(zip(recorded, incoming, strict=False)):
            found = self.differ(left, right, join_path(path, index), free_form=free_form)
            if found is not None:
                return found
        if len(recorded) == len(incoming):
            return None
        index = min(len(recorded), len(incoming))
        left_over = (recorded[index], ABSENT) if len(recorded) > index else (ABSENT, incoming[index])
        return Difference(join_path(path, index), *left_over)

    def _texts_differ(self, recorded: str, incoming: str, path: str) -> Difference | None:
        pair = _pair(recorded, incoming)
        known = self._consistent.get(pair)
        if known is not None:
            self.attempt.differs = self.attempt.differs or known
            return None
        ours, theirs = self._volatile.tokens(recorded), self._volatile.tokens(incoming)
        if not is_same_frame(self._volatile, recorded, ours, incoming, theirs):
            return Difference(path, recorded, incoming)
        for our, their in zip(ours, theirs, strict=True):
            if self._bind(our.rule, our.value, their.value, path) is not None:
                return Difference(path, recorded, incoming)
        self.pairs[pair] = recorded != incoming
        return None

    def _bind(self, rule: int, recorded: JsonValue, incoming: JsonValue, path: str) -> Difference | None:
        self.contradiction = self.attempt.bind(rule, recorded, incoming, Birthplace(self._call_index, path))
        return None if self.contradiction is None else Difference(path, recorded, incoming)


def _pair(recorded: str, incoming: str) -> _Pair:
    if len(recorded) + len(incoming) <= _DIGEST_ABOVE:
        return recorded, incoming
    texts = (recorded.encode("utf-8", "surrogatepass"), incoming.encode("utf-8", "surrogatepass"))
    return blake2b(b"%d:%b%b" % (len(texts[0]), *texts), digest_size=16).digest()
