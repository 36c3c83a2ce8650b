"""pydantic-ai's Chat Completions models, taught what real servers do.

- With `n` above one, the chunks of the choices interleave; pydantic-ai takes the first of each chunk, whichever
  that is. Here only choice 0 is read.
- Perplexity reports the usage so far on every chunk; pydantic-ai adds them up. Here the last report counts.
- Whether a finish reason came at all, pydantic-ai keeps to itself.

`_validate_response` and `_streamed_response_cls` are the hooks that pydantic-ai documents for subclasses.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from openai.types.chat import ChatCompletionChunk
from pydantic_ai.models import StreamedResponse
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIStreamedResponse
from pydantic_ai.models.openrouter import OpenRouterModel, OpenRouterStreamedResponse
from pydantic_ai.usage import RequestUsage

__all__ = ["FirstChoiceModel", "FirstChoiceOpenRouterModel", "finish_reason_came"]


@dataclass
class _FirstChoice(OpenAIStreamedResponse):
    finish_reason_came: bool = field(default=False, init=False)

    async def _validate_response(self) -> AsyncIterator[ChatCompletionChunk]:
        async for chunk in super()._validate_response():
            chunk.choices = [choice for choice in chunk.choices or [] if not choice.index]
            if any(choice.finish_reason for choice in chunk.choices):
                self.finish_reason_came = True
            if chunk.usage is not None:
                self._usage = RequestUsage()
            yield chunk


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
