"""The provider boundary. Importing it defines names and does nothing else.

`stream`, `stream_simple` and `complete` stay in `openprogram.providers.stream`: a function of a module's own name
here would hide the module.
"""

from openprogram.providers.api_registry import (
    ApiProvider,
    UnknownApi,
    get_api_provider,
    register_api_provider,
    unregister_api_provider,
)
from openprogram.providers.event_stream import EventStream

__all__ = [
    "ApiProvider",
    "EventStream",
    "UnknownApi",
    "get_api_provider",
    "initialize_provider_runtime",
    "register_api_provider",
    "unregister_api_provider",
]


def initialize_provider_runtime() -> None:
    """Start the process-wide runtime; the first provider lookup does it by itself.

    Raises RuntimeFailed: a built-in provider could not be registered.
    """
    # Here and not above: whoever needs a type or a recording should not pay for the runtime.
    from openprogram.providers import runtime

    runtime.initialize_provider_runtime()
