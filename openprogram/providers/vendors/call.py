"""One request to a vendor and its answer, as pydantic-ai streams it.

Imported at the first call: everything below here may name pydantic-ai and the SDKs.
"""

import json
from contextlib import AsyncExitStack
from functools import partial
from types import TracebackType
from typing import Any, Self, cast

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponseStreamEvent, SystemPromptPart
from pydantic_ai.models import StreamedResponse
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

from openprogram.pipeline.threads import run_in_thread
from openprogram.providers.types import Context, Model, StopReason, StreamOptions
from openprogram.providers.vendors.answer_form import AnswerForm
from openprogram.providers.vendors.dialect import Dialect, Endpoint
from openprogram.providers.vendors.failures import CUT_OFF, Failure, ProviderFailed, provider_failures, provider_words
from openprogram.providers.vendors.options import answer_tool_choice, common_settings, request_parameters
from openprogram.providers.vendors.request import vendor_messages
from openprogram.providers.vendors.surrogates import encodable_text
from openprogram.providers.vendors.wire import WireWatch, http_client

__all__ = ["VendorCall"]


class VendorCall:
    """An open answer: an async context manager, and an async iterator of pydantic-ai's events.

    Entering it sends the request and waits for the answer to begin; leaving it, early too, closes the response and
    the client. It opens no task and leaves no cancel scope open. Raises ProviderFailed on entry and while iterating.
    `form`: what the answer should be.
    """

    def __init__(
        self,
        dialect: Dialect,
        model: Model,
        context: Context,
        options: StreamOptions,
        endpoint: Endpoint,
        form: AnswerForm | None,
    ) -> None:
        self._dialect, self._model, self._context, self._options = dialect, model, context, options
        self._endpoint = endpoint
        self._form = form
        self._watch = WireWatch()
        self._stack = AsyncExitStack()
        self._response: StreamedResponse | None = None

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            http = await stack.enter_async_context(http_client(self._watch, self._endpoint.timeout))
            # In a thread of its own kind: AWS's configuration is files, and its credentials may come from a server.
            vendor = await run_in_thread(
                partial(self._dialect.vendor_model, self._model, self._endpoint, http), abandon_on_cancel=True
            )
            settings = self._settings()
            stream = vendor.request_stream(
                self._messages(settings, vendor.system),
                settings,
                request_parameters(self._context, self._form),
            )
            with provider_failures(self._watch):
                self._response = await stack.enter_async_context(stream)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.__aexit__(kind, error, trace)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ModelResponseStreamEvent:
        assert self._response is not None, "iterated before it was entered"
        with provider_failures(self._watch):
            return await anext(aiter(self._response))  # always the same iterator

    @property
    def usage(self) -> RequestUsage:
        """The tokens reported so far; none before the answer began."""
        return RequestUsage() if self._response is None else self._response.usage

    @property
    def closing_blocks(self) -> list[tuple[str, dict[str, Any]]]:
        """See Dialect; once the iterator has ended."""
        assert self._response is not None, "asked before it was entered"
        return self._dialect.closing_blocks(self._response)

    @property
    def paused(self) -> bool:
        """Whether the vendor waits to be asked to go on."""
        return self._response is not None and self._response.state == "suspended"

    def stop_reason(self) -> StopReason:
        """Why the model stopped, once the iterator has ended.

        Raises ProviderFailed: the stream was cut off, or the provider ended it for a reason that is a failure.
        """
        response, watch = self._response, self._watch
        assert response is not None, "asked before it was entered"
        if watch.stray_error is not None:
            raise ProviderFailed(Failure("server", _stray_words(watch.stray_error), retryable=True))
        if not self._dialect.is_whole(response, watch):
            raise ProviderFailed(CUT_OFF)  # of a refusal too: half of its words are no reason that anyone gave
        if response.finish_reason == "content_filter":
            raise ProviderFailed(Failure("content_filter", _refusal(response.provider_details or {}), retryable=False))
        if response.finish_reason == "error":
            raise ProviderFailed(Failure("server", "the provider ended the answer with an error", retryable=True))
        return _STOP_REASONS.get(response.finish_reason or "stop", "stop")

    def _messages(self, settings: ModelSettings, system: str) -> list[ModelMessage]:
        body = settings.get("extra_body")
        if not isinstance(body, dict) or not body.keys() & {"contents", "messages"}:
            return vendor_messages(self._context, self._model, self._dialect, system)
        prompt = encodable_text(self._context.system_prompt or "")
        return [ModelRequest(parts=[SystemPromptPart(prompt)] if prompt else [])]

    def _settings(self) -> ModelSettings:
        common = common_settings(self._model, self._options)
        choice = answer_tool_choice(self._context, self._options, self._form)
        own = self._dialect.settings(self._model, self._context, self._options)
        return cast(ModelSettings, {**common, **own, **choice})


#: By pydantic-ai's word. Reasons that it has no word for, such as Anthropic's `pause_turn`, are `stop`.
_STOP_REASONS: dict[str, StopReason] = {"stop": "stop", "length": "length", "tool_call": "toolUse"}


def _stray_words(line: str) -> str:
    try:
        return provider_words(json.loads(line)) or line
    except ValueError:
        return line


def _refusal(details: dict[str, object]) -> str:
    """The provider's explanation, with the category where it names one."""
    words = str(details.get("refusal") or "the provider's content filter ended the answer")
    category = details.get("refusal_category")
    return f"{words} (category: {category})" if category else words
