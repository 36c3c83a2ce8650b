"""What came of every call of a replay. A mismatch is latched here: catching the exception does not undo it."""

import copy
import threading
from dataclasses import dataclass
from typing import Literal, TypeAlias

from openprogram.pipeline.errors import ReplayMismatch, UnconsumedCalls

__all__ = ["CallResult", "ReplayedCall", "Verdict"]

#: `served`: equal, and answered. `mismatch`: another request. `past_end`: no recorded call was left.
CallResult: TypeAlias = Literal["served", "mismatch", "past_end"]


@dataclass(frozen=True, slots=True)
class ReplayedCall:
    """One incoming call. `call_index`: the recorded call it was compared with, or the count of them past the end."""

    call_index: int
    result: CallResult
    mismatch: ReplayMismatch | None = None


class Verdict:
    """The verdict over one ReplayProvider's calls, kept as they come. Safe to read from any thread.

    `call_count`: recorded calls. It stays failed once a mismatch has happened, whatever is served afterwards.
    """

    def __init__(self, call_count: int) -> None:
        self.call_count = call_count
        self._calls: list[ReplayedCall] = []
        self._lock = threading.Lock()

    @property
    def calls(self) -> list[ReplayedCall]:
        """Every incoming call so far, in the order they were compared."""
        with self._lock:
            return list(self._calls)

    @property
    def failed(self) -> bool:
        """Whether any call was not answered by its recorded one."""
        return self.first_mismatch is not None

    @property
    def first_mismatch(self) -> ReplayMismatch | None:
        """The mismatch that was latched, or None."""
        return next((call.mismatch for call in self.calls if call.mismatch is not None), None)

    @property
    def consumed(self) -> int:
        """How many recorded calls were served."""
        return sum(call.result == "served" for call in self.calls)

    def add(self, call: ReplayedCall) -> None:
        """Note one incoming call."""
        with self._lock:
            self._calls.append(call)

    def require(self) -> None:
        """Raises ReplayMismatch: the latched one, again. UnconsumedCalls: recorded calls were never asked for."""
        if (mismatch := self.first_mismatch) is not None:
            raise copy.copy(mismatch)
        if self.consumed < self.call_count:
            raise UnconsumedCalls(call_count=self.call_count, consumed=self.consumed)

    def describe(self) -> str:
        """What happened to each call, a line each, the first mismatch in full."""
        lines = [f"call {call.call_index}: {call.result.replace('_', ' ')}" for call in self.calls]
        unused = self.call_count - self.consumed
        if unused:
            lines.append(f"{unused} of {self.call_count} recorded calls were not asked for")
        if (mismatch := self.first_mismatch) is not None:
            lines.append(str(mismatch))
        return "\n".join([f"replay {'failed' if self.failed else 'matched'}", *lines])
