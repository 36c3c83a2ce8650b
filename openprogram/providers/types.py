"""What crosses the provider boundary: models, contexts, messages, options and events.

Names and literals follow recordings that exist (docs/format/v1.md), so that those files can be read.
Unknown fields are kept (`extra="allow"`): a field that only another release knows is recorded, sent on and
compared like any other. Constructors invent nothing: no id, no time.
"""

from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Discriminator, Field

__all__ = [
    "AssistantContent",
    "AssistantMessage",
    "AssistantMessageEvent",
    "Context",
    "Cost",
    "DocumentContent",
    "ErrorReason",
    "EventDone",
    "EventError",
    "EventProviderBlock",
    "EventStart",
    "EventTextDelta",
    "EventTextEnd",
    "EventTextStart",
    "EventThinkingDelta",
    "EventThinkingEnd",
    "EventThinkingStart",
    "EventToolCallDelta",
    "EventToolCallEnd",
    "EventToolCallStart",
    "ImageContent",
    "Message",
    "Model",
    "ModelCost",
    "ProviderContent",
    "SimpleStreamOptions",
    "StopReason",
    "StreamOptions",
    "TextContent",
    "ThinkingContent",
    "Tool",
    "ToolCall",
    "ToolResultMessage",
    "Usage",
    "UserMessage",
]

StopReason: TypeAlias = Literal["stop", "length", "toolUse", "error", "aborted"]

#: Why a provider call failed. A file may hold a word that is not listed: it is kept as it is.
ErrorReason: TypeAlias = Literal[
    "auth",
    "rate_limit",
    "overloaded",
    "context_overflow",
    "content_filter",
    "invalid_request",
    "network",
    "timeout",
    "server",
    "invalid_response",
    "unknown",
]


def _is_none(value: Any) -> bool:
    """For what few blocks have: it is not written where there is none."""
    return value is None


class _Boundary(BaseModel):
    # Recording takes equal JSON for equal messages: NaN is no null, and bytes are no text.
    model_config = ConfigDict(
        extra="allow", protected_namespaces=(), ser_json_inf_nan="constants", ser_json_bytes="base64"
    )


def _hidden() -> Any:
    """None by default, and not in `repr()`: a failed test's report shows the arguments of every call on its way."""
    return Field(default=None, repr=False)


# ---- content blocks


class TextContent(_Boundary):
    """Text. `text_signature`, `citations` (the vendor's own, one object each): opaque, sent back unchanged."""

    type: Literal["text"] = "text"
    text: str
    text_signature: str | None = None
    citations: list[dict[str, Any]] | None = Field(default=None, exclude_if=_is_none)
    cache_control: Any = None


class ThinkingContent(_Boundary):
    """Reasoning. `thinking_signature`: opaque, sent back unchanged. `redacted`: the vendor shows no text."""

    type: Literal["thinking"] = "thinking"
    thinking: str
    thinking_signature: str | None = None
    redacted: bool | None = None


class ImageContent(_Boundary):
    """An image. `data`: base64. `mime_type`: such as `image/png`."""

    type: Literal["image"] = "image"
    data: str
    mime_type: str


class DocumentContent(_Boundary):
    """A document for the model to read. Exactly one of `data` (base64), `text` and `url` (fetched by the vendor).

    `mime_type`: such as `application/pdf`. `name`: its title or file name. What each api makes of it:
    docs/vendors.md.
    """

    type: Literal["document"] = "document"
    mime_type: str = "application/pdf"
    data: str | None = None
    text: str | None = None
    url: str | None = None
    name: str | None = None

    def source(self) -> Literal["data", "text", "url"]:
        """The one that is given. Raises ValueError: none is, or more than one."""
        given: list[Literal["data", "text", "url"]] = ["data", "text", "url"]
        found = [name for name in given if getattr(self, name) is not None]
        if len(found) != 1:
            raise ValueError(f"a document has exactly one of data, text and url, not {found or 'none'}")
        return found[0]


class ToolCall(_Boundary):
    """The model asks for a tool. `arguments`: the parsed JSON object. `thought_signature`: opaque.

    `arguments_error`: why not all that the model wrote could be read, None where it could. Such a call must not run.
    """

    type: Literal["toolCall"] = "toolCall"
    id: str
    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    thought_signature: str | None = None
    arguments_error: str | None = None


class ProviderContent(_Boundary):
    """A block that is the vendor's own business, such as the call of a tool that it runs itself, or its result.

    `api`, `provider`: who made it; it goes back to nobody else. `kind`: the vendor's word for it, such as
    `server_tool_use`. `data`: opaque JSON, sent back unchanged; what it holds for which api, docs/vendors.md says.
    """

    type: Literal["provider"] = "provider"
    api: str
    provider: str
    kind: str
    data: dict[str, Any] = Field(default_factory=dict)


UserContent: TypeAlias = Annotated[TextContent | ImageContent | DocumentContent, Discriminator("type")]
AssistantContent: TypeAlias = Annotated[
    TextContent | ThinkingContent | ToolCall | ProviderContent, Discriminator("type")
]


# ---- messages


class Cost(_Boundary):
    """US dollars, per kind of token."""

    input: float = 0.0
    output: float = 0.0
    cache_read: float = 0.0
    cache_write: float = 0.0
    total: float = 0.0


class Usage(_Boundary):
    """Tokens. `input` leaves out those read from and written to the cache; `total_tokens` is the sum of all."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    total_tokens: int = 0
    cost: Cost = Field(default_factory=Cost)


class UserMessage(_Boundary):
    """What the user says. `timestamp`: Unix milliseconds; not compared in replay."""

    role: Literal["user"] = "user"
    content: str | list[UserContent]
    timestamp: int = 0


class AssistantMessage(_Boundary):
    """What the model answered, whole or as far as it came. `timestamp`: Unix milliseconds.

    A failed call is a message too: `stop_reason` is `error`, `error_reason` one of ErrorReason,
    `error_retryable` whether trying again can help, `error_retry_after_s` the wait that the provider asked for
    in seconds. `paused`: the vendor stopped in the middle of its own work and goes on when it is sent the conversation
    with this message at its end. `parsed`: the answer's value where the call asked for JSON (`response_format`) and the
    answer fits its schema; otherwise `parse_error` says why not. An answer that only calls tools has neither.
    """

    role: Literal["assistant"] = "assistant"
    content: list[AssistantContent] = Field(default_factory=list)
    api: str = ""
    provider: str = ""
    model: str = ""
    usage: Usage = Field(default_factory=Usage)
    stop_reason: StopReason = "stop"
    timestamp: int = 0
    error_message: str | None = None
    error_reason: ErrorReason | str | None = None
    error_retryable: bool | None = None
    error_retry_after_s: float | None = None
    paused: bool | None = Field(default=None, exclude_if=_is_none)
    parsed: Any = Field(default=None, exclude_if=_is_none)
    parse_error: str | None = Field(default=None, exclude_if=_is_none)

    @property
    def text(self) -> str:
        """The text blocks, joined."""
        return "".join(block.text for block in self.content if isinstance(block, TextContent))

    @property
    def tool_calls(self) -> list[ToolCall]:
        """The tool-call blocks, in order."""
        return [block for block in self.content if isinstance(block, ToolCall)]


class ToolResultMessage(_Boundary):
    """What a tool returned. `details`: for the program, never sent to the model. `timestamp`: Unix milliseconds."""

    role: Literal["toolResult"] = "toolResult"
    tool_call_id: str
    tool_name: str
    content: list[UserContent]
    details: Any = None
    is_error: bool = False
    timestamp: int = 0


Message: TypeAlias = Annotated[UserMessage | AssistantMessage | ToolResultMessage, Discriminator("role")]


# ---- the request


class Tool(_Boundary):
    """A tool as the model sees it. `parameters`: JSON Schema of the arguments."""

    name: str
    description: str = ""
    parameters: dict[str, Any] = Field(default_factory=dict)
    cache_control: Any = None


class Context(_Boundary):
    """The conversation that a call sends."""

    system_prompt: str | None = None
    messages: list[Message] = Field(default_factory=list)
    tools: list[Tool] | None = None


class ModelCost(_Boundary):
    """US dollars per million tokens."""

    input: float = 0.0
    output: float = 0.0
    cache_read: float = 0.0
    cache_write: float = 0.0


class Model(_Boundary):
    """A model and where it is served. `api` selects the provider; `base_url` decides where it connects.

    `context_window`, `max_tokens`: tokens. `headers`: sent with every request.
    """

    id: str
    api: str
    provider: str
    name: str = ""
    base_url: str = ""
    reasoning: bool = False
    input: list[str] = Field(default_factory=lambda: ["text"])
    cost: ModelCost = Field(default_factory=ModelCost)
    context_window: int = 0
    max_tokens: int = 0
    headers: dict[str, str] | None = _hidden()


class StreamOptions(_Boundary):
    """How one call is made. None leaves a choice to the provider.

    `response_format`: the JSON Schema of the answer, whose value is `AssistantMessage.parsed`. `response_mode`:
    `native` (the default: the vendor's own means) or `tool` (a tool that takes the answer, where there is none).
    `signal`, `on_payload`: for the running program only; neither recorded nor compared.
    `session_id`: the same for calls that go on from each other. `cache_retention`: `none`, `short` or `long`.
    `max_retry_delay_ms`: milliseconds. `timeout_s`: seconds of silence after which a call fails. What each api makes of
    an option: docs/vendors.md.
    """

    temperature: float | None = None
    max_tokens: int | None = None
    api_key: str | None = _hidden()
    headers: dict[str, str] | None = _hidden()
    tool_choice: Any = None
    parallel_tool_calls: bool | None = None
    response_format: dict[str, Any] | None = None
    response_mode: str | None = Field(default=None, exclude_if=_is_none)
    service_tier: str | None = None
    metadata: dict[str, Any] | None = None
    session_id: str | None = None
    cache_retention: str = "short"
    max_retry_delay_ms: int = 60_000
    timeout_s: float | None = Field(default=None, exclude_if=_is_none)
    signal: Any = Field(default=None, exclude=True)
    on_payload: Callable[..., Any] | None = Field(default=None, exclude=True)


class SimpleStreamOptions(StreamOptions):
    """StreamOptions with reasoning as one word: `minimal`, `low`, `medium`, `high`."""

    reasoning: str | None = None
    thinking_budgets: dict[str, int] | None = None


# ---- events: deltas only; the message is their fold (openprogram.providers.event_stream.Fold)


class _Event(BaseModel):
    # What a class doesn't declare is left out, above all `partial`: the whole message so far in every event, as
    # older files have it. It is accepted, never kept.
    model_config = ConfigDict(frozen=True, extra="ignore")


class _BlockEvent(_Event):
    content_index: int  #: position of the block in the message's content, from 0


class EventStart(_Event):
    """The provider has answered; content follows."""

    type: Literal["start"] = "start"


class EventTextStart(_BlockEvent):
    """A text block begins."""

    type: Literal["text_start"] = "text_start"


class EventTextDelta(_BlockEvent):
    """More text of a block."""

    type: Literal["text_delta"] = "text_delta"
    delta: str


class EventTextEnd(_BlockEvent):
    """A text block is whole. `content`: its deltas, joined."""

    type: Literal["text_end"] = "text_end"
    content: str
    text_signature: str | None = None
    citations: list[dict[str, Any]] | None = Field(default=None, exclude_if=_is_none)


class EventThinkingStart(_BlockEvent):
    """A thinking block begins."""

    type: Literal["thinking_start"] = "thinking_start"


class EventThinkingDelta(_BlockEvent):
    """More thinking of a block."""

    type: Literal["thinking_delta"] = "thinking_delta"
    delta: str


class EventThinkingEnd(_BlockEvent):
    """A thinking block is whole. `content`: its deltas, joined."""

    type: Literal["thinking_end"] = "thinking_end"
    content: str
    thinking_signature: str | None = None
    redacted: bool | None = None


class EventToolCallStart(_BlockEvent):
    """A tool call begins. `id` and `name` where the provider sends them at once."""

    type: Literal["toolcall_start"] = "toolcall_start"
    id: str | None = None
    name: str | None = None


class EventToolCallDelta(_BlockEvent):
    """More of a tool call's arguments, as JSON text."""

    type: Literal["toolcall_delta"] = "toolcall_delta"
    delta: str


class EventToolCallEnd(_BlockEvent):
    """A tool call is whole."""

    type: Literal["toolcall_end"] = "toolcall_end"
    tool_call: ToolCall


class EventProviderBlock(_BlockEvent):
    """A block that is the vendor's own business has come, whole."""

    type: Literal["provider_block"] = "provider_block"
    block: ProviderContent


class EventDone(_Event):
    """Terminal: the model stopped. `message`: the whole answer."""

    type: Literal["done"] = "done"
    reason: StopReason
    message: AssistantMessage


class EventError(_Event):
    """Terminal: the call failed or was aborted. `error`: the message as far as it came, with the reason."""

    type: Literal["error"] = "error"
    reason: StopReason
    error: AssistantMessage


AssistantMessageEvent: TypeAlias = Annotated[
    EventStart
    | EventTextStart
    | EventTextDelta
    | EventTextEnd
    | EventThinkingStart
    | EventThinkingDelta
    | EventThinkingEnd
    | EventToolCallStart
    | EventToolCallDelta
    | EventToolCallEnd
    | EventProviderBlock
    | EventDone
    | EventError,
    Discriminator("type"),
]
