"""A call and the event loops of its program: it is read where it began, and no other loop can hang or break it."""

import asyncio
import subprocess
import sys
import textwrap
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import anyio
import anyio.from_thread
import anyio.to_thread
import pytest

from openprogram.providers.event_stream import EventStream
from openprogram.providers.recording import RecordingProvider
from openprogram.providers.replay import ReplayProvider
from openprogram.providers.types import EventTextDelta
from tests.openprogram.providers.calls import CONTEXT, DONE, MODEL, TEXT, Source, call_ends, collect

#: More than fits into the batches that may wait for a consumer: the call goes on while it is read.
LONG = [*TEXT[:2], *(EventTextDelta(content_index=0, delta=f"{index} ") for index in range(2000))]


def _open_stream(path: Path, kind: str) -> EventStream:
    """A stream with more than one batch to read, `recorded` or `replayed`."""
    provider = RecordingProvider(Source([*LONG, DONE]), path)
    if kind == "recorded":
        return provider.stream(MODEL, CONTEXT)
    asyncio.run(collect(provider.stream(MODEL, CONTEXT)))
    return ReplayProvider(path).stream(MODEL, CONTEXT)


async def _in_thread(main: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    """What `main()` gives in an event loop of its own, in a thread of its own, beside the running one."""

    async def bounded() -> Any:
        with anyio.fail_after(5):
            return await main()

    return await asyncio.to_thread(asyncio.run, bounded())


@pytest.mark.parametrize("kind", ["recorded", "replayed"])
def test_a_call_cannot_be_read_in_a_loop_that_runs_beside_its_own(tmp_path: Path, kind: str) -> None:
    stream = _open_stream(tmp_path / "run.jsonl", kind)

    async def main() -> None:
        async with stream:
            await anext(stream)
            with pytest.raises(RuntimeError, match="began in another event loop"):
                await _in_thread(lambda: collect(stream))

    asyncio.run(main())


@pytest.mark.parametrize("kind", ["recorded", "replayed"])
def test_a_call_cannot_be_read_on_after_its_loop_has_ended(tmp_path: Path, kind: str) -> None:
    stream = _open_stream(tmp_path / "run.jsonl", kind)

    async def begin() -> None:
        await anext(stream)

    asyncio.run(begin())
    with pytest.raises(RuntimeError, match="began in another event loop"):
        asyncio.run(collect(stream))


@pytest.mark.parametrize("position", range(4))
def test_a_call_that_is_closed_from_another_loop_is_ended_by_its_own(tmp_path: Path, position: int) -> None:
    path, source = tmp_path / "run.jsonl", Source(TEXT[:3], anyio.sleep_forever)
    stream = RecordingProvider(source, path).stream(MODEL, CONTEXT)

    async def main() -> None:
        await stream.__aenter__()
        for _ in range(position):
            await anext(stream)
        await anyio.wait_all_tasks_blocked()
        await _in_thread(stream.aclose)
        with anyio.fail_after(5):
            while not call_ends(path):
                await anyio.wait_all_tasks_blocked()

    asyncio.run(main(), debug=True)  # then a loop that is touched from another thread says so
    assert source.log == ["begun", "closed"]
    assert [end["outcome"] for end in call_ends(path)] == ["abandoned"]


def test_a_call_may_be_made_in_no_loop_and_read_over_several_turns_of_one(tmp_path: Path) -> None:
    stream = RecordingProvider(Source([*TEXT, DONE]), tmp_path / "run.jsonl").stream(MODEL, CONTEXT)

    async def first() -> Any:
        return await anext(stream)

    async def rest() -> Any:
        return await stream

    with asyncio.Runner() as runner:
        assert runner.run(first()) == TEXT[0]
        assert runner.run(rest()) == DONE.message


# ---- threads of the program, and the end of its process


def test_calls_end_while_all_threads_of_a_program_wait_for_them(tmp_path: Path) -> None:
    path, count = tmp_path / "run.jsonl", 60  # more than the forty threads that anyio lends at a time
    provider = RecordingProvider(Source([*TEXT, DONE]), path)

    async def ask() -> str:
        return (await provider.stream(MODEL, CONTEXT)).text

    async def main() -> None:
        with anyio.fail_after(60):
            async with anyio.create_task_group() as group:
                for _ in range(count):
                    group.start_soon(anyio.to_thread.run_sync, anyio.from_thread.run, ask)

    anyio.run(main)
    assert [end["outcome"] for end in call_ends(path)] == ["complete"] * count


@pytest.mark.parametrize("leaving", ["raise KeyboardInterrupt", "raise SystemExit(1)", "loop.stop()"])
def test_a_process_ends_whichever_way_its_loop_was_left(tmp_path: Path, leaving: str) -> None:
    program = f"""
        import asyncio, sys
        from openprogram.providers.recording import RecordingProvider
        from tests.openprogram.providers.calls import CONTEXT, DONE, MODEL, TEXT, Source

        loop = asyncio.new_event_loop()

        def leave():
            {leaving}

        async def main():
            await RecordingProvider(Source([*TEXT, DONE]), sys.argv[1]).stream(MODEL, CONTEXT)
            loop.call_soon(leave)
            await asyncio.sleep(60)

        loop.run_until_complete(main())
    """
    path = tmp_path / "run.jsonl"
    command = [sys.executable, "-c", textwrap.dedent(program), str(path)]
    ended = subprocess.run(command, capture_output=True, timeout=60, check=False)
    assert ended.returncode != 0
    assert [end["outcome"] for end in call_ends(path)] == ["complete"]
