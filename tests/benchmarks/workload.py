"""An agent session to measure with: a system prompt of 4 KB, a context that grows with every call, streamed answers.

`session(calls, events, bytes)`: each call sends the whole conversation so far and answers with about `events`
events: text deltas of about four tokens, one tool call with argument deltas, usage. Between calls the context grows
by an assistant message, a tool result of `bytes` bytes and a user message.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final

from openprogram.providers.types import (
    AssistantMessage,
    AssistantMessageEvent,
    Context,
    EventDone,
    EventStart,
    EventTextDelta,
    EventTextEnd,
    EventTextStart,
    EventToolCallDelta,
    EventToolCallEnd,
    EventToolCallStart,
    Message,
    Model,
    SimpleStreamOptions,
    StreamOptions,
    TextContent,
    Tool,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
)

__all__ = ["MODEL", "SESSIONS", "Session", "SessionProvider", "session"]

MODEL: Final = Model(id="bench-1", api="bench", provider="bench", max_tokens=4096, context_window=200_000)

_PROSE: Final = (
    "the service keeps one queue per tenant and drains it in order; a failed delivery is tried again after a pause "
    "that doubles up to a limit, and the caller sees where its job stands. "
)
_CODE: Final = (
    "def deliver(job, clock):\n    for attempt in range(job.limit):\n        if send(job.body):\n"
    "            return attempt\n        clock.wait(2 ** attempt)\n    raise GaveUp(job.name)\n"
)

#: Name → (calls, events a call, bytes that each tool result adds).
SESSIONS: Final = {
    "small": (8, 60, 600),
    "medium": (40, 300, 1500),
    "large": (200, 600, 2000),
    "stream-heavy": (2, 20_000, 500),
}


@dataclass(frozen=True)
class Session:
    """The calls of one session: `contexts[i]` is sent in call i, `answers[i]` are its events."""

    contexts: list[Context]
    answers: list[list[AssistantMessageEvent]]

    @property
    def event_count(self) -> int:
        return sum(len(answer) for answer in self.answers)


def session(calls: int, events: int, tool_bytes: int) -> Session:
    """Messages are shared between contexts, as an agent loop shares them: call i+1 holds the objects of call i."""
    system_prompt = (_PROSE * 40)[:4096]
    tool = Tool(name="read", description="Read a file.", parameters={"type": "object", "properties": {"path": {}}})
    messages: list[Message] = [UserMessage(content="Find out why deliveries are late.", timestamp=1)]
    contexts: list[Context] = []
    answers: list[list[AssistantMessageEvent]] = []
    for index in range(calls):
        contexts.append(Context(system_prompt=system_prompt, messages=list(messages), tools=[tool]))
        answer = _answer(index, events)
        answers.append(answer)
        done = answer[-1]
        assert isinstance(done, EventDone)
        result = TextContent(text=(_CODE * (tool_bytes // len(_CODE) + 1))[:tool_bytes])
        messages += [
            done.message,
            ToolResultMessage(tool_call_id=f"call-{index}", tool_name="read", content=[result], timestamp=index),
            UserMessage(content=f"Go on with part {index}.", timestamp=index),
        ]
    return Session(contexts, answers)


def _answer(index: int, events: int) -> list[AssistantMessageEvent]:
    arguments = f'{{"path": "services/delivery/part_{index}.py"}}'
    pieces = [arguments[at : at + 6] for at in range(0, len(arguments), 6)]
    deltas = _text_deltas(max(1, events - len(pieces) - 6))
    text = "".join(deltas)
    call = ToolCall(id=f"call-{index}", name="read", arguments={"path": f"services/delivery/part_{index}.py"})
    message = AssistantMessage(
        content=[TextContent(text=text), call],
        api="bench",
        provider="bench",
        model="bench-1",
        stop_reason="toolUse",
        usage=Usage(input=1000 + index, output=events, total_tokens=1000 + index + events),
        timestamp=index,
    )
    return [
        EventStart(),
        EventTextStart(content_index=0),
        *(EventTextDelta(content_index=0, delta=delta) for delta in deltas),
        EventTextEnd(content_index=0, content=text),
        EventToolCallStart(content_index=1, id=call.id, name=call.name),
        *(EventToolCallDelta(content_index=1, delta=piece) for piece in pieces),
        EventToolCallEnd(content_index=1, tool_call=call),
        EventDone(reason="toolUse", message=message),
    ]


def _text_deltas(count: int) -> list[str]:
    """About four tokens each, cut at words."""
    words = _PROSE.split(" ")
    return [" ".join(words[(at + n) % len(words)] for n in range(3)) + " " for at in range(0, 3 * count, 3)]


class SessionProvider:
    """Plays a session's answers, always ready: the source is never what is measured."""

    def __init__(self, played: Session) -> None:
        self._answers = iter(played.answers)

    async def stream(
        self, model: Model, context: Context, options: StreamOptions | None = None
    ) -> AsyncIterator[AssistantMessageEvent]:
        for event in next(self._answers):
            yield event

    async def stream_simple(
        self, model: Model, context: Context, options: SimpleStreamOptions | None = None
    ) -> AsyncIterator[AssistantMessageEvent]:
        for event in next(self._answers):
            yield event
