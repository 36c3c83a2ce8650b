"""What was shown to differ already: an agent sends its conversation with every call, and each difference with it.

A message is known on its side where it stood in a difference before, where it is an answer that differed, or where it
is the result of a tool call that only such an answer asks for.
"""

from collections.abc import Callable, Iterator
from difflib import SequenceMatcher
from typing import Any, Final, NamedTuple

from openprogram.pipeline.json_value import ABSENT, join_path
from openprogram.pipeline.stages.compare import Difference
from openprogram.recordings.sides import Answer, Side

__all__ = ["KnownDifferences", "NewDifference"]

_MESSAGES: Final = "context.messages"


class NewDifference(NamedTuple):
    """`difference`: the first one that isn't known, or None. `has_known`: others are there that are.

    `is_level`: both conversations are at the same message there.
    """

    difference: Difference | None
    has_known: bool
    is_level: bool = True


class _Step(NamedTuple):
    """Messages that differ: of both sides, or of one alone. `at`: their positions; digests and messages, or None."""

    at: tuple[int, int]
    digests: tuple[bytes | None, bytes | None]
    messages: tuple[Any, Any]


class KnownDifferences:
    """Of a session. Not for use from several threads."""

    def __init__(self, recorded: Side, incoming: Side, differ: Callable[[Any, Any], Difference | None]) -> None:
        """`differ(recorded, incoming)`: the first place where two values are not what comparison takes for equal."""
        self._sides, self._differ = (recorded, incoming), differ
        self._messages: tuple[set[bytes], set[bytes]] = set(), set()
        self._tool_calls: tuple[set[str], set[str]] = set(), set()
        self._fields: set[tuple[str, bytes, bytes]] = set()

    def add_call(self, side: int, request: dict[str, Any], answer: Answer) -> None:
        """A call that the other side doesn't have."""
        self._messages[side].update(self._sides[side].message_digests(request))
        self._messages[side].add(answer.digest)
        self._tool_calls[side].update(tool.id for tool in answer.tools)

    def add_answers(self, recorded: Answer, incoming: Answer) -> None:
        """Two answers that differ."""
        for side, answer in enumerate((recorded, incoming)):
            self._messages[side].add(answer.digest)
        shared = [tool for tool in recorded.tools if tool in incoming.tools]
        for side, answer in enumerate((recorded, incoming)):
            self._tool_calls[side].update(tool.id for tool in answer.tools if tool not in shared)

    def add_requests(self, recorded: dict[str, Any], incoming: dict[str, Any]) -> None:
        """Two requests of which a difference was shown: all of them are known from now on."""
        for step in self._steps(recorded, incoming):
            for side, digest in enumerate(step.digests):
                if digest is not None:
                    self._messages[side].add(digest)
        for name, values in _fields(recorded, incoming):
            self._fields.add(self._field(name, *values))

    def new_difference(self, recorded: dict[str, Any], incoming: dict[str, Any]) -> NewDifference:
        """What differs in two requests that isn't known."""
        new: list[tuple[Difference, bool]] = []
        has_known = False
        for step in self._steps(recorded, incoming):
            if self._is_known(step):
                has_known = True
            elif not new:
                new.append((self._message_difference(step), step.at[0] == step.at[1]))
        for name, values in _fields(recorded, incoming):
            if self._field(name, *values) in self._fields:
                has_known = True
            elif (found := self._field_difference(name, *values)) is not None:
                new.append((found, True))
        return NewDifference(new[0][0], has_known, new[0][1]) if new else NewDifference(None, has_known)

    def _steps(self, recorded: dict[str, Any], incoming: dict[str, Any]) -> Iterator[_Step]:
        digests = self._sides[0].message_digests(recorded), self._sides[1].message_digests(incoming)
        messages = recorded["context"].get("messages") or [], incoming["context"].get("messages") or []
        for tag, start, end, other_start, other_end in SequenceMatcher(None, *digests, autojunk=False).get_opcodes():
            if tag == "equal":
                continue
            for offset in range(max(end - start, other_end - other_start)):
                at = min(start + offset, end), min(other_start + offset, other_end)
                inside = at[0] < end, at[1] < other_end
                yield _Step(
                    at,
                    (digests[0][at[0]] if inside[0] else None, digests[1][at[1]] if inside[1] else None),
                    (messages[0][at[0]] if inside[0] else None, messages[1][at[1]] if inside[1] else None),
                )

    def _is_known(self, step: _Step) -> bool:
        return all(
            digest is None or digest in self._messages[side] or self._is_result(side, step.messages[side])
            for side, digest in enumerate(step.digests)
        )

    def _is_result(self, side: int, message: dict[str, Any]) -> bool:
        return message.get("role") == "toolResult" and message.get("tool_call_id") in self._tool_calls[side]

    def _field(self, name: str, recorded: Any, incoming: Any) -> tuple[str, bytes, bytes]:
        return name, self._sides[0].digest(recorded), self._sides[1].digest(incoming)

    def _message_difference(self, step: _Step) -> Difference:
        path = join_path(_MESSAGES, step.at[0])
        found = None if None in step.digests else self._differ(*step.messages)
        if found is not None:
            inner = found.field_path
            return found._replace(field_path=f"{path}{'' if inner.startswith('[') or not inner else '.'}{inner}")
        sides = [ABSENT if step.digests[side] is None else step.messages[side] for side in (0, 1)]
        return Difference(path, *sides)

    def _field_difference(self, name: str, recorded: Any, incoming: Any) -> Difference | None:
        part, _, key = name.partition(".")
        if key:
            recorded, incoming = {key: recorded}, {key: incoming}
        return self._differ({part: recorded}, {part: incoming})


def _fields(recorded: dict[str, Any], incoming: dict[str, Any]) -> Iterator[tuple[str, tuple[Any, Any]]]:
    """Everything but the messages, field by field, in the order of comparison; only what isn't the same value."""
    for key in sorted(recorded.keys() | incoming.keys()):
        if key != "context":
            yield key, (recorded.get(key), incoming.get(key))
            continue
        inner = recorded["context"], incoming["context"]
        for name in sorted((inner[0].keys() | inner[1].keys()) - {"messages"}):
            yield f"context.{name}", (inner[0].get(name), inner[1].get(name))
