"""What a loop leaves open that ends in the middle of something."""

import asyncio
import gc
import warnings
from collections.abc import Callable, Coroutine
from typing import Any

__all__ = ["warnings_of_a_loop_left_after"]


def warnings_of_a_loop_left_after(turns: int, work: Callable[[], Coroutine[Any, Any, Any]]) -> list[str]:
    """What Python warns of when a loop has begun `work()` and ends after so many turns, before the work has."""

    async def left_behind() -> None:
        task = asyncio.create_task(work())
        for _ in range(turns):
            await asyncio.sleep(0)
        assert not task.done(), "the work was meant to be left on its way"

    gc.collect()
    with warnings.catch_warnings(record=True) as left_open:
        asyncio.run(left_behind())
        gc.collect()
    return [str(warning.message) for warning in left_open]
