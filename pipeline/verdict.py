"""What came of every call of a replay. A mismatch is latched here: catching the exception does not undo it."""

import copy
import threading
from dataclasses import dataclass
from typing import Literal, TypeAlias

from openprogram.pipeline.errors import PipelineError, UnconsumedCalls

__all__ = ["CallResult", "ReplayedCall", "Verdict"]

#: `served`: equal, and answered. `mismatch`: another request. `past_end`: no recorded call was left.
#: `unreadable`: the file could not answer, as it no longer is what was opened or doesn't fit today's types.
#: `refused`: the request can't be compared, as strict JSON can't hold it.
CallResult: TypeAlias = Literal["served", "mismatch", "past_end", "unreadable", "refused"]


@dataclass(frozen=True, slots=True)
class ReplayedCall:
    """One incoming call. `call_index`: the recorded call it was compared with, or the count of them past the end.

    `failure`: what the caller got raised, None where the call was served.
    """

    call_index: int
    result: CallResult
    failure: PipelineError | None = None


class Verdict:
    """The verdict over one ReplayProvider's calls, kept as they come. Safe to read from any thread.

    `call_count`: recorded calls. It stays failed once a call was not answered, whatever is served afterwards.
    """

    def __init__(self, call_count: int) -> None:
        self.call_count = call_count
        self._calls: list[ReplayedCall] = []
        self._lock = threading.Lock()
        self._looked_at = False

    @property
    def calls(self) -> list[ReplayedCall]:
        """Every incoming call so far, in the order they were compared."""
        with self._lock:
            return list(self._calls)

    @property
    def failed(self) -> bool:
        """Whether any call was not answered by its recorded one."""
        return self.first_failure is not None

    @property
    def first_failure(self) -> PipelineError | None:
        """What was latched: the first call that was not answered, or None."""
        return next((call.failure for call in self.calls if call.failure is not None), None)

    @property
    def consumed(self) -> int:
        """How many recorded calls were served."""
        return sum(call.result == "served" for call in self.calls)

    @property
    def overlooked(self) -> bool:
        """Whether the run was not the recorded one, whole, and nobody has asked since: a program may have ended."""
        return not self._looked_at and (self.failed or self.consumed < self.call_count)

    def add(self, call: ReplayedCall) -> None:
        """Note one incoming call."""
        with self._lock:
            self._calls.append(call)
            self._looked_at = False

    def require(self) -> None:
        """Check that every call was answered by its recorded one, and that none is left.

        Raises ReplayMismatch, RecordingFileError or RecordingValueError: the latched one, as a new exception each time.
        UnconsumedCalls: recorded calls were never asked for.
        """
        self._looked_at = True
        if (failure := self.first_failure) is not None:
            raise copy.copy(failure)
        if self.consumed < self.call_count:
            raise UnconsumedCalls(call_count=self.call_count, consumed=self.consumed)

    def describe(self) -> str:
        """What happened to each call, a line each, the first failure in full."""
        self._looked_at = True
        lines = [f"call {call.call_index}: {call.result.replace('_', ' ')}" for call in self.calls]
        unused = self.call_count - self.consumed
        if unused:
            lines.append(f"recorded calls not used: {unused} of {self.call_count}")
        failure = self.first_failure
        if failure is not None:
            lines.append(str(failure))
        word = "failed" if failure is not None else "incomplete" if unused else "matched"
        return "\n".join([f"replay {word}", *lines])
