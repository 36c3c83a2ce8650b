"""How long something takes: several runs, each beside one of its floor, their medians, and how far they spread."""

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Timing", "measure"]


@dataclass(frozen=True)
class Timing:
    """CPU seconds of each run, of all threads."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    def ratio(self, floor: "Timing") -> str:
        """Median over the floor's median, with the lowest and highest run over it."""
        low, high = min(self.seconds) / floor.median, max(self.seconds) / floor.median
        return f"{self.median / floor.median:.2f} ({low:.2f} to {high:.2f})"


def measure(*runs: Callable[[], object], prepare: Callable[[], object] = lambda: None, times: int = 5) -> list[Timing]:
    """Time each of `runs` so often, in turns, so that a machine that slows down meanwhile slows all of them.

    `prepare` comes before each turn and is not timed. The collector runs between, never in the middle.
    """
    seconds: list[list[float]] = [[] for _ in runs]
    for _ in range(times):
        prepare()
        for run, taken in zip(runs, seconds, strict=True):
            taken.append(_seconds(run))
    return [Timing(tuple(taken)) for taken in seconds]


def _seconds(run: Callable[[], object]) -> float:
    gc.collect()
    gc.disable()
    try:
        started = time.process_time()
        run()
        return time.process_time() - started
    finally:
        gc.enable()
