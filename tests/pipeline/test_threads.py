"""Blocking work in threads of the pipeline's own."""

import asyncio
import threading
from contextvars import ContextVar
from functools import partial

import anyio
import pytest
from anyio import fail_after, from_thread, move_on_after, to_thread, wait_all_tasks_blocked

from openprogram.pipeline.threads import run_in_thread

pytestmark = pytest.mark.anyio

_name: ContextVar[str] = ContextVar("name", default="nobody")


async def test_the_work_runs_in_another_thread_with_the_callers_context_variables() -> None:
    _name.set("caller")
    assert await run_in_thread(lambda: (_name.get(), threading.current_thread() is threading.main_thread())) == (
        "caller",
        False,
    )


async def test_what_the_work_raises_is_raised_as_itself() -> None:
    failure = LookupError("no such key")

    def work() -> None:
        raise failure

    with pytest.raises(LookupError) as raised:
        await run_in_thread(work)
    assert raised.value is failure


@pytest.mark.parametrize("abandon", [False, True])
async def test_a_cancelled_scope_waits_for_the_work_unless_it_is_to_be_abandoned(abandon: bool) -> None:
    go_on, ended = threading.Event(), threading.Event()

    def work() -> None:
        go_on.wait(30)
        ended.set()

    with fail_after(20), move_on_after(0.01):
        async with anyio.create_task_group() as group:
            group.start_soon(partial(run_in_thread, work, abandon_on_cancel=abandon))
            with anyio.CancelScope(shield=True):
                await anyio.sleep(0.02)
                if not abandon:
                    go_on.set()
    assert ended.is_set() is not abandon
    go_on.set()
    assert ended.wait(30), "abandoned, it still comes to its end"


async def test_it_goes_on_while_all_threads_that_anyio_lends_wait_for_it() -> None:
    async def one() -> str:
        return await run_in_thread(lambda: "done")

    lent = to_thread.current_default_thread_limiter().total_tokens
    everybody, waits = threading.Barrier(int(lent)), []

    def wait_for_it() -> None:
        everybody.wait(60)
        waits.append(from_thread.run(one))

    with fail_after(60):
        async with anyio.create_task_group() as group:
            for _ in range(int(lent)):
                group.start_soon(to_thread.run_sync, wait_for_it)
    assert waits == ["done"] * int(lent)


async def test_more_work_than_threads_is_all_done() -> None:
    before = threading.active_count()
    done: list[int] = []
    async with anyio.create_task_group() as group:
        for index in range(200):
            group.start_soon(run_in_thread, partial(done.append, index))
        await wait_all_tasks_blocked()
        assert threading.active_count() <= before + 40
    assert sorted(done) == list(range(200))


def test_the_threads_end_with_their_loop() -> None:
    threads: list[threading.Thread] = []

    async def main() -> None:
        threads.append(await run_in_thread(threading.current_thread))

    asyncio.run(main())
    threads[0].join(30)
    assert not threads[0].is_alive()
