"""What a controlled world costs: world events a second, and what replay adds to a tool that is a plain function.

python -m tests.benchmarks.scenarios
"""

import math
import statistics
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

import anyio

from openprogram.contracts import Contract
from openprogram.fixtures.events import AdapterEvent, Commit, Result
from openprogram.fixtures.fixture import Fixture
from openprogram.fixtures.registry import FixtureRegistry
from openprogram.providers.scripted import tool_call
from openprogram.providers.types import Model, ToolCall
from openprogram.scenarios.operations import Operation
from openprogram.scenarios.scenario import Scenario
from openprogram.scenarios.state import RunState, stage_for
from openprogram.scenarios.tools import ScenarioTool
from openprogram.world import InitialResources, ScenarioClock, World
from openprogram.world.patches import Change

__all__ = ["scenario_rows"]

START = datetime(2026, 1, 5, 9, tzinfo=UTC)
CALLS = 2000
ORDERS = {str(number): {"status": "open", "amount": number, "lines": ["a", "b", "c"]} for number in range(100)}

_ARGUMENTS = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
READ = Contract(name="get_order", effect="read", arguments=_ARGUMENTS, reads=("orders/{id}",))
WRITE = Contract(name="touch", effect="write", arguments=_ARGUMENTS, writes=("orders/{id}",))


def read(resources: Any, arguments: dict[str, Any], clock: Any, random: Any) -> Iterable[AdapterEvent]:
    """A tool that reads."""
    yield Result(value=resources[f"orders/{arguments['id']}"])


def write(resources: Any, arguments: dict[str, Any], clock: Any, random: Any) -> Iterable[AdapterEvent]:
    """A tool that writes."""
    order = resources[f"orders/{arguments['id']}"]
    changed = {**order, "amount": order["amount"] + 1}
    yield Commit(resource=f"orders/{arguments['id']}", value=changed)
    yield Result(value=changed)


def scenario_rows() -> list[tuple[str, str, str]]:
    """Rows of the table: what, measured, goal."""
    events, twice = _world_seconds(20_000), _world_seconds(40_000)
    return [
        ("world events", f"{20_000 / events:,.0f} a second", ""),
        ("world events, exponent from 20,000 to 40,000", f"{math.log2(twice / events):.2f}", "linear"),
        ("replay of a tool call that reads, added", _added(READ, read), "≤ 150 µs"),
        ("replay of a tool call that writes, added", _added(WRITE, write), "≤ 150 µs"),
        ("replay of a tool call by a fixture, added", _added(READ, None), "≤ 150 µs"),
    ]


def _world_seconds(count: int) -> float:
    """CPU seconds of so many changes of one world, median of three."""
    patches = [Change(patch=[{"op": "replace", "path": "/amount", "value": number}]) for number in range(count)]

    def once() -> None:
        world = World(InitialResources({"orders": ORDERS}), ScenarioClock(START))
        for number, change in enumerate(patches):
            world.change(f"orders/{number % 100}", change, "benchmark")

    return statistics.median(_cpu(once) for _ in range(3))


def _added(contract: Contract, function: Any) -> str:
    """Median and 99th percentile of what a call costs beyond the plain function, in µs."""
    operations = {} if function is None else {contract.name: Operation(contract.name, "1", function)}
    scenario = Scenario(
        id="benchmark",
        version="1",
        seed="1",
        start=START,
        model=Model(id="m", api="scripted", provider="scripted"),
        turns=("go",),
        contracts={contract.name: contract},
        resources=InitialResources({"orders": ORDERS}),
        operations=operations,
    )
    fixtures = FixtureRegistry(_fixture(name) for name in ORDERS) if function is None else FixtureRegistry()
    stage = stage_for(scenario, fixtures, RunState(at=START), "main", lambda line: None)
    tool = ScenarioTool(contract, stage)
    calls = [tool_call(contract.name, {"id": str(number % 100)}) for number in range(CALLS)]
    plain = _plain(function, stage.world, calls)
    costs = anyio.run(_costs, tool, calls)
    added = sorted((cost - plain) * 1e6 for cost in costs)
    return f"{statistics.median(added):.0f} µs, p99 {added[len(added) * 99 // 100]:.0f} µs"


def _plain(function: Any, world: World, calls: list[ToolCall]) -> float:
    """Median seconds of the function alone."""
    if function is None:
        return 0.0
    costs = []
    for call in calls:
        started = time.perf_counter()
        list(function(world, call.arguments, None, None))
        costs.append(time.perf_counter() - started)
    return statistics.median(costs)


async def _costs(tool: ScenarioTool, calls: list[ToolCall]) -> list[float]:
    costs = []
    for call in calls:
        started = time.perf_counter()
        await tool.run(call)
        costs.append(time.perf_counter() - started)
    return costs


def _fixture(name: str) -> Fixture:
    return Fixture(
        id=name,
        scenario_version="1",
        tool="get_order",
        contract_revision="1",
        arguments={"id": name},
        reads={f"orders/{name}": 1},
        events=(Result(value=ORDERS[name]),),
    )


def _cpu(work: Callable[[], Any]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


if __name__ == "__main__":
    for row in scenario_rows():
        print(f"| {' | '.join(row)} |")  # noqa: T201
