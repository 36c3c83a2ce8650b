"""Request lines of a conversation that grows: each begins as the one before, so that only its rest needs parsing."""

import re
from typing import Final

from openprogram.pipeline.log.lines import RequestLine
from openprogram.pipeline.log.scan import RawLine
from openprogram.pipeline.log.strict_json import LineDefect, load_line, load_payload
from openprogram.pipeline.pieces import with_text

__all__ = ["GrowingRequests"]

_PREFIX: Final = re.compile(rb'\{"type":"request","call_index":(0|[1-9][0-9]{0,14}),(?="model":)')
#: What stands behind the last message. In a line that is right, its quotes can only begin and end a key.
_BEHIND_MESSAGES: Final = b'],"tools":'
#: A line as far as behind a message: what may follow there follows here, and nothing else does.
_BEGUN: Final = b'{"type":"request","call_index":0,"model":0,"context":{"messages":[{}'
_KEYS: Final = ["type", "call_index", "model", "context", "options"]


class GrowingRequests:
    """Knows the request line before, up to the end of its last message.

    `shared_bytes`: of the line that was found last, behind its call_index: so many are those of the line before.
    """

    def __init__(self) -> None:
        self._head: tuple[bytes, ...] = ()  # in pieces: what a conversation had already is not copied again
        self._tail = b""  # what stood behind the messages last: its tools and options, and it was right
        self._found: RawLine | None = None
        self.shared_bytes = 0

    def find(self, raw: RawLine) -> RequestLine | None:
        """The call_index of a request line that begins so and is right, without its request.

        None where it has to be parsed, which also tells what is wrong with it.
        """
        self._found, self.shared_bytes = None, 0
        prefix = _PREFIX.match(raw.raw)
        if not self._head or prefix is None:
            return None
        end = prefix.end()
        for piece in self._head:
            if not raw.raw.startswith(piece, end):
                return None
            end += len(piece)
        if raw.torn or raw.too_long or not self._goes_on_right(raw.raw[end:]):
            return None
        self._found, self.shared_bytes = raw, end - prefix.end()
        return RequestLine(int(prefix[1]), {})

    def remember(self, raw: RawLine) -> None:
        """Take a request line that is right as the one before."""
        prefix, end = _PREFIX.match(raw.raw), raw.raw.rfind(_BEHIND_MESSAGES)
        known, self._head = self._head, ()
        # Behind an object, a digit more would begin something else and not make a number longer.
        if prefix is None or raw.raw[end - 1 : end] != b"}":
            return
        tail = raw.raw[end:]
        if tail != self._tail and not _ends_right(tail):
            return
        self._tail = tail
        start = prefix.end()
        if raw is not self._found:
            self._head = (raw.raw[start:end],)
        elif end >= start + self.shared_bytes:
            self._head = with_text(known, raw.raw[start + self.shared_bytes : end])

    def _goes_on_right(self, rest: bytes) -> bool:
        """As `_ends_right`. Where it ends as the line before, what stands before that is all that needs parsing."""
        if not self._tail or not rest.endswith(self._tail):
            return _ends_right(rest)
        try:
            load_payload(b'{"messages":[{}%b]}' % rest[: -len(self._tail)])
        except LineDefect:
            return False
        return True


def _ends_right(rest: bytes) -> bool:
    """Whether a line that has begun as `_BEGUN` may go on, and end, so."""
    try:
        return list(load_line(_BEGUN + rest)) == _KEYS
    except LineDefect:
        return False
