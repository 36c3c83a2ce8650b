"""Reading a compressed recording: forward, in pieces, never as a whole and never through a second file.

A compressed stream has no way to jump into it. An index of its content costs one pass; what is asked for then is
reached by going on from where the last request ended, and only what lies behind begins at the start again.
"""

import io
import os
import sys
import threading
from collections import deque
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from openprogram.pipeline.log.files import let_go
from openprogram.pipeline.log.source import CLOSED, CompressionDefect, FileState, file_state

if sys.version_info >= (3, 14):
    from compression.zstd import DecompressionParameter, ZstdDecompressor, ZstdError
else:
    from backports.zstd import DecompressionParameter, ZstdDecompressor, ZstdError

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["MAX_WINDOW_LOG", "CompressedSource"]

#: The binary logarithm of the window in bytes: what decompressing may hold. `zstd -d` has the same limit.
MAX_WINDOW_LOG: Final = 27

_INPUT_BYTES: Final = 1 << 17
_PIECE_BYTES: Final = 1 << 18

#: Content behind the position that is kept. Calls that ran together stand interleaved, and a consumer of each of
#: them asks for what is a little behind what another's got; without it, each such step would begin at the start.
_KEPT_BYTES: Final = 4 << 20


class CompressedSource:
    """A file that holds one zstd frame. Owns the descriptor.

    Memory: the frame's window, at most 128 MiB, for a reader and another for ranges once one is read; a few MiB of
    content. Safe between threads.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()
        self._forward: _Forward | None = None

    def reader(self) -> "io.BufferedReader[Any]":
        return io.BufferedReader(_RawContent(self._descriptor), _PIECE_BYTES)

    def state(self) -> FileState:
        return file_state(self._descriptor)

    def read_range(self, start: int, end: int) -> bytes:
        with self._lock:
            if self._forward is None or start < self._forward.start:
                self._forward = None  # its window is freed before another is taken
                self._forward = _Forward(self._descriptor)
            try:
                return self._forward.read_range(start, end)
            except BaseException:
                self._forward = None  # in the middle of something: no place to go on from
                raise

    def close(self) -> None:
        with self._lock:
            self._forward = None
            descriptor, self._descriptor = self._descriptor, CLOSED
            let_go(descriptor)


class _Frame:
    """The content of the one frame in a file, from its start on. The descriptor's own position is not used."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._consumed = 0  # bytes of the file
        self._decompressor = ZstdDecompressor(options={DecompressionParameter.window_log_max: MAX_WINDOW_LOG})

    def read(self, most: int) -> bytes:
        """The next bytes, at most so many, however far the data expands; empty at the end. Raises OSError."""
        while not self._decompressor.eof:
            data = b""
            if self._decompressor.needs_input:
                data = os.pread(self._descriptor, _INPUT_BYTES, self._consumed)
                if not data:
                    raise CompressionDefect("the compressed data is cut off")
                self._consumed += len(data)
            try:
                content = self._decompressor.decompress(data, most)
            except ZstdError as error:
                raise CompressionDefect(f"the compressed data is damaged: {error}") from None
            if content:
                return content
        if self._decompressor.unused_data or os.pread(self._descriptor, 1, self._consumed):
            raise CompressionDefect("more data follows the compressed frame")
        return b""


class _RawContent(io.RawIOBase):
    """A frame as the unbuffered half of an `io.BufferedReader`."""

    def __init__(self, descriptor: int) -> None:
        self._frame = _Frame(descriptor)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "Buffer") -> int:
        view = memoryview(buffer)
        content = self._frame.read(len(view))
        view[: len(content)] = content
        return len(content)


class _Piece(NamedTuple):
    start: int
    content: bytes

    @property
    def end(self) -> int:
        return self.start + len(self.content)


class _Forward:
    """A position in the content that only moves forward, and the last pieces before it."""

    def __init__(self, descriptor: int) -> None:
        self._frame = _Frame(descriptor)
        self._pieces: deque[_Piece] = deque()
        self._position = 0

    @property
    def start(self) -> int:
        """The lowest offset that can still be read."""
        return self._pieces[0].start if self._pieces else self._position

    def read_range(self, start: int, end: int) -> bytes:
        """As `ByteSource.read_range`, for a `start` that isn't below our own."""
        while self._position < end and (content := self._frame.read(_PIECE_BYTES)):
            self._pieces.append(_Piece(self._position, content))
            self._position += len(content)
            self._drop_behind(start)
        found = [
            piece.content[max(start - piece.start, 0) : end - piece.start]
            for piece in self._pieces
            if piece.end > start and piece.start < end
        ]
        return found[0] if len(found) == 1 else b"".join(found)

    def _drop_behind(self, start: int) -> None:
        """Let go what is beyond what is kept, but nothing of what is being read."""
        while self._pieces[0].end <= min(start, self._position - _KEPT_BYTES):
            self._pieces.popleft()
