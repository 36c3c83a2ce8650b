"""What flows between stages: a call opened, its events in batches, a call closed. Nothing else."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar, cast

from openprogram.pipeline.log.lines import CleanEvent, Outcome
from openprogram.pipeline.request_parts import DumpedParts, RequestText

__all__ = [
    "Batch",
    "CallClosed",
    "CallEvent",
    "CallOpened",
    "CleanCall",
    "ServedCall",
    "WrittenEvent",
    "split_closed",
]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CallOpened:
    """A request that was made. `parts`: its text, what is new in it not redacted yet."""

    parts: DumpedParts


@dataclass(frozen=True, slots=True)
class CleanCall:
    """A request without secrets."""

    request: RequestText


@dataclass(frozen=True, slots=True)
class ServedCall:
    """The recorded call that answers a request in replay. `call_index`: from 0.

    `payloads`: its events as JSON text where they are not the file's own, as values of this run stand in them.
    """

    call_index: int
    payloads: list[bytes] | None = None


class CallEvent(NamedTuple, Generic[T]):
    """An event as the provider gave it, with its dump of that moment: a provider may go on changing the object."""

    event: T
    dumped: dict[str, Any]


class WrittenEvent(NamedTuple, Generic[T]):
    """An event and its redacted dump, which is on file before anybody downstream sees the event."""

    event: T
    clean: CleanEvent


@dataclass(frozen=True, slots=True)
class CallClosed:
    """The call is over. `failure`: what the consumer is to get raised, or None. `error`: what the file says of it."""

    outcome: Outcome
    failure: Exception | None = None
    error: dict[str, Any] | None = None


#: The source decides a batch's size: the live source sends what is there, the file reader sends many.
Batch: TypeAlias = list[T]


def split_closed(items: Sequence[T | CallClosed]) -> tuple[Sequence[T], CallClosed | None]:
    """The events of a batch, and what closes the call behind them, if it does."""
    if items and isinstance(items[-1], CallClosed):
        return cast(Sequence[T], items[:-1]), items[-1]
    return cast(Sequence[T], items), None
