"""Where a difference between two requests came from, in one sentence: which tool result, prompt, tool or call.

A mismatch names the field that differs; that field is often only where an earlier change came to light. Looks at
redacted requests alone, and says nothing where it knows nothing.
"""

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from openprogram.pipeline.json_value import show_difference
from openprogram.pipeline.log.reader import Recording
from openprogram.pipeline.recorded_requests import RecordedRequests
from openprogram.pipeline.stages.compare import Cause, ComparisonRules, Difference, find_first_difference
from openprogram.providers.codec import ProviderRequestCodec
from openprogram.providers.minted import find_minted, rules_for_all

__all__ = ["find_cause", "find_entry"]

_MESSAGE: Final = re.compile(r"context\.messages\[(\d+)\]\.?")
_TOOL: Final = re.compile(r"context\.tools(?:\[(\d+)\])?\.?")


def find_cause(
    recording: Recording,
    call_index: int,
    incoming: dict[str, Any],
    difference: Difference,
    rules: ComparisonRules,
) -> Cause | None:
    """Where `difference` entered, or None. Source: docs/comparison.md."""
    other = _other_call(recording, call_index, incoming, rules)
    if other is not None:
        return Cause(other)
    recorded = RecordedRequests(recording, ProviderRequestCodec())(call_index)
    return find_entry(recording, call_index, recorded, incoming, difference, rules)


def find_entry(
    recording: Recording,
    call_index: int,
    recorded: dict[str, Any],
    incoming: dict[str, Any],
    difference: Difference,
    rules: ComparisonRules,
) -> Cause | None:
    """As `find_cause`, where the two are known to be the same call: `recorded` is its request, as it is compared."""
    entry = (
        _changed_prompt(difference)
        or _changed_tool(recorded, incoming, difference)
        or _changed_message(recording, call_index, recorded, incoming, difference)
        or _changed_setting(difference)
    )
    if entry is None:
        return None
    declared = recording.policy.volatile
    minted = find_minted(difference, declared) if entry.by_value else None
    if minted is None:
        return Cause(entry.text)
    how = "made anew in every run" if minted.is_certain else "which looks as if it were made anew in every run"
    text = f"{entry.text} (they differ in {minted.words} alone{':' if minted.is_certain else ','} {how})"
    return Cause(text, rules_for_all((recorded, incoming), difference, declared, rules))


class _Entry(NamedTuple):
    """`by_value`: what stands there has another value, in one run as in the other."""

    text: str
    by_value: bool = False


# ---- calls in another order


def _other_call(recording: Recording, call_index: int, incoming: dict[str, Any], rules: ComparisonRules) -> str | None:
    """The incoming request is that of another recorded call, whole; later calls are looked at first."""
    for other in [*range(call_index + 1, recording.call_count), *range(call_index - 1, -1, -1)]:
        if _is_request(recording.request(other), incoming, rules):
            if other < call_index:
                return f"a call is made again: the incoming request is that of recorded call {other}, already answered"
            return (
                f"the calls come in another order: the incoming request is that of recorded call {other}, "
                f"not of call {call_index}"
            )
    return None


def _is_request(recorded: dict[str, Any], incoming: dict[str, Any], rules: ComparisonRules) -> bool:
    if len(_messages(recorded)) != len(_messages(incoming)):
        return False
    try:
        recorded = ProviderRequestCodec().read(recorded)
    except ValueError:
        return False
    return find_first_difference(recorded, incoming, rules) is None


# ---- what the program sends every time


def _changed_prompt(difference: Difference) -> _Entry | None:
    if difference.field_path != "context.system_prompt":
        return None
    return _Entry("the system prompt reads otherwise than when it was recorded", by_value=True)


def _changed_tool(recorded: dict[str, Any], incoming: dict[str, Any], difference: Difference) -> _Entry | None:
    found = _TOOL.match(difference.field_path)
    if found is None:
        return None
    before, after = _tool_names(recorded), _tool_names(incoming)
    if before != after:
        return _Entry(_tool_list_cause(before, after))
    if found[1] is None:
        return None
    field = difference.field_path[found.end() :] or "definition"
    name = before[int(found[1])]
    return _Entry(f"tool {name!r} is defined otherwise than when it was recorded: its {field}", by_value=True)


def _tool_list_cause(before: list[str], after: list[str]) -> str:
    added = [name for name in after if name not in before]
    removed = [name for name in before if name not in after]
    parts = []
    if added:
        parts.append(f"incoming tools that were not recorded: {_listed(added)}")
    if removed:
        parts.append(f"recorded tools that are not incoming: {_listed(removed)}")
    return (
        "; ".join(parts) or f"the tools stand in another order: recorded {_listed(before)}, incoming {_listed(after)}"
    )


def _changed_setting(difference: Difference) -> _Entry | None:
    part, _, name = difference.field_path.partition(".")
    if part in ("model", "options") and name:
        what = "the model" if part == "model" else "an option"
        return _Entry(f"{what} is set otherwise: {name}", by_value=True)
    return None


# ---- what the conversation holds


def _changed_message(
    recording: Recording, call_index: int, recorded: dict[str, Any], incoming: dict[str, Any], difference: Difference
) -> _Entry | None:
    found = _MESSAGE.match(difference.field_path)
    if found is None:
        return None
    position, field = int(found[1]), difference.field_path[found.end() :]
    before, after = _messages(recorded), _messages(incoming)
    if len(before) != len(after):
        return _Entry(_length_cause(before, after, position))
    if not (before[position] and after[position]):
        return None
    roles = (before[position].get("role"), after[position].get("role"))
    if roles[0] != roles[1]:
        return _Entry(f"message {position} is another one: recorded role {roles[0]!r}, incoming role {roles[1]!r}")
    if roles[0] == "toolResult":
        return _tool_result_cause(recording, call_index, before, after, position, field, difference)
    if roles[0] == "assistant":
        text = _assistant_cause(recording, call_index, before[position], after[position], position)
        return _Entry(text, by_value=True)
    return _Entry(f"user message {position} reads otherwise than when it was recorded", by_value=True)


def _length_cause(before: list[Any], after: list[Any], position: int) -> str:
    count = abs(len(after) - len(before))
    more = len(after) > len(before)
    whole = (
        f"the conversation has {'more' if more else 'fewer'} messages: recorded {len(before)}, incoming {len(after)}"
    )
    longer, shorter = (after, before) if more else (before, after)
    inserted = find_first_difference(longer[position + count :], shorter[position:]) is None
    if inserted:
        there = ", ".join(str(message.get("role")) for message in longer[position : position + count])
        return f"{whole}; {'incoming' if more else 'recorded'} alone has, at message {position}: {there}"
    return f"{whole}; they part at message {position}"


def _tool_result_cause(
    recording: Recording,
    call_index: int,
    before: list[dict[str, Any]],
    after: list[dict[str, Any]],
    position: int,
    field: str,
    difference: Difference,
) -> _Entry:
    message = before[position]
    name, call_id = message.get("tool_name"), message.get("tool_call_id")
    where = _asked_by(recording, call_index, call_id, name)
    if field in ("tool_call_id", "tool_name") or call_id != after[position].get("tool_call_id"):
        return _Entry(_other_result_cause(before, after, position, where))
    failed = bool(message.get("is_error")), bool(after[position].get("is_error"))
    what = _what_a_tool_did(failed, field)
    recorded, incoming = show_difference(difference.recorded, difference.incoming)
    text = f"tool {name!r} (tool call {call_id!r}{where}) {what}: recorded {recorded}, incoming {incoming}"
    return _Entry(text, by_value=failed[0] == failed[1])


def _what_a_tool_did(failed: tuple[bool, bool], field: str) -> str:
    """`failed`: when it was recorded, and in this run."""
    # Whatever field it is: what a failed tool says is another text as well, and `content` stands before `is_error`.
    if failed[0] != failed[1]:
        return "failed, and had succeeded" if failed[1] else "succeeded, and had failed"
    if field.startswith("details"):
        return "returned other details for the program"
    return "returned something else"


def _other_result_cause(before: list[dict[str, Any]], after: list[dict[str, Any]], position: int, where: str) -> str:
    ids = [[str(message.get("tool_call_id")) for message in side if _is_result(message)] for side in (before, after)]
    if ids[0] != ids[1] and sorted(ids[0]) == sorted(ids[1]):
        return f"the tool results stand in another order: recorded {_listed(ids[0])}, incoming {_listed(ids[1])}"
    return (
        f"message {position} answers another tool call: recorded {before[position].get('tool_call_id')!r} of tool "
        f"{before[position].get('tool_name')!r}{where}, incoming {after[position].get('tool_call_id')!r} of tool "
        f"{after[position].get('tool_name')!r}"
    )


def _is_result(message: dict[str, Any]) -> bool:
    return message.get("role") == "toolResult"


def _asked_by(recording: Recording, call_index: int, tool_call_id: Any, name: Any) -> str:
    """The latest recorded answer before this call that asks for the tool, and the event; in words, or empty.

    A model may give two calls one id: then the tool's name tells, or the event stays unsaid.
    """
    for earlier in range(call_index - 1, -1, -1):
        asked = [
            (event_index, tool_call.get("name"))
            for event_index, event in enumerate(recording.events(earlier))
            if isinstance(tool_call := event.get("tool_call"), dict) and tool_call.get("id") == tool_call_id
        ]
        if asked:
            of_that_name = [one for one in asked if one[1] == name] or asked
            event = f", event {of_that_name[0][0]}" if len(of_that_name) == 1 else ""
            return f", asked for by call {earlier}{event}"
    return ""


def _assistant_cause(
    recording: Recording, call_index: int, before: dict[str, Any], after: dict[str, Any], position: int
) -> str:
    for earlier, answer in _answers(recording, call_index):
        if find_first_difference(answer, before) is None:
            return (
                f"assistant message {position}: recorded as call {earlier} answered it, incoming changed by the "
                "program before it was sent back"
            )
        if find_first_difference(answer, after) is None:
            return (
                f"assistant message {position}: incoming as call {earlier} answered it, recorded changed by the "
                "program before it was sent back"
            )
    return f"assistant message {position} reads otherwise than when it was recorded, and no recorded call answered it"


def _answers(recording: Recording, call_index: int) -> Iterator[tuple[int, Any]]:
    """The final messages of the recorded calls before this one, the latest first."""
    for earlier in range(call_index - 1, -1, -1):
        for event in recording.events(earlier):
            if event.get("type") in ("done", "error"):
                yield earlier, event.get("message", event.get("error"))


# ---- words


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names))


def _messages(request: dict[str, Any]) -> list[dict[str, Any]]:
    return _objects(request, "messages")


def _tool_names(request: dict[str, Any]) -> list[str]:
    return [str(tool.get("name")) for tool in _objects(request, "tools")]


def _objects(request: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """A list of the context. What a program put there past the types, in place of an object, counts as an empty one."""
    items = (request.get("context") or {}).get(name)
    return [item if isinstance(item, dict) else {} for item in items] if isinstance(items, list) else []
