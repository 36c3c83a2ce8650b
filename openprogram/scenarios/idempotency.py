"""Requests that were made before: their keys, and what is left of their answers."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from openprogram.fixtures.events import AdapterEvent, Commit, Delay
from openprogram.fixtures.faults import without
from openprogram.scenarios.observation import Observation

__all__ = ["Kept", "Ledger"]


@dataclass(frozen=True, slots=True)
class Kept:
    """One request under its key. `rest`: of its answer, without what took effect already."""

    key: str
    arguments: dict[str, Any]
    rest: tuple[AdapterEvent, ...]


class Ledger:
    """Idempotency keys of one run. `kept`: requests that were made before it goes on."""

    def __init__(self, kept: Iterable[Kept] = ()) -> None:
        self._kept = {request.key: request for request in kept}

    def find(self, key: str | None) -> Kept | None:
        """The request that was made under `key`; None where there was none, or no key."""
        return None if key is None else self._kept.get(key)

    def keep(
        self,
        key: str | None,
        arguments: dict[str, Any],
        answer: Sequence[AdapterEvent],
        commits: int,
        observation: Observation,
    ) -> Kept | None:
        """Remember an answer, of which `commits` took effect. Returns what is remembered.

        A request that came to nothing (no commit took effect, and the agent saw no result) was never made: whoever
        asks again gets a new answer.
        """
        if key is None or (commits == 0 and observation.outcome != "result"):
            return None
        self._kept[key] = Kept(key, arguments, _rest(answer, commits))
        return self._kept[key]


def _rest(answer: Sequence[AdapterEvent], commits: int) -> tuple[AdapterEvent, ...]:
    """The answer without its first `commits` commits, and without the waits before the last of them."""
    left = commits
    rest: list[AdapterEvent] = []
    done: set[int] = set()
    for event in answer:
        if event.sequence in done:  # comes twice, and took effect once
            continue
        if left and isinstance(event, Commit | Delay):
            left -= isinstance(event, Commit)
            done.add(event.sequence)
        else:
            rest.append(event)
    return tuple(without(answer, rest))
