"""A provider that answers from a list: for tests and examples, without a network and without chance.

    provider = ScriptedProvider([[tool_call("add", {"a": 1, "b": 2})], "The sum is 3."])

The first call gets the first answer, and so on. How an answer is cut into deltas is a fixed rule, so the same
script gives the same events every time.
"""

import json
import re
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias, cast

from openprogram.providers.event_stream import EventStream, as_event_stream
from openprogram.providers.types import (
    AssistantContent,
    AssistantMessage,
    AssistantMessageEvent,
    Context,
    EventDone,
    EventError,
    EventProviderBlock,
    EventStart,
    EventTextDelta,
    EventTextEnd,
    EventTextStart,
    EventThinkingDelta,
    EventThinkingEnd,
    EventThinkingStart,
    EventToolCallDelta,
    EventToolCallEnd,
    EventToolCallStart,
    Model,
    ProviderContent,
    SimpleStreamOptions,
    StreamOptions,
    TextContent,
    ThinkingContent,
    ToolCall,
)

__all__ = ["Answer", "OutOfAnswers", "ScriptedProvider", "ScriptedRequest", "message_events", "tool_call"]

#: One answer: a whole message (`stop_reason` `error` and `aborted` end the call with an `error` event), a text, a
#: content block, several of both, the events exactly as given, or an exception to raise.
Answer: TypeAlias = (
    AssistantMessage
    | AssistantContent
    | str
    | Sequence[AssistantContent | str]
    | Sequence[AssistantMessageEvent]
    | BaseException
)


_BLOCKS: Final = (TextContent, ThinkingContent, ToolCall, ProviderContent)
_PARTS: Final = (str, *_BLOCKS)


class _Events(NamedTuple):
    """An answer that is played as it is given."""

    events: Sequence[AssistantMessageEvent]


_Checked: TypeAlias = AssistantMessage | list[AssistantContent] | _Events | BaseException


class ScriptedRequest(NamedTuple):
    """What one call was asked, copied when it began. Of the options, `signal` is left out: it cannot be copied."""

    model: Model
    context: Context
    options: StreamOptions | None


class OutOfAnswers(LookupError):
    """A call for which the script has no answer. `given`: answers in the script."""

    def __init__(self, given: int) -> None:
        super().__init__(given)
        self.given = given

    def __str__(self) -> str:
        answers = "1 answer" if self.given == 1 else f"{self.given} answers"
        return f"call {self.given} (from 0), but the script has {answers}: give ScriptedProvider one per call"


class ScriptedProvider:
    """An ApiProvider that answers call after call from `answers`. A call begins at the first iteration.

    `requests`: what each call was asked, in the order in which the calls began.
    Raises TypeError: what stands there is no answer. ValueError: two tool calls of an answer have one id.
    Its streams raise OutOfAnswers when no answer is left, and whatever exception stands in for an answer.
    """

    def __init__(self, answers: Sequence[Answer]) -> None:
        if isinstance(answers, str):
            raise TypeError("answers is one text: give a list of answers, one per call")
        self._answers = [_checked(answer, position) for position, answer in enumerate(answers)]
        self.requests: list[ScriptedRequest] = []

    @property
    def answer_count(self) -> int:
        """How many answers there are; one call takes one, in order."""
        return len(self._answers)

    def stream(self, model: Model, context: Context, options: StreamOptions | None = None) -> EventStream:
        """The events of the next answer."""
        return as_event_stream(self._events(model, context, options), model)

    def stream_simple(self, model: Model, context: Context, options: SimpleStreamOptions | None = None) -> EventStream:
        """The same as `stream`: a script has no use for options."""
        return self.stream(model, context, options)

    async def _events(
        self, model: Model, context: Context, options: StreamOptions | None
    ) -> AsyncGenerator[AssistantMessageEvent, None]:
        position = len(self.requests)
        self.requests.append(_snapshot(model, context, options))
        if position >= len(self._answers):
            raise OutOfAnswers(given=len(self._answers))
        answer = self._answers[position]
        if isinstance(answer, BaseException):
            raise answer
        for event in _answer_events(answer, model):
            yield event


def tool_call(name: str, arguments: Mapping[str, Any], id: str = "call-1") -> ToolCall:  # noqa: A002 - the field's name
    """A tool-call block. Calls of one conversation need ids of their own."""
    return ToolCall(id=id, name=name, arguments=dict(arguments))


def message_events(message: AssistantMessage) -> Iterator[AssistantMessageEvent]:
    """A well-formed stream of events that adds up to `message`, terminal event included.

    Blocks come one after the other. Text, thinking and the JSON of arguments are cut before each run of
    whitespace; joined, the pieces are the text.
    """
    yield EventStart()
    for index, block in enumerate(message.content):
        match block:
            case TextContent(text=text):
                yield EventTextStart(content_index=index)
                for piece in _pieces(text):
                    yield EventTextDelta(content_index=index, delta=piece)
                yield EventTextEnd(
                    content_index=index,
                    content=text,
                    text_signature=block.text_signature,
                    citations=block.citations,
                )
            case ThinkingContent(thinking=text):
                yield EventThinkingStart(content_index=index)
                for piece in _pieces(text):
                    yield EventThinkingDelta(content_index=index, delta=piece)
                yield EventThinkingEnd(
                    content_index=index,
                    content=text,
                    thinking_signature=block.thinking_signature,
                    redacted=block.redacted,
                )
            case ToolCall():
                yield EventToolCallStart(content_index=index, id=block.id, name=block.name)
                for piece in _pieces(json.dumps(block.arguments, ensure_ascii=False)):
                    yield EventToolCallDelta(content_index=index, delta=piece)
                yield EventToolCallEnd(content_index=index, tool_call=block)
            case ProviderContent():
                yield EventProviderBlock(content_index=index, block=block)
    if message.stop_reason in ("error", "aborted"):
        yield EventError(reason=message.stop_reason, error=message)
    else:
        yield EventDone(reason=message.stop_reason, message=message)


def _pieces(text: str) -> list[str]:
    return re.findall(r"\s*\S+|\s+", text)


def _checked(answer: Answer, position: int) -> _Checked:
    """The answer, texts as blocks. Raises as ScriptedProvider, which names it here and not where it is played."""
    if isinstance(answer, AssistantMessage | BaseException):
        return answer
    items = [answer] if isinstance(answer, _PARTS) else answer
    if not isinstance(items, Sequence):
        raise _no_answer(answer, position)
    if items and not any(isinstance(item, _PARTS) for item in items):
        if not all(isinstance(getattr(item, "type", None), str) for item in items):
            raise _no_answer(answer, position)
        return _Events(cast(Sequence[AssistantMessageEvent], items))
    blocks = [TextContent(text=item) if isinstance(item, str) else item for item in items]
    if not all(isinstance(block, _BLOCKS) for block in blocks):
        raise _no_answer(answer, position)
    return _with_own_ids(cast(list[AssistantContent], blocks), position)


def _no_answer(answer: object, position: int) -> TypeError:
    return TypeError(
        f"answer {position} (from 0) is none: {answer!r:.200}. An answer is a text, a tool_call(…) or another content "
        "block, a list of them, an AssistantMessage, a list of events, or an exception to raise"
    )


def _with_own_ids(blocks: list[AssistantContent], position: int) -> list[AssistantContent]:
    ids = [block.id for block in blocks if isinstance(block, ToolCall)]
    twice = next((one for one in ids if ids.count(one) > 1), None)
    if twice is not None:
        raise ValueError(
            f"answer {position} (from 0) has two tool calls with the id {twice!r}, so that nobody could tell their "
            "results apart: give each an id, tool_call(name, arguments, id=…)"
        )
    return blocks


def _answer_events(
    answer: AssistantMessage | list[AssistantContent] | _Events, model: Model
) -> Iterator[AssistantMessageEvent]:
    if isinstance(answer, _Events):
        return iter(answer.events)
    if isinstance(answer, AssistantMessage):
        # a copy: the script stays as it was written, whatever the consumer does with its message
        return message_events(answer.model_copy(deep=True))
    return message_events(_message([block.model_copy(deep=True) for block in answer], model))


def _message(content: list[AssistantContent], model: Model) -> AssistantMessage:
    calls_tools = any(isinstance(block, ToolCall) for block in content)
    return AssistantMessage(
        content=content,
        api=model.api,
        provider=model.provider,
        model=model.id,
        stop_reason="toolUse" if calls_tools else "stop",
    )


def _snapshot(model: Model, context: Context, options: StreamOptions | None) -> ScriptedRequest:
    if options is not None:
        options = options.model_copy(update={"signal": None}).model_copy(deep=True)
    return ScriptedRequest(model.model_copy(deep=True), context.model_copy(deep=True), options)
