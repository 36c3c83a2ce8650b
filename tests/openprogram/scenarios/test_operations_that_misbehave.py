"""Operations that change what they are given, keep what they shouldn't, or go where nothing leads."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from openprogram.contracts import Contract
from openprogram.fixtures.errors import RunStopped
from openprogram.fixtures.events import Commit, Delay, Result
from openprogram.fixtures.registry import FixtureRegistry
from openprogram.pipeline.errors import PipelineError
from openprogram.providers.scripted import ScriptedProvider, tool_call
from openprogram.scenarios.errors import OperationFailed
from openprogram.scenarios.operations import Operation, PureTool
from openprogram.scenarios.replay_run import ReplayRun, RunResult
from openprogram.world import ResourceMissing, WorldError
from openprogram.world.clock import parse_time
from tests.openprogram.scenarios.stage import CONTRACTS, Script, scenario

pytestmark = pytest.mark.anyio

ANY_ORDER = {"touch": Contract(name="touch", effect="write", writes=("orders/*",))}


async def touched(function: Callable[..., Any], arguments: Any = None, **fields: Any) -> RunResult:
    """A run in which `function` answers one call."""
    shop = scenario(contracts=ANY_ORDER, operations={"touch": Operation("touch", "1", function)}, **fields)
    script: Script = [[tool_call("touch", arguments or {"ids": ["17"]})], "Done."]
    return await ReplayRun(shop, FixtureRegistry(), ScriptedProvider(script)).run()


async def test_the_arguments_are_part_of_the_conversation_and_cannot_be_changed() -> None:
    def changes(resources: Any, arguments: Any, clock: Any, random: Any) -> Any:
        arguments["ids"].append("18")
        return [Result()]

    with pytest.raises(OperationFailed, match="can't be changed in place"):
        await touched(changes)


async def test_nor_can_those_of_a_pure_tool() -> None:
    contract = Contract(name="sum", effect="pure")
    tool = PureTool("sum", "1", "1", lambda arguments: arguments.update(x=2))
    shop = scenario(contracts={"sum": contract}, pure={"sum": tool})
    with pytest.raises(OperationFailed, match="can't be changed in place"):
        await ReplayRun(shop, FixtureRegistry(), ScriptedProvider([[tool_call("sum", {"x": 1})], "Done."])).run()


async def test_an_event_says_what_it_said_when_it_was_yielded() -> None:
    def goes_on(resources: Any, arguments: Any, clock: Any, random: Any) -> Any:
        order = {"status": "pending", "log": ["paid"]}
        yield Commit(resource="orders/17", value=order)
        order["status"] = "completed"
        order["log"].append("settled")  # type: ignore[attr-defined]
        patch: list[dict[str, Any]] = [{"op": "replace", "path": "/status", "value": "shipped"}]
        yield Commit(resource="orders/17", patch=patch, after_s=30)
        patch[0]["value"] = "lost"
        yield Delay(seconds=31)
        yield Result(value=order)
        order.clear()

    result = await touched(goes_on)
    assert [event.patch for event in result.world.history("orders/17")] == [
        [
            {"op": "remove", "path": "/amount"},
            {"op": "add", "path": "/log", "value": ["paid"]},
            {"op": "replace", "path": "/status", "value": "pending"},
        ],
        [{"op": "replace", "path": "/status", "value": "shipped"}],
    ]
    assert "completed" in str(result.messages[2].content)


@pytest.mark.parametrize("way", ["put", "change", "advance", "schedule"])
async def test_the_world_that_it_reads_has_no_way_of_being_changed(way: str) -> None:
    def reaches(resources: Any, arguments: Any, clock: Any, random: Any) -> Any:
        assert not hasattr(clock, "move_to")
        getattr(resources, way)("orders/17", {}, "me")
        return [Result()]

    with pytest.raises(OperationFailed, match=f"no attribute '{way}'"):
        await touched(reaches)


async def test_what_it_is_given_can_be_asked_all_that_resources_and_a_clock_can_be_asked() -> None:
    def asks(resources: Any, arguments: Any, clock: Any, random: Any) -> Any:
        assert resources["orders/17"] == resources.get("orders/17") == resources.kind("orders")["17"]
        assert "orders/17" in resources
        assert resources.get("orders/0") is None
        assert list(resources.kinds()) == ["orders"]
        assert resources.revision_of("orders/17") == 1
        assert isinstance(clock.now, datetime)
        assert clock.now_ms == clock.now.timestamp() * 1000
        yield Result(value="asked")

    assert "asked" in str((await touched(asks)).messages[2].content)
    with pytest.raises(ResourceMissing):
        await touched(lambda resources, *_: resources["orders/0"])


async def test_one_that_would_end_the_process_stops_the_run_instead() -> None:
    def leaves(*_: Any) -> Any:
        raise SystemExit(0)

    with pytest.raises(OperationFailed, match="SystemExit"):
        await touched(leaves)


async def test_a_resource_that_comes_into_the_world_later_does_come() -> None:
    def creates(resources: Any, arguments: Any, clock: Any, random: Any) -> Any:
        yield Commit(resource="orders/19", value={"status": "new"}, after_s=5)
        yield Delay(seconds=5)
        yield Result()

    assert (await touched(creates)).world["orders/19"] == {"status": "new"}


async def test_what_is_removed_is_not_brought_back_by_what_was_scheduled_for_it() -> None:
    def removes(resources: Any, arguments: Any, clock: Any, random: Any) -> Any:
        yield Commit(resource="orders/17", value={"status": "shipped"}, after_s=5)
        yield Commit(resource="orders/17")
        yield Commit(resource="orders/19", value={"status": "new"}, after_s=6)
        yield Commit(resource="orders/19", value={"status": "now"})
        yield Commit(resource="orders/19")
        yield Delay(seconds=7)
        yield Result()

    world = (await touched(removes)).world
    assert "orders/17" not in world
    assert "orders/19" not in world


async def test_beyond_the_end_of_time_the_run_stops_as_it_should() -> None:
    def waits(resources: Any, arguments: Any, clock: Any, random: Any) -> Any:
        yield Delay(seconds=86_400)
        yield Result()

    def schedules(resources: Any, arguments: Any, clock: Any, random: Any) -> Any:
        yield Commit(resource="orders/17", value=1, after_s=86_400)
        yield Result()

    for operation in (waits, schedules):
        with pytest.raises(WorldError, match="ends with the year 9999"):
            await touched(operation, start=parse_time("9999-12-31T12:00:00Z"))


@pytest.mark.parametrize("seconds", [1e300, float("inf"), float("nan"), -1])
async def test_a_span_of_time_that_is_none_stops_the_run(seconds: float) -> None:
    with pytest.raises(OperationFailed, match="seconds"):
        await touched(lambda *_: [Delay(seconds=seconds), Result()])


async def test_arguments_name_a_resource_and_never_all_of_them() -> None:
    def all_orders(resources: Any, arguments: Any, clock: Any, random: Any) -> Any:
        return [Commit(resource="orders/18", value={}), Result()]

    for name in ("*", "", "17/18", "1 8"):
        shop = scenario(operations={"pay": Operation("pay", "1", all_orders)}, contracts=CONTRACTS)
        script: Script = [[tool_call("pay", {"id": name})], "Done."]
        with pytest.raises(PipelineError, match="it changes orders/18, but the contract declares"):
            await ReplayRun(shop, FixtureRegistry(), ScriptedProvider(script)).run()


async def test_a_run_is_made_once() -> None:
    run = ReplayRun(scenario(), FixtureRegistry(), ScriptedProvider(["Done.", "Again."]))
    await run.run()
    with pytest.raises(RuntimeError, match="made once"):
        await run.run()


async def test_one_that_keeps_state_between_runs_is_seen_in_the_journal() -> None:
    count: list[int] = []

    def counts(resources: Any, arguments: Any, clock: Any, random: Any) -> Any:
        count.append(1)
        yield Result(value=len(count))

    assert (await touched(counts)).journal_digest != (await touched(counts)).journal_digest


async def test_draws_in_a_loop_stop_where_the_answer_is_too_long() -> None:
    def endless(resources: Any, arguments: Any, clock: Any, random: Any) -> Any:
        while True:
            yield Delay(seconds=random.integer(0, 1))

    with pytest.raises(RunStopped, match="more than 10000 events"):
        await touched(endless)
