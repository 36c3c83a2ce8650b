"""Scenario time: starts where the scenario says and stands still until the world moves it."""

from datetime import UTC, datetime, timedelta
from typing import Protocol

__all__ = ["Clock", "ReadOnlyClock", "ScenarioClock", "as_ms", "as_text", "parse_time"]


class Clock(Protocol):
    """What may be asked of a clock. Operations and the agent get this side of it."""

    @property
    def now(self) -> datetime:
        """Scenario time, in UTC."""
        ...

    @property
    def now_ms(self) -> int:
        """The same as Unix milliseconds."""
        ...


class ScenarioClock:
    """A clock that only `move_to` moves. `start`: an aware time. Raises ValueError: it has no time zone."""

    def __init__(self, start: datetime) -> None:
        if start.tzinfo is None:
            raise ValueError(f"start time {start.isoformat()} has no time zone: write 2024-05-15T15:00:00Z, say")
        self._now = start.astimezone(UTC)

    @property
    def now(self) -> datetime:
        """Scenario time, in UTC."""
        return self._now

    @property
    def now_ms(self) -> int:
        """Scenario time as Unix milliseconds."""
        return as_ms(self._now)

    def move_to(self, time: datetime) -> None:
        """Let time pass until `time`. Raises ValueError: it is in the past."""
        if time < self._now:
            raise ValueError(f"scenario time can't go back from {as_text(self._now)} to {as_text(time)}")
        self._now = time


class ReadOnlyClock:
    """A clock and nothing more: what an operation gets of it."""

    __slots__ = ("_clock",)

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    @property
    def now(self) -> datetime:
        """Scenario time, in UTC."""
        return self._clock.now

    @property
    def now_ms(self) -> int:
        """Scenario time as Unix milliseconds."""
        return self._clock.now_ms


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def as_ms(time: datetime) -> int:
    """A time as Unix milliseconds, rounded down."""
    return (time - _EPOCH) // timedelta(milliseconds=1)


def as_text(time: datetime) -> str:
    """A time in files: UTC, `2024-05-15T15:00:00Z`, with six digits of seconds where there is a fraction."""
    return time.astimezone(UTC).isoformat().replace("+00:00", "Z")


def parse_time(text: str) -> datetime:
    """The inverse of `as_text`; takes any ISO 8601 time with a zone. Raises ValueError: it is none."""
    time = datetime.fromisoformat(text)
    if time.tzinfo is None:
        raise ValueError(f"time {text!r} has no time zone: write it as 2024-05-15T15:00:00Z, say")
    return time.astimezone(UTC)
