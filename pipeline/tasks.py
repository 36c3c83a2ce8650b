"""Work in a task of its own: cancelled once where it is foreign code, and knowing who waits for it where it is ours."""

import asyncio
import weakref
from collections.abc import Callable, Coroutine, Sequence
from contextvars import Context, ContextVar, copy_context
from typing import Any, Final

from anyio import create_task_group, move_on_after

from openprogram.pipeline.logs import get_logger

__all__ = ["host_context", "is_cancelled", "run_apart", "run_side_by_side", "waiting_tasks"]

#: The event loop holds its tasks weakly; one that was left behind still has to come to its end.
_left_behind: Final[set[asyncio.Task[None]]] = set()

#: The tasks that began a host task, and the host tasks around it, the outermost first. Held weakly, like any task.
_waiting: Final[ContextVar[tuple["weakref.ref[asyncio.Task[Any]]", ...]]] = ContextVar(
    "openprogram_waiting", default=()
)


def host_context() -> Context:
    """The context for a host task that the current task begins: in it, `waiting_tasks` has the current task too."""
    context = copy_context()
    task = asyncio.current_task()
    if task is not None:
        context.run(_waiting.set, (*_waiting.get(), weakref.ref(task)))
    return context


def waiting_tasks() -> list["asyncio.Task[Any]"]:
    """The tasks that began the host tasks in which the caller runs, the outermost first: who asked for this work."""
    return [task for reference in _waiting.get() if (task := reference()) is not None]


def is_cancelled() -> bool:
    """Whether somebody cancelled the current task; else a CancelledError in it comes from the code that raised it."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def run_side_by_side(work: Sequence[Coroutine[Any, Any, None]]) -> bool:
    """Run each in a task of its own, in one group, and wait for all. False: one of them was cancelled from inside.

    Raises an exception group of what they raise. A loop that ends may cancel a task before its first step, which runs
    no line of what anyio put around our coroutine: what has not begun then is closed here, not reported as forgotten.
    """
    try:
        async with create_task_group() as group:
            for one in work:
                group.start_soon(_itself, one, name=getattr(one, "__qualname__", None))
    finally:
        for one in work:
            one.close()
    return not group.cancel_scope.cancel_called


def _itself(work: Coroutine[Any, Any, None]) -> Coroutine[Any, Any, None]:
    return work


async def run_apart(
    work: Coroutine[Any, Any, None], grace_s: float, is_ending: Callable[[], bool] = lambda: False
) -> None:
    """Run `work` and wait for it.

    A cancelled scope of anyio cancels again at every await, which would break into the `finally` of foreign code that
    closes a connection. So such code runs here: cancelling this cancels it once, then waits `grace_s` seconds. What
    has not ended by then is left to itself. `is_ending`: says that the work cleans up already, by itself; then it is
    not cancelled, for that would break into its cleaning up, but waited for.

    Raises what `work` raises. RuntimeError: it was cancelled from inside.
    """
    task = asyncio.create_task(work)
    try:
        await asyncio.wait({task})
    except BaseException:
        if not (task.cancelling() or is_ending()):  # a loop that shuts down has cancelled it already
            task.cancel()
        with move_on_after(grace_s, shield=True):
            await asyncio.wait({task})
        _let_go(task)
        raise
    if task.cancelled():
        raise RuntimeError("the provider's stream was cancelled from inside")
    task.result()


def _let_go(task: asyncio.Task[None]) -> None:
    if not task.done():
        _left_behind.add(task)
        task.add_done_callback(_left_behind.discard)
        task.add_done_callback(_ignore_failure)
        get_logger().warning("recording.provider_left_behind")
    else:
        _ignore_failure(task)


def _ignore_failure(task: asyncio.Task[None]) -> None:
    """What it raised comes after the end of the call; asking for it keeps the loop from reporting it as forgotten."""
    if not task.cancelled():
        task.exception()
