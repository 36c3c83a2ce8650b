"""What the tests of recording and replay share: a call's arguments, a source that can be watched, the file's lines."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import anyio
import anyio.lowlevel
import pytest

from openprogram.providers.types import (
    AssistantMessage,
    AssistantMessageEvent,
    Context,
    EventDone,
    EventStart,
    EventTextDelta,
    EventTextEnd,
    EventTextStart,
    Model,
    StreamOptions,
    TextContent,
    UserMessage,
)

E = TypeVar("E", bound=BaseException)

__all__ = [
    "CONTEXT",
    "DONE",
    "MODEL",
    "TEXT",
    "Source",
    "all_calls_over",
    "call_ends",
    "collect",
    "collect_failing",
    "lines",
    "own_tasks",
    "text_context",
    "user",
]

MODEL = Model(id="small-1", api="scripted", provider="example")


def user(text: str) -> UserMessage:
    """A user message."""
    return UserMessage(content=text)


def text_context(*texts: str) -> Context:
    """A conversation of user messages."""
    return Context(messages=[user(text) for text in texts])


CONTEXT = text_context("hi")
MESSAGE = AssistantMessage(content=[TextContent(text="ab")], api="scripted", provider="example", model="small-1")
DONE = EventDone(reason="stop", message=MESSAGE)
#: Five events without a terminal one.
TEXT: list[AssistantMessageEvent] = [
    EventStart(),
    EventTextStart(content_index=0),
    EventTextDelta(content_index=0, delta="a"),
    EventTextDelta(content_index=0, delta="b"),
    EventTextEnd(content_index=0, content="ab"),
]


class Source:
    """A provider whose streams give `events`, then do what `afterwards` does: hang, raise, or nothing.

    `log`: `begun` when a stream starts, `closed` when it is left, whichever way. `produced`: events that were asked
    for, over all streams. `on_event`: called with each event before it is given.
    """

    def __init__(
        self,
        events: Sequence[Any],
        afterwards: Callable[[], Any] | None = None,
        on_event: Callable[[Any], None] | None = None,
    ) -> None:
        self.events, self.afterwards, self.on_event = events, afterwards, on_event
        self.log: list[str] = []
        self.produced = 0

    def stream(
        self, model: Model, context: Context, options: StreamOptions | None = None
    ) -> AsyncIterator[AssistantMessageEvent]:
        return self.generate()

    stream_simple = stream

    async def generate(self) -> AsyncGenerator[AssistantMessageEvent, None]:
        self.log.append("begun")
        try:
            for event in self.events:
                if self.on_event is not None:
                    self.on_event(event)
                self.produced += 1
                yield event
            if self.afterwards is not None:
                await self.afterwards()
        finally:
            with anyio.CancelScope(shield=True):  # closing a connection takes a turn or two of the loop
                await anyio.lowlevel.checkpoint()
            self.log.append("closed")


async def collect(stream: AsyncIterator[AssistantMessageEvent]) -> list[AssistantMessageEvent]:
    """Every event, to the end."""
    return [event async for event in stream]


async def collect_failing(
    stream: AsyncIterator[AssistantMessageEvent], expected: type[E]
) -> tuple[list[AssistantMessageEvent], E]:
    """The events of a stream that ends with an exception, and that exception."""
    received = []
    try:
        async for event in stream:
            received.append(event)  # noqa: PERF401 - those before the exception are wanted too
    except expected as failure:
        return received, failure
    pytest.fail(f"the stream ended without {expected.__name__}, after {len(received)} events")


def lines(path: Path) -> list[dict[str, Any]]:
    """The file as it is now, whole lines only."""
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line]


def call_ends(path: Path) -> list[dict[str, Any]]:
    """The call_end lines."""
    return [line for line in lines(path) if line["type"] == "call_end"]


def own_tasks() -> set[str]:
    """Names of the tasks that belong to calls and still run."""
    return {task.get_name() for task in asyncio.all_tasks() if "openprogram" in task.get_name()}


async def all_calls_over() -> None:
    """Wait until no call's task is left, for calls that nobody waits for any more."""
    with anyio.fail_after(5):
        while own_tasks():
            await anyio.lowlevel.checkpoint()
