"""A recording as its raw lines, with where each one stands; never more of it in memory than one line."""

import io
import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from openprogram.pipeline.json_value import MAX_LINE_BYTES
from openprogram.pipeline.log.lines import LINE_END

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["LineScan", "RawLine", "read_from", "read_range"]

#: Bytes that are read at once. From 128 KiB on, the allocator takes new pages from the kernel each time.
_BUFFER_BYTES: Final = 120 << 10
_new: Final = tuple.__new__


class RawLine(NamedTuple):
    """One line as it stands in the file."""

    number: int  #: from 1
    offset: int  #: bytes from the start of the file
    raw: bytes  #: its line end included; cut short where `too_long`
    left_out: int = 0  #: bytes of it that stand before `raw`: see `LineScan.next_behind`

    @property
    def end(self) -> int:
        """The offset behind `raw`."""
        return self.offset + self.left_out + len(self.raw)

    @property
    def too_long(self) -> bool:
        """Above MAX_LINE_BYTES."""
        return self.left_out + len(self.raw) > MAX_LINE_BYTES

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


class LineScan:
    """The lines that `file` has left, one by one; they stand from `offset` on and are numbered from `number`.

    `block`, `at`: what is read already, and where in it the next line begins. Whoever knows what stands there takes
    many lines at once, with `skip`.
    """

    def __init__(self, file: "io.BufferedReader[Any]", offset: int = 0, number: int = 1) -> None:
        self._file = file
        self.offset, self.number = offset, number  # of the next line
        self.block, self.at = b"", 0
        self._in_long_line = False

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> RawLine:
        if self._in_long_line:
            self._leave_long_line()  # only now: most who meet such a line stop there
        raw = self._rest()
        if not raw:
            raise StopIteration
        line = _new(RawLine, (self.number, self.offset, raw[: MAX_LINE_BYTES + 1], 0))  # a RawLine(…), at half the cost
        self.offset += len(raw)
        self.number += 1
        return line

    def next_behind(self, start: int, known: Sequence[bytes]) -> RawLine | None:
        """The next line without its beginning: what stands in the block up to `start`, and then `known`.

        That is compared as it is read: of a long line, no more than a block is in memory. None where something else
        stands there, or the line has no end or is too long; then it is still the next.
        """
        begun = self.block[self.at : start]
        self.at = start
        matched = self._skip_text(known)
        if matched < sum(map(len, known)):
            self._put_back(begun, b"".join(known)[:matched])
            return None
        raw = self._rest()
        line = RawLine(self.number, self.offset, raw, len(begun) + matched)
        if line.too_long or line.torn:
            self._put_back(begun, *known, raw)
            return None
        self.offset = line.end
        self.number += 1
        return line

    def put_back(self, line: RawLine, begun: Iterable[bytes]) -> None:
        """Have the line that `next_behind` gave last come again, whole. `begun`: what was left out of it."""
        self._put_back(*begun, line.raw)
        self.offset, self.number = line.offset, line.number

    def skip(self, end: int, count: int) -> None:
        """Take the next lines, so many, of which the last ends at `end` in the block."""
        self.offset += end - self.at
        self.number += count
        self.at = end

    def _rest(self) -> bytes:
        """What the line has from `at` on; nothing where that is the end of the file."""
        end = self.block.find(LINE_END, self.at) + 1
        if not end:
            return self._read_on()
        raw = self.block[self.at : end]
        self.at = end
        return raw

    def _skip_text(self, pieces: Sequence[bytes]) -> int:
        """Pass over as many bytes of this text as stand there; gives how many, and not to the byte where not all do."""
        matched = 0
        for piece in pieces:
            begin = 0
            while begin < len(piece):
                if self.at == len(self.block):
                    self.block, self.at = self._file.read1(_BUFFER_BYTES), 0
                part = memoryview(piece)[begin : begin + len(self.block) - self.at]
                if not part or not self.block.startswith(part, self.at):
                    return matched
                self.at += len(part)
                begin += len(part)
                matched += len(part)
        return matched

    def _put_back(self, *pieces: bytes) -> None:
        self.block, self.at = b"".join((*pieces, self.block[self.at :])), 0
        self._in_long_line = False

    def _read_on(self) -> bytes:
        """The line that the block holds the beginning of, or nothing of: up to its end, or till it is too long."""
        pieces = [self.block[self.at :]]
        size = len(pieces[0])
        self.block, self.at = b"", 0
        while piece := self._file.read1(_BUFFER_BYTES):
            end = piece.find(LINE_END) + 1
            pieces.append(piece[:end] if end else piece)
            size += len(pieces[-1])
            if end:
                self.block, self.at = piece, end
                break
            if size > MAX_LINE_BYTES:
                self._in_long_line = True
                break
        return b"".join(pieces)

    def _leave_long_line(self) -> None:
        while self._in_long_line:
            self._in_long_line = False
            self.offset += len(self._read_on())


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
