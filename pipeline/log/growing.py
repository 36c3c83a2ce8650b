"""Request lines of a conversation that grows: each begins as the one before, so that only its rest needs parsing."""

import re
from typing import Final

from openprogram.pipeline.log.lines import RequestLine
from openprogram.pipeline.log.scan import LineScan, RawLine
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

    `shared_bytes`: of the line that was taken last, behind its call_index: so many are those of the line before.
    """

    def __init__(self) -> None:
        self._head: tuple[bytes, ...] = ()  # in pieces: what a conversation had already is not copied again
        self._tail = b""  # what stood behind the messages last: its tools and options, and it was right
        self.shared_bytes = 0

    def take(self, scan: LineScan) -> tuple[RawLine, RequestLine] | None:
        """The next line where it is a request that begins so and is right: without that beginning, and its call_index.

        None where it has to be parsed, which also tells what is wrong with it; then it is still the next.
        """
        self.shared_bytes = 0
        prefix = _PREFIX.match(scan.block, scan.at) if self._head else None
        if prefix is None:
            return None
        raw = scan.next_behind(prefix.end(), self._head)
        if raw is None:
            return None
        if not self._goes_on_right(raw.raw):
            scan.put_back(raw, (prefix[0], *self._head))
            return None
        self.shared_bytes = raw.left_out - len(prefix[0])
        return raw, RequestLine(int(prefix[1]), {})

    def remember(self, raw: RawLine) -> None:
        """Take a request line that is right as the one before: whole, or as it was taken."""
        known, self._head = self._head, ()
        start, end = 0, raw.raw.rfind(_BEHIND_MESSAGES)
        if not raw.left_out:
            prefix = _PREFIX.match(raw.raw)
            # Behind an object, a digit more would begin something else and not make a number longer.
            if prefix is None or raw.raw[end - 1 : end] != b"}":
                return
            known, start = (), prefix.end()
        elif raw.raw[:end][-1:] not in (b"}", b""):  # what is known ends so
            return
        tail = raw.raw[end:]
        if tail != self._tail and not _ends_right(tail):
            return
        self._tail = tail
        self._head = with_text(known, raw.raw[start:end]) if end > start else known

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
