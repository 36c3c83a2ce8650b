"""Playing adapter events: the one place where an answer moves the clock and the world, and becomes an observation."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, assert_never

from openprogram.contracts.contract import Contract
from openprogram.contracts.errors import ContractViolation
from openprogram.contracts.schema import faults
from openprogram.contracts.templates import fits
from openprogram.fixtures.events import (
    TERMINAL_TYPES,
    Accepted,
    Ack,
    AdapterEvent,
    Cancel,
    Chunk,
    Commit,
    Delay,
    DropConnection,
    Failed,
    PartialUsage,
    Result,
)
from openprogram.pipeline.canonical import canonical
from openprogram.scenarios.journal import Journal
from openprogram.scenarios.observation import Observation
from openprogram.world.world import World

__all__ = ["play"]


def play(
    events: Sequence[AdapterEvent],
    contract: Contract,
    arguments: dict[str, Any],
    call: int,
    world: World,
    journal: Journal,
) -> tuple[Observation, int]:
    """Let `events` happen, in order, and return what the agent's side saw of them, and how many commits took effect.

    An event that repeats a sequence is journaled as a duplicate and has no effect; a missing one ends the answer as
    incomplete. After the contract's time is up the agent has seen a timeout; what the other side still does then
    happens at its own time.

    Raises ContractViolation: the events go beyond what the contract allows. WorldError: a patch does not apply.
    """
    playing = _Playing(contract, arguments, f"call:{call}", world, journal)
    arriving = _in_sequence(events, journal)
    for event in arriving:
        if event is None:
            return playing.failed("incomplete", "the answer is incomplete: part of it never arrived"), playing.commits
        journal.add("adapter", call=call, event=event.model_dump(mode="json"))
        observation = playing.take(event)
        if observation is not None:
            if observation.outcome == "timeout":
                playing.let_happen(arriving)
            return observation, playing.commits
    raise ContractViolation(
        tool=contract.name, reason=f"its answer has no end: one of {', '.join(sorted(TERMINAL_TYPES))}"
    )


def _in_sequence(events: Sequence[AdapterEvent], journal: Journal) -> Iterator[AdapterEvent | None]:
    """The events without duplicates; None, and nothing after it, where one is missing."""
    expected = 0
    for event in events:
        if event.sequence < expected:
            journal.add("adapter.duplicate", sequence_number=event.sequence)
            continue
        if event.sequence > expected:
            journal.add("adapter.gap", expected=expected, found=event.sequence)
            yield None
            return
        expected += 1
        yield event


@dataclass
class _Playing:
    contract: Contract
    arguments: dict[str, Any]
    cause: str
    world: World
    journal: Journal
    spent: timedelta = timedelta(0)
    chunks: list[str] = field(default_factory=list)
    used: dict[str, float] = field(default_factory=dict)
    acknowledged: bool = False
    commits: int = 0

    def take(self, event: AdapterEvent) -> Observation | None:
        """One event; an observation once the answer has ended."""
        match event:
            case Accepted():
                return None
            case Delay(seconds=seconds):
                return self._wait(timedelta(seconds=seconds))
            case Chunk(text=text):
                self.chunks.append(text)
            case PartialUsage(used=used):
                self.used = used
            case Commit():
                self._commit(event, timedelta(seconds=event.after_s))
            case Ack():
                self.acknowledged = True
            case Result(value=value):
                return self._result(value)
            case Failed():
                return self._error(event)
            case DropConnection():
                return self.failed("dropped", "the connection was dropped before the answer came", retryable=True)
            case Cancel(reason=reason):
                return self.failed("cancelled", f"the request was cancelled{f': {reason}' if reason else ''}")
            case _:
                assert_never(event)
        return None

    def failed(
        self, outcome: Any, message: str, *, category: str | None = None, retryable: bool = False
    ) -> Observation:
        """An answer that is none."""
        return Observation(
            outcome,
            category=category or outcome,
            message=message,
            retryable=retryable,
            partial="".join(self.chunks),
            acknowledged=self.acknowledged,
            used=self.used,
        )

    def let_happen(self, rest: Iterator[AdapterEvent | None]) -> None:
        """What the other side still does after the agent stopped waiting."""
        after = max(timedelta(0), self.spent - self._limit())
        for event in rest:
            if isinstance(event, Delay):
                after += timedelta(seconds=event.seconds)
            elif isinstance(event, Commit):
                self._commit(event, after + timedelta(seconds=event.after_s))

    def _limit(self) -> timedelta:
        seconds = self.contract.limits.seconds
        return timedelta.max if seconds is None else timedelta(seconds=seconds)

    def _wait(self, delay: timedelta) -> Observation | None:
        left = self._limit() - self.spent
        self.spent += delay
        self.world.advance(min(delay, left))
        if delay <= left:
            return None
        return self.failed("timeout", f"no answer within {self.contract.limits.seconds:g} s", retryable=True)

    def _commit(self, event: Commit, after: timedelta) -> None:
        if not fits(event.resource, self.contract.writes, self.arguments):
            declared = ", ".join(self.contract.writes) or "none"
            raise self._violation(f"it changes {event.resource}, but the contract declares as written: {declared}")
        self.commits += 1
        if after:
            scheduled = self.world.schedule(after, event.name or self.cause, event.resource, event.change)
            self.journal.add("scheduled", **scheduled.as_json())
        else:
            self.world.change(event.resource, event.change, self.cause)

    def _result(self, value: Any) -> Observation:
        limit = self.contract.limits.result_bytes
        if limit is not None and (size := len(canonical(value))) > limit:
            raise self._violation(f"its result has {size} bytes, and the contract allows {limit}")
        if self.contract.result:
            wrong = faults(value, self.contract.result)
            if wrong:
                raise self._violation(f"its result does not fit the result schema: {'; '.join(wrong[:3])}")
        return Observation(
            "result", value=value, partial="".join(self.chunks), acknowledged=self.acknowledged, used=self.used
        )

    def _error(self, event: Failed) -> Observation:
        category = self.contract.error(event.category)
        if category is None:
            declared = ", ".join(error.name for error in self.contract.errors) or "none"
            raise self._violation(f"it failed with category {event.category!r}, but the contract declares: {declared}")
        return self.failed("error", event.message, category=event.category, retryable=category.retryable)

    def _violation(self, reason: str) -> ContractViolation:
        return ContractViolation(tool=self.contract.name, reason=reason)
