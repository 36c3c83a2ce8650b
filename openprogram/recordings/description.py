"""One recording as `openprogram recordings show` tells it: what is whole, and where the damage is."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openprogram.errors import UsageError
from openprogram.pipeline.errors import RecordingFileError
from openprogram.pipeline.log.reader import CallSummary
from openprogram.pipeline.log.source import is_compressed_name
from openprogram.pipeline.log.survey import LeftOut, Survey
from openprogram.pipeline.matching.policy import MatchingPolicy
from openprogram.recordings.endings import Ended, FailedCall, ended, why_failed
from openprogram.recordings.reading import survey
from openprogram.recordings.repairing import is_repairable

__all__ = ["CallContent", "DescribedCall", "Description", "describe", "read_content"]


@dataclass(frozen=True)
class DescribedCall:
    """A complete call without its content. `message_count`: messages that its request sends.

    `summary`: index, line, outcome and error, from the file's index. `ended`: None where no `done` or `error` event
    is there. A call that a provider answered with an `error` event is complete: it was recorded as it happened.
    """

    summary: CallSummary
    api: str
    provider: str
    model: str
    message_count: int
    ended: Ended | None

    @property
    def failed(self) -> FailedCall | None:
        """The call, where the provider answered it with an error or raised one."""
        reason = why_failed(self.summary, self.ended)
        return None if reason is None else FailedCall(self.summary.call_index, self.summary.line_number, reason)


@dataclass(frozen=True)
class Description:
    """A recording. `size_bytes`: of the file; `content_bytes`: of its lines, more where the file is compressed.

    `header`, `policy`: None where it has no valid one. `call_count`: all calls that were begun. `calls`, `left_out`: of
    those that are described, the whole ones and the others.

    `damage`: the first defect, or None where replay would take the file. `is_repairable`: whether `repair` can do
    something about it.
    """

    path: Path
    size_bytes: int
    content_bytes: int
    compressed: bool
    line_count: int
    header: dict[str, Any] | None
    policy: MatchingPolicy | None
    call_count: int
    calls: tuple[DescribedCall, ...]
    left_out: tuple[LeftOut, ...]
    damage: RecordingFileError | None
    is_repairable: bool

    @property
    def failed_calls(self) -> list[FailedCall]:
        """Those of `calls` that failed when they were recorded."""
        return [failed for call in self.calls if (failed := call.failed) is not None]


@dataclass(frozen=True)
class CallContent:
    """A call's redacted content: `request` (model, context, options) and `events`, as they stand in the file."""

    call_index: int
    request: dict[str, Any]
    events: tuple[dict[str, Any], ...]


def describe(path: Path, call_index: int | None = None) -> Description:
    """What is whole in the file; only that call where `call_index` is given.

    Raises RecordingFileError: the file can't be read at all. UsageError: it has no such call.
    """
    with survey(path) as found:
        return Description(
            path=path,
            size_bytes=found.size_bytes,
            content_bytes=found.content_bytes,
            compressed=is_compressed_name(path),
            line_count=found.line_count,
            header=found.header,
            policy=None if found.header is None else MatchingPolicy.from_header(found.header),
            call_count=len(found.complete) + len(found.left_out),
            calls=tuple(_describe_call(found, call) for call in _chosen(found, call_index)),
            left_out=tuple(call for call in found.left_out if call_index in (None, call.call_index)),
            damage=found.damage,
            is_repairable=is_repairable(found),
        )


def read_content(path: Path, call_index: int | None = None) -> Iterator[CallContent]:
    """The content of the complete calls, one after the other; raises as `describe`."""
    with survey(path) as found:
        for call in _chosen(found, call_index):
            yield CallContent(call.call_index, dict(found.request(call)), tuple(found.events(call)))


def _chosen(found: Survey, call_index: int | None) -> list[CallSummary]:
    if call_index is None:
        return found.complete
    chosen = [call for call in found.complete if call.call_index == call_index]
    if not chosen and call_index not in found.unfinished:
        raise UsageError(
            f"{found.path} has no call {call_index}: it holds {len(found.complete) + len(found.left_out)}, from 0"
        )
    return chosen


def _describe_call(found: Survey, call: CallSummary) -> DescribedCall:
    request = found.request(call)
    model, context = request.get("model"), request.get("context")
    messages = context.get("messages") if isinstance(context, dict) else None
    return DescribedCall(
        summary=call,
        api=_text(model, "api"),
        provider=_text(model, "provider"),
        model=_text(model, "id"),
        message_count=len(messages) if isinstance(messages, list) else 0,
        ended=ended(found.last_event(call)),
    )


def _text(model: object, key: str) -> str:
    value = model.get(key) if isinstance(model, dict) else None
    return value if isinstance(value, str) else ""
