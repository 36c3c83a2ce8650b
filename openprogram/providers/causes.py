"""Where a difference between two requests came from, in one sentence: which tool result, prompt, tool or call.

A mismatch names the field that differs; that field is often only where an earlier change came to light. Looks at
redacted requests alone, and says nothing where it knows nothing.
"""

import re
from typing import Any, Final

from openprogram.pipeline.json_value import show_difference
from openprogram.pipeline.log.reader import Recording
from openprogram.pipeline.stages.compare import Difference, find_first_difference

__all__ = ["find_cause"]

_MESSAGE: Final = re.compile(r"context\.messages\[(\d+)\]")
_TOOL: Final = re.compile(r"context\.tools(?:\[(\d+)\])?")

#: Values that a program mints anew in every run.
_MINTED: Final = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"  # UUID
    r"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d"  # ISO 8601 time
    r"|/tmp/[\w./-]+"  # temporary path
)


def find_cause(recording: Recording, call_index: int, incoming: dict[str, Any], difference: Difference) -> str | None:
    """A sentence on where `difference` entered, or None. Source: docs/comparison.md."""
    recorded = recording.request(call_index)
    return (
        _other_call(recording, call_index, incoming)
        or _changed_prompt(difference)
        or _changed_tool(recorded, incoming, difference)
        or _changed_message(recording, call_index, recorded, incoming, difference)
        or _changed_setting(difference)
    )


def _other_call(recording: Recording, call_index: int, incoming: dict[str, Any]) -> str | None:
    """The request of another recorded call: the run makes its calls in another order."""
    for other in range(recording.call_count):
        if other != call_index and _same_conversation(recording.request(other), incoming):
            return f"calls in another order: this request is the recorded one of call {other}"
    return None


def _same_conversation(recorded: dict[str, Any], incoming: dict[str, Any]) -> bool:
    same_length = len(_messages(recorded)) == len(_messages(incoming))
    return same_length and find_first_difference(recorded.get("context"), incoming.get("context")) is None


def _changed_prompt(difference: Difference) -> str | None:
    if difference.field_path != "context.system_prompt":
        return None
    return "the system prompt reads otherwise than when it was recorded"


def _changed_tool(recorded: dict[str, Any], incoming: dict[str, Any], difference: Difference) -> str | None:
    found = _TOOL.match(difference.field_path)
    if found is None:
        return None
    before, after = _tool_names(recorded), _tool_names(incoming)
    if before != after:
        return _tool_list_cause(before, after)
    field = difference.field_path[found.end() :].lstrip(".") or "definition"
    return f"tool {before[int(found[1] or 0)]!r}: its {field} has changed"


def _tool_list_cause(before: list[str], after: list[str]) -> str:
    added = [name for name in after if name not in before]
    removed = [name for name in before if name not in after]
    parts = []
    if added:
        parts.append(f"tools that were not recorded: {', '.join(map(repr, added))}")
    if removed:
        parts.append(f"recorded tools that are missing now: {', '.join(map(repr, removed))}")
    return "; ".join(parts) or "the tools stand in another order"


def _changed_message(
    recording: Recording, call_index: int, recorded: dict[str, Any], incoming: dict[str, Any], difference: Difference
) -> str | None:
    found = _MESSAGE.match(difference.field_path)
    if found is None:
        return None
    position = int(found[1])
    before, after = _messages(recorded), _messages(incoming)
    if position >= len(before) or position >= len(after):
        return _length_cause(before, after)
    roles = (before[position].get("role"), after[position].get("role"))
    if roles[0] != roles[1]:
        return f"message {position} is another one: recorded role {roles[0]!r}, incoming role {roles[1]!r}"
    if roles[0] == "toolResult":
        return _tool_result_cause(recording, call_index, before[position], position, difference)
    if roles[0] == "assistant":
        return _assistant_cause(position, difference)
    return f"user message {position} reads otherwise{_minted(difference)}"


def _tool_result_cause(
    recording: Recording, call_index: int, message: dict[str, Any], position: int, difference: Difference
) -> str:
    name, call_id = message.get("tool_name"), message.get("tool_call_id")
    asked = _asked_by(recording, call_index, call_id)
    where = f", asked for by call {asked}" if asked is not None else ""
    recorded, incoming = show_difference(difference.recorded, difference.incoming)
    what = "failed in one of the two runs" if difference.field_path.endswith(".is_error") else "returned something else"
    return (
        f"tool {name!r} (tool call {call_id!r}{where}) {what}: "
        f"recorded {recorded}, incoming {incoming}{_minted(difference)}"
    )


def _asked_by(recording: Recording, call_index: int, tool_call_id: Any) -> int | None:
    """The latest recorded call before this one whose answer holds the tool call."""
    for earlier in range(call_index - 1, -1, -1):
        for event in recording.events(earlier):
            tool_call = event.get("tool_call")
            if isinstance(tool_call, dict) and tool_call.get("id") == tool_call_id:
                return earlier
    return None


def _assistant_cause(position: int, difference: Difference) -> str:
    return (
        f"assistant message {position} is not what the recorded calls answered: "
        f"the program changed it before sending it back{_minted(difference)}"
    )


def _length_cause(before: list[Any], after: list[Any]) -> str:
    kind = "more" if len(after) > len(before) else "fewer"
    return f"the conversation has {kind} messages: recorded {len(before)}, incoming {len(after)}"


def _changed_setting(difference: Difference) -> str | None:
    part, _, name = difference.field_path.partition(".")
    if part == "options" and not name:
        return "options are given in one of the two runs only"
    if part in ("model", "options"):
        return f"{'the model' if part == 'model' else 'an option'} was set otherwise: {name}"
    return None


def _minted(difference: Difference) -> str:
    sides = (difference.recorded, difference.incoming)
    if all(isinstance(side, str) and _MINTED.search(side) for side in sides):
        return " (both hold an id, a time or a temporary path: a value that is made anew in every run)"
    return ""


def _messages(request: dict[str, Any]) -> list[dict[str, Any]]:
    messages = (request.get("context") or {}).get("messages")
    return messages if isinstance(messages, list) else []


def _tool_names(request: dict[str, Any]) -> list[str]:
    tools = (request.get("context") or {}).get("tools") or []
    return [str(tool.get("name")) for tool in tools]
