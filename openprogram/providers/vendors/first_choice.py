"""pydantic-ai's Chat Completions models, taught what real servers do.

- With `n` above one, the chunks of the choices interleave; pydantic-ai takes the first of each chunk, whichever
  that is. Here only choice 0 is read.
- Perplexity reports the usage so far on every chunk; pydantic-ai adds them up. Here the last report counts.
- Whether a finish reason came at all, pydantic-ai keeps to itself. So it does with the sources of an answer: lists
  on the chunks (Perplexity), or annotations of the text (OpenAI, OpenRouter).

`_validate_response` and `_streamed_response_cls` are the hooks that pydantic-ai documents for subclasses.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from openai.types.chat import ChatCompletionChunk
from pydantic import TypeAdapter
from pydantic_ai.models import StreamedResponse
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIStreamedResponse
from pydantic_ai.models.openrouter import OpenRouterModel, OpenRouterStreamedResponse
from pydantic_ai.usage import RequestUsage

__all__ = ["FirstChoiceModel", "FirstChoiceOpenRouterModel", "finish_reason_came", "sources_of"]

#: Fields of a chunk that say where an answer comes from.
_SOURCES = ("citations", "search_results", "images", "related_questions")


@dataclass
class _FirstChoice(OpenAIStreamedResponse):
    finish_reason_came: bool = field(default=False, init=False)
    sources: dict[str, Any] = field(default_factory=dict, init=False)

    async def _validate_response(self) -> AsyncIterator[ChatCompletionChunk]:
        async for chunk in super()._validate_response():
            chunk.choices = [choice for choice in chunk.choices or [] if not choice.index]
            if any(choice.finish_reason for choice in chunk.choices):
                self.finish_reason_came = True
            if chunk.usage is not None:
                self._usage = RequestUsage()
            self._take_sources(chunk)
            yield chunk

    def _take_sources(self, chunk: ChatCompletionChunk) -> None:
        extra = chunk.model_extra or {}
        self.sources |= {name: extra[name] for name in _SOURCES if extra.get(name)}  # each time the whole list
        for choice in chunk.choices:
            if annotations := getattr(choice.delta, "annotations", None):
                more = TypeAdapter(list[Any]).dump_python(annotations, mode="json", exclude_unset=True)
                self.sources["annotations"] = [*self.sources.get("annotations", []), *more]


@dataclass
class _FirstChoiceOpenRouter(_FirstChoice, OpenRouterStreamedResponse):
    """The same, over the chunks that OpenRouter's class has validated."""


class FirstChoiceModel(OpenAIChatModel):
    """OpenAIChatModel whose streams keep to the first choice."""

    @property
    def _streamed_response_cls(self) -> type[OpenAIStreamedResponse]:
        return _FirstChoice


class FirstChoiceOpenRouterModel(OpenRouterModel):
    """OpenRouterModel whose streams keep to the first choice."""

    @property
    def _streamed_response_cls(self) -> type[OpenAIStreamedResponse]:
        return _FirstChoiceOpenRouter


def finish_reason_came(response: StreamedResponse) -> bool:
    """Whether the server said why the first choice ended."""
    return isinstance(response, _FirstChoice) and response.finish_reason_came


def sources_of(response: StreamedResponse) -> dict[str, Any]:
    """What the server said of the answer's sources, by the names of its fields."""
    return response.sources if isinstance(response, _FirstChoice) else {}
