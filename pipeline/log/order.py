"""Which line may follow which. Reader and writer obey this one table.

A call is UNOPENED until its request line, OPEN until its call_end, then ENDED for good. Calls interleave freely.
"""

from enum import Enum
from typing import Final

from openprogram.pipeline.log.lines import CallEndLine, EventLine, Line, LineDefect, RequestLine
from openprogram.pipeline.log.merged import StandsTwice

__all__ = ["NEXT_STATE", "CallOrder", "CallState"]


class CallState(Enum):
    """Where a call stands in the file."""

    UNOPENED = "unopened"
    OPEN = "open"
    ENDED = "ended"


#: A missing cell is the defect.
NEXT_STATE: Final[dict[CallState, dict[type[Line], CallState]]] = {
    CallState.UNOPENED: {RequestLine: CallState.OPEN},
    CallState.OPEN: {EventLine: CallState.OPEN, CallEndLine: CallState.ENDED},
    CallState.ENDED: {},
}

_WORD: Final[dict[type[Line], str]] = {RequestLine: "request", EventLine: "event", CallEndLine: "call_end"}


class CallOrder:
    """The state of every call of one file, as far as it has been read or written."""

    def __init__(self) -> None:
        self._next_call_index = 0
        self._event_counts: dict[int, int] = {}  # of the open calls only

    @property
    def next_call_index(self) -> int:
        """The index that the next request line must have."""
        return self._next_call_index

    @property
    def open_calls(self) -> list[int]:
        """Calls without a call_end, sorted."""
        return sorted(self._event_counts)

    def state(self, call_index: int) -> CallState:
        """Where this call stands."""
        if call_index in self._event_counts:
            return CallState.OPEN
        return CallState.ENDED if call_index < self._next_call_index else CallState.UNOPENED

    def next_event_index(self, call_index: int) -> int | None:
        """The index that the next event of this call must have, or None where it may have none."""
        return self._event_counts.get(call_index)

    def advance_events(self, call_index: int, count: int) -> None:
        """Take so many events of an open call, the first of which is known to have its `next_event_index`."""
        self._event_counts[call_index] += count

    def check(self, line: RequestLine | EventLine | CallEndLine) -> None:
        """Raises LineDefect where this line may not stand here. Changes nothing."""
        call_index = line.call_index
        state = self.state(call_index)
        if type(line) not in NEXT_STATE[state]:
            # In a call that was opened, there was such a line before.
            kind = LineDefect if state is CallState.UNOPENED else StandsTwice
            raise kind(_defect(state, _WORD[type(line)]), call_index)
        if isinstance(line, EventLine):
            expected = self._event_counts[call_index]
            if line.event_index != expected:
                kind = StandsTwice if line.event_index < expected else LineDefect
                raise kind(f"event_index is {line.event_index}, expected {expected}", call_index)
        elif isinstance(line, RequestLine):
            if call_index != self._next_call_index:
                raise LineDefect(f"call_index is {call_index}, expected {self._next_call_index}", call_index)
        else:
            found = self._event_counts[call_index]
            if line.event_count != found:
                raise LineDefect(f"event_count is {line.event_count}, but the call has {found} events", call_index)

    def advance(self, line: RequestLine | EventLine | CallEndLine) -> None:
        """Take one line. Raises LineDefect as `check`; then nothing has changed."""
        self.check(line)
        if isinstance(line, EventLine):
            self.advance_events(line.call_index, 1)
        elif isinstance(line, RequestLine):
            self._event_counts[line.call_index] = 0
            self._next_call_index += 1
        else:
            del self._event_counts[line.call_index]


def _defect(state: CallState, word: str) -> str:
    if state is CallState.UNOPENED:
        return f"{word} without a request before it"
    if word == "request":
        return "a second request with this call_index"
    return f"{word} after the call_end"
