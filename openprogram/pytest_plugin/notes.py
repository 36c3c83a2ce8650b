"""What a recording can add to a test's failure: why it may have failed, where the test itself can't show it."""

from contextlib import suppress
from typing import Any

from openprogram.pipeline.errors import PipelineError
from openprogram.pipeline.redaction.names import SECRET_PLACEHOLDER
from openprogram.pytest_plugin.record_item import RecordItem
from openprogram.pytest_plugin.replay_item import ReplayItem
from openprogram.recordings.description import CallContent, read_content

__all__ = ["failed_calls", "recorded_failures", "removed_secrets"]


def failed_calls(record: RecordItem) -> str | None:
    """The live calls that were answered with an error: an agent may have turned them into an empty answer."""
    lines: list[str] = []
    with suppress(PipelineError):  # a failure that is being reported already is no time for another
        lines.extend(_error_line(call) for call in read_content(record.partial) if _is_error(call))
    return "\n".join(lines) or None


def recorded_failures(replay: ReplayItem) -> str | None:
    """The replayed calls whose answer is a failure that was recorded: it reads as if the replay had failed so."""
    lines: list[str] = []
    with suppress(PipelineError):
        failures = replay.recorded_failures()
        told = (call for call in read_content(replay.path) if call.call_index in failures)
        lines.extend(_error_line(call) if _is_error(call) else _raised_line(call) for call in told)
    if not lines:
        return None
    return "\n".join([*lines, "this was recorded, and is played again: a replay asks no provider and needs no key"])


def removed_secrets(replay: ReplayItem) -> str | None:
    """The replayed calls whose answers redaction has changed: the program that was recorded saw the values."""
    served = {call.call_index for call in replay.verdict.calls if call.result == "served"}
    changed: list[str] = []
    with suppress(PipelineError):
        answers = (call for call in read_content(replay.path) if call.call_index in served)
        changed.extend(str(call.call_index) for call in answers if _holds_placeholder(call.events))
    if not changed:
        return None
    return (
        f"redaction removed a secret from the answer of call {', '.join(changed)}\n"
        f"the run that was recorded saw its value, a replay sees {SECRET_PLACEHOLDER!r}: "
        "let the test not depend on it; if it is no secret, give the tool's argument another name"
    )


def _is_error(call: CallContent) -> bool:
    return bool(call.events) and call.events[-1].get("type") == "error"


def _raised_line(call: CallContent) -> str:
    return f"call {call.call_index} was answered with what the provider raised"


def _error_line(call: CallContent) -> str:
    event: dict[str, Any] = call.events[-1]
    message = event.get("error")
    told = message if isinstance(message, dict) else {}
    words = [told.get("error_reason") or event.get("reason"), told.get("error_message")]
    return f"call {call.call_index} was answered with an error: {': '.join(str(word) for word in words if word)}"


def _holds_placeholder(value: object) -> bool:
    if isinstance(value, str):
        return SECRET_PLACEHOLDER in value
    if isinstance(value, dict):
        return any(_holds_placeholder(part) for part in (*value.keys(), *value.values()))
    return isinstance(value, list | tuple) and any(_holds_placeholder(part) for part in value)
