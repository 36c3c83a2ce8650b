"""Requests that were made before: their keys, and what is left of their answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from openprogram.fixtures.events import AdapterEvent, Commit, Delay
from openprogram.scenarios.observation import Observation

__all__ = ["Kept", "Ledger"]


@dataclass(frozen=True, slots=True)
class Kept:
    """One request under its key. `rest`: of its answer, without what took effect already."""

    key: str
    arguments: dict[str, Any]
    rest: tuple[AdapterEvent, ...]


class Ledger:
    """Idempotency keys of one run."""

    def __init__(self) -> None:
        self._kept: dict[str, Kept] = {}

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
    ) -> None:
        """Remember an answer, of which `commits` took effect.

        A request that came to nothing (no commit took effect, and the agent saw no result) was never made: whoever
        asks again gets a new answer.
        """
        if key is None or (commits == 0 and observation.outcome != "result"):
            return
        self._kept[key] = Kept(key, arguments, _rest(answer, commits))


def _rest(answer: Sequence[AdapterEvent], commits: int) -> tuple[AdapterEvent, ...]:
    """The answer without its first `commits` commits, and without the waits before the last of them."""
    left = commits
    rest: list[AdapterEvent] = []
    for event in answer:
        if left and isinstance(event, Commit | Delay):
            left -= isinstance(event, Commit)
        else:
            rest.append(event)
    return tuple(event.model_copy(update={"sequence": position}) for position, event in enumerate(rest))
