"""pydantic-ai's Converse model over httpx2 instead of boto3's own HTTP.

boto3 is synchronous. pydantic-ai reads its streams in threads, one for as long as a read waits, from a pool of forty
that the whole program shares: a cancelled read lives on until a timeout, and forty silent models stop everything else
that needs a thread. So boto3 does here what takes no waiting: it checks the parameters, writes the body, signs the
request, and reads errors and frames. In between, httpx2 sends the request and receives the answer, as for all vendors.

- Out: botocore's `before-send` event, by which others stub whole services. The handler keeps the signed request.
- Back: `_get_event_iterator`, which pydantic-ai asks subclasses to implement, over its own `_map_chunk`.
"""

import base64
import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any, cast

import httpx2
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.client import BaseClient
from botocore.eventstream import EventStreamBuffer
from botocore.exceptions import BotoCoreError, ClientError, EventStreamError, ParamValidationError
from botocore.parsers import EventStreamJSONParser, create_parser
from pydantic_ai.messages import ModelMessage, ModelResponseStreamEvent
from pydantic_ai.models import ModelRequestParameters, StreamedResponse

# Private, as `_map_chunk` below: tables of AWS's errors and events that pydantic-ai keeps up.
from pydantic_ai.models.bedrock import BedrockConverseModel, BedrockStreamedResponse, _map_api_errors
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.providers.bedrock import BedrockProvider
from pydantic_ai.settings import ModelSettings

from openprogram.providers.vendors.aws import no_credentials
from openprogram.providers.vendors.resumed import resumed

__all__ = ["ConverseModel", "answer_is_whole"]

_OPERATION = "ConverseStream"
_EVENT = f"bedrock-runtime.{_OPERATION}"

#: Before redacted data that is no text, which a message can only hold as base64.
_BINARY = b"base64:"


class ConverseModel(BedrockConverseModel):
    """BedrockConverseModel for one call. `client` prepares the request, `http` sends it.

    `bearer_token`: a Bedrock API key, in place of a signature. Setting `extra_body`: more fields of the request, merged
    into those that are objects. Its stream raises ValueError (parameters that AWS's description of the service
    refuses) and ProviderFailed (no credentials).
    """

    def __init__(
        self, name: str, client: BaseClient, http: httpx2.AsyncClient, bearer_token: str | None, profile: ModelProfile
    ) -> None:
        super().__init__(name, provider=BedrockProvider(bedrock_client=client), profile=profile)
        self._boto, self._http, self._bearer_token = client, http, bearer_token

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: Any = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """See pydantic-ai's Model."""
        settings: dict[str, Any] = {**(model_settings or {})}
        extra = settings.pop("extra_body", {})
        settings.pop("parallel_tool_calls", None)  # Converse has no word for it
        exchange = _Exchange(self._boto, extra, keep_tool_choice="tool_choice" in settings)
        with _botos_complaints():
            async with super().request_stream(
                messages, cast(ModelSettings, settings), model_request_parameters
            ) as plan:
                pass  # nothing is open: the request is ready, and its stream an empty one
        with _map_api_errors(self.model_name):
            response = await exchange.send(self._http, self._bearer_token)
        try:
            yield resumed(plan, _ConverseStream, answer=exchange.frames(response))
        finally:
            await response.aclose()


@dataclass(kw_only=True)
class _ConverseStream(BedrockStreamedResponse):
    """BedrockStreamedResponse that waits in the event loop. `ended`: usage has come, which AWS sends last."""

    answer: AsyncIterator[dict[str, Any]]
    ended: bool = field(default=False, init=False)

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        with _map_api_errors(self.model_name):
            async for chunk in self.answer:
                self.ended = self.ended or "metadata" in chunk
                for event in self._map_chunk(cast(Any, chunk)):
                    yield event


def answer_is_whole(response: StreamedResponse) -> bool:
    """Whether both `messageStop` and, behind it, `metadata` have come."""
    stopped = "finish_reason" in (response.provider_details or {})
    return isinstance(response, _ConverseStream) and response.ended and stopped


class _Exchange:
    """One signed request, and the reader of its answer."""

    def __init__(self, client: BaseClient, extra: Mapping[str, Any], *, keep_tool_choice: bool) -> None:
        self._extra, self._keep_tool_choice = extra, keep_tool_choice
        self._operation = client.meta.service_model.operation_model(_OPERATION)
        self._protocol = client.meta.service_model.resolved_protocol
        self._request: AWSPreparedRequest | None = None
        client.meta.events.register(f"before-call.{_EVENT}", self._complete)
        client.meta.events.register(f"before-send.{_EVENT}", self._keep)

    def _complete(self, params: dict[str, Any], **_: Any) -> None:
        """botocore's event before signing: the body as the caller wants it."""
        body = json.loads(params["body"])
        if not self._keep_tool_choice and "toolConfig" in body:
            body["toolConfig"].pop("toolChoice", None)  # `auto`, which many models refuse to be told
        for message in body["messages"]:
            _restore_binary(message["content"])
        for name, value in self._extra.items():
            ours = body.get(name)
            body[name] = {**ours, **value} if isinstance(ours, dict) and isinstance(value, dict) else value
        params["body"] = json.dumps(body).encode()

    def _keep(self, request: AWSPreparedRequest, **_: Any) -> AWSResponse:
        """botocore's event instead of sending."""
        self._request = request
        return AWSResponse(request.url, 200, {}, BytesIO())

    async def send(self, http: httpx2.AsyncClient, bearer_token: str | None) -> httpx2.Response:
        """The answer, once it has begun. To be closed by the caller. Raises ClientError: an error status."""
        signed = self._request
        assert signed is not None, "sent before it was prepared"
        headers = httpx2.Headers(list(signed.headers.items()))
        if bearer_token is not None:
            headers.setdefault("authorization", f"Bearer {bearer_token}")
        response = await http.send(
            http.build_request(signed.method, signed.url, headers=headers, content=signed.body), stream=True
        )
        if response.status_code == 200:
            return response
        try:
            body = await response.aread()
        finally:
            await response.aclose()
        answer = {"status_code": response.status_code, "headers": dict(response.headers), "body": body}
        raise ClientError(create_parser(self._protocol).parse(answer, self._operation.output_shape), _OPERATION)

    async def frames(self, response: httpx2.Response) -> AsyncIterator[dict[str, Any]]:
        """The events of the answer. Raises EventStreamError: one is an exception; ParserError: one is damaged."""
        buffer, parser = EventStreamBuffer(), EventStreamJSONParser()
        shape = self._operation.get_event_stream_output()
        async for piece in response.aiter_bytes():
            buffer.add_data(piece)
            for frame in buffer:
                answer = frame.to_response_dict()
                event = parser.parse(answer, shape)
                if answer["status_code"] != 200:
                    raise EventStreamError(_named(event, answer), _OPERATION)
                _mark_binary(event)
                yield event


def _named(error: dict[str, Any], answer: Mapping[str, Any]) -> dict[str, Any]:
    """The error of a frame, also where botocore's description of the service does not know it."""
    if not error["Error"]["Code"]:
        words = json.loads(answer["body"] or "{}")
        error["Error"] = {"Code": answer["headers"].get(":exception-type", ""), "Message": words.get("message", "")}
    return error


def _mark_binary(event: dict[str, Any]) -> None:
    """pydantic-ai takes redacted reasoning for text. What is none becomes text here, and bytes again when sent back."""
    reasoning = event.get("contentBlockDelta", {}).get("delta", {}).get("reasoningContent", {})
    data: bytes = reasoning.get("redactedContent", b"")
    if data.startswith(_BINARY) or not _is_text(data):
        reasoning["redactedContent"] = _BINARY + base64.b64encode(data)


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _restore_binary(content: list[dict[str, Any]]) -> None:
    for block in content:
        reasoning = block.get("reasoningContent", {})
        data = base64.b64decode(reasoning.get("redactedContent", ""))
        if data.startswith(_BINARY):
            reasoning["redactedContent"] = data.removeprefix(_BINARY).decode()


@contextmanager
def _botos_complaints() -> Iterator[None]:
    """What boto3 finds wrong before anything is sent: with the parameters, or with the credentials."""
    try:
        yield
    except ParamValidationError as error:
        raise ValueError(str(error)) from error
    except BotoCoreError as error:
        raise no_credentials(error) from error
