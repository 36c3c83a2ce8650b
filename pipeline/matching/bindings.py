"""Which value of this run stands for which recorded one: one to one, from the first meeting to the session's end.

A comparison tries bindings in an `Attempt`, which is kept where the requests turn out equal and dropped otherwise. A
path is bound folder by folder, so that a new file in a folder that is bound is found.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from openprogram.pipeline.json_value import JsonValue, show_value
from openprogram.pipeline.matching.rules import Token, VolatileRule, VolatileRules

__all__ = ["Attempt", "Binding", "Bindings", "Birthplace", "Contradiction", "is_same_frame"]


class Birthplace(NamedTuple):
    """Where a value was first met: in a request, at `field_path`, or in an answer, at `event_index` (from 0)."""

    call_index: int
    field_path: str | None = None
    event_index: int | None = None

    def __str__(self) -> str:
        where = f"event {self.event_index}" if self.field_path is None else self.field_path
        return f"call {self.call_index}, {where}"


class Binding(NamedTuple):
    """`recorded` stands for `incoming` in this run, by the volatile rule `rule`. `born`: where they were first met."""

    rule: str
    recorded: JsonValue
    incoming: JsonValue
    born: Birthplace

    def __str__(self) -> str:
        recorded, incoming = show_value(self.recorded), show_value(self.incoming)
        return f"{self.rule} recorded {recorded} -> incoming {incoming}, born at {self.born}"


class Contradiction(NamedTuple):
    """Two values that stand in one place and may not: `here`, where `bound` says otherwise."""

    bound: tuple[Binding, ...]
    here: Binding


#: A rule's index, and a value of it without what doesn't count, such as capitals in a UUID.
_Key: TypeAlias = tuple[int, type, JsonValue]


class _Sides:
    """Bindings by either value."""

    def __init__(self) -> None:
        self.by_recorded: dict[_Key, Binding] = {}
        self.by_incoming: dict[_Key, Binding] = {}


class Bindings(_Sides):
    """The bindings of a session. Not for use from several threads at a time."""

    def __init__(self, rules: VolatileRules) -> None:
        super().__init__()
        self.rules = rules

    def attempt(self) -> "Attempt":
        """New bindings that may be kept or dropped."""
        return Attempt(self)


class Attempt:
    """Bindings that a request or an answer would add. `differs`: some value met is not the recorded one."""

    def __init__(self, bindings: Bindings) -> None:
        self.differs = False
        self._rules = bindings.rules
        self._kept, self._new = bindings, _Sides()
        self._told: list[Binding] = []

    def keep(self) -> list[Binding]:
        """Add them to the session's. Returns those that say something: not that of a file in a folder that is bound."""
        self._kept.by_recorded.update(self._new.by_recorded)
        self._kept.by_incoming.update(self._new.by_incoming)
        return self._told

    def bind(self, rule: int, recorded: JsonValue, incoming: JsonValue, born: Birthplace) -> Contradiction | None:
        """The two values stand in one place. Returns why they may not."""
        if self._rules.rules[rule].is_path and isinstance(recorded, str) and isinstance(incoming, str):
            return self._bind_path(rule, recorded, incoming, born)
        return self._bind_one(rule, recorded, incoming, born)

    def answer(self, rule: int, recorded: JsonValue, born: Birthplace) -> JsonValue:
        """What stands for a recorded value in an answer. One that is not bound is the model's own, and stays."""
        known = self._of_recorded(rule, recorded)
        if known is not None:
            return _spelled(self._rules.rules[rule], recorded, known.incoming)
        if self._rules.rules[rule].is_path and isinstance(recorded, str):
            return self._answer_path(rule, recorded, born)
        self._invent(rule, recorded, recorded, born)
        return recorded

    def known_text(self, text: str, without: int | None = None) -> str:
        """A text with every value in it that is bound, in its place. Binds nothing. `without`: a rule left out."""
        answer, end = "", 0
        for token in self._rules.tokens(text, without):
            answer += text[end : token.start] + self._known(token.rule, token.value)
            end = token.end
        return answer + text[end:]

    def _known(self, rule: int, recorded: str) -> str:
        known = self._of_recorded(rule, recorded)
        return recorded if known is None else str(_spelled(self._rules.rules[rule], recorded, known.incoming))

    def _bind_one(
        self, rule: int, recorded: JsonValue, incoming: JsonValue, born: Birthplace, *, told: bool = True
    ) -> Contradiction | None:
        here = Binding(self._rules.rules[rule].text, recorded, incoming, born)
        known = self._of_recorded(rule, recorded)
        other = self._of_incoming(rule, incoming)
        if known is not None:
            if self._key(rule, known.incoming) != self._key(rule, incoming):
                return Contradiction((known, other) if other is not None else (known,), here)
        elif other is not None and not self._rules.rules[rule].may_fall_together:
            return Contradiction((other,), here)
        else:
            self._add(rule, here, told=told)
        self.differs = self.differs or self._key(rule, recorded) != self._key(rule, incoming)
        return None

    def _bind_path(self, rule: int, recorded: str, incoming: str, born: Birthplace) -> Contradiction | None:
        pairs = zip(self._rules.rules[rule].folders(recorded), self._rules.rules[rule].folders(incoming), strict=True)
        for depth, (ours, theirs) in enumerate(pairs):
            name, other_name = ours.rpartition("/")[2], theirs.rpartition("/")[2]
            is_new = self._of_recorded(rule, ours) is None
            found = self._bind_one(rule, ours, theirs, born, told=depth == 0 or name != other_name)
            if found is None and is_new:
                found = self._bind_within(rule, name, other_name, born)
            if found is not None:
                return found
        return None

    def _bind_within(self, rule: int, recorded: str, incoming: str, born: Birthplace) -> Contradiction | None:
        """What other rules find in a folder's name, such as a UUID: the model may name it alone."""
        ours, theirs = self._rules.tokens(recorded, without=rule), self._rules.tokens(incoming, without=rule)
        if not is_same_frame(self._rules, recorded, ours, incoming, theirs):
            return None
        for our, their in zip(ours, theirs, strict=True):
            if (found := self._bind_one(our.rule, our.value, their.value, born)) is not None:
                return found
        return None

    def _answer_path(self, rule: int, recorded: str, born: Birthplace) -> str:
        answer = ""
        for folder in self._rules.rules[rule].folders(recorded):
            known = self._of_recorded(rule, folder)
            if known is not None:
                answer = str(known.incoming)
                continue
            before, _, name = folder.rpartition("/")
            new = self.known_text(name, without=rule)
            self._invent(rule, folder, f"{answer or before}/{new}", born, told=not answer or name != new)
            answer = f"{answer or before}/{new}"
        return answer

    def _invent(
        self, rule: int, recorded: JsonValue, incoming: JsonValue, born: Birthplace, *, told: bool = True
    ) -> None:
        # Where this run has the value for something else, it isn't bound: the next request that holds both is refused.
        if self._of_incoming(rule, incoming) is None:
            self._add(rule, Binding(self._rules.rules[rule].text, recorded, incoming, born), told=told)

    def _add(self, rule: int, binding: Binding, *, told: bool) -> None:
        self._new.by_recorded[self._key(rule, binding.recorded)] = binding
        self._new.by_incoming.setdefault(self._key(rule, binding.incoming), binding)
        if told:
            self._told.append(binding)

    def _of_recorded(self, rule: int, value: JsonValue) -> Binding | None:
        key = self._key(rule, value)
        return self._kept.by_recorded.get(key) or self._new.by_recorded.get(key)

    def _of_incoming(self, rule: int, value: JsonValue) -> Binding | None:
        key = self._key(rule, value)
        return self._kept.by_incoming.get(key) or self._new.by_incoming.get(key)

    def _key(self, rule: int, value: JsonValue) -> _Key:
        same = value.lower() if self._rules.rules[rule].ignores_case and isinstance(value, str) else value
        return rule, type(value), same


def is_same_frame(
    rules: VolatileRules, recorded: str, ours: Sequence[Token], incoming: str, theirs: Sequence[Token]
) -> bool:
    """Whether two texts are equal around their volatile values, and these are of the same kinds and forms."""
    if len(ours) != len(theirs):
        return False
    end = other_end = 0
    for our, their in zip(ours, theirs, strict=True):
        if our.rule != their.rule or not rules.rules[our.rule].is_same_form(our.value, their.value):
            return False
        if recorded[end : our.start] != incoming[other_end : their.start]:
            return False
        end, other_end = our.end, their.end
    return recorded[end:] == incoming[other_end:]


def _spelled(rule: VolatileRule, recorded: JsonValue, incoming: JsonValue) -> JsonValue:
    """The incoming value in the capitals of the recorded one, where they don't count."""
    if not (rule.ignores_case and isinstance(recorded, str) and isinstance(incoming, str)):
        return incoming
    if recorded.lower() == incoming.lower():
        return recorded
    return incoming.upper() if recorded.isupper() else incoming.lower() if recorded.islower() else incoming
