"""Foreign code in a task of its own: cancelled once, waited for, and left to itself if it will not end."""

import asyncio

import anyio
import pytest

from openprogram.pipeline.tasks import run_apart

pytestmark = pytest.mark.anyio


async def test_what_the_work_raises_is_raised_as_itself() -> None:
    async def work() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        await run_apart(work(), 1)


async def test_a_cancelled_scope_cancels_it_once_and_lets_it_clean_up_with_awaits() -> None:
    said: list[str] = []
    begun = anyio.Event()

    async def work() -> None:
        try:
            begun.set()
            await anyio.sleep_forever()
        finally:
            for step in ("one", "two", "three"):
                await asyncio.sleep(0)
                said.append(step)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(run_apart, work(), 5)
            await begun.wait()
            group.cancel_scope.cancel()
    assert said == ["one", "two", "three"]


async def test_work_that_cleans_up_by_itself_is_waited_for_and_not_cancelled() -> None:
    cleaning, log = anyio.Event(), list[str]()

    async def work() -> None:
        cleaning.set()
        await anyio.sleep(0.1)
        log.append("cleaned up")

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(run_apart, work(), 10.0, cleaning.is_set)
            await cleaning.wait()
            group.cancel_scope.cancel()
    assert log == ["cleaned up"]


async def test_work_that_swallows_its_cancellation_is_left_behind_after_the_grace() -> None:
    cancellations: list[int] = []
    released, ended = anyio.Event(), anyio.Event()

    async def work() -> None:
        while not released.is_set():
            try:
                await released.wait()
            except asyncio.CancelledError:
                cancellations.append(1)
        ended.set()

    with anyio.fail_after(5):
        with anyio.move_on_after(0.01):
            await run_apart(work(), 0.02)
        assert cancellations == [1]
        released.set()
        await ended.wait()


async def test_work_that_is_cancelled_from_inside_fails() -> None:
    async def work() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)

    with pytest.raises(RuntimeError, match="cancelled from inside"):
        await run_apart(work(), 1)


async def test_a_failure_after_the_cancellation_is_not_reported_as_forgotten() -> None:
    begun = anyio.Event()

    async def work() -> None:
        try:
            begun.set()
            await anyio.sleep_forever()
        finally:
            raise ValueError("while cleaning up")

    async with anyio.create_task_group() as group:
        group.start_soon(run_apart, work(), 5)
        await begun.wait()
        group.cancel_scope.cancel()
