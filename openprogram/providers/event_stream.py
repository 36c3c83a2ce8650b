"""What `stream()` returns: the events of one provider call, to iterate, to enter, or to await.

Nothing here runs on its own. There is no task, and no cancel scope is open between two events, so a stream may be
dropped, closed or cancelled at any position.
"""

from collections import deque
from collections.abc import AsyncIterable, Awaitable, Callable, Generator
from contextlib import suppress
from operator import attrgetter
from types import TracebackType
from typing import Any, Final, Self

from anyio import move_on_after

from openprogram.pipeline.call import CallStream
from openprogram.pipeline.errors import PipelineError, StreamIncomplete
from openprogram.pipeline.tracebacks import hide_our_frames
from openprogram.providers.fold import Fold
from openprogram.providers.types import (
    AssistantMessage,
    AssistantMessageEvent,
    EventTextDelta,
    EventThinkingDelta,
    EventToolCallDelta,
    Model,
)

__all__ = ["CLOSE_TIMEOUT_S", "EventStream", "as_event_stream"]

#: Seconds that closing a source may take once the reader is on its way out. A provider closes a connection and a
#: recorder writes the call's end; neither may hold a cancelled program for longer.
CLOSE_TIMEOUT_S: Final = 5.0

_TERMINAL: Final = frozenset({"done", "error"})
_DELTAS: Final[frozenset[type]] = frozenset({EventTextDelta, EventThinkingDelta, EventToolCallDelta})
_type: Final = attrgetter("type")


class EventStream:
    """The events of one call, from `source`, up to and including the first terminal one (`done` or `error`).

    - `async for event in stream`: the events as they come.
    - `async with stream`: closes it on the way out.
    - `await stream`: reads what is left and returns the final AssistantMessage. A provider's failure is such a
      message too (`stop_reason` `error`), not an exception. Awaiting again gives the same message.
    - `stream.partial`: the message so far.

    The source begins at the first iteration, await or `async with`, not before. It is closed with the terminal
    event, before that event is handed out; nothing after it is read. One task reads at a time, in the event loop in
    which the call began.

    `source`: any async iterator of events, or what gives one. The iterator's `aclose()`, where it has one, must be safe
    to call at any time and more than once. One that is an async context manager is entered by `async with`, and its
    `aclose()` must be all there is to leaving it. A CallStream is read in batches.
    Raises TypeError: `source` can't be iterated, such as the coroutine of an `async def` without a `yield`.
    """

    def __init__(self, source: AsyncIterable[AssistantMessageEvent], model: Model) -> None:
        self._source = aiter(source)  # as `async for` would: some providers give what can only be iterated
        self._batch: list[AssistantMessageEvent] = []  # as it came
        self._ready: deque[AssistantMessageEvent] = deque()  # what is left of it to hand out, but for a terminal event
        self._terminal: AssistantMessageEvent | None = None  # the one behind what is ready
        self._fold = Fold(model.api, model.provider, model.id)
        self._event_count = 0  # but for a terminal one
        self._closed = False
        self._reading = False

    @property
    def partial(self) -> AssistantMessage:
        """The message folded from the events read so far; after the terminal event, its message."""
        self._fold_read()
        return self._fold.partial

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> AssistantMessageEvent:
        """The next event.

        Raises RuntimeError: another task is waiting for one. Whatever the source raises, as it is; the source is
        closed then, and the stream has ended.
        """
        if self._ready:
            return self._ready.popleft()
        try:
            return await self._next()
        except PipelineError as failure:
            hide_our_frames(failure)
            raise

    async def _next(self) -> AssistantMessageEvent:
        """The next event, where it has to be waited for, or is the last."""
        if self._reading:
            raise RuntimeError("the stream is being read by another task already: one task reads at a time")
        if self._terminal is None:
            await self._read(self._fill)
            if self._ready:
                return self._ready.popleft()
        event, self._terminal = self._terminal, None
        assert event is not None, "a batch has one event at least"
        self._fold.add(event)
        await self._read(self._close_source)
        return event

    async def _read(self, step: Callable[[], Awaitable[None]]) -> None:
        """Do what has to be waited for before an event can be handed out; the stream ends where it fails."""
        self._reading = True
        try:
            await step()
        except GeneratorExit:
            raise  # the event loop is gone with this wait: nothing can be awaited any more
        except BaseException:
            await self._abandon_source()
            raise
        finally:
            self._reading = False

    async def _fill(self) -> None:
        if self._closed:
            raise StopAsyncIteration
        self._fold_read()
        source = self._source
        self._batch = await source.next_batch() if isinstance(source, CallStream) else [await anext(source)]
        self._terminal = _take_terminal(self._batch)
        self._ready.extend(self._batch)

    def _fold_read(self) -> None:
        """Many at once: an event that is handed out costs no step of the fold."""
        count = len(self._batch) - len(self._ready)
        self._fold.add_all(self._batch[:count])
        del self._batch[:count]
        self._event_count += count

    async def __aenter__(self) -> Self:
        enter = getattr(self._source, "__aenter__", None)
        if enter is not None and not self._closed:
            try:
                await enter()
            except BaseException:
                await self._abandon_source()
                raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is None:
            await self.aclose()
        else:
            await self._abandon_source()

    def __await__(self) -> Generator[Any, Any, AssistantMessage]:
        return self._final_message().__await__()

    async def _final_message(self) -> AssistantMessage:
        try:
            async for _ in self:
                pass
        except PipelineError as failure:
            hide_our_frames(failure)
            raise
        self._fold_read()
        if self._fold.final is None:
            raise StreamIncomplete(event_count=self._event_count)
        return self._fold.final

    async def aclose(self) -> None:
        """End the stream and close its source. Closing again does nothing; a source not begun never begins.

        Raises RuntimeError: another task is waiting for an event; cancel that task instead. Whatever the source
        raises when it is closed.
        """
        if self._reading:
            raise RuntimeError("the stream is being read by another task: cancel that task instead of closing")
        await self._close_source()

    async def _close_source(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._fold_read()
        self._batch.clear()
        self._ready.clear()
        self._terminal = None
        close = getattr(self._source, "aclose", None)
        if isinstance(self._source, CallStream) and self._source.is_over:
            await self._source.aclose()
        elif close is not None:
            # opened and left within this call: the scope is never open while the consumer has the control
            with move_on_after(CLOSE_TIMEOUT_S, shield=True):
                await close()

    async def _abandon_source(self) -> None:
        # an exception is on its way to the consumer already; one from closing must not take its place
        with suppress(Exception):
            await self._close_source()


def _take_terminal(batch: list[AssistantMessageEvent]) -> AssistantMessageEvent | None:
    """The first terminal event of a batch, which keeps what is before it; None where there is none."""
    # By its type: a failing isinstance() of a pydantic model costs ten times as much. Nearly all are deltas.
    if _DELTAS.issuperset(map(type, batch)) or _TERMINAL.isdisjoint(map(_type, batch)):
        return None
    at = next(at for at, event in enumerate(batch) if event.type in _TERMINAL)
    terminal = batch[at]
    del batch[at:]
    return terminal


def as_event_stream(source: AsyncIterable[AssistantMessageEvent], model: Model) -> EventStream:
    """`source` as an EventStream for a call of `model`; unchanged where it is one already."""
    return source if isinstance(source, EventStream) else EventStream(source, model)
