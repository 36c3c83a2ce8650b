"""The stages of a call joined: what fails is raised as itself, and whoever leaves is waited for."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import anyio
import pytest
from anyio import BrokenResourceError, create_memory_object_stream, fail_after, wait_all_tasks_blocked
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from anyio.lowlevel import checkpoint

from openprogram.pipeline.call import CallHost, CallStream, Stage, run_stages

pytestmark = pytest.mark.anyio

Send = ObjectSendStream[Any]
Receive = ObjectReceiveStream[Any]


async def _pass_on(receive: Receive, send: Send) -> None:
    async with receive, send:
        async for item in receive:
            await send.send(item)


def _fail_with(failure: BaseException) -> Stage:
    async def fail(receive: Receive, send: Send) -> None:
        async with receive, send:
            async for _ in receive:
                raise failure

    return Stage(fail)


async def _run(*stages: Stage, first: Any = "item", opening: Sequence[Stage] = ()) -> list[Any]:
    """What comes out behind the last stage."""
    send, receive = create_memory_object_stream[Any](10)
    try:
        with fail_after(5):
            await run_stages(first, stages, send, opening)
        return [item async for item in receive]
    finally:
        send.close()
        receive.close()


async def test_an_item_goes_through_every_stage() -> None:
    assert await _run(Stage(_pass_on), Stage(_pass_on), Stage(_pass_on)) == ["item"]


async def _double(receive: Receive, send: Send) -> None:
    async with receive, send:
        async for item in receive:
            await send.send(item * 2)


async def test_what_opens_a_call_is_done_before_its_stages_begin() -> None:
    tasks = []

    async def note(receive: Receive, send: Send) -> None:
        tasks.append(asyncio.current_task())
        await _double(receive, send)

    opening, stages = [Stage(note), Stage(note)], [Stage(note), Stage(_double)]
    assert await _run(*stages, first=1, opening=opening) == [16]
    assert tasks[0] is tasks[1] is asyncio.current_task()
    assert tasks[2] is not asyncio.current_task()


@pytest.mark.parametrize("position", range(3))
async def test_where_the_opening_fails_no_stage_begins(position: int) -> None:
    failure = ValueError("in the opening")
    opening = [Stage(_double)] * 2
    opening.insert(position, _fail_with(failure))

    async def never(receive: Receive, send: Send) -> None:
        raise AssertionError("it began")

    with pytest.raises(ValueError, match="in the opening") as raised:
        await _run(Stage(never), opening=opening)
    assert raised.value is failure
    assert raised.value.__context__ is None


@pytest.mark.parametrize("position", range(4))
async def test_what_a_stage_raises_is_raised_as_itself(position: int) -> None:
    cause = KeyError("the cause")
    failure = ValueError("in a stage")
    failure.__cause__ = cause
    stages = [Stage(_pass_on)] * 3
    stages.insert(position, _fail_with(failure))
    with pytest.raises(ValueError, match="in a stage") as raised:
        await _run(*stages)
    assert raised.value is failure
    assert (raised.value.__cause__, raised.value.__context__) == (cause, None)


async def test_a_stage_that_is_alone_needs_no_task_of_its_own() -> None:
    tasks = []

    async def note(receive: Receive, send: Send) -> None:
        tasks.append(asyncio.current_task())
        await _double(receive, send)

    assert await _run(Stage(note), first=1) == [2]
    assert tasks == [asyncio.current_task()]
    failure = ValueError("in a stage")
    with pytest.raises(ValueError, match="in a stage") as raised:
        await _run(_fail_with(failure))
    assert (raised.value, raised.value.__context__) == (failure, None)


async def test_of_two_failures_the_one_that_is_no_consequence_is_raised() -> None:
    async def breaks(receive: Receive, send: Send) -> None:
        async with receive, send:
            async for _ in receive:
                raise BrokenResourceError

    async def fails_on_the_way_out(receive: Receive, send: Send) -> None:
        async with receive, send:
            try:
                await anyio.sleep_forever()
            finally:
                raise ValueError("the real one")

    with pytest.raises(ValueError, match="the real one"):
        await _run(Stage(breaks), Stage(fails_on_the_way_out))


async def test_a_stage_whose_task_is_cancelled_from_inside_does_not_look_like_an_end() -> None:
    async def gives_up(receive: Receive, send: Send) -> None:
        async with receive, send:
            raise asyncio.CancelledError

    with pytest.raises(RuntimeError, match="cancelled from inside"):
        await _run(Stage(_pass_on), Stage(gives_up))


async def test_a_stage_may_be_as_far_ahead_as_its_buffer_is_long() -> None:
    ahead = []

    async def count(receive: Receive, send: Send) -> None:
        async with receive, send:
            for number in range(100):
                await send.send(number)
                ahead.append(number)

    async def stand_still(receive: Receive, send: Send) -> None:
        async with receive, send:
            await anyio.sleep_forever()

    task = asyncio.create_task(_run(Stage(count, waiting=3), Stage(stand_still)))
    await wait_all_tasks_blocked()
    assert ahead == [0, 1, 2]
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


# ---- the consumer's side

Work = Callable[[Send, CallHost[Any]], Awaitable[None]]


async def _three(send: Send, host: CallHost[Any]) -> None:
    await host.begun()
    for batch in ([1], [2, 3]):
        await send.send(batch)


async def test_batches_come_out_as_single_items() -> None:
    assert [item async for item in CallStream(_three)] == [1, 2, 3]


async def test_batches_come_out_as_they_are_or_as_what_is_left_of_them() -> None:
    stream = CallStream(_three)
    assert await stream.next_batch() == [1]
    assert await anext(stream) == 2
    assert await stream.next_batch() == [3]
    for _ in range(2):
        with pytest.raises(StopAsyncIteration):
            await stream.next_batch()


async def test_nothing_runs_before_the_first_iteration() -> None:
    started = []

    async def work(send: Send, host: CallHost[Any]) -> None:
        started.append(1)

    stream = CallStream(work)
    await wait_all_tasks_blocked()
    await stream.aclose()
    assert [item async for item in stream] == []
    assert started == []


async def test_a_failure_comes_after_the_items_before_it_and_once() -> None:
    async def work(send: Send, host: CallHost[Any]) -> None:
        await send.send([1])
        raise ValueError("afterwards")

    stream = CallStream(work)
    assert await anext(stream) == 1
    with pytest.raises(ValueError, match="afterwards"):
        await anext(stream)
    with pytest.raises(StopAsyncIteration):
        await anext(stream)


async def test_closing_waits_for_the_work_to_clean_up() -> None:
    log = []

    async def work(send: Send, host: CallHost[Any]) -> None:
        await host.begun()
        try:
            await send.send([1])
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await wait_all_tasks_blocked()
            log.append(host.leaving)

    stream = CallStream(work)
    await anext(stream)
    with fail_after(5):
        await asyncio.gather(stream.aclose(), stream.aclose())
    assert log == ["abandoned"]


async def test_closing_a_call_that_is_over_waits_for_nothing() -> None:
    async def work(send: Send, host: CallHost[Any]) -> None:
        await host.begun()
        await send.send([1, 2])

    stream, turns = CallStream(work), []

    async def other() -> None:
        turns.append("of another task")

    assert await anext(stream) == 1
    task = asyncio.create_task(other())
    await stream.aclose()
    assert turns == []
    assert [item async for item in stream] == []
    await task


async def test_leaving_before_the_work_has_begun_lets_it_begin_and_no_further() -> None:
    log: list[Any] = []

    async def work(send: Send, host: CallHost[Any]) -> None:
        for _ in range(5):
            await checkpoint()
        log.append("on file")
        try:
            await host.begun()
        except asyncio.CancelledError:
            log.append(host.leaving)
            raise
        log.append("live")

    async with CallStream(work):
        pass
    assert log == ["on file", "abandoned"]


async def test_a_host_that_somebody_else_cancels_tells_the_consumer() -> None:
    async def work(send: Send, host: CallHost[Any]) -> None:
        await host.begun()
        await anyio.sleep_forever()

    stream = CallStream(work)
    task = asyncio.create_task(stream.__anext__())
    await wait_all_tasks_blocked()
    (host,) = [task for task in asyncio.all_tasks() if task.get_name() == "openprogram call"]
    host.cancel()
    with fail_after(5), pytest.raises(asyncio.CancelledError):
        await task
