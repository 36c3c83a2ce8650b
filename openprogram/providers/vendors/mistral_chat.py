"""pydantic-ai's Mistral model, taught what Mistral's chat streams do and what callers may ask for.

- Thinking and text may take turns; pydantic-ai has one part for each, and what was said first would grow again.
- Of several choices (`n`), the first is read, and of several reports of usage the last, as at OpenAI.
- An error in a stream is no chunk, and the SDK only says that it could not be read.
- Earlier answers keep the order of their thinking and text, and its signatures; a single text is a string.
- mistralai gives all its headers, and takes no field that it doesn't know: `Requests` adds those of the caller.

`_map_chunk` and `_map_model_response` are pydantic-ai's own steps for one chunk and one answer.
"""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import httpx2
from mistralai.client import Mistral
from mistralai.client import models as wire
from mistralai.client.errors import ResponseValidationError
from pydantic_ai.exceptions import ModelAPIError
from pydantic_ai.messages import (
    FinishReason,
    ModelMessage,
    ModelResponse,
    ModelResponseStreamEvent,
    TextPart,
    ThinkingPart,
    ToolCallPart,
)
from pydantic_ai.models import ModelRequestParameters, StreamedResponse
from pydantic_ai.models.mistral import MistralModel, MistralStreamedResponse
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.providers.mistral import MistralProvider
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

from openprogram.providers.types import ErrorReason
from openprogram.providers.vendors.dialect import Endpoint
from openprogram.providers.vendors.failures import Failure, ProviderFailed, provider_words
from openprogram.providers.vendors.resumed import resumed

__all__ = ["ChatModel"]


class ChatModel(MistralModel):
    """MistralModel for one call. Settings `extra_headers` and `extra_body` are sent too, as they are."""

    def __init__(self, name: str, endpoint: Endpoint, http: httpx2.AsyncClient, profile: ModelProfile) -> None:
        self._requests = _Requests(http, endpoint.timeout)
        # The SDK adds `/v1` itself; most people's base URLs end in it.
        server = endpoint.base_url.rstrip("/").removesuffix("/v1")
        # Without a client for synchronous calls, which there are none of, it would build one.
        client = Mistral(
            api_key=endpoint.api_key, server_url=server, client=cast(Any, self._requests), async_client=self._requests
        )
        super().__init__(name, provider=MistralProvider(mistral_client=client), profile=profile)

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: Any = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """See pydantic-ai's Model."""
        settings: dict[str, Any] = {**(model_settings or {}), "max_retries": 0}
        self._requests.headers = settings.pop("extra_headers", {})
        self._requests.fields = {**_response_format(model_request_parameters), **settings.pop("extra_body", {})}
        stream = super().request_stream(messages, cast(ModelSettings, settings), model_request_parameters)
        async with stream as response:
            yield resumed(response, _ChatStream)

    def _map_model_response(self, message: ModelResponse) -> wire.AssistantMessage | None:
        content: list[wire.ContentChunk] = []
        calls: list[wire.ToolCall] = []
        for part in message.parts:
            match part:
                case TextPart():
                    content.append(wire.TextChunk(text=part.content))
                case ThinkingPart():
                    content.append(_think_chunk(part))
                case ToolCallPart():
                    calls.append(self._map_tool_call(part))
        if not content and not calls:
            return None
        match content:
            case []:
                said: str | list[wire.ContentChunk] = ""
            case [wire.TextChunk() as text]:
                said = text.text
            case _:
                said = content
        return wire.AssistantMessage(content=said, tool_calls=calls or None)


def _think_chunk(part: ThinkingPart) -> wire.ThinkChunk:
    chunk = wire.ThinkChunk(thinking=[wire.TextChunk(text=part.content)])
    if part.signature:
        chunk.signature = part.signature
    return chunk


def _response_format(parameters: ModelRequestParameters) -> dict[str, Any]:
    output = parameters.output_object
    if output is None:
        return {}
    schema = {"name": output.name or "answer", "schema": output.json_schema, "description": output.description}
    given = {key: value for key, value in (schema | {"strict": output.strict}).items() if value is not None}
    return {"response_format": {"type": "json_schema", "json_schema": given}}


#: Fields that pydantic-ai sets by itself where there are tools.
_UNASKED = ("n", "top_p")


class _Requests:
    """httpx2's client as mistralai asks for one, with the caller's headers and fields in each request."""

    def __init__(self, http: httpx2.AsyncClient, timeout: httpx2.Timeout) -> None:
        self._http, self._timeout = http, timeout
        self.headers: Mapping[str, str] = {}
        self.fields: Mapping[str, Any] = {}

    def build_request(self, method: str, url: Any, *, content: Any = None, **others: Any) -> httpx2.Request:
        """See httpx2. The SDK's timeout is one for all; ours tells connecting from waiting."""
        # pydantic-ai's own choices, and nulls for what was not chosen
        given = {key: value for key, value in json.loads(content).items() if key not in _UNASKED and value is not None}
        body = given | dict(self.fields)
        others["timeout"] = self._timeout
        return self._http.build_request(method, url, content=json.dumps(body).encode(), **others)

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """See httpx2."""
        request.headers.update(self.headers)  # here, for the SDK's hooks read some
        return await self._http.send(request, **options)

    async def aclose(self) -> None:
        """Whoever made the client closes it."""

    def close(self) -> None:
        """The same."""


#: By Mistral's word, which pydantic-ai's table does not all have.
_FINISH_REASONS: dict[str, FinishReason] = {
    "stop": "stop",
    "length": "length",
    "model_length": "length",
    "tool_calls": "tool_call",
    "error": "error",
}


@dataclass
class _ChatStream(MistralStreamedResponse):
    _saying: str = field(default="", init=False)
    _part: int = field(default=0, init=False)
    _call_ids: dict[int, str] = field(default_factory=dict, init=False)

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        try:
            async for event in super()._get_event_iterator():
                yield event
        except ModelAPIError as error:
            if isinstance(error.__cause__, ResponseValidationError):
                raise _in_stream(error.__cause__.body) or error from error.__cause__
            raise

    def _map_chunk(self, chunk: wire.CompletionChunk) -> Iterator[ModelResponseStreamEvent]:
        choices, chunk.choices = chunk.choices, []
        if chunk.usage is not None:
            self._usage = RequestUsage()
        yield from super()._map_chunk(chunk)
        for choice in choices:
            if choice.index == 0:
                yield from self._map_choice(choice)

    def _map_choice(self, choice: wire.CompletionResponseStreamChoice) -> Iterator[ModelResponseStreamEvent]:
        if reason := choice.finish_reason:
            self.provider_details = {**(self.provider_details or {}), "finish_reason": reason}
            self.finish_reason = _FINISH_REASONS.get(reason)
        for piece in _pieces(choice.delta.content):
            kind = "thinking" if isinstance(piece, wire.ThinkChunk) else "text"
            if kind != self._saying:
                self._saying, self._part = kind, self._part + 1
            yield from self._map_piece(piece)
        for call in choice.delta.tool_calls or []:
            self._saying = ""
            yield from self._parts_manager.handle_tool_call_delta_events(
                vendor_part_id=self._call_key(call),
                tool_name=call.function.name or None,
                args=call.function.arguments,
                tool_call_id=_id_of(call),
            )

    def _map_piece(self, piece: "wire.ThinkChunk | str") -> Iterator[ModelResponseStreamEvent]:
        if isinstance(piece, str):
            yield from self._parts_manager.handle_text_delta(vendor_part_id=self._part, content=piece)
            return
        thought = "".join(each.text for each in piece.thinking if isinstance(each, wire.TextChunk))
        signature = piece.signature or None
        if thought or signature:
            yield from self._parts_manager.handle_thinking_delta(
                vendor_part_id=self._part, content=thought, signature=signature, provider_name=self.provider_name
            )

    def _call_key(self, call: wire.ToolCall) -> str:
        """Pieces of one call share an index. Whole calls may come without one: then another id is another call."""
        index, call_id = call.index or 0, _id_of(call)
        if call_id is not None:
            self._call_ids[index] = call_id
        return f"call {index} {self._call_ids.get(index, '')}"


def _id_of(call: wire.ToolCall) -> str | None:
    return None if call.id in (None, "", "null") else call.id  # the SDK's word for a missing one


def _pieces(content: Any) -> Iterator["wire.ThinkChunk | str"]:
    """Text and thinking of a delta, in order. `content` is a string or a list, and may change within one answer."""
    if isinstance(content, str):
        content = [wire.TextChunk(text=content)]
    for chunk in content or []:
        if isinstance(chunk, wire.ThinkChunk):
            yield chunk
        elif isinstance(chunk, wire.TextChunk) and chunk.text:
            yield chunk.text


def _in_stream(event: str) -> ProviderFailed | None:
    """The error that an event of a stream brings instead of a chunk; None: it is something else."""
    try:
        error = json.loads(event).get("data")
    except ValueError:
        return None
    if not isinstance(error, dict) or "choices" in error or (words := provider_words(error)) is None:
        return None
    inner = error["error"] if isinstance(error.get("error"), dict) else error
    kind = f"{inner.get('type')} {inner.get('code')}".lower()
    server: ErrorReason = "server"
    reason = next((reason for word, reason in _KINDS if word in kind), server)
    return ProviderFailed(Failure(reason, words, retryable=reason in ("server", "rate_limit", "overloaded")))


#: Words in the type or code of an error.
_KINDS: tuple[tuple[str, ErrorReason], ...] = (
    ("rate_limit", "rate_limit"),
    ("429", "rate_limit"),
    ("capacity", "overloaded"),
    ("overloaded", "overloaded"),
    ("3051", "context_overflow"),  # Mistral's number for it
    ("invalid", "invalid_request"),
    ("auth", "auth"),
)
