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
from openprogram.providers.runtime import initialize_provider_runtime

__all__ = [
    "ApiProvider",
    "EventStream",
    "UnknownApi",
    "get_api_provider",
    "initialize_provider_runtime",
    "register_api_provider",
    "unregister_api_provider",
]
