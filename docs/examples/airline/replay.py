"""Replays recorded trajectories in the airline's world: every observation and every verdict, held against the record.

    python docs/examples/airline/replay.py DATA [TRAJECTORIES]

DATA: a folder with users.json, reservations.json, flights.json, tools.json, policy.md and trajectories.jsonl: data of
the public benchmark tau-bench, which is no part of this checkout.
Exit status 1 unless all are equal, or where the data isn't there.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from types import MappingProxyType
from typing import Any

import anyio

sys.path.insert(0, str(Path(__file__).parent))  # this folder's own modules, wherever it is run from

import operations
from contracts import airline_contracts

from openprogram.agent.limits import Limits
from openprogram.fixtures.registry import FixtureRegistry
from openprogram.pipeline.errors import PipelineError
from openprogram.providers.scripted import ScriptedProvider
from openprogram.providers.types import AssistantContent, Model, TextContent, ToolCall, ToolResultMessage
from openprogram.scenarios.operations import Operation, PureTool, declared_in
from openprogram.scenarios.replay_run import ReplayRun, RunResult
from openprogram.scenarios.scenario import Scenario
from openprogram.scenarios.settings import Budgets
from openprogram.world import InitialResources, World
from openprogram.world.clock import parse_time

#: The tool that ends a conversation.
TRANSFER = "transfer_to_human_agents"


@dataclass(frozen=True)
class Airline:
    """The world that every trajectory begins in. Read once."""

    resources: InitialResources
    tools: Sequence[dict[str, Any]]
    policy: str

    @classmethod
    def read(cls, data: Path) -> "Airline":
        kinds = {kind: json.loads((data / f"{kind}.json").read_text()) for kind in ("users", "reservations", "flights")}
        tools = json.loads((data / "tools.json").read_text())
        return cls(InitialResources(kinds), tools, (data / "policy.md").read_text())

    def scenario(self, name: str, turns: Sequence[str], model_calls: int) -> Scenario:
        answers = declared_in(operations)
        return Scenario(
            id=name,
            version="1",
            seed="airline",
            start=parse_time("2024-05-15T15:00:00-05:00"),
            model=Model(id="gpt-4o", api="scripted", provider="scripted"),
            system_prompt=self.policy,
            turns=tuple(turns),
            contracts=airline_contracts(self.tools),
            resources=self.resources,
            operations=MappingProxyType({answer.tool: answer for answer in answers if isinstance(answer, Operation)}),
            pure=MappingProxyType({answer.tool: answer for answer in answers if isinstance(answer, PureTool)}),
            limits=Limits(max_turns=None),
            budgets=Budgets(model_calls=model_calls or None),
            ends_after=frozenset({TRANSFER}),
        )


@dataclass(frozen=True)
class Trajectory:
    """One recorded conversation. `answers`: of the model; `observations`: what its tools returned."""

    name: str
    turns: tuple[str, ...]
    answers: tuple[list[AssistantContent], ...]
    observations: tuple[str, ...]
    expected_actions: tuple[dict[str, Any], ...]
    reward_actions: bool | None

    @classmethod
    def parse(cls, recorded: Mapping[str, Any]) -> "Trajectory":
        messages = recorded["messages"]
        answers = tuple(_answer(message) for message in messages if message["role"] == "assistant")
        turns = [message["content"] for message in messages if message["role"] == "user"]
        if messages[-1]["role"] == "user":
            turns.pop()  # nobody answered it
        reward = recorded["reward_actions"]
        return cls(
            name=f"airline-{recorded['task_id']}-{recorded['trial']}",
            turns=tuple(turns),
            answers=answers,
            observations=tuple(message["content"] for message in messages if message["role"] == "tool"),
            expected_actions=tuple(action for action in recorded["expected_actions"] if action["name"] != TRANSFER),
            reward_actions=None if reward is None else bool(reward),
        )


@dataclass(frozen=True)
class Replayed:
    """What came of one trajectory. `different`: observations that are not the recorded ones."""

    name: str
    observations: int
    different: tuple[str, ...]
    same_verdict: bool | None
    journal: bytes
    seconds: float


async def replay(airline: Airline, trajectory: Trajectory) -> Replayed:
    """Run a trajectory's conversation again, in a world of its own."""
    started = perf_counter()
    journal: list[bytes] = []
    scenario = airline.scenario(trajectory.name, trajectory.turns, len(trajectory.answers))
    run = ReplayRun(scenario, FixtureRegistry(), ScriptedProvider(trajectory.answers), write=journal.append)
    try:
        result = await run.run()
    except PipelineError as stopped:
        return Replayed(trajectory.name, 0, (str(stopped),), None, b"".join(journal), perf_counter() - started)
    seconds = perf_counter() - started
    seen = tuple(_texts(result))
    different = [
        f"observation {number}: {mine!r}, recorded {recorded!r}"
        for number, (mine, recorded) in enumerate(zip(seen, trajectory.observations, strict=False))
        if _parsed(mine) != _parsed(recorded)
    ]
    if len(seen) != len(trajectory.observations):
        different.append(f"{len(seen)} observations, recorded {len(trajectory.observations)}")
    same_verdict = None
    if trajectory.reward_actions is not None:
        expected = await after_actions(airline, trajectory.expected_actions)
        same_verdict = _same_state(result.world, expected) == trajectory.reward_actions
    return Replayed(trajectory.name, len(seen), tuple(different), same_verdict, b"".join(journal), seconds)


async def after_actions(airline: Airline, actions: Sequence[Mapping[str, Any]]) -> World:
    """The world after `actions`; one that fails changes nothing."""
    calls: list[list[AssistantContent]] = [
        [ToolCall(id=str(number), name=action["name"], arguments=action["kwargs"])]
        for number, action in enumerate(actions)
    ]
    scenario = airline.scenario("expected", ["Do what is expected."], 0)
    provider = ScriptedProvider([*calls, "Done."])
    return (await ReplayRun(scenario, FixtureRegistry(), provider).run()).world


def _answer(message: Mapping[str, Any]) -> list[AssistantContent]:
    content: list[AssistantContent] = [TextContent(text=message["content"])] if message.get("content") else []
    for call in message.get("tool_calls") or []:
        function = call["function"]
        content.append(ToolCall(id=call["id"], name=function["name"], arguments=json.loads(function["arguments"])))
    return content


def _texts(result: RunResult) -> Iterator[str]:
    for message in result.messages:
        if isinstance(message, ToolResultMessage):
            yield "".join(block.text for block in message.content if isinstance(block, TextContent))


def _parsed(text: str) -> Any:
    """Documents are compared as JSON, everything else as text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _same_state(one: World, other: World) -> bool:
    return all(one.kind(kind) == other.kind(kind) for kind in ("users", "reservations", "flights"))


#: What the world and its tools are made of.
WORLD_FILES = ("users.json", "reservations.json", "flights.json", "tools.json", "policy.md")


def missing_data(data: Path, trajectories: Path) -> str | None:
    """What has to be there and isn't, in sentences; None where all of it is."""
    missing = [str(file) for file in (*(data / name for name in WORLD_FILES), trajectories) if not file.is_file()]
    if not missing:
        return None
    return (
        f"error: there is no {', no '.join(missing)}\n"
        "This example replays recorded conversations of the public benchmark tau-bench (airline). The checkout does\n"
        "not hold that data: users, reservations, flights, tools, the policy, and trajectories.jsonl, one recorded\n"
        "conversation a line. With a folder that has them: make airline AIRLINE=FOLDER"
    )


def main(data: Path, trajectories: Path) -> int:
    """Replay every trajectory twice and print what came of them; 0 where all is as recorded."""
    missing = missing_data(data, trajectories)
    if missing is not None:
        print(missing, file=sys.stderr)
        return 1
    airline = Airline.read(data)
    recorded = [Trajectory.parse(json.loads(line)) for line in trajectories.read_text().splitlines() if line.strip()]
    wrong, observations, verdicts, seconds = 0, 0, 0, 0.0
    for trajectory in recorded:
        first, second = anyio.run(replay, airline, trajectory), anyio.run(replay, airline, trajectory)
        problems = [*first.different]
        if first.same_verdict is False:
            problems.append("the verdict is not the recorded one")
        if first.journal != second.journal:
            problems.append("two runs wrote different journals")
        for problem in problems:
            print(f"{trajectory.name}: {problem}", file=sys.stderr)
        wrong += bool(problems)
        observations += max(0, first.observations - len(first.different))
        verdicts += first.same_verdict is True
        seconds += first.seconds
    judged = sum(trajectory.reward_actions is not None for trajectory in recorded)
    total = sum(len(trajectory.observations) for trajectory in recorded)
    print(f"trajectories          {len(recorded)}, {wrong} different")
    print(f"observations equal    {observations} of {total}")
    print(f"verdicts equal        {verdicts} of {judged}")
    print(f"seconds a trajectory  {seconds / max(1, len(recorded)):.3f}")
    return 1 if wrong or not recorded else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(
            "error: which folder has the airline's data?\npython docs/examples/airline/replay.py DATA [TRAJECTORIES]"
        )
    folder = Path(sys.argv[1])
    sys.exit(main(folder, Path(sys.argv[2]) if len(sys.argv) > 2 else folder / "trajectories.jsonl"))
