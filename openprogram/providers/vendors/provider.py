"""The provider of one api: `stream` and `stream_simple` as plain async generators.

Imports neither pydantic-ai nor an SDK before the first call. A call is one HTTP request: the SDKs' retries are off,
for trying again is the agent loop's business, and each attempt is a call of its own in a recording.
"""

from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from urllib.parse import urlsplit

from openprogram.pipeline.threads import run_in_thread
from openprogram.providers.event_stream import EventStream, as_event_stream
from openprogram.providers.types import (
    AssistantMessage,
    AssistantMessageEvent,
    Context,
    EventError,
    EventStart,
    Model,
    SimpleStreamOptions,
    StreamOptions,
)
from openprogram.providers.vendors.answer_form import answer_form
from openprogram.providers.vendors.apis import VendorApi
from openprogram.providers.vendors.call_options import prompt_cache, read_timeout_s
from openprogram.providers.vendors.services import Service, names_of, service_behind

__all__ = ["Timeouts", "VendorProvider", "no_stored_key"]


def no_stored_key(provider: str) -> None:
    """The stored key of a program that stores none."""


@dataclass(frozen=True)
class Timeouts:
    """How long a call waits, in seconds: for a connection, and for the next bytes once it has one.

    Ten minutes of silence is what both SDKs allow: a model that reasons sends nothing for long, and OpenAI sends no
    sign of life in between.
    """

    connect_s: float = 10.0
    read_s: float = 600.0


class VendorProvider:
    """An ApiProvider for one row of the table. Holds no client: each call opens and closes its own.

    `stored_key`: the key for a provider's name where neither the call nor the environment has one; asked in a thread.

    Its streams raise MissingExtra (the SDK is not installed), ValueError (options or contents that cannot be sent)
    and pydantic-ai's UserError (options that exclude each other). A failure of the provider, a missing API key
    included, is a terminal `error` event. Closing a stream early closes the HTTP response at once.
    """

    def __init__(
        self,
        api: VendorApi,
        *,
        environ: Mapping[str, str],
        now_ms: Callable[[], int],
        timeouts: Timeouts = Timeouts(),
        stored_key: Callable[[str], str | None] = no_stored_key,
    ) -> None:
        self._api, self._environ, self._now_ms, self._timeouts = api, environ, now_ms, timeouts
        self._stored_key = stored_key

    def stream(self, model: Model, context: Context, options: StreamOptions | None = None) -> EventStream:
        """Events of one call. Fields that StreamOptions does not declare go into the request as they are."""
        return as_event_stream(self._events(model, context, options or StreamOptions()), model)

    def stream_simple(self, model: Model, context: Context, options: SimpleStreamOptions | None = None) -> EventStream:
        """Events of one call, with reasoning as one word."""
        return as_event_stream(self._events(model, context, options or SimpleStreamOptions()), model)

    async def _events(
        self, model: Model, context: Context, options: StreamOptions
    ) -> AsyncGenerator[AssistantMessageEvent, None]:
        self._api.require()
        form = answer_form(options)
        read_s = read_timeout_s(options, self._timeouts.read_s)
        base_url = self._api.server(model)
        model = model.model_copy(update={"base_url": base_url})  # who answers decides on options and on the price
        service = service_behind(base_url, model.provider, self._api.service) if base_url else self._api.service
        key = options.api_key or await self._key_of(service)
        if key is None and not self._may_go_without(base_url, service):
            yield self._no_key(model, service)
            return
        # The first time this takes seconds, which the event loop has better uses for.
        dialect = await run_in_thread(self._api.load)
        # Only now: these name pydantic-ai.
        from openprogram.providers.vendors.call import VendorCall
        from openprogram.providers.vendors.dialect import Endpoint
        from openprogram.providers.vendors.failures import ProviderFailed
        from openprogram.providers.vendors.reply import Reply

        reply = Reply(model, dialect, self._now_ms, form)
        header = service.key_header if service else None
        endpoint = Endpoint(base_url, key, min(self._timeouts.connect_s, read_s), read_s, self._environ, header)
        call = VendorCall(dialect, model, prompt_cache(context, options), options, endpoint, form)
        try:
            async with call:
                yield EventStart()
                async for event in call:
                    for ours in reply.take(event):
                        yield ours
            ends = reply.done(call.stop_reason(), call.usage, call.closing_blocks, paused=call.paused)
        except ProviderFailed as failed:
            ends = iter([reply.failed(failed.failure.without(key), call.usage)])
        # The response is closed by now: whoever sees the terminal event may go on at once.
        for last in ends:
            yield last

    async def _key_of(self, service: Service | None) -> str | None:
        """The key for a company, from the environment, otherwise from where keys are stored by its name."""
        if service is None:
            return None
        for variable in (service.key_variable, *service.other_key_variables):
            if key := self._environ.get(variable):
                return key
        for name in names_of(service):
            if key := await run_in_thread(partial(self._stored_key, name)):  # reads a file
                return key
        return None

    def _may_go_without(self, base_url: str, service: Service | None) -> bool:
        if self._api.finds_credentials or (service and service.keyless):
            return True
        own_server = service is not None and service.is_at(urlsplit(base_url).hostname or "")
        return self._api.keyless_elsewhere and not own_server

    def _no_key(self, model: Model, service: Service | None) -> EventError:
        """The event of a call that no SDK has to be imported for."""
        if service is not None:
            next_step = f"set {service.key_variable}, or give options.api_key"
        else:
            host = urlsplit(model.base_url).hostname
            next_step = (
                f"give options.api_key. Whose server {host!r} is isn't known, so no key of the environment goes there"
            )
        message = AssistantMessage(
            api=model.api,
            provider=model.provider,
            model=model.id,
            stop_reason="error",
            timestamp=self._now_ms(),
            error_reason="auth",
            error_retryable=False,
            error_message=f"no API key for {model.provider!r}: {next_step}",
        )
        return EventError(reason="error", error=message)
