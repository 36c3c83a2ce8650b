"""Processes that share a file, each started fresh: `python -m tests.openprogram.durability.sharing JOB FILE`."""

import asyncio
import multiprocessing
import os
import random
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from openprogram.providers.recording import RecordingProvider
from openprogram.providers.types import AssistantMessageEvent, Context, Model, StreamOptions, UserMessage
from tests.benchmarks.workload import MODEL, session

__all__ = ["asked", "calls", "fork_in_the_middle_of_a_call", "record_in_forks"]

ANSWER = session(1, 40, 200).answers[0]


class Paced:
    """Gives every call the same answer, with a turn of the loop now and then."""

    async def stream(
        self, model: Model, context: Context, options: StreamOptions | None = None
    ) -> AsyncIterator[AssistantMessageEvent]:
        for event in ANSWER:
            yield event
            if random.random() < 0.2:
                await asyncio.sleep(random.choice([0, 0, 0.001]))

    stream_simple = stream


def asked(name: str) -> Context:
    return Context(messages=[UserMessage(content=name, timestamp=1)])


async def calls(provider: RecordingProvider, name: str, count: int) -> None:
    """One after the other, each with its number in its request."""
    for number in range(count):
        await provider.stream_simple(MODEL, asked(f"{name} {number}"))


def record_in_forks(path: str) -> None:
    """A loop with two agents forks three processes on its way, and all of them record into the file."""
    provider = RecordingProvider(Paced(), path)
    fork = multiprocessing.get_context("fork")

    async def parent() -> None:
        agents = [asyncio.ensure_future(calls(provider, name, 10)) for name in ("a", "b")]
        await calls(provider, "c", 2)
        children = [fork.Process(target=_child, args=(provider, f"child {number}")) for number in range(3)]
        for child in children:
            child.start()
            await asyncio.sleep(0)
        await asyncio.gather(*agents)
        for child in children:
            await asyncio.to_thread(child.join)
        assert [child.exitcode for child in children] == [0, 0, 0]

    asyncio.run(parent())
    provider.close()


def _child(provider: RecordingProvider, name: str) -> None:
    asyncio.run(calls(provider, name, 8))


def fork_in_the_middle_of_a_call(path: str) -> None:
    """The child ends as a program does: its copies of the loop, its tasks and the call are torn down."""
    provider = RecordingProvider(Paced(), path)

    async def parent() -> None:
        async for _ in provider.stream_simple(MODEL, asked("a")):
            child = os.fork()
            if not child:
                sys.exit(0)
            os.waitpid(child, 0)  # noqa: ASYNC222 - nothing else runs here
            os._exit(0)  # no further: with the child's copy of the loop went what this one waits with

    asyncio.run(parent())


if __name__ == "__main__":
    job: Callable[[str], None] = globals()[sys.argv[1]]
    job(str(Path(sys.argv[2])))
