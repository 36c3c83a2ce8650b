"""What came of every call of a replay. A mismatch is latched here: catching the exception does not undo it."""

import copy
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from openprogram.pipeline.errors import PipelineError, UnconsumedCalls
from openprogram.pipeline.matching.bindings import Binding
from openprogram.pipeline.matching.policy import EXACT, MatchingPolicy

__all__ = ["CallResult", "Equality", "ReplayedCall", "Verdict"]

#: `served`: equal, and answered. `mismatch`: another request. `past_end`: no recorded call was left.
#: `unreadable`: the file could not answer, as it no longer is what was opened or doesn't fit today's types.
#: `refused`: the request can't be compared, as strict JSON can't hold it.
CallResult: TypeAlias = Literal["served", "mismatch", "past_end", "unreadable", "refused"]

#: How equal a served request was. `exact`: value for value. `symbol-bound`: but for values that the recording's
#: volatile rules name, each of which stands for one recorded value throughout.
Equality: TypeAlias = Literal["exact", "symbol-bound"]

#: Bindings that `describe` shows; `bindings` has them all.
_SHOWN_BINDINGS: Final = 20


@dataclass(frozen=True, slots=True)
class ReplayedCall:
    """One incoming call. `call_index`: the recorded call it was compared with, or the count of them past the end.

    `failure`: what the caller got raised, None where the call was served. `equality`: None where it was not.
    """

    call_index: int
    result: CallResult
    failure: PipelineError | None = None
    equality: Equality | None = None


class Verdict:
    """The verdict over one ReplayProvider's calls, kept as they come. Safe to read from any thread.

    `call_count`: recorded calls. `policy`: how they are matched. `why_unused(calls)`: a sentence on why these recorded
    calls may be left over, or None; asked when that is told. It stays failed once a call was not answered, whatever is
    served afterwards.
    """

    def __init__(
        self,
        call_count: int,
        policy: MatchingPolicy = EXACT,
        why_unused: Callable[[Sequence[int]], str | None] = lambda _: None,
    ) -> None:
        self.call_count, self.policy, self._why_unused = call_count, policy, why_unused
        self._bindings: list[Binding] = []
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
    def unused(self) -> list[int]:
        """The recorded calls that were not served, by call_index."""
        served = {call.call_index for call in self.calls if call.result == "served"}
        return [index for index in range(self.call_count) if index not in served]

    @property
    def exact_count(self) -> int:
        """How many calls were served for a request that was equal value for value."""
        return sum(call.equality == "exact" for call in self.calls)

    @property
    def symbol_bound_count(self) -> int:
        """How many calls were served for a request that was equal but for values bound to recorded ones."""
        return sum(call.equality == "symbol-bound" for call in self.calls)

    @property
    def equality(self) -> Equality:
        """`symbol-bound` where any call was, or else `exact`. Says nothing of calls that were not served."""
        return "symbol-bound" if self.symbol_bound_count else "exact"

    @property
    def bindings(self) -> list[Binding]:
        """Recorded values that stand for others in this run, in the order in which they were met."""
        with self._lock:
            return list(self._bindings)

    @property
    def asked(self) -> bool:
        """Whether somebody has asked how it went, since the last call."""
        return self._looked_at

    @property
    def overlooked(self) -> bool:
        """Whether the run was not the recorded one, whole, and nobody has asked since: a program may have ended."""
        return not self._looked_at and (self.failed or self.consumed < self.call_count)

    def add(self, call: ReplayedCall) -> None:
        """Note one incoming call."""
        with self._lock:
            self._calls.append(call)
            self._looked_at = False

    def bind(self, bindings: Sequence[Binding]) -> None:
        """Note bindings that were made."""
        with self._lock:
            self._bindings.extend(binding for binding in bindings if binding.recorded != binding.incoming)

    def require(self) -> None:
        """Check that every call was answered by its recorded one, and that none is left.

        Raises ReplayMismatch, RecordingFileError or RecordingValueError: the latched one, as a new exception each time.
        UnconsumedCalls: recorded calls were never asked for.
        """
        self._looked_at = True
        if (failure := self.first_failure) is not None:
            raise copy.copy(failure)
        if self.consumed < self.call_count:
            raise UnconsumedCalls(
                call_count=self.call_count, consumed=self.consumed, cause=self._why_unused(self.unused)
            )

    def describe(self) -> str:
        """What happened to each call, a line each, the first failure in full."""
        self._looked_at = True
        lines = [_line(call) for call in self.calls]
        if not self.policy.is_exact:
            lines.append(f"matching: {self.policy}")
        bindings = self.bindings
        lines += [f"bound: {binding}" for binding in bindings[:_SHOWN_BINDINGS]]
        if len(bindings) > _SHOWN_BINDINGS:
            lines.append(f"bound: {len(bindings) - _SHOWN_BINDINGS} more values")
        unused = self.call_count - self.consumed
        if unused:
            lines.append(f"recorded calls not used: {unused} of {self.call_count}")
        failure = self.first_failure
        if unused and failure is None and (cause := self._why_unused(self.unused)) is not None:
            lines.append(f"cause: {cause}")
        if failure is not None:
            lines.append(str(failure))
        word = "failed" if failure is not None else "incomplete" if unused else "matched"
        return "\n".join([f"replay {word}", *lines])


def _line(call: ReplayedCall) -> str:
    how = f" ({call.equality})" if call.equality == "symbol-bound" else ""
    return f"call {call.call_index}: {call.result.replace('_', ' ')}{how}"
