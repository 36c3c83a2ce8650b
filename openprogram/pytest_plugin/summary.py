"""The line at the end of a run."""

from collections import Counter
from collections.abc import Mapping, Sequence

__all__ = ["summary_line"]


def summary_line(counts: Sequence[Mapping[str, int | str]]) -> str:
    """`recordings: 3 replayed, 1 recorded; calls: 7 exact, 0 symbol-bound, 0 unused`. `counts`: see ItemRun.counts."""
    modes = Counter(str(one["mode"]) for one in counts)
    calls = {name: sum(int(one.get(name, 0)) for one in counts) for name in ("exact", "symbol-bound", "unused")}
    tests = f"{modes['replay']} replayed, {modes['record']} recorded"
    words = {"not kept": "recorded and not kept", "off": "live", "none": "not started"}
    rest = [f"{modes[mode]} {word}" for mode, word in words.items() if modes[mode]]
    return f"recordings: {', '.join([tests, *rest])}; calls: " + ", ".join(
        f"{count} {name}" for name, count in calls.items()
    )
