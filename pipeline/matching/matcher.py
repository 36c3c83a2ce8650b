"""Which recorded call answers a request, under the policies of the recording's header."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from openprogram.pipeline.log.reader import Recording, unchanged
from openprogram.pipeline.matching.answers import bind_answer
from openprogram.pipeline.matching.bindings import Binding, Bindings, Contradiction
from openprogram.pipeline.matching.comparison import Compared, SymbolComparison
from openprogram.pipeline.matching.content import ContentIndex, Form, outline
from openprogram.pipeline.stages.compare import ComparisonRules, Difference, find_first_difference

__all__ = ["Answered", "PolicyMatcher", "Unmatched"]


class Answered(NamedTuple):
    """A recorded call that answers. `payloads`: its events as JSON text where they are not the file's own.

    `differs`: some value stands for another. `new`: bindings that were made.
    """

    call_index: int
    payloads: list[bytes] | None = None
    differs: bool = False
    new: tuple[Binding, ...] = ()


class Unmatched(NamedTuple):
    """No recorded call answers. `call_index`: the one compared with, or the nearest; `difference`: from it.

    `used`: a call with an equal request that has answered already, or None.
    """

    call_index: int
    difference: Difference
    incoming: dict[str, Any]
    contradiction: Contradiction | None = None
    used: int | None = None


class PolicyMatcher:
    """Chooses for one session. Not for use from several threads at a time.

    `request(call_index)`: a recorded request, as it is compared.
    Raises RecordingFileError, as `request` does: where calls are chosen by content, all are read at once.
    """

    def __init__(self, recording: Recording, request: Callable[[int], dict[str, Any]], rules: ComparisonRules) -> None:
        self._recording, self._request, self._rules = recording, request, rules
        self._volatile = recording.policy.rules()
        self._bindings = Bindings(self._volatile)
        self._comparison = SymbolComparison(self._bindings, rules) if self._volatile.rules else None
        self._form = Form(rules, self._volatile)
        self._next_call_index = 0
        self._index: ContentIndex | None = None
        if recording.policy.match == "content":
            self._index = ContentIndex(recording.call_count, request, self._form)

    @property
    def is_used_up(self) -> bool:
        """Whether every recorded call has answered."""
        return self._next_call_index >= self._recording.call_count

    def choose(self, incoming: dict[str, Any]) -> Answered | Unmatched:
        """The recorded call that answers, which is used up then. Ask only while there is one left."""
        return self._in_order(incoming) if self._index is None else self._by_content(incoming, self._index)

    def _in_order(self, incoming: dict[str, Any]) -> Answered | Unmatched:
        found = self._compare(self._next_call_index, incoming)
        if found.difference is not None:
            return Unmatched(self._next_call_index, found.difference, incoming, found.contradiction)
        return self._answered(self._next_call_index, incoming, found)

    def _by_content(self, incoming: dict[str, Any], index: ContentIndex) -> Answered | Unmatched:
        found = outline(incoming, self._form)
        first: Unmatched | None = None
        for call_index in index.unused(found.whole):
            compared = self._compare(call_index, incoming)
            if compared.difference is None:
                index.use(found.whole, call_index)
                return self._answered(call_index, incoming, compared)
            first = first or Unmatched(call_index, compared.difference, incoming, compared.contradiction)
        used = index.used(found.whole)
        nearest = first or max(
            (self._unmatched(call_index, incoming) for call_index in index.nearest(found)), key=_equal_messages
        )
        return nearest._replace(used=used)

    def _unmatched(self, call_index: int, incoming: dict[str, Any]) -> Unmatched:
        compared = self._compare(call_index, incoming)
        assert compared.difference is not None  # equal requests have equal outlines, and those were tried
        return Unmatched(call_index, compared.difference, incoming, compared.contradiction)

    def _compare(self, call_index: int, incoming: dict[str, Any]) -> Compared:
        recorded = self._request(call_index)
        if self._comparison is None:
            return Compared(find_first_difference(recorded, incoming, self._rules))
        return self._comparison.compare(recorded, incoming, call_index)

    def _answered(self, call_index: int, incoming: dict[str, Any], found: Compared) -> Answered:
        self._next_call_index += 1
        if self._comparison is None:
            return Answered(call_index)
        recorded = list(self._recording.payloads(call_index))
        attempt = self._bindings.attempt()
        with unchanged(self._recording.path, self._recording.calls[call_index]):
            payloads = bind_answer(recorded, self._volatile, attempt, call_index, _message_count(incoming))
        new = (*found.new, *attempt.keep())
        return Answered(call_index, payloads, found.differs or payloads != recorded, new)


def _equal_messages(unmatched: Unmatched) -> float:
    """How many messages are equal before the first difference."""
    found = re.match(r"context\.messages\[(\d+)\]", unmatched.difference.field_path)
    return float("inf") if found is None else int(found[1])


def _message_count(request: dict[str, Any]) -> int:
    messages = (request.get("context") or {}).get("messages")
    return len(messages) if isinstance(messages, list) else 0
