"""Request lines of a conversation that grows: each begins as the one before, so that only its rest needs parsing."""

import re
from typing import Final

from openprogram.pipeline.log.lines import RequestLine
from openprogram.pipeline.log.scan import RawLine
from openprogram.pipeline.log.strict_json import LineDefect, load_line

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
        self._head = b""
        self.shared_bytes = 0

    def find(self, raw: RawLine) -> RequestLine | None:
        """The call_index of a request line that begins so and is right, without its request.

        None where it has to be parsed, which also tells what is wrong with it.
        """
        self.shared_bytes = 0
        prefix = _PREFIX.match(raw.raw)
        if not self._head or prefix is None or not raw.raw.startswith(self._head, prefix.end()):
            return None
        if raw.torn or raw.too_long or not _ends_right(raw.raw[prefix.end() + len(self._head) :]):
            return None
        self.shared_bytes = len(self._head)
        return RequestLine(int(prefix[1]), {})

    def remember(self, raw: RawLine) -> None:
        """Take a request line that is right as the one before."""
        prefix, end = _PREFIX.match(raw.raw), raw.raw.rfind(_BEHIND_MESSAGES)
        # Behind an object, a digit more would begin something else and not make a number longer.
        is_found = prefix is not None and raw.raw[end - 1 : end] == b"}" and _ends_right(raw.raw[end:])
        self._head = raw.raw[prefix.end() : end] if prefix is not None and is_found else b""


def _ends_right(rest: bytes) -> bool:
    """Whether a line that has begun as `_BEGUN` may go on, and end, so."""
    try:
        return list(load_line(_BEGUN + rest)) == _KEYS
    except LineDefect:
        return False
