"""Replay: request ─▶ normalize ─▶ redact ─▶ compare ─▶ read ─▶ decode ─▶ consumer. Nothing live is below this."""

import shlex
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Generic, Protocol, TypeVar

from anyio.streams.memory import MemoryObjectSendStream

from openprogram.pipeline.call import CallHost, CallStream, Stage, run_stages
from openprogram.pipeline.codec import EventCodec, RequestCodec
from openprogram.pipeline.errors import PipelineError, RecordingFileError, ReplayMismatch, calls_were_recorded
from openprogram.pipeline.items import Batch, CleanCall, ServedCall
from openprogram.pipeline.log.event_lines import EventTexts
from openprogram.pipeline.log.lines import Outcome
from openprogram.pipeline.log.reader import Recording
from openprogram.pipeline.log.source import recording_name
from openprogram.pipeline.logs import get_logger
from openprogram.pipeline.matching.bindings import Binding
from openprogram.pipeline.matching.content import Form
from openprogram.pipeline.matching.matcher import Answered, PolicyMatcher
from openprogram.pipeline.matching.policy import MatchingPolicy
from openprogram.pipeline.matching.second_run import why_unused
from openprogram.pipeline.matching.spelling import in_python, in_toml
from openprogram.pipeline.recorded_lines import ExpectedLine, RecordedLines
from openprogram.pipeline.recorded_requests import RecordedRequests
from openprogram.pipeline.redaction import redact
from openprogram.pipeline.request_parts import PartMemo
from openprogram.pipeline.stages.compare import Cause, ComparisonRules, Difference, compare, find_first_difference
from openprogram.pipeline.stages.decode import Decoded
from openprogram.pipeline.stages.normalize import normalize
from openprogram.pipeline.stages.read import read
from openprogram.pipeline.stages.redact import IsRecorded, redact_request
from openprogram.pipeline.verdict import Equality, ReplayedCall, Verdict

__all__ = ["FindCause", "Replayer"]

T = TypeVar("T")

_RECORD_AGAIN: Final = "If the new request is intended, record the session again, into a new file."
_SHOW: Final = "To see what was recorded: openprogram recordings show {path} --call {call_index} --content"


class FindCause(Protocol):
    """Says where a difference entered, or None where nothing is known. Sees redacted requests only."""

    def __call__(
        self,
        recording: Recording,
        call_index: int,
        incoming: dict[str, Any],
        difference: Difference,
        rules: ComparisonRules,
    ) -> Cause | None: ...


class Replayer(Generic[T]):
    """Answers calls from one opened recording, in its order or as its header says. Holds no client and opens nothing.

    `clock`: seconds, for durations in the log only.
    """

    def __init__(
        self,
        recording: Recording,
        requests: RequestCodec,
        events: EventCodec[T],
        rules: ComparisonRules,
        find_cause: FindCause,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.recording = recording
        self._requests, self._events = requests, events
        self._lines = RecordedLines(recording)
        self._recorded = RecordedRequests(recording, requests)
        form = Form(rules, recording.policy.rules())
        self.verdict = Verdict(recording.call_count, recording.policy, partial(why_unused, self._recorded, form))
        self._rules, self._find_cause, self._clock = rules, find_cause, clock
        self._memo = PartMemo()
        self._next_call_index = 0
        self._choosing = threading.Lock()
        self._matcher: PolicyMatcher | None = None
        if not recording.policy.is_exact:
            self._matcher = PolicyMatcher(recording, self._recorded, rules)

    def recorded_failures(self) -> list[int]:
        """The calls served so far that failed when they were recorded, by call_index: their answer is that failure.

        Raises RecordingFileError: the file changed underneath, or is closed.
        """
        served = {call.call_index for call in self.verdict.calls if call.result == "served"}
        return [call_index for call_index in sorted(served) if self._has_failed(call_index)]

    def _has_failed(self, call_index: int) -> bool:
        last = self.recording.last_event(call_index)
        return self.recording.calls[call_index].outcome == "error" or (last or {}).get("type") == "error"

    def call(self, request: Any) -> CallStream[T]:
        """One call, not begun yet."""
        return CallStream(partial(self._run, request))

    async def _run(self, request: Any, send: MemoryObjectSendStream[Batch[T]], host: CallHost[T]) -> None:
        call = _ReplayedCall(self._clock())

        async def choose(request: CleanCall) -> ServedCall:
            served = self._choose(request)
            call.call_index, call.redactions = served.call_index, request.request.count
            await host.begun()
            return served

        def values(items: Batch[EventTexts]) -> Batch[T]:
            events = self._load(items)
            call.event_count += len(events)
            return events

        opening = [
            Stage(partial(normalize, codec=self._requests, memo=self._memo)),
            Stage(partial(redact_request, memo=self._memo, is_recorded=self._expected())),
            Stage(partial(compare, choose=choose)),
        ]
        stages = [Stage(partial(read, recording=self.recording))]
        try:
            await run_stages(request, stages, Decoded(send, values), opening)
        except RecordingFileError as failure:
            # Latched like a mismatch: a program that catches it and goes on was not replayed either.
            call_index = self._next_call_index if failure.call_index is None else failure.call_index
            self.verdict.add(ReplayedCall(call_index, "unreadable", failure))
            raise
        except PipelineError as failure:
            if call.call_index is None and not isinstance(failure, ReplayMismatch):
                self.verdict.add(ReplayedCall(self._next_call_index, "refused", failure))
            raise
        finally:
            self._log_end(call, host.leaving)

    def _expected(self) -> IsRecorded | None:
        """What the request of the next call can be held against before it is redacted.

        Not where policies match: those look at values.
        """
        return ExpectedLine(self._lines, self._next_call_index).has if self._matcher is None else None

    def _choose(self, call: CleanCall) -> ServedCall:
        """The next recorded call, where its request is equal; taking it and comparing are one step."""
        with self._choosing:
            served = self._next(call) if self._matcher is None else self._match(call, self._matcher)
            if isinstance(served, ReplayMismatch):
                past_end = served.call_index >= self.recording.call_count
                self.verdict.add(ReplayedCall(served.call_index, "past_end" if past_end else "mismatch", served))
            else:
                self._next_call_index += 1
        if isinstance(served, ReplayMismatch):
            get_logger().warning("replay.mismatch", field_path=served.field_path, **self._named(served.call_index))
            raise served
        return served

    def _next(self, call: CleanCall) -> ServedCall | ReplayMismatch:
        call_index = self._next_call_index
        mismatch = self._compare(call, call_index)
        if mismatch is not None:
            return mismatch
        self.verdict.add(ReplayedCall(call_index, "served", equality="exact"))
        return ServedCall(call_index)

    def _match(self, call: CleanCall, matcher: PolicyMatcher) -> ServedCall | ReplayMismatch:
        """As the recording's policies say."""
        if matcher.is_used_up:
            return self._past_end(self._next_call_index)
        found = matcher.choose(self._requests.compared(call.request.value()))
        if isinstance(found, Answered):
            self.verdict.bind(found.new)
            equality: Equality = "symbol-bound" if found.differs else "exact"
            self.verdict.add(ReplayedCall(found.call_index, "served", equality=equality))
            return ServedCall(found.call_index, found.payloads)
        contradiction = found.contradiction
        bindings = () if contradiction is None else (*contradiction.bound, contradiction.here)
        return self._mismatch(found.call_index, found.difference, found.incoming, bindings, found.used)

    def _compare(self, call: CleanCall, call_index: int) -> ReplayMismatch | None:
        if call_index >= self.recording.call_count:
            return self._past_end(call_index)
        if self._lines.is_line(call.request, call_index):
            return None
        recorded, incoming = self._recorded(call_index), self._requests.compared(call.request.value())
        if find_first_difference(recorded, incoming, self._rules) is None:
            return None
        # Before a difference is told, both sides are redacted as wholes: whoever edits a file may put a secret into it,
        # and a part that stood there as it came was taken for redacted.
        clean: Any = redact(incoming).value
        difference = find_first_difference(redact(recorded).value, clean, self._rules)
        return None if difference is None else self._mismatch(call_index, difference, clean)

    def _past_end(self, call_index: int) -> ReplayMismatch:
        path, count = self.recording.path, self.recording.call_count
        return ReplayMismatch(
            call_index=call_index,
            field_path="call_index",
            recorded=count,
            incoming=call_index,
            cause=f"{calls_were_recorded(count)}, and this run makes another one",
            next_step=f"See what was recorded: openprogram recordings show {shlex.quote(str(path))}",
            policy=self._shown_policy,
        )

    def _mismatch(
        self,
        call_index: int,
        difference: Difference,
        incoming: dict[str, Any],
        bindings: Sequence[Binding] = (),
        used: int | None = None,
    ) -> ReplayMismatch:
        if used is None:
            cause = self._find_cause(self.recording, call_index, incoming, difference, self._rules)
        else:
            cause = Cause(
                f"a call is made again: the incoming request is that of recorded call {used}, already answered"
            )
        volatile = () if cause is None else cause.volatile
        show = _SHOW.format(path=shlex.quote(str(self.recording.path)), call_index=call_index)
        return ReplayMismatch(
            call_index=call_index,
            field_path=difference.field_path,
            recorded=difference.recorded,
            incoming=difference.incoming,
            cause=None if cause is None else cause.text,
            next_step=f"{_record_under(volatile) if volatile else _RECORD_AGAIN} {show}",
            policy=self._shown_policy,
            bindings=bindings,
            suggested_volatile=volatile,
        )

    @property
    def _shown_policy(self) -> MatchingPolicy | None:
        return None if self.recording.policy.is_exact else self.recording.policy

    def _load(self, items: Batch[EventTexts]) -> Batch[T]:
        events: Batch[T] = []
        try:
            for texts in items:
                events += self._events.load_all(texts)
        except ValueError as error:
            raise RecordingFileError(
                path=self.recording.path, reason=f"an event does not fit today's types: {error}"
            ) from error
        return events

    def _log_end(self, call: "_ReplayedCall", leaving: Outcome | None) -> None:
        if call.call_index is None:
            return  # it was not answered, which is logged as a mismatch
        summary = self.recording.calls[call.call_index]
        was_whole = call.event_count == summary.event_count  # whoever has the terminal event leaves
        get_logger().info(
            "replay.call_end",  # fields in the order of `recording.call_end`, which they are read beside
            outcome=summary.outcome if was_whole or leaving is None else leaving,
            **self._named(call.call_index),
            event_count=call.event_count,
            redactions=call.redactions,
            duration_ms=round((self._clock() - call.started) * 1000, 3),
        )

    def _named(self, call_index: int) -> dict[str, Any]:
        return {"mode": "replay", "recording_id": recording_name(self.recording.path), "call_index": call_index}


def _record_under(volatile: Sequence[str]) -> str:
    given, setting = in_python(volatile), in_toml(volatile)
    return (
        "A value that is made anew in every run differs from any recording: to record again is of no use by itself. "
        "Declare it with volatile=, and record again under it, into a new file: "
        f"RecordingProvider(provider, path, {given}), or @pytest.mark.recording({given}) on the test, or "
        f"{setting} below [tool.openprogram] in pyproject.toml."
    )


@dataclass(slots=True)
class _ReplayedCall:
    """What the log says of one call. `call_index`: None until it is answered; `redactions`: places in its request."""

    started: float
    call_index: int | None = None
    redactions: int = 0
    event_count: int = 0
