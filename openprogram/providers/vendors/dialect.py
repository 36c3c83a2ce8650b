"""What a vendor's api has to say for itself, once its SDK may be imported."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import httpx2
from pydantic_ai.messages import ModelResponsePart, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.models import Model as VendorModel
from pydantic_ai.models import StreamedResponse
from pydantic_ai.settings import ModelSettings

from openprogram.providers.types import (
    Context,
    Model,
    ProviderContent,
    StreamOptions,
    TextContent,
    ThinkingContent,
    ToolCall,
)
from openprogram.providers.vendors.documents import Documents
from openprogram.providers.vendors.history import CallIds
from openprogram.providers.vendors.wire import WireWatch

__all__ = ["Dialect", "Endpoint"]


@dataclass(frozen=True)
class Endpoint:
    """Where a call connects, as whom, and how long it waits. `api_key` None: there is none.

    `connect_s`, `read_s`: seconds until there is a connection, and until the next bytes. `environ`: for vendors whose
    credentials are more than a key. `key_header`: where the key goes, if not into `Authorization`.
    """

    base_url: str
    api_key: str | None = field(repr=False)
    connect_s: float
    read_s: float
    environ: Mapping[str, str] = field(repr=False)
    key_header: str | None = None

    @property
    def timeout(self) -> httpx2.Timeout:
        """The same in httpx2's words; sending and waiting for a place in the pool count as reading."""
        return httpx2.Timeout(self.read_s, connect=self.connect_s)


class Dialect(Protocol):
    """One api, implemented by a module. The functions are pure, but for `vendor_model`'s client."""

    #: Whether tool results can carry images and an error mark; otherwise images follow in a user message.
    RICH_TOOL_RESULTS: bool

    #: Which ids of tool calls the api takes.
    CALL_IDS: CallIds

    #: Which documents the api takes as such.
    DOCUMENTS: Documents

    def vendor_model(self, model: Model, endpoint: Endpoint, http: httpx2.AsyncClient) -> VendorModel:
        """pydantic-ai's model for `model`, over a client that uses `http` and never retries.

        Called in a thread, for it may read files. Raises ProviderFailed: it finds no credentials.
        """
        ...

    def settings(self, model: Model, context: Context, options: StreamOptions) -> ModelSettings:
        """The options that this api has its own word for; `openprogram.providers.vendors.options` does the rest.

        Settings whose `extra_body` has `messages` or `contents` bring the conversation with them: pydantic-ai is given
        none then.
        """
        ...

    def thinking_signature(self, part: ThinkingPart) -> str | None:
        """What must come back with this thinking, as one opaque string."""
        ...

    def is_redacted(self, part: ThinkingPart) -> bool:
        """Whether the vendor shows no text of this thinking, only data to send back."""
        ...

    def thinking_part(self, block: ThinkingContent, system: str) -> ModelResponsePart:
        """The inverse: the part to send back. `system`: pydantic-ai's name of the vendor."""
        ...

    def thought_signature(self, part: ToolCallPart) -> str | None:
        """What must come back with this tool call, as one opaque string."""
        ...

    def tool_call_part(self, call: ToolCall, system: str | None) -> ModelResponsePart:
        """The inverse, as for thinking. `system` None: another vendor made the call."""
        ...

    def text_signature(self, part: TextPart) -> str | None:
        """What must come back with this text, as one opaque string."""
        ...

    def citations(self, part: TextPart) -> list[dict[str, Any]] | None:
        """The vendor's own objects that say where this text comes from; None where it has none."""
        ...

    def text_part(self, block: TextContent, system: str) -> TextPart:
        """The inverse of both: the text to send back to the vendor that made it."""
        ...

    def provider_block(self, part: ModelResponsePart) -> tuple[str, dict[str, Any]] | None:
        """`kind` and `data` of a part that no other type of ours holds; None: it is passed over.

        Asked when the part begins and when it is whole: for one part it is None always or never.
        """
        ...

    def provider_part(self, block: ProviderContent, system: str) -> ModelResponsePart | None:
        """The inverse, for blocks of the same api and provider; None: it is not sent back."""
        ...

    def closing_blocks(self, response: StreamedResponse) -> list[tuple[str, dict[str, Any]]]:
        """`kind` and `data` of blocks for what is known of the whole answer alone, such as its sources."""
        ...

    def is_whole(self, response: StreamedResponse, watch: WireWatch) -> bool:
        """Whether an answer that ended without an error came to its own end. The SDKs don't say."""
        ...
