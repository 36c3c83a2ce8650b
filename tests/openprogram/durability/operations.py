"""What a recording does to its file, one operation after the other: each can be watched, cut short or refused."""

import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

__all__ = ["Kind", "Operation", "React", "intercepted"]

Kind: TypeAlias = Literal["write", "fsync", "ftruncate"]


@dataclass(frozen=True)
class Operation:
    """`number`: from 0, over all kinds. `data`: what is written; `size`: what the file is cut to."""

    number: int
    kind: Kind
    descriptor: int
    really: Callable[..., Any]
    data: bytes = b""
    size: int = 0

    def do(self, length: int | None = None) -> Any:
        """Let it happen; of a write, only its first `length` bytes."""
        match self.kind:
            case "write":
                return self.really(self.descriptor, self.data[:length])
            case "fsync":
                return self.really(self.descriptor)
            case "ftruncate":
                return self.really(self.descriptor, self.size)


React: TypeAlias = Callable[[Operation], Any]


@contextmanager
def intercepted(react: React) -> Iterator[None]:
    """Ask `react` in place of the system, for every write, fsync and ftruncate of this process, in every thread."""
    really = (os.write, os.writev, os.fsync, os.ftruncate)
    numbers = itertools.count()
    write, _, fsync, ftruncate = really

    def react_to_write(descriptor: int, data: Any) -> Any:
        return react(Operation(next(numbers), "write", descriptor, write, data=bytes(data)))

    def react_to_writev(descriptor: int, pieces: Any) -> Any:
        return react_to_write(descriptor, b"".join(pieces))

    def react_to_fsync(descriptor: int) -> Any:
        return react(Operation(next(numbers), "fsync", descriptor, fsync))

    def react_to_ftruncate(descriptor: int, size: int) -> Any:
        return react(Operation(next(numbers), "ftruncate", descriptor, ftruncate, size=size))

    os.write, os.writev = react_to_write, react_to_writev
    os.fsync, os.ftruncate = react_to_fsync, react_to_ftruncate  # type: ignore[assignment]
    try:
        yield
    finally:
        os.write, os.writev, os.fsync, os.ftruncate = really
