"""Requests and events ⇄ JSON values: the only door between provider types and the pipeline."""

import re
from functools import cache
from typing import Any, Final, get_args

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, to_json

from openprogram.pipeline.json_value import JsonValue, NotJson, join_path, to_json_value
from openprogram.pipeline.log.event_lines import EventTexts
from openprogram.pipeline.log.lines import load_payload
from openprogram.pipeline.redaction import remove_secret_values
from openprogram.pipeline.request_parts import Part, PartList
from openprogram.providers.types import (
    AssistantMessage,
    AssistantMessageEvent,
    Context,
    Cost,
    DocumentContent,
    EventTextDelta,
    EventThinkingDelta,
    EventToolCallDelta,
    ImageContent,
    Model,
    ModelCost,
    ProviderContent,
    SimpleStreamOptions,
    StreamOptions,
    TextContent,
    ThinkingContent,
    Tool,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
)

__all__ = ["EVENT_TYPES", "TERMINAL_EVENT_TYPES", "AssistantEventCodec", "ProviderRequest", "ProviderRequestCodec"]

ProviderRequest = tuple[Model, Context, StreamOptions | None]

_EVENT_CLASSES: Final[tuple[type[BaseModel], ...]] = get_args(get_args(AssistantMessageEvent)[0])

#: Every `type` that an event may have, with its class.
EVENT_TYPES: Final[dict[str, type[BaseModel]]] = {event.model_fields["type"].default: event for event in _EVENT_CLASSES}

#: A stream ends with the first of these.
TERMINAL_EVENT_TYPES: Final = frozenset({"done", "error"})

_PLAIN_TYPES: Final[frozenset[type]] = frozenset(
    {
        AssistantMessage,
        Cost,
        DocumentContent,
        ImageContent,
        Model,
        ModelCost,
        ProviderContent,
        TextContent,
        ThinkingContent,
        Tool,
        ToolCall,
        ToolResultMessage,
        Usage,
        UserMessage,
    }
)
_REPLACEMENT: Final = "\ufffd".encode()

_DELTA_CLASSES: Final = (EventTextDelta, EventThinkingDelta, EventToolCallDelta)
#: How the texts of events of one type begin.
_TYPED_HEAD: Final = re.compile(rb'\{"type":"([a-z_]+)",')
_DELTA_TYPES: Final = frozenset({"text_delta", "thinking_delta", "toolcall_delta"})


class ProviderRequestCodec:
    """`(model, context, options)` ⇄ `{"model": …, "context": …, "options": …}`."""

    @property
    def plain_types(self) -> frozenset[type]:
        """Models whose dump depends on their fields alone. Exact types: a subclass may have a dump of its own."""
        return _PLAIN_TYPES

    def parts(self, request: ProviderRequest) -> list[bytes | Part | PartList]:
        """The request's JSON text, with a part for each value that may come again, above all the messages."""
        model, context, options = request
        recorded = None if options is None else _recorded_options(options)
        return [
            *(b'{"model":', Part("model", model)),
            *(b',"context":', *_context_parts(context)),
            *(b',"options":', Part("options", recorded), b"}"),
        ]

    def text(self, part: Part) -> bytes | None:
        """The JSON text of a plain part: that of its dump, and of no other dump. None where there is doubt."""
        try:
            # Bytes as the dump has them: as text, they would be taken for a text that reads the same.
            text = to_json(part.source, inf_nan_mode="constants", bytes_mode="base64", serialize_as_any=True)
        except (PydanticSerializationError, ValueError, RecursionError):
            return None  # whether it can be recorded, and what is wrong with it, the dump finds out
        # Lone surrogates in keys become U+FFFD here, each the same.
        return text if text.isascii() or _REPLACEMENT not in text else None

    def dump_part(self, part: Part) -> JsonValue:
        """The part as a JSON value. Raises NotJson, naming the field of the request."""
        if part.name in ("model", "context", "options"):
            path, depth = part.name, 2
        else:
            path, depth = join_path("context", part.name), 3
        if part.position is not None:
            path, depth = join_path(path, part.position), depth + 1
        return to_json_value(_python(part.source, path), path, depth)

    def dump(self, request: ProviderRequest) -> dict[str, Any]:
        """The request as JSON values; options that serve the running program only are left out. Raises NotJson."""
        model, context, options = request
        return {
            "model": to_json_value(_python(model, "model"), "model", 2),
            "context": to_json_value(_python(context, "context"), "context", 2),
            "options": None if options is None else to_json_value(_recorded_options(options), "options", 2),
        }

    def read(self, recorded: dict[str, Any]) -> dict[str, Any]:
        """A recorded request through today's types. Raises ValueError (pydantic's), naming the field.

        No options are options at their defaults: providers take the two for the same.
        """
        options = recorded.get("options")
        read: ProviderRequest = (
            Model.model_validate(recorded.get("model")),
            Context.model_validate(recorded.get("context")),
            SimpleStreamOptions() if options is None else SimpleStreamOptions.model_validate(options),
        )
        dumped = self.dump(read)
        # A credential that the file lacks now has a default, and a default is no less a credential's field.
        return {**recorded, **dumped, "options": _redacted_options(dumped["options"])}

    def compared(self, incoming: dict[str, Any]) -> dict[str, Any]:
        """A request of this run, redacted, as `read` would give it where it was recorded."""
        return incoming if incoming.get("options") is not None else {**incoming, "options": _no_options()}


@cache
def _adapter() -> TypeAdapter[list[AssistantMessageEvent]]:
    """For many events. Making it costs more than replaying a short call: once a process, at first use."""
    return TypeAdapter(list[AssistantMessageEvent])


@cache
def _adapter_of(event_class: type[BaseModel]) -> TypeAdapter[list[AssistantMessageEvent]]:
    """For many events of one class, which need not say their type."""
    return TypeAdapter(list[event_class])  # type: ignore[valid-type]


class AssistantEventCodec:
    """`AssistantMessageEvent` ⇄ JSON; `event.type` selects the class."""

    def dump(self, event: AssistantMessageEvent) -> dict[str, Any]:
        """The event as JSON values. Raises NotJson."""
        if isinstance(event, _DELTA_CLASSES):
            # Nearly every event of a stream is one of these: spelled out, as it costs a third of the general way.
            return {"type": event.type, "content_index": event.content_index, "delta": event.delta}
        if not isinstance(event, BaseModel):
            raise NotJson("", f"{type(event).__name__} is not an event")
        dumped = to_json_value(_python(event, ""), "", 2)
        assert isinstance(dumped, dict)
        return {"type": event.type, **dumped}  # its type first, for those who read the file

    def load_all(self, texts: EventTexts) -> list[AssistantMessageEvent]:
        """The events, one of each text. Raises ValueError."""
        adapter, head = _adapter_for(texts.head)
        try:
            events = adapter.validate_json(b"[" + head + (b"," + head).join(texts.rests) + b"]")
        except ValidationError:
            events = []
        if len(events) == len(texts.rests):
            return events
        # The fast parser refuses lone surrogates, which a recording may hold: the strict one decides.
        return _adapter().validate_python([load_payload(payload) for payload in texts.whole()])

    def check(self, event: dict[str, Any]) -> None:
        """Raises ValueError where `load_all` could not make an event of this dump."""
        kind = event.get("type")
        if not isinstance(kind, str):
            raise ValueError(f"the event's type is {kind!r}, not a word")
        if kind in _DELTA_TYPES and type(event.get("delta")) is str and type(event.get("content_index")) is int:
            return
        if kind not in EVENT_TYPES:
            raise ValueError(f"unknown event type {kind!r}")
        try:
            EVENT_TYPES[kind].model_validate(event)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            field = ".".join(str(part) for part in first["loc"])
            raise ValueError(f"the {kind} event does not load: {field}: {first['msg']}") from None

    def is_terminal(self, event: dict[str, Any]) -> bool:
        """Whether a stream ends with this dump."""
        return event["type"] in TERMINAL_EVENT_TYPES


def _adapter_for(head: bytes) -> tuple[TypeAdapter[list[AssistantMessageEvent]], bytes]:
    """What makes events of texts that begin so, and what is to stand there for it."""
    typed = _TYPED_HEAD.match(head)
    event_class = None if typed is None else EVENT_TYPES.get(typed[1].decode())
    if typed is None or event_class is None:
        return _adapter(), head
    # Without the type, and without finding the class of each by it: a quarter less.
    return _adapter_of(event_class), b"{" + head[typed.end() :]


def _context_parts(context: Context) -> list[bytes | Part | PartList]:
    if type(context) is not Context or context.model_extra or not isinstance(context.messages, list):
        return [Part("context", context)]  # more than messages and what we know of: neighbours may say something
    return [
        *(b'{"system_prompt":', Part("system_prompt", context.system_prompt)),
        *(b',"messages":[', PartList("messages", list(context.messages))),  # the caller goes on adding to his own
        *(b'],"tools":', Part("tools", context.tools), b"}"),
    ]


def _python(value: Any, path: str) -> Any:
    """What a model holds, or each model of a list. Raises NotJson, at `path`: a serializer of the model's own fails."""
    if isinstance(value, list):
        return [_python(item, join_path(path, at)) for at, item in enumerate(value)]
    if not isinstance(value, BaseModel):
        return value
    try:
        # mode="python": the JSON mode would replace lone surrogates in keys, so that two keys could become one.
        # serialize_as_any: what a subclass adds, such as a Tool of another package, is sent and so recorded as well.
        return value.model_dump(mode="python", warnings=False, serialize_as_any=True)
    except (ValueError, TypeError, RecursionError) as error:
        raise NotJson(path, f"{type(value).__name__} has no JSON form ({error})") from None


def _no_options() -> JsonValue:
    return _redacted_options(to_json_value(_recorded_options(SimpleStreamOptions()), "options", 2))


def _redacted_options(options: JsonValue) -> JsonValue:
    redacted = remove_secret_values({"options": options})
    assert isinstance(redacted, dict)
    return redacted["options"]


def _recorded_options(options: StreamOptions) -> dict[str, Any]:
    return {key: value for key, value in _python(options, "options").items() if not callable(value)}
