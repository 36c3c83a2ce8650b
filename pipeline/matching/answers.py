"""Recorded answers with this run's values: what the model answered with, it answers with again, as it is called now.

A block's deltas are looked at joined, so that a value cut in two is found, and joined they are the content still.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Final, NamedTuple

from openprogram.pipeline.json_value import JsonValue, join_path, to_json_text
from openprogram.pipeline.log.strict_json import load_payload
from openprogram.pipeline.matching.argument_text import json_pieces, json_string_text
from openprogram.pipeline.matching.bindings import Attempt, Birthplace
from openprogram.pipeline.matching.leaves import is_scalar, may_hold_symbols
from openprogram.pipeline.matching.rules import VolatileRules
from openprogram.pipeline.stages.compare import FREE_FORM_FIELD_NAMES

__all__ = ["bind_answer"]

#: Event types that carry a piece of a block's text, with the place of that text in the block.
_DELTAS: Final = {"text_delta": "text", "thinking_delta": "thinking", "toolcall_delta": "arguments"}
_ENDS: Final = {"text_end": "text", "thinking_end": "thinking"}
_FINALS: Final = {"done": "message", "error": "error"}


class _Change(NamedTuple):
    """Characters of a text, and what stands for them."""

    start: int
    end: int
    new: str


def bind_answer(
    payloads: Sequence[bytes], rules: VolatileRules, attempt: Attempt, call_index: int, message_count: int
) -> list[bytes]:
    """The events of a recorded call as this run gets them. `payloads`: their JSON texts, all of them.

    `message_count`: messages of the request, and so the answer's place in the next. Values that are bound to others
    are replaced; values met here first are bound to themselves. What holds none is the recorded bytes. Raises: nothing.
    """
    events = [load_payload(payload) for payload in payloads]
    binder = _Binder(rules, attempt, call_index, join_path("context.messages", message_count))
    return [
        payload if new is None else to_json_text(new)
        for payload, new in zip(payloads, binder.events(events), strict=True)
    ]


class _Binder:
    def __init__(self, rules: VolatileRules, attempt: Attempt, call_index: int, place: str) -> None:
        self._rules, self._attempt, self._call_index, self._place = rules, attempt, call_index, place
        self._event_index = 0

    def events(self, events: list[JsonValue]) -> list[JsonValue | None]:
        """What each event becomes, or None where it stays."""
        new: list[JsonValue | None] = [None] * len(events)
        seen: set[int] = set()
        for index, event in enumerate(events):
            if not isinstance(event, dict):
                continue
            self._event_index = index
            if event.get("type") in _DELTAS:
                if index not in seen:
                    block = _block(events, index)
                    seen.update(block)
                    self._deltas(events, block, new)
                continue
            bound = self._event(event)
            new[index] = bound if bound is not event else None
        return new

    def _event(self, event: dict[str, JsonValue]) -> JsonValue:
        kind = str(event.get("type"))
        block = self._block_path(event)
        if kind in _ENDS:
            content = self._value(event.get("content"), join_path(block, _ENDS[kind]))
            return event if content is event.get("content") else {**event, "content": content}
        if kind == "toolcall_start":
            return self._members(event, block, ("id", "name"))
        if kind == "toolcall_end":
            tool_call = self._value(event.get("tool_call"), block)
            return event if tool_call is event.get("tool_call") else {**event, "tool_call": tool_call}
        if kind in _FINALS:
            message = self._value(event.get(_FINALS[kind]), self._place)
            return event if message is event.get(_FINALS[kind]) else {**event, _FINALS[kind]: message}
        return event

    def _members(self, event: dict[str, JsonValue], path: str, names: Sequence[str]) -> JsonValue:
        new = {name: self._value(event[name], join_path(path, name)) for name in names if name in event}
        return event if all(new[name] is event[name] for name in new) else {**event, **new}

    def _block_path(self, event: dict[str, JsonValue]) -> str:
        index = event.get("content_index")
        return join_path(join_path(self._place, "content"), index if isinstance(index, int) else 0)

    # ---- values

    def _value(self, value: JsonValue, path: str, *, free_form: bool = False) -> JsonValue:
        """The value as this run has it; the very same where nothing in it changes."""
        field = self._rules.field_rule(path)
        if field is not None and is_scalar(value):
            new = self._attempt.answer(field, value, self._born())
            return value if new == value else new
        if isinstance(value, dict):
            return self._dict(value, path, free_form=free_form)
        if isinstance(value, list):
            items = [self._value(item, join_path(path, index), free_form=free_form) for index, item in enumerate(value)]
            return value if all(new is old for new, old in zip(items, value, strict=True)) else items
        if isinstance(value, str):
            return _changed(value, self._text_changes(value))
        return value

    def _dict(self, value: dict[str, JsonValue], path: str, *, free_form: bool) -> JsonValue:
        new: dict[str, JsonValue] = {}
        for key, item in value.items():
            name = self._attempt.known_text(key) if free_form else key
            if may_hold_symbols(key, value, free_form=free_form):
                below = free_form or key in FREE_FORM_FIELD_NAMES
                new[name] = self._value(item, join_path(path, key), free_form=below)
            else:
                new[name] = item
        is_same = new.keys() == value.keys() and all(new[key] is value[key] for key in value)
        return value if is_same else new

    def _text_changes(self, text: str) -> list[_Change]:
        changes = []
        for token in self._rules.tokens(text):
            new = self._attempt.answer(token.rule, token.value, self._born())
            if new != token.value:
                changes.append(_Change(token.start, token.end, str(new)))
        return changes

    def _born(self) -> Birthplace:
        return Birthplace(self._call_index, event_index=self._event_index)

    # ---- deltas

    def _deltas(self, events: list[JsonValue], block: list[int], new: list[JsonValue | None]) -> None:
        deltas = [_delta(events[index]) for index in block]
        text = "".join(deltas)
        first = events[block[0]]
        assert isinstance(first, dict)
        field = _DELTAS[str(first["type"])]
        path = join_path(self._block_path(first), field)
        changes = self._argument_changes(text, path) if field == "arguments" else self._whole_changes(text, path)
        if not changes:
            return
        for index, old, delta in zip(block, deltas, _spread(deltas, changes), strict=True):
            event = events[index]
            if delta != old and isinstance(event, dict):
                new[index] = {**event, "delta": delta}

    def _whole_changes(self, text: str, path: str) -> list[_Change]:
        new = self._value(text, path) if self._rules.field_rule(path) is not None else text
        return [_Change(0, len(text), str(new))] if new != text else self._text_changes(text)

    def _argument_changes(self, text: str, path: str) -> list[_Change]:
        changes = []
        for piece in json_pieces(text, path):
            if piece.is_key:
                assert isinstance(piece.value, str)
                new: JsonValue = self._attempt.known_text(piece.value)
            elif self._rules.field_rule(piece.path) is not None:
                new = self._value(piece.value, piece.path)
            elif isinstance(piece.value, str):
                changes += [
                    _Change(piece.at(change.start), piece.at(change.end), json_string_text(change.new))
                    for change in self._text_changes(piece.value)
                ]
                continue
            else:
                continue
            if new != piece.value:
                changes.append(_Change(piece.start, piece.end, json_string_text(new)))
        return changes


def _block(events: list[JsonValue], first: int) -> list[int]:
    """The deltas of a block from `first` on, up to where another event of that block stands."""
    event = events[first]
    assert isinstance(event, dict)
    block = []
    for index in range(first, len(events)):
        other = events[index]
        if not isinstance(other, dict) or other.get("content_index") != event.get("content_index"):
            continue
        if other.get("type") != event.get("type"):
            break
        block.append(index)
    return block


def _delta(event: JsonValue) -> str:
    delta = event.get("delta") if isinstance(event, dict) else None
    return delta if isinstance(delta, str) else ""


def _changed(text: str, changes: Sequence[_Change]) -> str:
    if not changes:
        return text
    return _spread([text], changes)[0]


def _spread(deltas: Sequence[str], changes: Sequence[_Change]) -> list[str]:
    """The deltas of the changed text, cut where the recorded ones were; within a value, after as many characters."""
    text = "".join(deltas)
    parts, end = [], 0
    for change in changes:
        parts += [text[end : change.start], change.new]
        end = change.end
    new = "".join([*parts, text[end:]])
    cuts = [0, *accumulate(map(len, deltas))]
    return [new[start:end] for start, end in pairwise(_moved(cuts, changes))]


def _moved(cuts: Sequence[int], changes: Sequence[_Change]) -> Iterator[int]:
    """Where places of a text, in order, are in the changed one."""
    shift = done = 0
    for cut in cuts:
        while done < len(changes) and changes[done].end <= cut:
            shift += len(changes[done].new) - (changes[done].end - changes[done].start)
            done += 1
        if done < len(changes) and changes[done].start < cut:
            change = changes[done]
            yield change.start + shift + min(cut - change.start, len(change.new))
        else:
            yield cut + shift
