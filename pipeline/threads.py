"""Blocking work off the event loop, in threads that are neither the program's nor anyio's.

Those pools are limited, and a program may have all of their threads wait for calls: a call that needs one of them
itself would wait forever. And anyio's end with the task that the loop was run for: a loop that is left in another way,
such as by SystemExit, would leave a thread for which the process waits forever at its end.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from typing import Final, TypeVar

from anyio import CancelScope
from anyio.lowlevel import RunVar

__all__ = ["run_in_thread"]

T = TypeVar("T")
V = TypeVar("V")

#: Threads of one event loop at most; work beyond that waits for one of them.
_AT_ONCE: Final = 40

#: A pool an event loop, begun at its first use and gone with it: a forked child's loop has threads of its own.
_pool: Final[RunVar[ThreadPoolExecutor]] = RunVar("openprogram_threads")


async def run_in_thread(work: Callable[[], T], *, abandon_on_cancel: bool = False) -> T:
    """What `work()` gives, in a thread, with the caller's context variables. Raises what it raises.

    It comes to its end whatever becomes of the caller. A cancelled scope waits for it too, unless `abandon_on_cancel`.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def run() -> None:
        try:
            result = work()
        except BaseException as failure:  # noqa: BLE001 - it is raised where the work is waited for
            report(done.set_exception, failure)
        else:
            report(done.set_result, result)

    def report(set_outcome: Callable[[V], None], outcome: V) -> None:
        def tell() -> None:
            if not done.done():  # cancelled, and nobody waits
                set_outcome(outcome)

        with suppress(RuntimeError):  # the loop is closed, and nobody waits
            loop.call_soon_threadsafe(tell)

    _threads().submit(copy_context().run, run)
    with CancelScope(shield=not abandon_on_cancel):
        await done
    return done.result()


def _threads() -> ThreadPoolExecutor:
    try:
        return _pool.get()
    except LookupError:
        pool = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="openprogram")
        _pool.set(pool)
        return pool
