"""Trying a failed provider call again: how often, and how long to wait before."""

import random
from dataclasses import dataclass
from typing import Protocol

import anyio
from anyio.lowlevel import checkpoint

from openprogram.providers.types import AssistantMessage

__all__ = ["Clock", "Retries", "StillClock", "WaitingClock"]


class Clock(Protocol):
    """What a run waits on between two attempts."""

    async def sleep(self, seconds: float) -> None:
        """Return after that time. Cancellable."""
        ...


class WaitingClock:
    """The event loop's own time."""

    async def sleep(self, seconds: float) -> None:
        """See Clock."""
        await anyio.sleep(seconds)


class StillClock:
    """For a replayed run: its answers are on file, so no provider has to be waited for."""

    async def sleep(self, seconds: float) -> None:
        """Return at once; other tasks get their turn."""
        await checkpoint()


@dataclass(frozen=True)
class Retries:
    """How a run deals with a provider failure that trying again can help (`error_retryable`).

    `max_attempts`: calls for one turn, the first included; 1 means that nothing is tried again. The wait before the
    second attempt is between half of `first_wait_s` and all of it, doubles with each attempt, and ends at `max_wait_s`;
    chance keeps programs that failed together from coming back together. It is never shorter than the provider asked
    for, and where that is longer than the call's `max_retry_delay_ms`, the call is not tried again.

    Raises ValueError: no attempt, or a wait that is negative.
    """

    max_attempts: int = 4
    first_wait_s: float = 1.0
    max_wait_s: float = 30.0

    def __post_init__(self) -> None:
        if self.max_attempts < 1:
            raise ValueError(f"max_attempts is {self.max_attempts}: the first attempt counts")
        if self.first_wait_s < 0 or self.max_wait_s < 0:
            raise ValueError("a wait cannot be negative")

    def wait_s(
        self, failed: AssistantMessage, attempts: int, max_retry_delay_ms: int, chance: random.Random
    ) -> float | None:
        """Seconds to wait after `attempts` attempts, of which `failed` was the last; None: not to be tried again."""
        if failed.stop_reason != "error" or not failed.error_retryable or attempts >= self.max_attempts:
            return None
        # The exponent is bounded: it would overflow a float long before anyone has that much patience.
        doubled = self.first_wait_s * 2.0 ** min(attempts - 1, 60)
        backoff = min(doubled, self.max_wait_s) * chance.uniform(0.5, 1.0)
        asked = failed.error_retry_after_s or 0.0
        return None if asked * 1000 > max_retry_delay_ms else max(asked, backoff)
