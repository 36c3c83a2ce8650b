"""Whether a request is the one on a recorded line, told from the line's text: no value is looked at.

Of a conversation that grows, a line begins as the one before, which is known since the recording was opened. Where the
request begins as the one before as well, only what is new in either is compared.
"""

import re
from collections.abc import Sequence
from operator import is_
from typing import Final, NamedTuple

from openprogram.pipeline.log.reader import Recording
from openprogram.pipeline.part_lists import CleanPart, KnownList, KnownPart
from openprogram.pipeline.request_parts import RequestText

__all__ = ["ExpectedLine", "RecordedLines"]

_NUMBER: Final = re.compile(rb"-?[0-9]+")


class _Begun(NamedTuple):
    """How a request, and the line it is equal to, begin: `end` is where the last item of its list ends in the line."""

    call_index: int
    before: list[bytes | CleanPart]
    items: Sequence[KnownPart]
    end: int


class RecordedLines:
    """The request lines of a recording, for a session that asks in order. Not for several threads at a time."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._last: _Begun | None = None

    def is_line(self, request: RequestText, call_index: int) -> bool:
        """Whether the line has this very text, but for the numbers that are not compared.

        Then the requests are equal. Otherwise they may still be equal: another release or another program may spell
        the same request in another way. Raises RecordingFileError: the file changed since it was opened.
        """
        before, items, behind = _split(request)
        begun = self._begun(call_index, before, items)
        skipped, shared = (begun.end, len(begun.items)) if begun is not None else (0, 0)
        line = self._recording.request_text(call_index, skipped)
        if line is None:
            return False
        at: int | None = 0
        if begun is None:
            at = _find_all(before, line, 0)
        if at is not None and len(items) > shared:
            at = _find_items(items[shared:], line, at, is_first=shared == 0)
        if at is None:
            return False
        end = _find_all(behind, line, at)
        if end is None or line[end:].strip():
            return False
        self._last = _Begun(call_index, before, items, skipped + at)
        return True

    def new_text(self, call_index: int) -> bytes:
        """What is new in a line that begins as the last one did, or else all of it; nothing behind the last call's.

        Raises as `is_line`.
        """
        if call_index >= self._recording.call_count:
            return b""
        last, skipped = self._last, 0
        if last is not None and last.call_index == call_index - 1:
            skipped = last.end if self._recording.shared_bytes(call_index) >= last.end else 0
        return self._recording.request_text(call_index, skipped) or b""

    def _begun(self, call_index: int, before: list[bytes | CleanPart], items: Sequence[KnownPart]) -> _Begun | None:
        """The last line, where both this request and its line begin as that one."""
        last = self._last
        if last is None or last.call_index != call_index - 1 or not last.items:
            return None
        if len(items) < len(last.items) or self._recording.shared_bytes(call_index) < last.end:
            return None
        same_parts = last.before == before and all(map(is_, last.items, items))
        return last if same_parts else None


class ExpectedLine:
    """The line that a request is likely to be: of its list, the items that stand there as they came need no redaction.

    Likely, since another call may be served before; then none is found, or what is found is recorded all the same.
    """

    def __init__(self, lines: RecordedLines, call_index: int) -> None:
        self._lines, self._call_index = lines, call_index
        self._line: bytes | None = None
        self._at = 0

    def has(self, item: CleanPart) -> bool:
        """Whether it stands behind the item that was found last, or as the first. Raises as `RecordedLines.is_line`."""
        if self._line is None:  # only now: nothing may be new in the request
            self._line = self._lines.new_text(self._call_index)
            start = self._line.find(item.head)
        else:
            start = self._at + 1  # a comma stands between them
        end = None if start < 1 else _find(item, self._line, start)
        if end is None:
            self._line = b""  # where what follows would stand is not known
            return False
        self._at = end
        return True


def _split(
    request: RequestText,
) -> tuple[list[bytes | CleanPart], Sequence[KnownPart], list[bytes | CleanPart]]:
    """What stands before the request's list, the items of it, and what stands behind it."""
    around: list[bytes | CleanPart] = []
    items: Sequence[KnownPart] = ()
    end = 0
    for part in request.parts:
        if isinstance(part, KnownList):
            items, end = part.items, len(around)
        else:
            around.append(part)
    assert isinstance(around[0], bytes)
    around[0] = around[0][1:]  # the line's own `{` stands before its type
    return around[:end], items, around[end:]


def _find_items(items: Sequence[KnownPart], line: bytes, at: int, *, is_first: bool) -> int | None:
    """The offset behind the items where they stand there, with commas between them."""
    for number, item in enumerate(items):
        if number or not is_first:
            if not line.startswith(b",", at):
                return None
            at += 1
        end = _find(item.clean, line, at)
        if end is None:
            return None
        at = end
    return at


def _find_all(parts: Sequence[bytes | CleanPart], line: bytes, at: int) -> int | None:
    for part in parts:
        end = _find(part, line, at)
        if end is None:
            return None
        at = end
    return at


def _find(part: bytes | CleanPart, line: bytes, at: int) -> int | None:
    """The offset behind the part where it stands there, or None."""
    if isinstance(part, bytes):
        return at + len(part) if line.startswith(part, at) else None
    if not line.startswith(part.head, at):
        return None
    at += len(part.head)
    if not part.stamp:
        return at
    number = _NUMBER.match(line, at)
    if number is None or not line.startswith(part.tail, number.end()):
        return None
    return number.end() + len(part.tail)
