"""Single exchanges of recorded conversations, for tests that look at one thing. All of them: tests/wire."""

from typing import Any

from openprogram.providers.types import AssistantMessageEvent
from tests.shared_data import shared
from tests.wire.calls import Call, Place
from tests.wire.cases import WireCase, serve
from tests.wire.check import vendor_provider
from tests.wire.formats import APIS, FORMATS

__all__ = ["exchange_call", "exchange_events", "serve_case"]


def serve_case(name: str, **options: Any) -> Any:
    """A running server for the case `folder/name`, as a context manager that gives its URL."""
    return serve(_case(name), **options)


def exchange_call(name: str, url: Any, index: int) -> Call:
    """The recorded request of one exchange, as a caller of ours would make it."""
    case = _case(name)
    api = APIS[case.folder]
    return FORMATS[api].call(case.exchanges[index]["request"], Place(api, case.provider, url.base_url))


async def exchange_events(name: str, url: Any, index: int) -> list[AssistantMessageEvent]:
    """The events of one exchange of a case: the recorded request, asked through the adapter."""
    call = exchange_call(name, url, index)
    provider = vendor_provider(call.model.api)
    assert provider is not None
    return [event async for event in provider.stream_simple(call.model, call.context, call.options)]


def _case(name: str) -> WireCase:
    return WireCase(shared("wire", "cases", f"{name}.json"))
