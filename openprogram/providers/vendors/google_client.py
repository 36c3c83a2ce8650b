"""google-genai's client and pydantic-ai's model for Gemini, as the adapter needs them.

The client takes nothing from the environment: no key, no base URL, no project, no replay mode of its own. A call is
one HTTP request over the client that it is given: google-genai would go on by itself with an answer that was cut at a
limit.
"""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any, cast

import httpx2
from google.genai import Client
from google.genai.client import DebugConfig
from google.genai.models import AsyncModels
from google.genai.types import AutomaticFunctionCallingConfigDict, GenerateContentResponse, HttpOptions
from pydantic_ai.exceptions import UnexpectedModelBehavior
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import ModelRequestParameters, StreamedResponse
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.settings import ModelSettings

from openprogram.providers.vendors.dialect import Endpoint
from openprogram.providers.vendors.failures import ProviderFailed
from openprogram.providers.vendors.google_parts import Chunks
from openprogram.providers.vendors.google_wire import RawEvents
from openprogram.providers.vendors.wire import tls_context

__all__ = ["FIRST_CALL", "ContentsClient", "ContentsModel"]

#: The setting with the number of the first call that comes without an id.
FIRST_CALL = "google_first_call"

#: Where a key is a token.
_VERTEX = "aiplatform.googleapis.com"

#: The SDK demands a key, and sends it, even where a header says who calls.
_NO_KEY = "no-key"


class ContentsModel(GoogleModel):
    """GoogleModel that sends the `extra_body` of its settings, which pydantic-ai's does not."""

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: Any = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """See GoogleModel."""
        settings = cast(dict[str, Any], {**(model_settings or {})})
        client = cast(ContentsClient, self.client)
        client.aio.models.body = settings.pop("extra_body", {})
        client.aio.models.chunks = Chunks(count(settings.pop(FIRST_CALL, 1)))
        stream = super().request_stream(messages, cast(ModelSettings, settings), model_request_parameters, run_context)
        async with stream as response:
            yield response


class ContentsClient(Client):
    """google-genai's client, for ContentsModel."""

    def __init__(self, endpoint: Endpoint, http: httpx2.AsyncClient) -> None:
        raw = RawEvents()
        http.event_hooks = {
            "request": [_Request(endpoint).on_request],
            "response": [*http.event_hooks["response"], raw.on_response],
        }
        # Its own clients are never used; without a context each would read the certificate store.
        unused = {"verify": tls_context(), "ssl": tls_context()}
        super().__init__(
            vertexai=False,
            api_key=endpoint.api_key or _NO_KEY,
            debug_config=DebugConfig(client_mode=None, replays_directory=None, replay_id=None),
            http_options=HttpOptions(
                base_url=endpoint.base_url,
                api_version=_api_version(endpoint.base_url),
                httpx_async_client=http,
                client_args=unused,
                async_client_args=unused,
            ),
        )
        self._own_aio = _Aio(_Models(super().aio.models, raw))

    @property
    def aio(self) -> Any:
        """What pydantic-ai asks."""
        return self._own_aio


@dataclass
class _Request:
    endpoint: Endpoint

    async def on_request(self, request: httpx2.Request) -> None:
        """httpx2's request hook. The SDK sets one timeout for all, and knows keys alone; a caller's header stays."""
        request.extensions["timeout"] = self.endpoint.timeout.as_dict()
        key = request.headers.get("x-goog-api-key")
        is_token = (request.url.host or "").endswith(_VERTEX) and key == self.endpoint.api_key
        if key == _NO_KEY or is_token:
            del request.headers["x-goog-api-key"]
        if is_token:
            request.headers.setdefault("authorization", f"Bearer {key}")


def _api_version(base_url: str) -> str:
    """Nothing where the base URL names a version itself, as Vertex AI's must: its path goes on behind it."""
    return "" if "/v1" in base_url else "v1beta"


@dataclass
class _Aio:
    models: "_Models"


@dataclass
class _Models:
    models: AsyncModels
    raw: RawEvents
    body: dict[str, Any] = field(default_factory=dict)
    chunks: Chunks = field(default_factory=Chunks)

    async def generate_content_stream(
        self, *, model: str, contents: Any, config: dict[str, Any]
    ) -> AsyncIterator[GenerateContentResponse]:
        """See AsyncModels. The request's own `contents` are in `body`."""
        if config.get("response_modalities") == ["TEXT"]:  # the default, which older models do not know
            del config["response_modalities"]
        config["http_options"]["extra_body"] = self.body
        config["automatic_continuation"] = False
        config["automatic_function_calling"] = AutomaticFunctionCallingConfigDict(disable=True)
        stream = await self.models.generate_content_stream(model=model, contents=contents, config=cast(Any, config))
        return self._translated(stream)

    async def _translated(
        self, stream: AsyncIterator[GenerateContentResponse]
    ) -> AsyncGenerator[GenerateContentResponse, None]:
        async with aclosing(cast(AsyncGenerator[GenerateContentResponse, None], stream)):
            async for chunk in stream:
                if not self.raw.is_stream:
                    raise UnexpectedModelBehavior("no event stream")
                yield self.chunks.translated(chunk, self.raw.waiting.popleft() if self.raw.waiting else None)
        if self.chunks.failure:
            raise ProviderFailed(self.chunks.failure)
        if closing := self.chunks.closing():
            yield closing
