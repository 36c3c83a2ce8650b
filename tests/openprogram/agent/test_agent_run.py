"""A run as an object: iterate, await, enter, close, cancel or drop it, at any event."""

import asyncio
import gc
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine
from typing import Any

import anyio
import anyio.from_thread
import anyio.lowlevel
import pytest

from openprogram.agent import AgentEvent, AgentFinished, AgentRun, AgentRunClosed, ToolFinished, ToolStarted, tool
from openprogram.agent.failures import single_failure
from openprogram.agent.loop import run_agent
from openprogram.pipeline.errors import ReplayMismatch
from openprogram.providers.scripted import ScriptedProvider, tool_call
from openprogram.providers.types import AssistantMessageEvent, Context, Model, SimpleStreamOptions
from tests.openprogram.agent.runs import CONTEXT, MODEL, collect, scripted_run
from tests.openprogram.left_open import warnings_of_a_loop_left_after

pytestmark = pytest.mark.anyio


class World:
    """A provider and two tools that note when they begin and end."""

    def __init__(self) -> None:
        self.open: list[str] = []
        self.provider = ScriptedProvider(
            [[tool_call("quick", {}, id="a"), tool_call("slow", {}, id="b")], "It is done."]
        )

    async def stream(
        self, model: Model, context: Context, options: SimpleStreamOptions | None
    ) -> AsyncGenerator[AssistantMessageEvent, None]:
        self.open.append("stream")
        try:
            async for event in self.provider.stream(model, context, options):
                yield event
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.lowlevel.checkpoint()
            self.open.remove("stream")

    def run(self) -> AgentRun:
        @tool
        async def quick() -> str:
            return "quick"

        @tool
        async def slow() -> str:
            self.open.append("slow")
            try:
                await anyio.lowlevel.checkpoint()
                await anyio.lowlevel.checkpoint()
                return "slow"
            finally:
                with anyio.CancelScope(shield=True):
                    await anyio.lowlevel.checkpoint()
                self.open.remove("slow")

        self.tasks_before = asyncio.all_tasks()
        return run_agent(self.stream, MODEL, CONTEXT, [quick, slow], now_ms=lambda: 7)


#: Events of World's run, AgentFinished included; the first test holds it to the truth.
EVENT_COUNT = 24
EVERY_POSITION = pytest.mark.parametrize("position", range(EVENT_COUNT + 1))


async def take(run: AgentRun, count: int) -> list[AgentEvent]:
    return [await anext(run) for _ in range(count)]


async def assert_nothing_is_left(world: World) -> None:
    with anyio.move_on_after(5):  # what another loop's thread asks for comes in one of the next turns
        while _tasks_left(world):
            await anyio.lowlevel.checkpoint()
    assert world.open == []
    assert _tasks_left(world) == set()


def _tasks_left(world: World) -> set[Any]:
    return asyncio.all_tasks() - world.tasks_before - {asyncio.current_task()}


async def test_a_run_has_as_many_events_as_the_tests_below_stop_at() -> None:
    assert len(await collect(World().run())) == EVENT_COUNT


@EVERY_POSITION
async def test_a_dropped_run_leaves_no_task(position: int) -> None:
    world = World()
    run = world.run()
    await take(run, position)
    del run
    gc.collect()
    await assert_nothing_is_left(world)


@EVERY_POSITION
async def test_a_closed_run_leaves_no_task_and_has_no_further_events(position: int) -> None:
    world = World()
    run = world.run()
    await take(run, position)
    await run.aclose()
    await run.aclose()
    await assert_nothing_is_left(world)
    assert await collect(run) == []
    if position >= EVENT_COUNT - 1:  # the result stood when the run was closed, taken or not
        assert (await run).reason == "stop"
    else:
        with pytest.raises(AgentRunClosed):
            await run


@EVERY_POSITION
async def test_leaving_the_context_stops_the_run(position: int) -> None:
    world = World()
    async with world.run() as run:
        await take(run, position)
    await assert_nothing_is_left(world)


@EVERY_POSITION
async def test_a_cancelled_consumer_stops_the_run(position: int) -> None:
    world = World()

    async def consume() -> None:
        run = world.run()
        await take(run, position)
        await anyio.sleep_forever()

    async with anyio.create_task_group() as group:
        group.start_soon(consume)
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    gc.collect()
    await assert_nothing_is_left(world)


def waiting_run(log: list[str]) -> AgentRun:
    @tool
    async def waits() -> None:
        log.append("begun")
        try:
            await anyio.sleep_forever()
        finally:
            log.append("stopped")

    return scripted_run([[tool_call("waits", {})]], [waits])


async def test_cancelling_the_wait_for_an_event_stops_the_tools() -> None:
    log: list[str] = []
    tasks_before = asyncio.all_tasks()
    run = waiting_run(log)
    async with anyio.create_task_group() as group:
        group.start_soon(collect, run)
        await anyio.wait_all_tasks_blocked()
        assert log == ["begun"]
        group.cancel_scope.cancel()
    assert log == ["begun", "stopped"]
    assert asyncio.all_tasks() == tasks_before


async def test_cancelling_the_awaiting_task_as_asyncio_does_stops_the_tools() -> None:
    log: list[str] = []
    run = waiting_run(log)
    task = asyncio.create_task(collect(run))
    await anyio.wait_all_tasks_blocked()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert log == ["begun", "stopped"]


async def test_closing_from_another_task_ends_the_iteration() -> None:
    log: list[str] = []
    run = waiting_run(log)
    seen: list[AgentEvent] = []

    async def consume() -> None:
        seen.extend(await collect(run))

    async with anyio.create_task_group() as group:
        group.start_soon(consume)
        await anyio.wait_all_tasks_blocked()
        await run.aclose()
    assert isinstance(seen[-1], ToolStarted)
    assert log == ["begun", "stopped"]


async def test_closing_waits_for_a_synchronous_tool_in_its_thread() -> None:
    begun, release = anyio.Event(), threading.Event()
    log: list[str] = []

    @tool
    def blocks() -> None:
        anyio.from_thread.run_sync(begun.set)
        release.wait(5)
        log.append("finished")

    run = scripted_run([[tool_call("blocks", {})]], [blocks])
    async with anyio.create_task_group() as group:
        group.start_soon(collect, run)
        await begun.wait()
        group.start_soon(run.aclose)
        await anyio.wait_all_tasks_blocked()
        release.set()
    assert log == ["finished"]


async def test_nothing_begins_before_the_run_is_used() -> None:
    provider = ScriptedProvider(["hello"])
    run = scripted_run(provider)
    await anyio.wait_all_tasks_blocked()
    assert provider.requests == []
    assert (await run).text == "hello"


async def test_entering_begins_the_run() -> None:
    world = World()
    async with world.run() as run:
        await anyio.wait_all_tasks_blocked()
        assert world.open == []  # the first event, the turn's start, waits to be taken
        await take(run, 1)
        await anyio.wait_all_tasks_blocked()
        assert world.open == ["stream"]
    await assert_nothing_is_left(world)


async def test_a_run_does_not_go_on_before_its_event_is_taken() -> None:
    world = World()
    async with world.run() as run:
        await take(run, 1)
        await anyio.wait_all_tasks_blocked()
        assert world.open == ["stream"]
        while not isinstance(await anext(run), ToolStarted):
            pass
        await anyio.wait_all_tasks_blocked()
        assert "slow" not in world.open


async def test_tool_events_arrive_while_other_tools_still_run() -> None:
    release = anyio.Event()

    @tool
    async def quick() -> None: ...

    @tool
    async def slow() -> None:
        await release.wait()

    run = scripted_run([[tool_call("slow", {}, id="a"), tool_call("quick", {}, id="b")], "done"], [quick, slow])
    with anyio.fail_after(5):
        async for event in run:
            if isinstance(event, ToolFinished):
                assert (event.call.id, release.is_set()) in {("b", False), ("a", True)}
                release.set()


async def test_awaiting_twice_gives_the_same_result() -> None:
    run = World().run()
    first = await run
    assert await run is first
    assert await collect(run) == []


async def test_awaiting_reads_what_is_left_and_the_last_event_is_the_result() -> None:
    run = World().run()
    await take(run, 5)
    assert isinstance(await run, AgentFinished)
    again = World().run()
    assert (await collect(again))[-1] is await again


async def test_two_tasks_cannot_read_one_run() -> None:
    log: list[str] = []
    run = waiting_run(log)
    async with anyio.create_task_group() as group:
        group.start_soon(collect, run)
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(RuntimeError, match="read by another task"):
            await anext(run)
        await run.aclose()


async def test_an_exception_that_is_no_exception_class_arrives_as_itself() -> None:
    class Stop(BaseException):
        pass

    @tool
    async def stops() -> None:
        raise Stop

    with pytest.raises(Stop):
        await scripted_run([[tool_call("stops", {})]], [stops])


def test_a_run_left_open_at_the_end_of_the_loop_ends_with_it() -> None:
    world = World()
    kept: list[AgentRun] = []

    async def main() -> None:
        kept.append(world.run())
        await take(kept[0], 12)

    asyncio.run(main())
    assert world.open == []
    kept.clear()
    gc.collect()


def test_a_run_begun_in_the_last_moment_of_the_loop_ends_with_it() -> None:
    world = World()
    kept: list[AgentRun] = []

    async def main() -> None:
        kept.append(world.run())
        await kept[0].__aenter__()

    asyncio.run(main())
    kept.clear()
    gc.collect()
    assert world.open == []


@pytest.mark.parametrize("turns", range(1, 53))
def test_a_loop_that_ends_after_any_number_of_turns_leaves_nothing_open(turns: int) -> None:
    world = World()
    assert warnings_of_a_loop_left_after(turns, lambda: take(world.run(), EVENT_COUNT)) == []


async def _in_another_loop(main: Callable[[], Coroutine[Any, Any, Any]]) -> None:
    async def bounded() -> None:
        with anyio.fail_after(5):
            await main()

    await asyncio.to_thread(asyncio.run, bounded())


@pytest.mark.parametrize("position", [1, 12])
async def test_a_run_cannot_be_read_in_another_loop_and_goes_on_in_its_own(position: int) -> None:
    world = World()
    run = world.run()
    await take(run, position)
    with pytest.raises(RuntimeError, match="began in another event loop"):
        await _in_another_loop(run.__anext__)
    assert len(await collect(run)) == EVENT_COUNT - position
    await assert_nothing_is_left(world)


@pytest.mark.parametrize("position", [1, 12, EVENT_COUNT])
async def test_a_run_that_is_closed_from_another_loop_is_stopped_by_its_own(position: int) -> None:
    world = World()
    run = world.run()
    await take(run, position)
    await _in_another_loop(run.aclose)
    await assert_nothing_is_left(world)


def test_of_several_failures_a_replay_mismatch_comes_first_and_notes_the_others() -> None:
    mismatch = ReplayMismatch(call_index=0, field_path="model.id", recorded="a", incoming="b")
    group = BaseExceptionGroup("", [ZeroDivisionError("bug"), BaseExceptionGroup("", [mismatch, KeyError("k")])])
    assert single_failure(group) is mismatch
    assert mismatch.__notes__ == [
        "failed at the same time: ZeroDivisionError: bug",
        "failed at the same time: KeyError: 'k'",
    ]
    assert single_failure(mismatch) is mismatch
