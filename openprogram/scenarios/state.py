"""The state of a run at one moment, as data: what a run begins with, from nothing or from a journal."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from openprogram.fixtures.registry import FixtureRegistry
from openprogram.pipeline.canonical import digest
from openprogram.providers.types import Message
from openprogram.scenarios.approvals import Approvals
from openprogram.scenarios.idempotency import Kept, Ledger
from openprogram.scenarios.journal import Journal
from openprogram.scenarios.scenario import Scenario
from openprogram.scenarios.tools import Stage
from openprogram.world.chance import Chance
from openprogram.world.clock import ScenarioClock, parse_time
from openprogram.world.patches import Change
from openprogram.world.world import World

__all__ = ["MODE", "RunState", "run_identity", "stage_for"]

MODE: Final = "replay"


@dataclass(frozen=True)
class RunState:
    """`at`: scenario time. `events`: of the world, and `pending`: transitions to come, as a journal has them.

    `streams`: draws made. `turn`: user messages so far. `calls`, `model_calls`: made so far; `by_tool`: of each tool;
    `occurrences`: of each tool with equal arguments. `kept`: requests under an idempotency key.
    `answers_failed_already`: the model's answers to come are as a run saw them, cut and cancelled ones included.
    """

    at: datetime
    events: tuple[Mapping[str, Any], ...] = ()
    pending: tuple[Mapping[str, Any], ...] = ()
    streams: Mapping[str, int] = field(default_factory=dict)
    messages: tuple[Message, ...] = ()
    turn: int = 0
    calls: int = 0
    model_calls: int = 0
    by_tool: Mapping[str, int] = field(default_factory=dict)
    occurrences: Mapping[tuple[str, str], int] = field(default_factory=dict)
    kept: tuple[Kept, ...] = ()
    answers_failed_already: bool = False


def run_identity(scenario: Scenario, branch: str) -> str:
    """`sha256:…`, the same for every run of the scenario on that branch."""
    return digest({"mode": MODE, "branch": branch, "scenario": scenario.identity})


def stage_for(
    scenario: Scenario, fixtures: FixtureRegistry, state: RunState, branch: str, write: Callable[[bytes], Any]
) -> Stage:
    """A stage on which the run goes on from `state`. Its journal begins anew."""
    clock = ScenarioClock(scenario.start)
    world = _world(scenario, clock, state)
    journal = Journal(clock, write)
    world.on_event = journal.world
    return Stage(
        scenario=scenario,
        fixtures=fixtures,
        world=world,
        chance=Chance(scenario.seed, branch, journal.draw, dict(state.streams)),
        journal=journal,
        approvals=Approvals(scenario.approvals, run_identity(scenario, branch), MODE, world, journal),
        ledger=Ledger(state.kept),
        calls=state.calls,
        by_tool=Counter(state.by_tool),
        occurrences=Counter(state.occurrences),
    )


def _world(scenario: Scenario, clock: ScenarioClock, state: RunState) -> World:
    """The fold of the scenario's resources and the events so far."""
    world = World(scenario.resources, clock)
    for event in state.events:
        clock.move_to(parse_time(event["at"]))
        world.change(event["resource"], Change(patch=event["patch"]), event["cause"])
    clock.move_to(state.at)
    for pending in state.pending:
        after = parse_time(pending["due"]) - state.at
        change = Change.from_json(pending["change"])
        world.schedule(after, pending["transition"], pending["resource"], change, pending["revision"])
    return world
