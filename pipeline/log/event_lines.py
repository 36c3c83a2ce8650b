"""Event lines as `encode_event` spells them: recognised and cut apart by their text, many at once.

What stands before an event is known to the byte, so that of many lines it is compared as one text, and what stands
behind it is matched as one text: a fraction of what a step of Python for each line costs.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from io import BytesIO
from operator import itemgetter
from typing import Final, NamedTuple

from pydantic_core import to_json

from openprogram.pipeline.log.strict_json import LineDefect

__all__ = ["EVENT_PREFIX", "Deltas", "EventTexts", "cut_event", "event_texts", "find_deltas", "whole_lines"]

#: How `encode_event` begins a line: such a line has no duplicate key at its own level once its payload parses alone.
_START: Final = b'{"type":"event","call_index":%d,"event_index":'
_BEFORE_EVENT: Final = b',"event":'
_BRACE: Final = ord("}")
_last_byte: Final = itemgetter(-2)  # before the line's end
EVENT_PREFIX: Final = re.compile(
    rb'\{"type":"event","call_index":(0|[1-9][0-9]{0,14}),"event_index":(0|[1-9][0-9]{0,14}),"event":'
)
_BEFORE_TEXT: Final = _BEFORE_EVENT + b'{"type":"%b","content_index":%b,"delta":"'
#: The text of a delta and the rest of its line; that it is UTF-8 is for others to see.
_DELTA_REST: Final = rb'[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+"\}\}\r?\n'
_DELTA_RESTS: Final = re.compile(rb"(?:" + _DELTA_REST + rb")++")
#: All of a line that holds a delta.
_DELTA: Final = re.compile(
    EVENT_PREFIX.pattern + rb'\{"type":"([a-z_]+)","content_index":(0|[1-9][0-9]{0,14}),"delta":"' + _DELTA_REST
)
#: What the line of a delta begins with.
_DELTA_START: Final = re.compile(
    EVENT_PREFIX.pattern + rb'(?P<head>\{"type":"[a-z_]+","content_index":(?:0|[1-9][0-9]{0,14}),"delta":")'
)
#: Characters that mean nothing in a JSON string but themselves.
_ORDINARY: Final = bytes(set(range(0x20, 0x100)) - set(b'"\\'))
#: Bytes of deltas that are matched one by one before more are looked at together.
_FEW_BYTES: Final = 1 << 10
#: Lines that are looked at before all that follow are.
_FEW_LINES: Final = 8
#: Bytes that are looked at together at most.
_MANY_BYTES: Final = 1 << 16


class Deltas(NamedTuple):
    """Event lines that follow each other, all deltas of one type of one call, their event_index rising by one."""

    call_index: int
    first_index: int
    next_index: int  #: behind the last
    end: int  #: where the last line ends in the block
    delta_type: str


def find_deltas(block: bytes, at: int) -> Deltas | None:
    """The deltas that stand at `at` in the block, as many as there are, or None where there is none.

    Each is a line that `parse_line` takes, where its type is one of the vocabulary. They are the commonest lines by
    far: one expression over the whole line costs a third of parsing it, and many lines together half of that.
    """
    found = _DELTA.match(block, at)
    if found is None:
        return None
    call_index, first, delta_type = found.group(1, 2, 3)
    index, end, size = int(first), at, _FEW_BYTES
    while found is not None and found.group(1, 3) == (call_index, delta_type) and int(found[2]) == index:
        index, end = index + 1, found.end()
        if end - at > size:
            size = min(2 * (end - at), _MANY_BYTES)
            before, behind = _START % int(call_index), _BEFORE_TEXT % (delta_type, found[4])
            count, length = _leading_deltas(whole_lines(block[end : end + size]), index, before, behind)
            index, end = index + count, end + length
        found = _DELTA.match(block, end)
    try:
        block[at:end].decode()
    except UnicodeDecodeError:
        return None
    return Deltas(int(call_index), int(first), index, end, delta_type.decode())


def whole_lines(block: bytes) -> list[bytes]:
    """The lines of a block, with their ends; without what is left of one behind the last end."""
    lines = BytesIO(block).readlines()  # a fifth of what split() takes, which looks at byte after byte
    if lines and not lines[-1].endswith(b"\n"):
        lines.pop()
    return lines


def _leading_deltas(lines: Sequence[bytes], first_index: int, before: bytes, behind: bytes) -> tuple[int, int]:
    """How many of these lines, and of their bytes, are `before`, the next index, `behind`, the rest of a delta."""
    count = length = 0
    for index, stretch in _stretches(lines, first_index):
        head_length, alike = _common_heads(stretch, index, before, behind)
        rests = b"".join(map(itemgetter(slice(head_length, None)), stretch[:alike]))
        fitting, fitting_length = _leading_rests(rests, alike)
        count, length = count + fitting, length + fitting * head_length + fitting_length
        if fitting < len(stretch):
            break
    return count, length


def _leading_rests(rests: bytes, count: int) -> tuple[int, int]:
    """How many of so many lines, and of their bytes, are the text of a delta and what ends its line."""
    # In most texts nothing is escaped. Then a line's one quote ends its text, and nothing else in it has a meaning.
    if rests.translate(None, _ORDINARY) == b'"\n' * count and rests.count(b'"}}\n') == count:
        return count, len(rests)
    found = _DELTA_RESTS.match(rests)
    return (0, 0) if found is None else (rests.count(b"\n", 0, found.end()), found.end())


class EventTexts(NamedTuple):
    """Events that follow each other, as JSON text: of each, `head` and one of `rests`."""

    head: bytes
    rests: list[bytes]

    def whole(self) -> list[bytes]:
        """The text of each."""
        return [self.head + rest for rest in self.rests] if self.head else self.rests


def event_texts(lines: Sequence[bytes], call_index: int, first_index: int) -> list[EventTexts]:
    """A call's events, of whole lines that were canonical and followed each other when they were parsed.

    Deltas that begin alike have that in common. Raises LineDefect: a line isn't canonical, or it isn't this event's.
    """
    found: list[EventTexts] = []
    start = _START % call_index
    for index, stretch in _stretches(lines, first_index):
        while stretch:
            texts = _delta_texts(stretch, index, start)
            if texts is None:
                texts = EventTexts(b"", list(_cut_out(stretch[:_FEW_LINES], call_index, index)))
            if found and found[-1].head == texts.head:
                found[-1].rests.extend(texts.rests)
            else:
                found.append(texts)
            index, stretch = index + len(texts.rests), stretch[len(texts.rests) :]
    return found


def _delta_texts(lines: Sequence[bytes], first_index: int, start: bytes) -> EventTexts | None:
    """The deltas that these lines begin with, where they begin alike; None where they are too few, or something is odd.

    The indexes have the same number of digits.
    """
    found = _DELTA_START.match(lines[0])
    if found is None:
        return None
    behind = _BEFORE_EVENT + found["head"]
    # A few of them first: where kinds of events alternate, all that follow would be looked at again and again.
    few = lines[:_FEW_LINES]
    if _common_heads(few, first_index, start, behind)[1] < len(few):
        return None
    length, alike = _common_heads(lines, first_index, start, behind)
    deltas = lines[:alike]
    if set(map(_last_byte, deltas)) != {_BRACE}:
        return None
    return EventTexts(found["head"], list(map(itemgetter(slice(length, -2)), deltas)))


def _cut_out(lines: Sequence[bytes], call_index: int, first_index: int) -> Iterator[bytes]:
    """The event of each line. Raises LineDefect, as `event_texts`."""
    start = _START % call_index
    for index, line in enumerate(lines, first_index):
        prefix = b"%b%d%b" % (start, index, _BEFORE_EVENT)
        if not line.startswith(prefix):
            raise LineDefect(f"event {index} is no longer where it was", call_index)
        yield cut_event(line, len(prefix))


def cut_event(line: bytes, start: int) -> bytes:
    """What stands between `start` and the line's closing brace. Raises LineDefect: it has none."""
    end = len(line)
    if line[end - 1 :] == b"\n":
        end -= 1
    if line[end - 1 : end] == b"\r":
        end -= 1
    if line[end - 1 : end] != b"}":
        raise LineDefect("not valid JSON: the line is cut off")
    return line[start : end - 1]


def _stretches(lines: Sequence[bytes], first_index: int) -> Iterator[tuple[int, Sequence[bytes]]]:
    """The lines, and the index of the first, as long as the indexes have the same number of digits."""
    at = 0
    while at < len(lines):
        index = first_index + at
        until = at + 10 ** len(str(index)) - index
        yield index, lines[at:until]
        at = until


def _common_heads(lines: Sequence[bytes], first_index: int, before: bytes, behind: bytes) -> tuple[int, int]:
    """How long `before`, an index and `behind` are, and how many lines from the first on begin so, each with its index.

    The indexes have the same number of digits.
    """
    length = len(before) + len(str(first_index)) + len(behind)
    indexes = to_json(list(range(first_index, first_index + len(lines))))[1:-1]
    expected = before + indexes.replace(b",", behind + before) + behind
    heads = b"".join(map(itemgetter(slice(length)), lines))
    if heads == expected:
        return length, len(lines)
    ends = range(length, len(heads), length)
    return length, bisect_left(ends, 1, key=lambda end: not heads.startswith(expected[:end]))
