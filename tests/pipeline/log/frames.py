"""Compressed files for tests: right ones, and ones that no compressor makes."""

import sys
from pathlib import Path

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

__all__ = ["compressed", "frame_of_blocks", "write_compressed"]

_MAGIC = b"\x28\xb5\x2f\xfd"


def compressed(content: bytes) -> bytes:
    """One frame with a checksum."""
    return zstd.compress(content, options={zstd.CompressionParameter.checksum_flag: 1})


def write_compressed(path: Path, content: bytes) -> Path:
    path.write_bytes(compressed(content))
    return path


def frame_of_blocks(*blocks: bytes, repeated: bytes = b"", times: int = 0, window_log: int = 20) -> bytes:
    """A frame of stored blocks, then so many of 128 KiB that hold one byte only, at four bytes each.

    Source: RFC 8878, 3.1.1.
    """
    frame = [_MAGIC, b"\x00", bytes([(window_log - 10) << 3])]
    frame += [(len(block) << 3).to_bytes(3, "little") + block for block in blocks]
    frame += [((1 << 17) << 3 | 0b010).to_bytes(3, "little") + repeated] * times
    return b"".join(frame) + (1).to_bytes(3, "little")  # the last block, empty
