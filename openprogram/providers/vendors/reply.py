"""pydantic-ai's stream events as ours, and the message that they add up to.

A part that is neither text nor thinking nor a tool call becomes an opaque block, one event once it is whole, or is
passed over where the dialect says so. `content_index` counts what is left.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic_ai.messages import (
    ModelResponsePart,
    ModelResponsePartDelta,
    ModelResponseStreamEvent,
    NativeToolCallPart,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
)
from pydantic_ai.usage import RequestUsage

from openprogram.providers.fold import Fold, parse_partial_arguments
from openprogram.providers.types import (
    AssistantMessage,
    AssistantMessageEvent,
    EventDone,
    EventError,
    EventProviderBlock,
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
    StopReason,
    ToolCall,
)
from openprogram.providers.vendors.answer_form import AnswerForm, read_answer
from openprogram.providers.vendors.dialect import Dialect
from openprogram.providers.vendors.failures import Failure, ProviderFailed
from openprogram.providers.vendors.usage import usage_of

__all__ = ["Reply"]


@dataclass
class _Block:
    """A block that has begun. `part`: its identity and opaque data; the text of those that stream is in `pieces`."""

    content_index: int
    part: ModelResponsePart
    pieces: list[str] = field(default_factory=list)
    ended: bool = False
    is_answer: bool = False  # the arguments of the tool that takes the answer, as a text

    @property
    def text(self) -> str:
        return "".join(self.pieces)


class Reply:
    """The answer to one call, on its way. `now_ms`: the clock, read once, when the call begins.

    `form`: what the answer should be. The call of a tool that takes it is the answer's text, as it is natively.
    """

    def __init__(
        self, model: Model, dialect: Dialect, now_ms: Callable[[], int], form: AnswerForm | None = None
    ) -> None:
        self._model, self._dialect, self._form = model, dialect, form
        self._timestamp = now_ms()
        self._fold = Fold(model.api, model.provider, model.id)
        self._blocks: dict[int, _Block] = {}  # by pydantic-ai's part index

    def take(self, event: ModelResponseStreamEvent) -> Iterator[AssistantMessageEvent]:
        """Our events for one of pydantic-ai's.

        Its PartEndEvent is not used: it closes a tool call when the next one begins, and a server may go on with
        the first. Raises ProviderFailed: more came of a block that has ended.
        """
        for ours in self._taken(event):
            self._fold.add(ours)
            yield ours

    def done(
        self,
        reason: StopReason,
        usage: RequestUsage,
        closing: Sequence[tuple[str, dict[str, Any]]] = (),
        *,
        paused: bool = False,
    ) -> Iterator[AssistantMessageEvent]:
        """The last events of an answer that came to its end. `closing`: see Dialect.closing_blocks."""
        ends = list(self._ends(list(self._blocks.values())))
        ends += [self._opaque(len(self._blocks) + at, *block) for at, block in enumerate(closing)]
        for ours in ends:
            self._fold.add(ours)
            yield ours
        calls = bool(self._fold.partial.tool_calls)
        if reason == "stop" and calls:
            # A named tool choice ends in `stop` at OpenAI, and some servers never say anything else.
            reason = "toolUse"
        elif reason == "toolUse" and not calls and any(block.is_answer for block in self._blocks.values()):
            reason = "stop"
        message = self._message(reason, usage)
        if paused:
            message = message.model_copy(update={"paused": True})
        elif self._form is not None and not calls:
            message = message.model_copy(update=self._parsed(self._form, reason, message.text))
        yield EventDone(reason=reason, message=message)

    def _parsed(self, form: AnswerForm, reason: StopReason, text: str) -> dict[str, Any]:
        if reason == "length":
            return {"parse_error": "the answer was cut off at the limit of its length"}
        answers = [block.text for block in self._blocks.values() if block.is_answer]
        value, error = read_answer(answers[0] if answers else text, form)
        return {"parsed": value, "parse_error": error}

    def failed(self, failure: Failure, usage: RequestUsage | None = None) -> EventError:
        """The last event of an answer that did not. What has come so far stays, unfinished blocks as they are."""
        update = {
            "error_message": failure.message,
            "error_reason": failure.reason,
            "error_retryable": failure.retryable,
            "error_retry_after_s": failure.retry_after_s,
        }
        return EventError(
            reason="error", error=self._message("error", usage or RequestUsage()).model_copy(update=update)
        )

    def _message(self, reason: StopReason, usage: RequestUsage) -> AssistantMessage:
        update = {
            "stop_reason": reason,
            "usage": usage_of(self._model, usage, self._timestamp),
            "timestamp": self._timestamp,
        }
        return self._fold.partial.model_copy(update=update)

    # ---- blocks

    def _taken(self, event: ModelResponseStreamEvent) -> Iterator[AssistantMessageEvent]:
        if isinstance(event, PartStartEvent):
            yield from self._ends([block for block in self._blocks.values() if not block.ended and _is_over(block)])
            yield from self._begin(event.index, event.part)
        elif isinstance(event, PartDeltaEvent) and event.index in self._blocks:
            yield from self._continue(self._blocks[event.index], event.delta)

    def _begin(self, index: int, part: ModelResponsePart) -> Iterator[AssistantMessageEvent]:
        if not isinstance(part, TextPart | ThinkingPart | ToolCallPart):
            self._begin_opaque(index, part)
            return
        block = self._blocks[index] = _Block(len(self._blocks), part)
        at = block.content_index
        if isinstance(part, ToolCallPart) and self._form is not None and part.tool_name == self._form.tool:
            block.part, block.is_answer = TextPart(""), True
            yield EventTextStart(content_index=at)
            yield from self._grow(block, _json_text(part.args))
            return
        match part:
            case TextPart():
                yield EventTextStart(content_index=at)
                yield from self._grow(block, part.content)
            case ThinkingPart():
                yield EventThinkingStart(content_index=at)
                yield from self._grow(block, part.content)
            case ToolCallPart():
                yield EventToolCallStart(content_index=at, id=part.tool_call_id, name=part.tool_name)
                yield from self._grow(block, _json_text(part.args))

    def _begin_opaque(self, index: int, part: ModelResponsePart) -> None:
        """pydantic-ai begins such a part anew when it knows more of it: then the block is what came last."""
        if index in self._blocks:
            self._blocks[index].part, self._blocks[index].ended = part, False
        elif self._dialect.provider_block(part) is not None:
            self._blocks[index] = _Block(len(self._blocks), part)

    def _continue(self, block: _Block, delta: ModelResponsePartDelta) -> Iterator[AssistantMessageEvent]:
        if isinstance(delta, ToolCallPartDelta) and isinstance(block.part, NativeToolCallPart):
            block.part, block.ended = delta.apply(block.part), False
            return
        match delta:
            case ToolCallPartDelta() if block.is_answer:
                yield from self._grow(block, _json_text(delta.args_delta))
            case TextPartDelta():
                yield from self._grow(block, delta.content_delta)
                if delta.provider_details is not None:
                    block.part = replace(delta, content_delta="").apply(block.part)
            case ThinkingPartDelta():
                yield from self._grow(block, delta.content_delta or "")
                block.part = replace(delta, content_delta=None).apply(block.part)
            case ToolCallPartDelta():
                yield from self._grow(block, _json_text(delta.args_delta))
                # All but the arguments, which would be copied anew with each delta.
                identity = replace(delta, args_delta=None).apply(block.part)
                assert isinstance(identity, ToolCallPart)
                block.part = identity

    def _grow(self, block: _Block, delta: str) -> Iterator[AssistantMessageEvent]:
        if not delta:
            return  # vendors send empty deltas as a sign of life
        if block.ended:
            message = f"more of content block {block.content_index} after its end"
            raise ProviderFailed(Failure("invalid_response", message, retryable=False))
        block.pieces.append(delta)
        match block.part:
            case TextPart():
                yield EventTextDelta(content_index=block.content_index, delta=delta)
            case ThinkingPart():
                yield EventThinkingDelta(content_index=block.content_index, delta=delta)
            case ToolCallPart():
                yield EventToolCallDelta(content_index=block.content_index, delta=delta)

    def _ends(self, blocks: list[_Block]) -> Iterator[AssistantMessageEvent]:
        for block in blocks:
            if not block.ended:
                block.ended = True
                yield self._end(block)

    def _end(self, block: _Block) -> AssistantMessageEvent:
        match block.part:
            case TextPart() as part:
                return EventTextEnd(
                    content_index=block.content_index,
                    content=block.text,
                    text_signature=self._dialect.text_signature(part),
                    citations=self._dialect.citations(part),
                )
            case ThinkingPart() as part:
                return EventThinkingEnd(
                    content_index=block.content_index,
                    content=block.text,
                    thinking_signature=self._dialect.thinking_signature(part) or None,
                    redacted=self._dialect.is_redacted(part) or None,
                )
            case ToolCallPart() as part:
                call = _tool_call(part, block.text, self._dialect.thought_signature(part))
                return EventToolCallEnd(content_index=block.content_index, tool_call=call)
            case part:
                opaque = self._dialect.provider_block(part)
                assert opaque is not None, "it was something when it began"
                return self._opaque(block.content_index, *opaque)

    def _opaque(self, content_index: int, kind: str, data: dict[str, Any]) -> EventProviderBlock:
        block = ProviderContent(api=self._model.api, provider=self._model.provider, kind=kind, data=data)
        return EventProviderBlock(content_index=content_index, block=block)


def _is_over(block: _Block) -> bool:
    """Whether a block cannot grow once another one has begun.

    Text and thinking cannot. Of parallel tool calls a server may send pieces in turns, so a call is over when its
    arguments are whole, and otherwise with the answer.
    """
    return not (isinstance(block.part, ToolCallPart) or block.is_answer) or _is_object(block.text)


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _json_text(args: str | Mapping[str, Any] | None) -> str:
    if isinstance(args, Mapping):  # vendors that send arguments whole
        return json.dumps(args, ensure_ascii=False)
    return args or ""


def _tool_call(part: ToolCallPart, text: str, signature: str | None) -> ToolCall:
    arguments, error = _arguments(text) if text.strip() else ({}, None)
    return ToolCall(
        id=part.tool_call_id,
        name=part.tool_name,
        arguments=arguments,
        thought_signature=signature,
        arguments_error=error,
    )


def _arguments(text: str) -> tuple[dict[str, Any], str | None]:
    """The arguments as far as they can be read, and why that is not all of them.

    NaN and Infinity are no JSON, though Python reads them, and could not be recorded.
    """
    try:
        arguments = json.loads(text)
        json.dumps(arguments, allow_nan=False)
    except json.JSONDecodeError as invalid:
        return _finite(parse_partial_arguments(text)), f"invalid JSON at character {invalid.pos}: {invalid.msg}"
    except ValueError as invalid:
        return {}, f"invalid JSON: {invalid}"
    except RecursionError:
        return {}, "nested too deeply"
    return (arguments, None) if isinstance(arguments, dict) else ({}, "not a JSON object")


def _finite(arguments: dict[str, Any]) -> dict[str, Any]:
    try:
        json.dumps(arguments, allow_nan=False)
    except ValueError:
        return {}
    return arguments
