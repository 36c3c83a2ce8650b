"""The message that a stream of events adds up to, at any point of the stream.

Events carry deltas only, so whoever wants the message so far folds them. They are collected, and folded when somebody
looks: adding an event costs next to nothing, and the same at the end of a long answer as at its beginning. Of deltas
only the text is kept: an event is several hundred bytes, and the collector would look at each again and again.
"""

import copy
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter
from typing import Any, Final, NamedTuple, TypeVar, assert_never

from pydantic_core import from_json

from openprogram.providers.types import (
    AssistantContent,
    AssistantMessage,
    AssistantMessageEvent,
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
    ProviderContent,
    TextContent,
    ThinkingContent,
    ToolCall,
)

__all__ = ["Fold", "parse_partial_arguments"]


@dataclass
class _Block(ABC):
    """A block on its way: pieces are joined on demand."""

    pieces: list[str] = field(default_factory=list)

    def joined(self) -> str:
        self.pieces = ["".join(self.pieces)]  # kept joined: looking twice does not join twice
        return self.pieces[0]

    @abstractmethod
    def content(self) -> AssistantContent: ...


_B = TypeVar("_B", bound=_Block)


@dataclass
class _TextBlock(_Block):
    signature: str | None = None
    citations: list[dict[str, Any]] | None = None

    def content(self) -> TextContent:
        citations = copy.deepcopy(self.citations)
        return TextContent(text=self.joined(), text_signature=self.signature, citations=citations)


@dataclass
class _ThinkingBlock(_Block):
    signature: str | None = None
    redacted: bool | None = None

    def content(self) -> ThinkingContent:
        return ThinkingContent(thinking=self.joined(), thinking_signature=self.signature, redacted=self.redacted)


@dataclass
class _ToolCallBlock(_Block):
    id: str = ""
    name: str = ""
    whole: ToolCall | None = None

    def content(self) -> ToolCall:
        if self.whole is not None:
            # a copy: the event stays what it was, whatever a reader does with the message so far
            return self.whole.model_copy(deep=True)
        return ToolCall(id=self.id, name=self.name, arguments=parse_partial_arguments(self.joined()))


@dataclass
class _ProviderBlock(_Block):
    whole: ProviderContent | None = None

    def content(self) -> ProviderContent:
        assert self.whole is not None, "it comes whole"
        return self.whole.model_copy(deep=True)


_DELTA_BLOCKS: Final[dict[type, type[_Block]]] = {
    EventTextDelta: _TextBlock,
    EventThinkingDelta: _ThinkingBlock,
    EventToolCallDelta: _ToolCallBlock,
}
_content_index: Final = attrgetter("content_index")
_delta: Final = attrgetter("delta")

#: Events that wait at most before only the text of deltas is kept of them.
_WAITING: Final = 64


class _Deltas(NamedTuple):
    """Deltas of one block that followed each other, as the texts that they add to it."""

    block: type[_Block]
    content_index: int
    pieces: list[str]


class Fold:
    """Folds the events of one call into its message. `api`, `provider`, `model`: as in AssistantMessage.

    Takes any sequence of events without raising: a delta without its start begins the block, and an event of
    another kind than the block at its `content_index` begins that block anew. What a well-formed stream is, its
    reader decides; looking at a message so far must not end a live call.
    """

    def __init__(self, api: str, provider: str, model: str) -> None:
        self._api, self._provider, self._model = api, provider, model
        # Since somebody looked: what is packed, and behind it what is not yet.
        self._packed: list[AssistantMessageEvent | _Deltas] = []
        self._added: list[AssistantMessageEvent] = []
        self._blocks: dict[int, _Block] = {}
        self._final: AssistantMessage | None = None

    def add(self, event: AssistantMessageEvent) -> None:
        """Take the next event. Constant time, whatever came before."""
        self._added.append(event)
        if len(self._added) >= _WAITING:
            self._pack_added()

    def add_all(self, events: Iterable[AssistantMessageEvent]) -> None:
        """Take the next events."""
        self._added.extend(events)
        if len(self._added) >= _WAITING:
            self._pack_added()

    def _pack_added(self) -> None:
        self._packed.extend(_packed(self._added))
        self._added.clear()

    def _fold_added(self) -> None:
        for packed in self._packed:
            if isinstance(packed, _Deltas):
                self._block(packed.content_index, packed.block).pieces.extend(packed.pieces)
            else:
                self._fold(packed)
        self._packed.clear()
        for event in self._added:
            self._fold(event)
        self._added.clear()

    def _fold(self, event: AssistantMessageEvent) -> None:
        match event:
            case EventTextDelta(content_index=index, delta=delta):
                self._block(index, _TextBlock).pieces.append(delta)
            case EventThinkingDelta(content_index=index, delta=delta):
                self._block(index, _ThinkingBlock).pieces.append(delta)
            case EventToolCallDelta(content_index=index, delta=delta):
                self._block(index, _ToolCallBlock).pieces.append(delta)
            case EventTextStart(content_index=index):
                self._block(index, _TextBlock)
            case EventThinkingStart(content_index=index):
                self._block(index, _ThinkingBlock)
            case EventToolCallStart(content_index=index):
                call = self._block(index, _ToolCallBlock)
                call.id, call.name = event.id or "", event.name or ""
            case EventTextEnd(content_index=index):
                text = self._block(index, _TextBlock)
                text.pieces, text.signature = [event.content], event.text_signature
                text.citations = event.citations
            case EventThinkingEnd(content_index=index):
                thinking = self._block(index, _ThinkingBlock)
                thinking.pieces, thinking.signature = [event.content], event.thinking_signature
                thinking.redacted = event.redacted
            case EventToolCallEnd(content_index=index, tool_call=tool_call):
                self._block(index, _ToolCallBlock).whole = tool_call
            case EventProviderBlock(content_index=index, block=block):
                self._block(index, _ProviderBlock).whole = block
            case EventDone(message=message):
                self._final = message
            case EventError(error=message):
                self._final = message
            case EventStart():
                pass
            case _:
                assert_never(event)

    @property
    def final(self) -> AssistantMessage | None:
        """The message of the terminal event (`done` or `error`), that very object; None before it."""
        self._fold_added()
        return self._final

    @property
    def partial(self) -> AssistantMessage:
        """The message so far: a new object each time, or `final` once there is one.

        Until then `stop_reason` is `stop`, usage is zero and the timestamp 0: an unfinished answer has none of
        them yet. Blocks stand in the order of their `content_index`. Arguments of an unfinished tool call are as
        many as can be read, see `parse_partial_arguments`.
        """
        self._fold_added()
        if self._final is not None:
            return self._final
        content = [block.content() for _, block in sorted(self._blocks.items())]
        return AssistantMessage(content=content, api=self._api, provider=self._provider, model=self._model)

    def _block(self, index: int, kind: type[_B]) -> _B:
        block = self._blocks.get(index)
        if not isinstance(block, kind):
            block = self._blocks[index] = kind()
        return block


def _packed(events: Sequence[AssistantMessageEvent]) -> Iterable[AssistantMessageEvent | _Deltas]:
    """The events, with deltas that follow each other taken together. Looks at nothing else and raises nothing."""
    for kind, following in groupby(events, type):
        block = _DELTA_BLOCKS.get(kind)  # by the exact type: a subclass may be more
        if block is None:
            yield from following
        else:
            for content_index, deltas in groupby(following, _content_index):
                yield _Deltas(block, content_index, list(map(_delta, deltas)))


def parse_partial_arguments(text: str) -> dict[str, Any]:
    """The arguments that the beginning `text` of a JSON object holds so far; {} where none can be read yet.

    The last string may be cut short. Raises: nothing.
    """
    try:
        arguments = json.loads(text)
    except (ValueError, RecursionError):
        try:
            arguments = from_json(text, allow_partial="trailing-strings")
        except (ValueError, TypeError):  # TypeError: a lone surrogate, which this parser does not take
            return {}
    return arguments if isinstance(arguments, dict) else {}
