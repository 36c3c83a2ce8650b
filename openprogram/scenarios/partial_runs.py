"""Replays of less than a scenario: one tool call, or some turns. What came before is taken from a journal.

Each has the scope that says which conclusions it supports (`openprogram.scenarios.scopes`).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

from openprogram.fixtures.registry import FixtureRegistry
from openprogram.pipeline.json_value import show_value
from openprogram.pipeline.stages.compare import find_first_difference
from openprogram.providers.scripted import ScriptedProvider
from openprogram.providers.types import ToolCall
from openprogram.scenarios.history import History
from openprogram.scenarios.replay_run import ReplayRun
from openprogram.scenarios.scenario import Scenario
from openprogram.scenarios.scopes import CONTRACT, SEGMENT, Scope
from openprogram.scenarios.state import stage_for
from openprogram.scenarios.tools import ScenarioTool

__all__ = ["ContractReplay", "PartialResult", "SegmentReplay"]

#: What a line says of its place in a journal, which is another one here.
_PLACE: Final = ("sequence",)


@dataclass(frozen=True, slots=True)
class PartialResult:
    """`lines`: how many were compared with the journal. `difference`: the first one, in a sentence; None: all equal."""

    scope: Scope
    lines: int
    difference: str | None


class ContractReplay:
    """One tool call again, in the world as it was. Compares what happened in it with the journal, line by line."""

    scope: ClassVar[Scope] = CONTRACT

    def __init__(self, scenario: Scenario, fixtures: FixtureRegistry, history: History) -> None:
        self._scenario, self._fixtures, self._history = scenario, fixtures, history

    async def run(self, call: int) -> PartialResult:
        """Raises JournalRefused: there is no such call. RunStopped: nothing answers it now."""
        recorded = self._history.call(call)
        made = recorded[0]
        written = _Lines()
        branch = self._history.lines[0]["branch"]
        stage = stage_for(self._scenario, self._fixtures, self._history.before_call(call), branch, written.add)
        contract = self._scenario.contracts[made["tool"]]
        await ScenarioTool(contract, stage).run(ToolCall(id=made["id"], name=made["tool"], arguments=made["arguments"]))
        return _compared(self.scope, recorded, written.lines)


class SegmentReplay:
    """Some turns again, with the model's answers as the journal has them. Compares all that happened, line by line."""

    scope: ClassVar[Scope] = SEGMENT

    def __init__(self, scenario: Scenario, fixtures: FixtureRegistry, history: History) -> None:
        self._scenario, self._fixtures, self._history = scenario, fixtures, history

    async def run(self, first_turn: int, last_turn: int) -> PartialResult:
        """`first_turn`, `last_turn`: user turns from 0, both included.

        Raises JournalRefused: there are no such turns. RunStopped: nothing answers a call now.
        """
        history = self._history
        answers = history.answers(first_turn, last_turn)
        written = _Lines()
        run = ReplayRun(
            self._scenario,
            self._fixtures,
            ScriptedProvider(answers),
            write=written.add,
            branch=history.lines[0]["branch"],
            begin=replace(history.before_turn(first_turn), answers_failed_already=True),
            last_turn=last_turn,
        )
        await run.run()
        lines = [line for line in written.lines if line["type"] not in ("run", "end")]
        recorded = [line for line in history.segment(first_turn, last_turn) if not _is_in_the_answer(line)]
        return _compared(self.scope, recorded, lines)


def _is_in_the_answer(line: Mapping[str, Any]) -> bool:
    """Whether the line tells of a fault that the journal's own answer of the model shows already."""
    return line["type"] == "fault" and "model_call" in line and line["fault"] != "delay"


class _Lines:
    """What a run writes, parsed."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []

    def add(self, line: bytes) -> None:
        self.lines.append(json.loads(line))


def _compared(
    scope: Scope, recorded: Sequence[Mapping[str, Any]], replayed: Sequence[Mapping[str, Any]]
) -> PartialResult:
    for number, (before, now) in enumerate(zip(recorded, replayed, strict=False)):
        found = find_first_difference({"arguments": _without_place(before)}, {"arguments": _without_place(now)})
        if found is not None:
            path = found.field_path.removeprefix("arguments").removeprefix(".")
            said = f"journal {show_value(found.recorded)}, replay {show_value(found.incoming)}"
            return PartialResult(scope, number, f"line {before['sequence'] + 1} ({before['type']}), {path}: {said}")
    if len(recorded) != len(replayed):
        return PartialResult(
            scope,
            min(len(recorded), len(replayed)),
            f"{len(recorded)} lines in the journal, {len(replayed)} in the replay",
        )
    return PartialResult(scope, len(recorded), None)


def _without_place(line: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in line.items() if key not in _PLACE}
