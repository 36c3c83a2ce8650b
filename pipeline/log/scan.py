"""A recording as its raw lines, with where each one stands; never more of it in memory than one line."""

import io
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from openprogram.pipeline.json_value import MAX_LINE_BYTES
from openprogram.pipeline.log.lines import LINE_END

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["RawLine", "read_from", "read_range", "scan_lines"]

_BUFFER_BYTES: Final = 1 << 18
_new: Final = tuple.__new__


class RawLine(NamedTuple):
    """One line as it stands in the file."""

    number: int  #: from 1
    offset: int  #: bytes from the start of the file
    raw: bytes  #: its line end included; cut short where `too_long`

    @property
    def end(self) -> int:
        """The offset behind `raw`."""
        return self.offset + len(self.raw)

    @property
    def too_long(self) -> bool:
        """Above MAX_LINE_BYTES."""
        return len(self.raw) > MAX_LINE_BYTES

    @property
    def torn(self) -> bool:
        """The file ends in this line."""
        return not self.raw.endswith(LINE_END) and not self.too_long


class _FromOffset(io.RawIOBase):
    """Reads a descriptor from an offset on, without moving the position that others share."""

    def __init__(self, descriptor: int, offset: int) -> None:
        self._descriptor, self._offset = descriptor, offset

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "Buffer") -> int:
        count = os.preadv(self._descriptor, [buffer], self._offset)
        self._offset += count
        return count


def scan_lines(file: "io.BufferedReader[Any]", offset: int = 0, number: int = 1) -> Iterator[RawLine]:
    """The lines that `file` has left, which stand from `offset` on and are numbered from `number`."""
    while raw := file.readline(MAX_LINE_BYTES + 1):
        yield _new(RawLine, (number, offset, raw))  # a RawLine(…), at half the cost: there is one a line
        offset += len(raw)
        number += 1
        if len(raw) > MAX_LINE_BYTES and not raw.endswith(LINE_END):
            offset += _skip_line(file)  # only now: most who meet such a line stop there


def read_from(descriptor: int, offset: int = 0) -> "io.BufferedReader[Any]":
    """The file from `offset` on, buffered. The descriptor's own position is not used."""
    return io.BufferedReader(_FromOffset(descriptor, offset), _BUFFER_BYTES)


def read_range(descriptor: int, start: int, end: int) -> bytes:
    """The bytes from `start` to `end`, fewer where the file has become shorter."""
    pieces = []
    while start < end and (piece := os.pread(descriptor, end - start, start)):
        pieces.append(piece)
        start += len(piece)
    return b"".join(pieces)


def _skip_line(file: "io.BufferedReader[Any]") -> int:
    skipped = 0
    while piece := file.readline(_BUFFER_BYTES):
        skipped += len(piece)
        if piece.endswith(LINE_END):
            break
    return skipped
