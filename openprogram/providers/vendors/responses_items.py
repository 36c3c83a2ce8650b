"""Output items of OpenAI's Responses API, on their way out of its SDK and back into it.

The API answers with items (messages, reasoning, function calls, calls of its own tools) and takes them again as input.
pydantic-ai knows many of their kinds, not all, and keeps of each what it needs. So between it and the SDK:

- events of text, reasoning and function calls pass; of every other item only the end does, as the one part that
  pydantic-ai carries unread (a compaction), with the item as it came;
- what a reasoning item holds beside its texts becomes one string on the last of them;
- a text gets its annotations as they came, however the server sends them;
- input items that were carried through as `Verbatim` are put in their place.

Source: https://platform.openai.com/docs/api-reference/responses-streaming
"""

from collections import deque
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from types import TracebackType
from typing import Any, Self, cast

from openai import AsyncOpenAI, AsyncStream
from openai.resources.responses import AsyncResponses
from openai.types import responses
from openai.types.responses.response import IncompleteDetails
from pydantic_ai.messages import CompactionPart, ModelResponsePart

from openprogram.providers.vendors.verbatim import Verbatim, json_text, parsed

__all__ = ["ItemsClient", "carried_item", "input_items", "thought"]


class ItemsClient(AsyncOpenAI):
    """OpenAI's client, for pydantic-ai's Responses model."""

    @cached_property
    def responses(self) -> AsyncResponses:
        """The resource that pydantic-ai asks."""
        return _Responses(self)


class _Responses(AsyncResponses):
    async def create(self, **given: Any) -> Any:
        stored = (given.get("extra_body") or {}).get("store", given.get("store")) is not False
        items = input_items(given["input"], stored=stored)
        if items and items[0].get("role") == "system":  # the system prompt, which has a field of its own
            given["instructions"] = items.pop(0)["content"]
        if (form := (given.get("text") or {}).get("format")) and form.get("strict") is None:
            form.pop("strict", None)
        return _ItemStream(await super().create(**{**given, "input": items}))


# ---- out of the SDK


class _ItemStream:
    """The SDK's stream, its events translated."""

    def __init__(self, stream: AsyncStream[responses.ResponseStreamEvent]) -> None:
        self._stream = stream
        self._source: AsyncIterator[responses.ResponseStreamEvent] = aiter(stream)
        self._ready: deque[Any] = deque()
        self._items = _Items()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._stream.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        while not self._ready:
            self._ready.extend(self._items.translated(await anext(self._source)))
        return self._ready.popleft()


@dataclass
class _Thought:
    """A reasoning item whose texts have begun. `kind`: the item's field that holds them, `summary` or `content`."""

    kind: str
    texts: int = 0


@dataclass
class _Items:
    thoughts: dict[str, _Thought] = field(default_factory=dict)
    texts: set[tuple[str, int]] = field(default_factory=set)  #: item id and index of texts that have come in deltas

    def translated(self, event: Any) -> Iterator[Any]:
        match event.type:
            case "response.output_text.delta":
                self.texts.add((event.item_id, event.content_index))
                yield event
            case "response.reasoning_summary_text.delta":
                if self._counts(event.item_id, "summary", event.summary_index):
                    yield event
            case "response.reasoning_text.delta":
                if self._counts(event.item_id, "content", event.content_index):
                    yield _thinking(event.item_id, event.content_index, event.delta)
            case "response.output_item.added" if event.item.type == "function_call":
                yield event
            case "response.output_item.added" if event.item.type == "message":
                yield event
            case "response.output_item.done":
                yield from self._done(event)
            case "response.incomplete":
                if event.response.incomplete_details is None:  # cut short all the same
                    event.response.incomplete_details = IncompleteDetails(reason="max_output_tokens")
                yield event
            case kind if kind in _PASSED:
                yield event

    def _done(self, event: Any) -> Iterator[Any]:
        match event.item.type:
            case "function_call":
                yield event
            case "message":
                yield from self._message_done(event.item)
            case "reasoning":
                yield from self._reasoning_done(event.item)
            case _:
                item = responses.ResponseCompactionItem.model_construct(
                    id=event.item.id, type="compaction", encrypted_content=json_text(_raw(event.item))
                )
                yield _built(responses.ResponseOutputItemDoneEvent, type=event.type, item=item)

    def _message_done(self, item: Any) -> Iterator[Any]:
        """Text that came in no delta, and the annotations: servers do not agree on the events for them."""
        for index, part in enumerate(item.content or []):
            if part.type != "output_text":
                continue
            at: dict[str, Any] = {"item_id": item.id, "content_index": index}
            if (item.id, index) not in self.texts and part.text:
                yield _built(responses.ResponseOutputItemAddedEvent, item=item)
                yield _built(responses.ResponseTextDeltaEvent, delta=part.text, **at)
            for annotation in _raw(part).get("annotations") or []:
                added = _built(responses.ResponseOutputTextAnnotationAddedEvent, **at)
                added.annotation = annotation  # a constructor would read it, and write it down in its own words
                yield added
            if part.annotations:
                yield _built(responses.ResponseTextDoneEvent, text=part.text, logprobs=None, **at)

    def _counts(self, item_id: str, kind: str, index: int) -> bool:
        """Whether a piece of a reasoning item's text is one of ours.

        Where a server sends the thinking and a summary of it, what comes first is.
        """
        thought = self.thoughts.setdefault(item_id, _Thought(kind))
        if thought.kind != kind:
            return False
        thought.texts = max(thought.texts, index + 1)
        return True

    def _reasoning_done(self, item: Any) -> Iterator[Any]:
        raw = _raw(item)
        for kind in ("content", "summary"):  # texts that came in no delta
            for index, part in enumerate(raw.get(kind) or []):
                begun = self.thoughts.get(item.id)
                if begun is None or (begun.kind == kind and begun.texts <= index):
                    self._counts(item.id, kind, index)
                    yield _thinking(item.id, index, part["text"])
        thought = self.thoughts.get(item.id, _Thought("summary"))
        if thought.texts:
            raw[thought.kind] = thought.texts
        last = item.id if thought.texts <= 1 else f"{item.id}-{thought.texts - 1}"  # pydantic-ai's name of the part
        signed = responses.ResponseReasoningItem.model_construct(
            id=last, type="reasoning", summary=[], encrypted_content=json_text(raw)
        )
        yield _built(responses.ResponseOutputItemDoneEvent, type="response.output_item.done", item=signed)


#: Events that pydantic-ai gets as they are. Of the rest, `output_item.done` says it all.
_PASSED = frozenset(
    {
        "error",
        "response.completed",
        "response.created",
        "response.failed",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.in_progress",
        "response.queued",
        "response.refusal.delta",
        "response.refusal.done",
    }
)


def _raw(model: Any) -> dict[str, Any]:
    """The JSON that an SDK's object was read from."""
    return cast(dict[str, Any], model.to_dict(mode="json", warnings=False))


def _thinking(item_id: str, index: int, text: str) -> Any:
    return _built(responses.ResponseReasoningSummaryTextDeltaEvent, item_id=item_id, summary_index=index, delta=text)


def _built(kind: Any, **fields: Any) -> Any:
    return kind.model_construct(sequence_number=None, **fields)


def carried_item(part: ModelResponsePart) -> dict[str, Any] | None:
    """The output item in a part of pydantic-ai's; None where it carries none."""
    if not isinstance(part, CompactionPart):
        return None
    return parsed((part.provider_details or {}).get("encrypted_content"))


# ---- into the SDK


def thought(text: str, item: dict[str, Any] | None) -> dict[str, Any]:
    """A text of a reasoning item, to be carried through. `item`: what the last text has of it, None for the others."""
    return {"type": "thought", "text": text, "item": item}


def input_items(mapped: Any, *, stored: bool) -> list[dict[str, Any]]:
    """pydantic-ai's input items, with those that it carried through put in their place.

    The texts of a reasoning item stand before it, and those of a message item next to each other: both become one item
    again. Reasoning that only the vendor's store holds is left out where it stores nothing (`stored` False): it would
    refuse the whole request.
    """
    items: list[dict[str, Any]] = []
    thoughts: list[str] = []
    for each in mapped:
        content = each.get("content")
        item = content.value if isinstance(content, Verbatim) else each
        match item.get("type"):
            case "thought":
                thoughts.append(item["text"])
                if item["item"] is None:
                    continue  # more texts of the same item follow
                whole = _with_texts(item["item"], thoughts)
                thoughts = []
                if stored or whole.get("encrypted_content") or whole.get("content"):
                    items.append(whole)
            case "message" if items and "id" in item and items[-1].get("id") == item["id"]:
                items[-1] = {**items[-1], "content": [*items[-1]["content"], *item["content"]]}
            case _:
                thoughts = []
                items.append(item)
    return items


def _with_texts(item: dict[str, Any], texts: list[str]) -> dict[str, Any]:
    for kind, type_of in (("summary", "summary_text"), ("content", "reasoning_text")):
        if isinstance(item.get(kind), int):
            return {**item, kind: [{"type": type_of, "text": text} for text in texts[-item[kind] :]]}
    return item
