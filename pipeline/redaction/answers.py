"""What rules have answered before in one scan: text that is made to be slow repeats itself.

A rule's answer is a function of the characters around its trigger, so it is asked about the same ones only once. It is
asked about a window on the text, such as a scanner of streamed text has of it; where that doesn't do, it looks at the
text itself.
"""

import re
from typing import Final, NamedTuple

from openprogram.pipeline.redaction.reader import LEFT_CONTEXT, NeedMore, Reader, Stop
from openprogram.pipeline.redaction.spans import Match, Span

__all__ = ["NEAR", "Answers"]

#: A trigger so near behind another may be one of very many; to remember the answers to others isn't worth it.
NEAR: Final = 16
_BEHIND: Final = LEFT_CONTEXT + 64
#: Characters from the trigger on: what most answers need, and what all but a few need.
_AHEAD: Final = (96, 640)
_MAX_KNOWN: Final = 1024
#: After so many answers that were not known nothing repeats itself here; so many triggers later it is tried again.
_PATIENCE: Final = 64
_PAUSE: Final = 1024


class _Answer(NamedTuple):
    """`span`, `hold` and `run_on` count from the beginning of the window. `waits`: more than the window is needed."""

    span: Span | None
    hold: int
    run_on: tuple[re.Pattern[str], int, int] | None = None
    waits: bool = False


class Answers:
    """The answers that the rules gave in one scan. Bounded."""

    __slots__ = ("_known", "_patience")

    def __init__(self) -> None:
        self._known: dict[tuple[Match, str, str, int, int], _Answer] = {}
        self._patience = _PATIENCE

    def ask(self, reader: Reader, match: Match, start: int, end: int) -> Span | None:
        """What `match` answers to `reader`, `start` and `end`. Raises NeedMore, Stop."""
        if self._patience <= 0:
            self._patience = self._patience - 1 if self._patience > -_PAUSE else _PATIENCE
            return match(reader, start, end)
        begin, past = start - _BEHIND if start > _BEHIND else 0, ""
        if begin < reader.floor:
            begin, past = reader.floor, reader.past
        for ahead in _AHEAD:
            stop = start + ahead
            if stop > reader.end and reader.closed:
                break
            window = reader.text[begin:stop]
            answer = self._known.get((match, window, past, start - begin, end - begin))
            if answer is None:
                answer = self._learn(match, window, past, start - begin, end - begin)
            else:
                self._patience = _PATIENCE
            if not answer.waits:
                span = answer.span
                return span and Span(span.start + begin, span.end + begin, span.swallow)
            if stop > reader.end:
                reader.hold = begin + answer.hold
                if answer.run_on is not None:
                    pattern, at, last = answer.run_on
                    reader.run_on = pattern, at + begin, last + begin
                raise NeedMore
        return match(reader, start, end)

    def _learn(self, match: Match, window: str, past: str, start: int, end: int) -> _Answer:
        self._patience -= 1
        if len(self._known) >= _MAX_KNOWN:
            self._known.clear()
        answer = self._known[match, window, past, start, end] = _answer(window, past, match, start, end)
        return answer


def _answer(window: str, past: str, match: Match, start: int, end: int) -> _Answer:
    reader = Reader(window)
    if past:
        reader.floor, reader.past = 0, past
    try:
        return _Answer(match(reader, start, end), 0)
    except Stop:
        return _Answer(None, 0)
    except NeedMore:
        return _Answer(None, reader.hold, reader.run_on, waits=True)
