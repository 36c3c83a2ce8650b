"""pydantic-ai's Anthropic model, taught to keep the blocks that are the vendor's own as they came.

pydantic-ai reads the blocks of those server-side tools that it has declared itself, in a form of its own, and passes
over the others, even kinds that its SDK does not know. Here each of them is kept as the vendor wrote it, deltas
applied. So are citations, of which pydantic-ai keeps some, and the container that code ran in.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any

from anthropic.types.beta import (
    BetaRawContentBlockDeltaEvent,
    BetaRawContentBlockStartEvent,
    BetaRawContentBlockStopEvent,
    BetaRawMessageDeltaEvent,
    BetaRawMessageStartEvent,
    BetaRawMessageStreamEvent,
)
from pydantic import BaseModel
from pydantic_ai.messages import ModelResponsePart, ModelResponseStreamEvent, NativeToolReturnPart
from pydantic_ai.models import StreamedResponse
from pydantic_ai.models.anthropic import AnthropicModel, AnthropicStreamedResponse

__all__ = ["WholeBlocksModel", "container_of", "own_block"]

#: Blocks that have a type of ours. All others are kept whole.
_OURS = frozenset({"text", "thinking", "redacted_thinking", "tool_use"})

#: Marks the parts that carry such a block through pydantic-ai.
_CARRIER = "openprogram:block"


@dataclass
class _OpenBlock:
    data: dict[str, Any]
    pieces: list[str] = field(default_factory=list)

    def whole(self) -> dict[str, Any]:
        """The block with its input as it streamed in; a text where that is no JSON."""
        text = "".join(self.pieces)
        if not text:
            return self.data
        try:
            return {**self.data, "input": json.loads(text)}
        except ValueError:
            return {**self.data, "input": text}


@dataclass
class _WholeBlocks(AnthropicStreamedResponse):
    container: dict[str, Any] | None = field(default=None, init=False)
    _open: dict[int, _OpenBlock] = field(default_factory=dict, init=False)
    _cited: dict[int, list[dict[str, Any]]] = field(default_factory=dict, init=False)

    def _map_event(self, event: BetaRawMessageStreamEvent) -> Iterator[ModelResponseStreamEvent]:
        match event:
            case BetaRawContentBlockStartEvent() if event.content_block.type not in _OURS:
                self._open[event.index] = _OpenBlock(_json(event.content_block))
                return
            case BetaRawContentBlockDeltaEvent() if event.index in self._open:
                self._grow(self._open[event.index], _json(event.delta))
                return
            case BetaRawContentBlockDeltaEvent() if event.delta.type == "citations_delta":
                self._cited.setdefault(event.index, []).append(_json(event.delta)["citation"])
                return
            case BetaRawContentBlockStopEvent() if event.index in self._open:
                carrier = NativeToolReturnPart(
                    tool_name=_CARRIER, content=self._open.pop(event.index).whole(), tool_call_id=str(event.index)
                )
                yield self._parts_manager.handle_part(vendor_part_id=event.index, part=carrier)
                return
            case BetaRawContentBlockStopEvent() if cited := self._cited.pop(event.index, None):
                yield from self._parts_manager.handle_text_delta(
                    vendor_part_id=event.index,
                    content="",
                    provider_name=self.provider_name,
                    provider_details={"citations": cited},
                )
            case BetaRawMessageStartEvent() if getattr(event.message, "container", None):
                self.container = _json(event.message.container)  # type: ignore[arg-type]  # there is one
            case BetaRawMessageDeltaEvent() if event.delta.container:
                self.container = _json(event.delta.container)
        yield from super()._map_event(event)

    @staticmethod
    def _grow(block: _OpenBlock, delta: dict[str, Any]) -> None:
        if delta["type"] == "input_json_delta":
            block.pieces.append(delta.get("partial_json") or "")
        else:  # a summary in place of nothing (compaction_delta): its fields are the block's
            block.data |= {key: value for key, value in delta.items() if key != "type"}


class WholeBlocksModel(AnthropicModel):
    """AnthropicModel whose streams keep what is the vendor's own."""

    async def _process_streamed_response(self, *args: Any, **options: Any) -> AnthropicStreamedResponse:
        streamed = await super()._process_streamed_response(*args, **options)
        given = {each.name: getattr(streamed, each.name) for each in fields(streamed) if each.init}
        return _WholeBlocks(**given)


def own_block(part: ModelResponsePart) -> dict[str, Any] | None:
    """The vendor's block that a part carries."""
    if isinstance(part, NativeToolReturnPart) and part.tool_name == _CARRIER and isinstance(part.content, dict):
        return dict(part.content)
    return None


def container_of(response: StreamedResponse) -> dict[str, Any] | None:
    """The container that code was run in, as the vendor describes it."""
    return response.container if isinstance(response, _WholeBlocks) else None


def _json(value: BaseModel) -> dict[str, Any]:
    """As it came: the SDK keeps what it does not know, and whether a field was there."""
    return value.model_dump(mode="json", by_alias=True, exclude_unset=True, warnings=False)
