"""Recorded calls by what they ask: an index of digests, so that a call is found without a look at all the others."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from openprogram.pipeline.canonical import canonical
from openprogram.pipeline.json_value import JsonValue, join_path
from openprogram.pipeline.matching.leaves import is_scalar, may_hold_symbols
from openprogram.pipeline.matching.rules import VolatileRules
from openprogram.pipeline.stages.compare import ComparisonRules

__all__ = ["ContentIndex", "Form", "Outline", "message_digests", "outline"]

_DIGEST_BYTES: Final = 16
#: Recorded calls that are compared in full to find the nearest, of those that have most in common.
_COMPARED: Final = 8
#: Characters from which on a text is represented by its digest, and digests of so many texts are remembered.
_LONG: Final = 200
_REMEMBERED: Final = 100_000


class Outline(NamedTuple):
    """Digests of a request. Equal requests have the same one; volatile values don't count in it."""

    whole: bytes
    parts: tuple[bytes, ...]  #: model, system prompt, tools, options, first and last message, number of messages


def outline(request: dict[str, JsonValue], form: "Form", digests: list[bytes] | None = None) -> Outline:
    """The outline of a redacted request. `digests`: of its messages, where they are known. Raises: nothing."""
    context = request.get("context")
    if not isinstance(context, dict):
        context = {}
    digests = message_digests(request, form) if digests is None else digests
    around = {**request, "context": {key: value for key, value in context.items() if key != "messages"}}
    parts = [_digest(form.of(request.get(name), name)) for name in ("model", "options")]
    parts += [_digest(form.of(context.get(name), f"context.{name}")) for name in ("system_prompt", "tools")]
    whole = _digest([_digest(form.of(around, "")).hex(), *(digest.hex() for digest in digests)])
    return Outline(whole, (*parts, *digests[:1], *digests[-1:], b"%d" % len(digests)))


def message_digests(request: dict[str, JsonValue], form: "Form") -> list[bytes]:
    """A digest of each message of a redacted request; equal messages have the same one."""
    context = request.get("context")
    messages = context.get("messages") if isinstance(context, dict) else None
    return [
        _digest(form.of(message, join_path("context.messages", index)))
        for index, message in enumerate(messages if isinstance(messages, list) else [])
    ]


def _digest(value: JsonValue) -> bytes:
    return blake2b(canonical(value), digest_size=_DIGEST_BYTES).digest()


class Form:
    """A value with all left out that a comparison doesn't look at, and a mark in the place of each volatile value."""

    def __init__(self, rules: ComparisonRules, volatile: VolatileRules) -> None:
        self._rules, self._volatile = rules, volatile
        # A path is only made where one may be named: nearly all of a request is below those.
        self._above = {path[:end] for path in rules.ignored_paths for end in range(len(path) + 1)}
        self._known: dict[bytes, str] = {}  # digest of a long text → its form: a conversation is looked at once

    def of(self, value: JsonValue, path: str | None, *, free_form: bool = False, is_fixed: bool = False) -> JsonValue:
        """The form of a value. `path`: None where no rule can name what stands there or below."""
        if path is not None:
            field = self._volatile.field_rule(path)
            if field is not None and is_scalar(value):
                return {"volatile": field, "type": type(value).__name__}
            if not self._volatile.has_fields and path not in self._above:
                path = None
        if isinstance(value, dict):
            return self._dict(value, path, free_form=free_form)
        if isinstance(value, list):
            return [self.of(item, _join(path, index), free_form=free_form) for index, item in enumerate(value)]
        if isinstance(value, str):
            return self._text(value, is_fixed=is_fixed)
        if isinstance(value, float):
            return value + 0.0  # -0.0 is equal to 0.0
        return value

    def _dict(self, value: dict[str, JsonValue], path: str | None, *, free_form: bool) -> JsonValue:
        form: dict[str, JsonValue] = {}
        alike: list[JsonValue] = []  # members whose key holds a volatile value: several may come to the same
        for key, item in value.items():
            place = _join(path, key)
            if (not free_form and (key in self._rules.ignored_names or item is None)) or (
                place in self._rules.ignored_paths
            ):
                continue
            below = free_form or key in self._rules.free_form_names
            is_fixed = not may_hold_symbols(key, value, free_form=free_form)
            member = self.of(item, place, free_form=below, is_fixed=is_fixed)
            if free_form and (name := self._text(key)) != key:
                alike.append([name, member])
            else:
                form[key] = member
        return [form, *sorted(alike, key=canonical)] if alike else form

    def _text(self, text: str, *, is_fixed: bool = False) -> str:
        if len(text) < _LONG:
            return text if is_fixed else self._marked(text)
        key = _text_digest(text)
        if is_fixed:
            return key.hex()
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            known = self._known[key] = _text_digest(self._marked(text)).hex()
        return known

    def _marked(self, text: str) -> str:
        tokens = self._volatile.tokens(text)
        if not tokens:
            return text
        parts, end = [], 0
        for token in tokens:
            parts += [text[end : token.start], f"\0{token.rule}\0"]
            end = token.end
        return "".join([*parts, text[end:]])


def _join(path: str | None, key: str | int) -> str | None:
    return None if path is None else join_path(path, key)


def _text_digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).digest()


class ContentIndex:
    """The outlines of a recording's calls, and which of them are used. In memory stay digests, not requests.

    `request(call_index)`: a recorded request, as it is compared.
    """

    def __init__(
        self,
        call_count: int,
        request: Callable[[int], dict[str, Any]],
        form: Form,
    ) -> None:
        self._parts: list[tuple[bytes, ...]] = []
        self._unused: dict[bytes, deque[int]] = {}
        self._used: dict[bytes, int] = {}
        self._is_used = [False] * call_count
        known: dict[bytes, bytes] = {}  # one object for a digest that many calls share, such as the model's
        for call_index in range(call_count):
            found = outline(request(call_index), form)
            self._unused.setdefault(found.whole, deque()).append(call_index)
            self._parts.append(tuple(known.setdefault(part, part) for part in found.parts))

    def unused(self, whole: bytes) -> Iterable[int]:
        """The calls of that outline that are not used yet, the first recorded first."""
        return self._unused.get(whole, ())

    def used(self, whole: bytes) -> int | None:
        """The latest call of that outline that was used, or None."""
        return self._used.get(whole)

    def use(self, whole: bytes, call_index: int) -> None:
        """Take a call: it answers once."""
        self._unused[whole].remove(call_index)
        self._used[whole] = call_index
        self._is_used[call_index] = True

    def nearest(self, request: Outline) -> Iterator[int]:
        """Unused calls that have as many parts in common with `request` as any, a few of them, in recorded order."""
        best, count = -1, 0
        nearest: list[int] = []
        for call_index, parts in enumerate(self._parts):
            if self._is_used[call_index]:
                continue
            count = sum(left == right for left, right in zip(parts, request.parts, strict=False))
            if count > best:
                best, nearest = count, []
            if count == best and len(nearest) < _COMPARED:
                nearest.append(call_index)
        return iter(nearest)
