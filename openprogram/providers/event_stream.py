"""What `stream()` returns: the events of one provider call, to iterate, to enter, or to await.

Nothing here runs on its own. There is no task, and no cancel scope is open between two events, so a stream may be
dropped, closed or cancelled at any position.
"""

from collections.abc import AsyncIterator, Generator
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, Self

from anyio import move_on_after

from openprogram.pipeline.errors import StreamIncomplete
from openprogram.providers.fold import Fold
from openprogram.providers.types import AssistantMessage, AssistantMessageEvent, Model

__all__ = ["CLOSE_TIMEOUT_S", "EventStream", "as_event_stream"]

#: Seconds that closing a source may take once the reader is on its way out. A provider closes a connection and a
#: recorder writes the call's end; neither may hold a cancelled program for longer.
CLOSE_TIMEOUT_S: Final = 5.0

_TERMINAL: Final = frozenset({"done", "error"})


class EventStream:
    """The events of one call, from `source`, up to and including the first terminal one (`done` or `error`).

    - `async for event in stream`: the events as they come.
    - `async with stream`: closes it on the way out.
    - `await stream`: reads what is left and returns the final AssistantMessage. A provider's failure is such a
      message too (`stop_reason` `error`), not an exception. Awaiting again gives the same message.
    - `stream.partial`: the message so far.

    The source begins at the first iteration, await or `async with`, not before. It is closed with the terminal
    event, before that event is handed out; nothing after it is read. One task reads at a time.

    `source`: any async iterator of events. Its `aclose()`, where it has one, must be safe to call at any time and
    more than once. A source that is an async context manager is entered by `async with`, and its `aclose()` must be
    all there is to leaving it.
    """

    def __init__(self, source: AsyncIterator[AssistantMessageEvent], model: Model) -> None:
        self._source = source
        self._fold = Fold(model.api, model.provider, model.id)
        self._event_count = 0
        self._closed = False
        self._reading = False

    @property
    def partial(self) -> AssistantMessage:
        """The message folded from the events read so far; after the terminal event, its message."""
        return self._fold.partial

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> AssistantMessageEvent:
        """The next event.

        Raises RuntimeError: another task is waiting for one. Whatever the source raises, as it is; the source is
        closed then, and the stream has ended.
        """
        if self._reading:
            raise RuntimeError("the stream is being read by another task already: one task reads at a time")
        if self._closed:
            raise StopAsyncIteration
        self._reading = True
        try:
            event = await anext(self._source)
            self._fold.add(event)
            self._event_count += 1
            if event.type in _TERMINAL:  # a failing isinstance() of a pydantic model costs ten times as much
                await self._close_source()
        except GeneratorExit:
            raise  # the event loop is gone with this wait: nothing can be awaited any more
        except BaseException:
            await self._abandon_source()
            raise
        finally:
            self._reading = False
        return event

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
        async for _ in self:
            pass
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
        close = getattr(self._source, "aclose", None)
        if close is not None:
            # opened and left within this call: the scope is never open while the consumer has the control
            with move_on_after(CLOSE_TIMEOUT_S, shield=True):
                await close()

    async def _abandon_source(self) -> None:
        # an exception is on its way to the consumer already; one from closing must not take its place
        with suppress(Exception):
            await self._close_source()


def as_event_stream(source: AsyncIterator[AssistantMessageEvent], model: Model) -> EventStream:
    """`source` as an EventStream for a call of `model`; unchanged where it is one already."""
    return source if isinstance(source, EventStream) else EventStream(source, model)
