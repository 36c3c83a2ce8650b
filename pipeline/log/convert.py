"""A recording compressed, or expanded, into a new file: the same lines, byte for byte.

The new file gets its name when it is whole, checked and on disk. Until then there is no such file, and the one that
is read stays as it is; whether it goes away afterwards is the caller's to say.
"""

import hashlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from openprogram.pipeline.errors import RecordingFileError
from openprogram.pipeline.log.compressed import MAX_WINDOW_LOG, CompressedSource
from openprogram.pipeline.log.files import file_errors, write_whole
from openprogram.pipeline.log.lines import CheckEvent
from openprogram.pipeline.log.new_file import new_file
from openprogram.pipeline.log.reader import index_lines
from openprogram.pipeline.log.scan import LineScan
from openprogram.pipeline.log.source import ByteSource, PlainSource, open_source

if sys.version_info >= (3, 14):
    from compression.zstd import CompressionParameter, ZstdCompressor, ZstdError
else:
    from backports.zstd import CompressionParameter, ZstdCompressor, ZstdError

__all__ = ["Converted", "compress_recording", "expand_recording"]

_COPY_BYTES: Final = 1 << 20
_LEVEL: Final = 3

#: The window: so many times the longest line, as a power of two. A request repeats the one before it, which must
#: still be in the window, with its answer and the calls that run beside it between them; what is larger costs every
#: reader that much memory. The least is what each decompressor has to take (RFC 8878), the most what ours takes.
_WINDOW_LINES: Final = 4
_MIN_WINDOW_LOG: Final = 23


class Converted(NamedTuple):
    """What was written. `plain_bytes`, `compressed_bytes`: the sizes of the one file and of the other."""

    call_count: int
    plain_bytes: int
    compressed_bytes: int


class _Content(NamedTuple):
    """What a recording holds. `longest`: bytes of its longest line."""

    size: int
    longest: int
    digest: bytes


_Encode: TypeAlias = Callable[[_Content, Iterator[bytes]], Iterator[bytes]]


def compress_recording(path: Path, target: Path, check_event: CheckEvent) -> Converted:
    """Write the plain recording `path` compressed to the new file `target`, mode 0600, as old as `path`.

    Raises RecordingFileError: `path` isn't what the strict reader takes, or changes meanwhile; `target` exists or
    can't be written. Then no file is left.
    """
    call_count, plain_bytes, (_, compressed) = _convert(path, target, check_event, _compressed, CompressedSource)
    return Converted(call_count, plain_bytes, compressed)


def expand_recording(path: Path, target: Path, check_event: CheckEvent) -> Converted:
    """Write the compressed recording `path` as it was to the new file `target`. As `compress_recording`."""
    call_count, plain_bytes, (compressed, _) = _convert(path, target, check_event, _as_it_is, PlainSource)
    return Converted(call_count, plain_bytes, compressed)


def _convert(
    path: Path, target: Path, check_event: CheckEvent, encode: _Encode, decoded: Callable[[int], ByteSource]
) -> tuple[int, int, tuple[int, int]]:
    """Returns how many calls there are, the bytes of the content, and those of the old file and of the new one."""
    with closing(open_source(path)) as source:
        _, calls = index_lines(path, source, check_event)
        with file_errors(path, "read"):
            size, content = source.state().size, _measure(source)
        with new_file(target, like=path) as descriptor:
            end = _write(descriptor, path, encode(content, _pieces(path, source)))
            with closing(decoded(os.dup(descriptor))) as written:
                index_lines(target, written, check_event)
                if _measure(written).digest != content.digest:
                    raise RecordingFileError(path=path, reason="the file changed while it was read")
    return len(calls), content.size, (size, end)


def _write(descriptor: int, path: Path, encoded: Iterator[bytes]) -> int:
    """Write all of it. Returns how many bytes it was."""
    end = 0
    try:
        for data in encoded:
            write_whole(descriptor, [data], end)
            end += len(data)
    except ZstdError as error:
        raise RecordingFileError(path=path, reason=f"the file changed while it was read: {error}") from None
    return end


def _measure(source: ByteSource) -> _Content:
    size = longest = 0
    digest = hashlib.sha256()
    for line in LineScan(source.reader()):
        digest.update(line.raw)
        size, longest = line.end, max(longest, len(line.raw))
    return _Content(size, longest, digest.digest())


def _pieces(path: Path, source: ByteSource) -> Iterator[bytes]:
    """The content again. A read that fails names this file, not the one that is being written."""
    file = source.reader()
    while True:
        with file_errors(path, "read"):
            piece = file.read(_COPY_BYTES)
        if not piece:
            return
        yield piece


def _as_it_is(_: _Content, pieces: Iterator[bytes]) -> Iterator[bytes]:
    return pieces


def _compressed(content: _Content, pieces: Iterator[bytes]) -> Iterator[bytes]:
    window_log = min(max((_WINDOW_LINES * content.longest - 1).bit_length(), _MIN_WINDOW_LOG), MAX_WINDOW_LOG)
    compressor = ZstdCompressor(
        options={
            CompressionParameter.compression_level: _LEVEL,
            CompressionParameter.window_log: window_log,
            # Finds what repeats far back; without it, an image that is sent with every request is found by chance.
            CompressionParameter.enable_long_distance_matching: 1,
            CompressionParameter.checksum_flag: 1,  # the lines have none
        }
    )
    compressor.set_pledged_input_size(content.size)  # so that a small file has no large window
    for piece in pieces:
        yield compressor.compress(piece)
    yield compressor.flush()
