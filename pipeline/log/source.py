"""Where a recording's bytes come from: a plain file, or a compressed one that is decompressed as it is read.

What reads lines, and what keeps an index of them, knows offsets in the content and not which of the two it is.
"""

import io
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from openprogram.pipeline.errors import RecordingFileError
from openprogram.pipeline.log.files import file_errors, is_there, let_go, open_existing
from openprogram.pipeline.log.scan import read_from, read_range

if TYPE_CHECKING:
    from openprogram.pipeline.log.compressed import CompressedSource

__all__ = [
    "CLOSED",
    "COMPRESSED_SUFFIX",
    "ByteSource",
    "CompressionDefect",
    "FileState",
    "PlainSource",
    "file_state",
    "is_compressed_name",
    "missing_library",
    "open_source",
    "open_stored",
    "recording_name",
    "refuse_compressed",
    "refuse_compressed_beside",
    "stored_path",
]

#: What the name of a compressed recording ends in, behind that of the plain one.
COMPRESSED_SUFFIX: Final = ".zst"

#: No descriptor: what reads from it fails. The number of one that was closed will soon be another file's.
CLOSED: Final = -1

#: How a frame begins. Source: RFC 8878, section 3.1.1.
_MAGIC: Final = b"\x28\xb5\x2f\xfd"


class CompressionDefect(OSError):
    """The compressed data can't be decompressed: cut off, damaged, followed by more. An OSError like gzip's own.

    So it reaches the user as any read that fails: as a RecordingFileError with the path.
    """


class FileState(NamedTuple):
    """`size`: bytes of the file; `changed_ns`: when it was last written, Unix nanoseconds."""

    size: int
    changed_ns: int


def file_state(descriptor: int) -> FileState:
    """What the file of a descriptor is like now. Raises OSError."""
    found = os.fstat(descriptor)
    return FileState(found.st_size, found.st_mtime_ns)


class ByteSource(Protocol):
    """The content of one opened file. Offsets count bytes of the content, from 0. Close it."""

    def reader(self) -> "io.BufferedReader[Any]":
        """The content from its start, in a reader of its own. Its reads raise OSError."""

    def read_range(self, start: int, end: int) -> bytes:
        """The bytes from `start` to `end`, fewer where the content ends before. Raises OSError."""

    def state(self) -> FileState:
        """What the file is like now. Raises OSError."""

    def close(self) -> None:
        """Let the file go. Once."""


class PlainSource:
    """A file whose content is what stands in it. Owns the descriptor."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def reader(self) -> "io.BufferedReader[Any]":
        return read_from(self._descriptor)

    def read_range(self, start: int, end: int) -> bytes:
        return read_range(self._descriptor, start, end)

    def state(self) -> FileState:
        return file_state(self._descriptor)

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, CLOSED
        let_go(descriptor)


def recording_name(path: Path) -> str:
    """What a recording is called: its file's name without the endings `.jsonl` and `.zst`."""
    return path.name.removesuffix(COMPRESSED_SUFFIX).removesuffix(".jsonl")


def is_compressed_name(path: Path) -> bool:
    """Whether a file of that name has to be compressed."""
    return path.name.endswith(COMPRESSED_SUFFIX)


def stored_path(path: Path) -> Path:
    """The file of the recording that `path` names: that file or, where there is none, its compressed form.

    No other file is ever meant: `x.jsonl` is answered by `x.jsonl`, else by `x.jsonl.zst`, and `x.jsonl.zst` by itself
    alone. Where neither is there, `path`. Raises RecordingFileError: that can't be told.
    """
    if is_compressed_name(path) or is_there(path):
        return path
    compressed = _compressed_form(path)
    return compressed if is_there(compressed) else path


def _compressed_form(path: Path) -> Path:
    return path.with_name(path.name + COMPRESSED_SUFFIX)


def open_stored(path: Path) -> tuple[Path, ByteSource]:
    """The file of the recording that `path` names, open for reading. Raises as `stored_path` and `open_source`."""
    stored = stored_path(path)
    try:
        return stored, open_source(stored)
    except RecordingFileError:
        other = stored_path(path)  # the other form may have taken its place between the two
        if other == stored:
            raise
        return other, open_source(other)


def refuse_compressed(path: Path) -> None:
    """Raises RecordingFileError where the path names a compressed recording, which can't be appended to.

    So does a plain name of which the compressed form alone is there: a new file beside it would take its place.
    """
    stored = stored_path(path)
    if is_compressed_name(stored):
        raise _cannot_append(stored)


def refuse_compressed_beside(path: Path) -> None:
    """As `refuse_compressed`, for a file just created: the one that was there may have been compressed meanwhile."""
    if is_there(compressed := _compressed_form(path)):
        raise _cannot_append(compressed)


def _cannot_append(compressed: Path) -> RecordingFileError:
    return RecordingFileError(
        path=compressed,
        reason="cannot record into a compressed recording",
        next_step=f"Expand it first: `openprogram recordings expand {shlex.quote(str(compressed))}`.",
    )


def open_source(path: Path) -> ByteSource:
    """The content of a recording, by the name of its file: compressed where that ends in `.zst`, else plain.

    Raises RecordingFileError: it can't be opened; its content isn't what its name says; what decompresses isn't
    installed.
    """
    descriptor = open_existing(path)
    try:
        with file_errors(path, "read"):
            start = os.pread(descriptor, len(_MAGIC), 0)
        if is_compressed_name(path):
            return _compressed(path, descriptor, start)
        if start == _MAGIC:
            raise RecordingFileError(
                path=path,
                reason=f"the content is compressed, but the name does not end in {COMPRESSED_SUFFIX}",
                next_step=f"Give it that name: {path}{COMPRESSED_SUFFIX}",
            )
        return PlainSource(descriptor)
    except BaseException:
        let_go(descriptor)
        raise


def _compressed(path: Path, descriptor: int, start: bytes) -> "CompressedSource":
    if not start:
        raise RecordingFileError(path=path, reason="the file is empty")
    if start != _MAGIC:
        raise RecordingFileError(
            path=path, reason=f"the content is not compressed by zstd, but the name ends in {COMPRESSED_SUFFIX}"
        )
    try:
        # Not at import: most recordings are plain, and the library is an extra.
        from openprogram.pipeline.log.compressed import CompressedSource
    except ModuleNotFoundError as error:
        raise missing_library(path) from error
    return CompressedSource(descriptor)


def missing_library(path: Path) -> RecordingFileError:
    """The error of whoever needs what compresses and decompresses where it isn't installed."""
    return RecordingFileError(
        path=path,
        reason="compressed recordings need a library that is not installed",
        next_step='Install it: pip install "openprogram[zstd]"',
    )
