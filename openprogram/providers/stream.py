"""Call a model: the provider is looked up, which makes the runtime ready, and the call delegated.

And one question that a caller may have: whether it is worth waiting for a provider.
"""

from openprogram.providers.api_registry import get_api_provider
from openprogram.providers.event_stream import EventStream, as_event_stream
from openprogram.providers.runtime import ReplayActive, get_activation, initialize_provider_runtime
from openprogram.providers.types import AssistantMessage, Context, Model, SimpleStreamOptions, StreamOptions

__all__ = ["answers_are_recorded", "complete", "stream", "stream_simple"]


def stream(model: Model, context: Context, options: StreamOptions | None = None) -> EventStream:
    """The events of one call; it begins when the stream is iterated, awaited or entered.

    Raises UnknownApi: no provider is registered for `model.api`. RuntimeFailed: the runtime could not start.
    """
    return as_event_stream(get_api_provider(model.api).stream(model, context, options), model)


def stream_simple(model: Model, context: Context, options: SimpleStreamOptions | None = None) -> EventStream:
    """As `stream`, with options that mean the same for every api."""
    return as_event_stream(get_api_provider(model.api).stream_simple(model, context, options), model)


async def complete(model: Model, context: Context, options: StreamOptions | None = None) -> AssistantMessage:
    """The final message of one call; a provider's failure is such a message too.

    Raises as `stream`. StreamIncomplete: the stream ended without a final message.
    """
    return await stream(model, context, options)


def answers_are_recorded() -> bool:
    """Whether this process replays: then no provider needs time, and a wait before another attempt is pointless.

    Raises RuntimeFailed: the runtime could not start.
    """
    initialize_provider_runtime()
    return isinstance(get_activation(), ReplayActive)
