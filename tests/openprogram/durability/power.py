"""What a disk may hold after the power was cut: all that was synced, and of the rest any part, in any order."""

import errno
import os
import random
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

from tests.openprogram.durability.operations import Operation, intercepted

__all__ = ["CutState", "Disk"]

#: What a disk writes at once, in bytes.
_SECTOR = 512


class _Written(NamedTuple):
    offset: int
    data: bytes


class _Cut(NamedTuple):
    size: int


_Change: TypeAlias = _Written | _Cut
_Entry: TypeAlias = tuple[Literal["change", "begins to sync", "synced", "lost", "folder synced", "acknowledged"], Any]


class CutState(NamedTuple):
    """`content`: of the file after a cut, None where its name is lost. `acknowledged`: calls, before the cut."""

    content: bytes | None
    acknowledged: frozenset[int]


@dataclass
class Disk:
    """Watches one file being recorded into, and says afterwards what each cut could have left of it.

    `unsynced`: what is in the file already and nobody has synced, neither it nor its name; None for a new file.
    `failing_sync`: which sync of the file fails, from 0: what it should have covered is lost, the next one succeeds.
    """

    unsynced: bytes | None = None
    failing_sync: int | None = None
    sync_count: int = 0
    _log: list[_Entry] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """While this file, and no other, is recorded into."""
        with intercepted(self._react):
            yield

    def acknowledge(self, number: int) -> None:
        """The consumer has seen the end of this call."""
        with self._lock:
            self._log.append(("acknowledged", number))

    def after_each_cut(self, chance: random.Random, at_most: int) -> Iterator[CutState]:
        """States that a cut behind any of the operations may leave; each once.

        Behind each: the one where all that is not certain is lost, the one where all arrived, others `at_most`.
        """
        seen: set[CutState] = set()
        for length in range(len(self._log) + 1):
            certain, *others = self._after(self._log[:length], chance)
            for state in (certain, *others[-1:], *chance.sample(others, min(at_most, len(others)))):
                if state not in seen:
                    seen.add(state)
                    yield state

    def certain(self) -> CutState:
        """What is there after a cut at the end, whatever else is lost."""
        return next(self._after(self._log, random.Random(0)))

    def _react(self, operation: Operation) -> Any:
        if operation.kind == "fsync":
            return self._sync(operation)
        with self._lock:
            size = os.fstat(operation.descriptor).st_size
            change = _Cut(operation.size) if operation.kind == "ftruncate" else _Written(size, operation.data)
            done = operation.do()
            self._log.append(("change", change))
            return done

    def _sync(self, operation: Operation) -> Any:
        if stat.S_ISDIR(os.fstat(operation.descriptor).st_mode):
            operation.do()
            with self._lock:
                self._log.append(("folder synced", None))
            return
        with self._lock:
            self._log.append(("begins to sync", operation.number))
            self.sync_count += 1
            if self.sync_count - 1 == self.failing_sync:
                self._log.append(("lost", operation.number))
                raise OSError(errno.EIO, os.strerror(errno.EIO))
        operation.do()
        with self._lock:
            self._log.append(("synced", operation.number))

    def _after(self, log: list[_Entry], chance: random.Random) -> Iterator[CutState]:
        """The first one is what is certain."""
        durable, pending, is_named, acknowledged = self._replay(log)
        contents = list(_possible(durable, pending, chance))
        if not is_named:
            contents.insert(0, None)
        for content in contents:
            yield CutState(content, acknowledged)

    def _replay(self, log: list[_Entry]) -> tuple[bytes, list[_Change], bool, frozenset[int]]:
        durable, is_named = b"", False
        pending: list[_Change] = [] if self.unsynced is None else [_Written(0, self.unsynced)]
        acknowledged: set[int] = set()
        covered: dict[int, int] = {}  # a sync → how many of the changes pending when it began; less after another's end
        for what, value in log:
            match what:
                case "change":
                    pending.append(value)
                case "begins to sync":
                    covered[value] = len(pending)
                case "synced":
                    count = covered.pop(value)
                    durable = _applied(durable, pending[:count])
                    del pending[:count]
                    covered = {other: max(0, length - count) for other, length in covered.items()}
                case "lost":
                    count = covered.pop(value)
                    pending[:count] = [_lost(change) for change in pending[:count]]
                case "folder synced":
                    is_named = True
                case "acknowledged":
                    acknowledged.add(value)
        return durable, pending, is_named, frozenset(acknowledged)


def _lost(change: _Change) -> _Change:
    return _Written(change.offset, bytes(len(change.data))) if isinstance(change, _Written) else change


def _applied(content: bytes, changes: list[_Change]) -> bytes:
    for change in changes:
        if isinstance(change, _Cut):
            content = content[: change.size]
        else:
            content = content[: change.offset].ljust(change.offset, b"\0") + change.data
    return content


def _possible(durable: bytes, pending: list[_Change], chance: random.Random) -> Iterator[bytes | None]:
    """From nothing of what is pending to all of it."""
    yield durable
    for count, change in enumerate(pending):
        before, after = pending[:count], pending[count + 1 :]
        if isinstance(change, _Written):
            for length in (1, len(change.data) // 2, len(change.data) - 1):
                yield _applied(durable, [*before, _Written(change.offset, change.data[:length])])
            # Its size arrived, and what came later; its own bytes did not.
            yield _applied(durable, [*before, _lost(change), *after])
        yield _applied(durable, [*before, change])
    whole = _applied(durable, pending)
    yield from _with_sectors_lost(durable, whole, chance)
    yield whole


def _with_sectors_lost(durable: bytes, whole: bytes, chance: random.Random) -> Iterator[bytes]:
    """Sectors behind what was synced that never arrived. The one in which that ends holds at least its synced part."""
    for _ in range(2):
        content = bytearray(whole)
        for start in range(len(durable) // _SECTOR * _SECTOR, len(whole), _SECTOR):
            if chance.random() < 0.3:
                lost = range(max(start, len(durable)), min(start + _SECTOR, len(whole)))
                content[lost.start : lost.stop] = bytes(len(lost))
        yield bytes(content)
