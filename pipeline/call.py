"""One call: its stages joined by memory object streams, its one host task, and what the consumer holds of it.

The host task is created here. The consumer's `CallStream` only receives, so nothing of ours is open across a `yield`,
whoever drops what when.
"""

import asyncio
import sys
import weakref
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Final, Generic, NoReturn, Self, TypeAlias, TypeVar

import anyio
from anyio import BrokenResourceError, ClosedResourceError, EndOfStream
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from openprogram.pipeline.items import Batch
from openprogram.pipeline.log.lines import Outcome
from openprogram.pipeline.streams import Given, Kept
from openprogram.pipeline.tasks import run_side_by_side

__all__ = ["CallHost", "CallStream", "Stage", "run_stages"]

T = TypeVar("T")

#: Seconds that the consumer waits for a call to end after leaving it: its source closes, its end is written.
_END_S: Final = 15.0

#: The event loop itself holds its tasks weakly; one whose consumer is gone still has to close its source.
_running: Final[set[asyncio.Task[None]]] = set()


@dataclass(frozen=True, slots=True)
class Stage:
    """`run(receive, send)`, and how many batches may wait behind it before it waits itself."""

    run: Callable[[ObjectReceiveStream[Any], ObjectSendStream[Any]], Coroutine[Any, Any, None]]
    waiting: int = 0


async def run_stages(
    first: Any, stages: Sequence[Stage], last: ObjectSendStream[Any], opening: Sequence[Stage] = ()
) -> None:
    """Join the stages, give `first` to the first of them, and wait for all.

    The last one sends to `last`. `opening`: what comes before the stages and makes one item of one. Nothing of them
    goes on at once, so each runs to its end before the next, in this task: a task of its own would cost a short call
    more than all the rest. A stage that is left alone runs in this task too.

    Raises what a stage raised, as itself: never a group, and not what merely follows from it (a neighbour's stream that
    broke).
    """
    for stage in opening:
        kept = Kept[Any]()
        await stage.run(Given(first), kept)
        first = kept.item
    if len(stages) == 1:
        await stages[0].run(Given(first), last)
    else:
        await _run_together(first, stages, last)


async def _run_together(first: Any, stages: Sequence[Stage], last: ObjectSendStream[Any]) -> None:
    """Each stage in a task of its own."""
    failure: BaseException | None = None
    with ExitStack() as ends:  # a stage that a loop's end cancels before its first step closes nothing itself
        send, receive = anyio.create_memory_object_stream[Any](1)
        send.send_nowait(first)
        send.close()
        work = list[Coroutine[Any, Any, None]]()
        for stage in stages[:-1]:
            send, following = anyio.create_memory_object_stream[Any](stage.waiting)
            work.append(stage.run(ends.enter_context(receive), ends.enter_context(send)))
            receive = following
        work.append(stages[-1].run(ends.enter_context(receive), last))
        try:
            if not await run_side_by_side(work):
                # A stage's task was cancelled, and not through its group: it would look like a stream that just ended.
                failure = RuntimeError("a task of the call was cancelled from inside, such as by its provider")
        except BaseExceptionGroup as failures:
            failure = _first_failure(failures)
    if failure is not None:
        raise failure  # outside the handler: its own cause and context stay as they are


def _first_failure(failures: BaseExceptionGroup[BaseException]) -> BaseException:
    # Not into groups within: those are a provider's own, and one exception to its consumer.
    raised = failures.exceptions
    return next((one for one in raised if not isinstance(one, BrokenResourceError | ClosedResourceError)), raised[0])


class CallHost(Generic[T]):
    """The side of a call that outlives its consumer: its host task, and how it came to its end.

    `leaving`: how the consumer left, once it did. `failure`: what the call raised. `finished`: set once it is over.
    """

    def __init__(self, run: "Run[T]") -> None:
        self.leaving: Outcome | None = None
        self.failure: BaseException | None = None
        self.finished = anyio.Event()
        self._run = run
        self._task: asyncio.Task[None] | None = None
        self._begun = False

    def start(self) -> MemoryObjectReceiveStream[Batch[T]]:
        """Create the host task, in the consumer's context."""
        # One batch may wait: then a short call is over before its consumer looks, and need not be ended.
        send, receive = anyio.create_memory_object_stream[Batch[T]](1)
        self._task = asyncio.get_running_loop().create_task(self._main(send), name="openprogram call")
        _running.add(self._task)
        # Not a `finally` in the task: one that is cancelled before its first step runs no line of its own.
        self._task.add_done_callback(lambda _: self._done(send))
        return receive

    @property
    def is_over(self) -> bool:
        """Whether the task ran and has ended, whatever is still to be done about that in the loop's next turn."""
        return self._task is not None and self._task.done()

    async def begun(self) -> None:
        """The request is on file, or was compared: the call counts. Goes no further where the consumer left already."""
        self._begun = True
        if self.leaving is not None:
            assert self._task is not None
            self._task.cancel()
            await anyio.sleep_forever()

    def leave(self, outcome: Outcome) -> None:
        """End the call because its consumer is gone. Only in the loop's own thread.

        A call that has not begun yet begins first: whether it is on file must not depend on the loop's turns.
        """
        if self._task is None or self.is_over or self.leaving is not None:
            return
        self.leaving = outcome
        if self._begun:
            self._task.cancel()

    def when_finished(self, callback: Callable[[], None]) -> None:
        """Run `callback` once the host task is over, at once where it is already."""
        if self._task is None or self.is_over:
            callback()
        else:
            self._task.add_done_callback(lambda _: callback())

    async def _main(self, send: MemoryObjectSendStream[Batch[T]]) -> None:
        try:
            await self._run(send, self)
        except BaseException as failure:
            self.failure = failure
            if isinstance(failure, asyncio.CancelledError) and self.leaving is None:
                raise  # whoever cancelled the task itself, such as a loop that shuts down, is told
        finally:
            send.close()

    def _done(self, send: MemoryObjectSendStream[Batch[T]]) -> None:
        if self._task is not None:
            _running.discard(self._task)
        send.close()
        self.finished.set()


Run: TypeAlias = Callable[[MemoryObjectSendStream[Batch[T]], CallHost[T]], Awaitable[None]]


class CallStream(Generic[T]):
    """What the consumer holds: an async iterator that only receives.

    The call begins at the first iteration, and belongs to that event loop. It ends with the stream, with `aclose()`,
    with a cancellation while waiting, or when the object is dropped; then the host task is ended, the source closed
    and the end written.
    """

    def __init__(self, run: Run[T]) -> None:
        self._host = CallHost(run)
        self._batch: deque[T] = deque()
        self._receive: MemoryObjectReceiveStream[Batch[T]] | None = None
        self._closed = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        """The next event.

        Raises what the call raised, as itself. RuntimeError: the call began in another event loop.
        """
        if not self._batch:
            self._batch.extend(await self._receive_batch())
        return self._batch.popleft()

    async def next_batch(self) -> Batch[T]:
        """The next events, one at least. Raises StopAsyncIteration: there are no more; otherwise as `__anext__`."""
        if not self._batch:
            return await self._receive_batch()
        batch = [*self._batch]
        self._batch.clear()
        return batch

    @property
    def is_over(self) -> bool:
        """Whether the call has come to its end: closing it waits for nothing then."""
        return self._host.is_over

    async def __aenter__(self) -> Self:
        """Begin the call, without waiting for an event."""
        if self._receive is None and not self._closed:
            self._start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """End the call where it stands; safe at any position, and twice.

        Outcome `abandoned` unless it was over; `cancelled` where a cancellation on its way closes it. From another
        event loop it waits for nothing: the call's own loop ends it.
        """
        # A consumer that is cancelled while it holds an event closes from its `finally` or `async with`.
        await self._end("cancelled" if isinstance(sys.exception(), asyncio.CancelledError) else "abandoned")

    async def _receive_batch(self) -> Batch[T]:
        if self._closed:
            raise StopAsyncIteration
        if self._receive is None:
            self._start()
        elif not self._is_at_home():
            # Its tasks belong to that loop, which may have ended; woken from another thread, both would hang.
            raise RuntimeError("the call began in another event loop: make and read a call in one loop")
        assert self._receive is not None
        batch: Batch[T] | None = None
        try:
            batch = await self._receive.receive()
        except EndOfStream:
            pass
        except asyncio.CancelledError:
            await self._end("cancelled")
            raise
        if batch is None:
            await self._finish()  # outside the handler: what the call raised has nothing to do with our stream's end
        return batch

    def _start(self) -> None:
        self._receive = self._host.start()
        # Drops are noticed here: the host holds nothing of this object, so a forgotten stream is collected.
        self._loop = asyncio.get_running_loop()
        self._finalizer = weakref.finalize(self, _dropped, self._loop, self._host, self._receive)
        self._finalizer.atexit = False

    def _is_at_home(self) -> bool:
        """Whether this is the loop in which the call runs; only after it began."""
        return asyncio.get_running_loop() is self._loop

    async def _finish(self) -> NoReturn:
        """The stages are done; the host may still have a step to go."""
        try:
            await self._host.finished.wait()
        except asyncio.CancelledError:
            await self._end("cancelled")
            raise
        failure = self._host.failure
        self._release()
        if failure is not None:
            raise failure
        raise StopAsyncIteration

    async def _end(self, outcome: Outcome) -> None:
        if self._closed:
            return
        self._batch.clear()
        if self._receive is not None and not self._is_at_home():
            self._closed = True
            self._finalizer()  # what happens where it is dropped
            return
        self._host.leave(outcome)
        try:
            if self._receive is not None and not self._host.is_over:
                with anyio.move_on_after(_END_S, shield=True):
                    await self._host.finished.wait()
        finally:
            self._release()  # also where a second cancellation ends the wait

    def _release(self) -> None:
        self._closed = True
        if self._receive is not None:
            self._finalizer.detach()
            # Not before the host is done: a stage that sends would see a broken stream instead of its cancellation.
            self._host.when_finished(self._receive.close)


def _dropped(loop: asyncio.AbstractEventLoop, host: CallHost[Any], receive: MemoryObjectReceiveStream[Any]) -> None:
    """Collection may happen in any thread: the loop's own ends the call."""

    def end() -> None:
        host.leave("abandoned")
        host.when_finished(receive.close)

    try:
        loop.call_soon_threadsafe(end)
    except RuntimeError:  # the loop is closed, and its tasks with it
        receive.close()
