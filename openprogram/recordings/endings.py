"""How recorded calls ended. One that failed when it was recorded fails in every replay, which is no failure of that."""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from openprogram.pipeline.log.reader import CallSummary, Recording

__all__ = ["Ended", "FailedCall", "ended", "failed_calls", "tell_failed", "why_failed"]

#: A reason is a word. A file may hold anything there, and what isn't a word may be content.
_WORD: Final = re.compile(r"[A-Za-z0-9_.-]{1,40}")
_SHOWN: Final = 5


class Ended(NamedTuple):
    """How the provider ended its answer. `type`: `done` or `error`. `reason`: a word, such as `stop` or `auth`."""

    type: str
    reason: str


class FailedCall(NamedTuple):
    """A call that the provider answered with an error, or in which it raised one. `line_number`: of its request."""

    call_index: int
    line_number: int
    reason: str


def ended(last_event: dict[str, Any] | None) -> Ended | None:
    """What a call's last event says of its end; None where it is no `done` and no `error`."""
    match last_event:
        case {"type": "done", "reason": reason}:
            return Ended("done", _word(reason))
        case {"type": "error", "error": {"error_reason": str(reason)}}:
            return Ended("error", _word(reason))
        case {"type": "error", "reason": reason}:  # `error` or `aborted`: all that a message without a reason tells
            return Ended("error", _word(reason))
        case _:
            return None


def why_failed(call: "CallSummary", end: Ended | None) -> str | None:
    """The reason of an `error` event, or the type of what the provider raised; None where the call did not fail."""
    if call.outcome == "error":
        return _word((call.error or {}).get("type"))
    return end.reason if end is not None and end.type == "error" else None


def failed_calls(recording: "Recording") -> list[FailedCall]:
    """The calls that failed when they were recorded. Raises RecordingFileError: the file changed underneath."""
    found = []
    for call in recording.calls:
        reason = why_failed(call, ended(recording.last_event(call.call_index)))
        if reason is not None:
            found.append(FailedCall(call.call_index, call.line_number, reason))
    return found


def tell_failed(failed: Iterable[FailedCall], call_count: int) -> str:
    """`1 of 3 calls failed: call 0 auth`; of many the first five by name."""
    failed = list(failed)
    told = [f"call {call.call_index} {call.reason}" for call in failed[:_SHOWN]]
    more = [f"{len(failed) - _SHOWN} more"] if len(failed) > _SHOWN else []
    return f"{len(failed)} of {call_count} calls failed: {', '.join([*told, *more])}"


def _word(reason: object) -> str:
    return reason if isinstance(reason, str) and _WORD.fullmatch(reason) else "unknown"
