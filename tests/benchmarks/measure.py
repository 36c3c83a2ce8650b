"""How long something takes: several runs, their median, and how far they spread."""

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Timing", "measure"]


@dataclass(frozen=True)
class Timing:
    """Seconds of each run."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    def ratio(self, floor: "Timing") -> str:
        """Median over the floor's median, with the lowest and highest run over it."""
        low, high = min(self.seconds) / floor.median, max(self.seconds) / floor.median
        return f"{self.median / floor.median:.2f} ({low:.2f} to {high:.2f})"


def measure(run: Callable[[], object], *, prepare: Callable[[], object] = lambda: None, runs: int = 5) -> Timing:
    """Time `run` so often, `prepare` before each and not timed. The collector runs between, never in the middle."""
    seconds = []
    for _ in range(runs):
        prepare()
        gc.collect()
        gc.disable()
        try:
            started = time.perf_counter()
            run()
            seconds.append(time.perf_counter() - started)
        finally:
            gc.enable()
    return Timing(tuple(seconds))
