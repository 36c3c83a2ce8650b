"""A recorded request, read back as what a caller of ours would have given: Model, Context and options.

The inverse of the adapter. Fields that StreamOptions does not declare are kept as they are, so `stop_sequences` or
`seed` reach the request again. What our types cannot hold is left out and named.
"""

from dataclasses import dataclass, field
from typing import Any

from openprogram.providers.types import (
    AssistantContent,
    AssistantMessage,
    Context,
    Model,
    SimpleStreamOptions,
    ToolCall,
    ToolResultMessage,
    UserContent,
)

__all__ = ["ANY_CALL", "Call", "Place", "Reader"]

#: The body that stands for a request which was not recorded.
ANY_CALL = {"model": "some-model", "max_tokens": 1024, "messages": [{"role": "user", "content": "Hello"}]}


@dataclass(frozen=True)
class Place:
    """Where a call goes: the api of ours, the provider's name for the model, and the base URL."""

    api: str
    provider: str
    base_url: str


@dataclass(frozen=True)
class Call:
    """What a caller gives for one call. `left_out`: JSON pointers into the recorded body, with the reason for each."""

    model: Model
    context: Context
    options: SimpleStreamOptions
    left_out: dict[str, str] = field(default_factory=dict)


class Reader:
    """What reading a request's messages has in common: the names of tools by call, and what was left out."""

    def __init__(self, body: dict[str, Any], model: Model) -> None:
        self.body, self.model = body, model
        self.left_out: dict[str, str] = {}
        self._tool_names: dict[str, str] = {}

    def answer(self, content: list[AssistantContent]) -> AssistantMessage:
        """An answer of this model."""
        for block in content:
            if isinstance(block, ToolCall):
                self._tool_names[block.id] = block.name
        model = self.model
        return AssistantMessage(content=content, api=model.api, provider=model.provider, model=model.id)

    def result(self, call_id: str, content: list[UserContent], *, is_error: bool) -> ToolResultMessage:
        """The result of a call that an earlier answer made."""
        name = self._tool_names.get(call_id, "")
        return ToolResultMessage(tool_call_id=call_id, tool_name=name, content=content, is_error=is_error)
