"""A run in progress: the task it happens in, and the object through which its consumer follows it.

Tools run side by side while their events are being read, so a task group is open across events. An async generator
must not own one (its consumer may drop it, or close it from another task), so the run happens in a host task of its
own and the consumer only receives. docs/decisions/0005-agent-loop.md tells why.
"""

import asyncio
from collections.abc import Awaitable, Callable, Generator
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, Self, TypeAlias

from anyio import CancelScope, ClosedResourceError, EndOfStream, Event, create_memory_object_stream

from openprogram.agent.events import AgentEvent, AgentFinished
from openprogram.agent.failures import single_failure
from openprogram.pipeline.errors import PipelineError
from openprogram.pipeline.tasks import host_context
from openprogram.pipeline.tracebacks import hide_our_frames

__all__ = ["AgentRun", "AgentRunClosed", "Emit", "Work"]

#: Hands an event to the consumer, and returns when the consumer has taken it.
Emit: TypeAlias = Callable[[AgentEvent], Awaitable[None]]
#: What a run does: emits events and returns the result, which is its last event.
Work: TypeAlias = Callable[[Emit], Awaitable[AgentFinished]]

#: The event loop itself holds its tasks weakly; one whose consumer is gone still has to finish its cleaning up.
_running: Final[set[asyncio.Task[None]]] = set()


class AgentRunClosed(RuntimeError):
    """The run was closed before it finished, so there is no result to await."""

    def __init__(self) -> None:
        super().__init__("the agent run was closed before it finished: there is no result")


class AgentRun:
    """The events of one run.

    - `async for event in run`: the events as they happen. The run waits for its consumer at each one, so nothing
      happens that the consumer is not about to see.
    - `async with run`: stops it on the way out.
    - `await run`: reads what is left and returns the AgentFinished event. Awaiting again gives the same.

    It begins at the first iteration, await or `async with`, and belongs to that event loop. Closing it, dropping
    it, or cancelling a task that waits for an event stops the provider call and the tools. One task reads at a time.
    """

    def __init__(self, work: Work) -> None:
        self._work = work
        self._host: _Host | None = None
        self._closed = False
        self._reading = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> AgentEvent:
        """The next event.

        Raises what the run raised, as itself, also when asked again. RuntimeError: another task is waiting, or the run
        began in another event loop.
        """
        try:
            return await self._next()
        except PipelineError as failure:
            hide_our_frames(failure)
            raise

    async def _next(self) -> AgentEvent:
        if self._reading:
            raise RuntimeError("the agent run is being read by another task already: one task reads at a time")
        host = self._begin()
        if host is None:
            raise StopAsyncIteration
        if not (host.is_at_home or host.ended.is_set()):
            raise RuntimeError("the agent run began in another event loop: begin and read a run in one loop")
        self._reading = True
        try:
            return await host.events.receive()
        except (EndOfStream, ClosedResourceError):
            pass
        except asyncio.CancelledError:
            await self.aclose()
            raise
        finally:
            self._reading = False
        if host.failure is not None:
            raise host.failure
        raise StopAsyncIteration

    async def __aenter__(self) -> Self:
        self._begin()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    def __await__(self) -> Generator[Any, Any, AgentFinished]:
        return self._result().__await__()

    async def _result(self) -> AgentFinished:
        try:
            async for _ in self:
                pass
        except PipelineError as failure:
            hide_our_frames(failure)
            raise
        if self._host is None or self._host.result is None:
            raise AgentRunClosed
        return self._host.result

    async def aclose(self) -> None:
        """Stop the run and wait until it has ended. Closing again does nothing; a run not begun never begins.

        Tools get to clean up; a synchronous one runs to its end in its thread. Not to be called by a tool of this
        run, which would wait for itself. From another event loop it waits for nothing: the run's own loop ends it.
        """
        self._closed = True
        if self._host is None:
            return
        if self._host.is_at_home:
            self._host.cancel()
            with CancelScope(shield=True):
                await self._host.ended.wait()
        else:
            self._host.abandon()

    def _begin(self) -> "_Host | None":
        if self._host is None and not self._closed:
            self._host = _Host(self._work)
        return self._host

    def __del__(self) -> None:
        if self._host is not None:
            self._host.abandon()


class _Host:
    """The task in which a run happens. It refers to nothing of the AgentRun, so that a dropped one is noticed.

    `events`: the receiving end; its end is the run's end. `result`, `failure`: how it ended; both None when it was
    stopped. `ended`: set once all of that stands.
    """

    def __init__(self, work: Work) -> None:
        # no buffer: an event counts as emitted when the consumer has it
        self._send, self.events = create_memory_object_stream[AgentEvent](0)
        self._scope = CancelScope()
        self.ended = Event()
        self.result: AgentFinished | None = None
        self.failure: BaseException | None = None
        self._loop = asyncio.get_running_loop()
        task = self._loop.create_task(self._run(work), name="openprogram agent run", context=host_context())
        _running.add(task)
        task.add_done_callback(self._end)

    async def _run(self, work: Work) -> None:
        with self._scope:
            self.result = await work(self._send.send)
            await self._send.send(self.result)

    def _end(self, task: asyncio.Task[None]) -> None:
        # a callback, not a `finally`: a task that is cancelled before its first step never enters its body
        _running.discard(task)
        failure = None if task.cancelled() else task.exception()
        self.failure = None if failure is None else single_failure(failure)
        self._send.close()
        self.events.close()
        self.ended.set()

    @property
    def is_at_home(self) -> bool:
        """Whether the running event loop is the one in which the run happens."""
        return asyncio.get_running_loop() is self._loop

    def cancel(self) -> None:
        """Stop the run; from its own event loop."""
        self._scope.cancel()

    def abandon(self) -> None:
        """Stop the run from wherever the garbage collector happens to work, or not at all if the loop is gone."""
        if not self.ended.is_set():
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self.cancel)
