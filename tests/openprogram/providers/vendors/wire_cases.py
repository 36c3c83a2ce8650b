"""Recorded conversations with vendors, from the shared data, and the server that answers with them."""

import importlib.util
import sys
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, cast

from openprogram.providers.types import AssistantMessage, AssistantMessageEvent
from openprogram.providers.vendors import VendorProvider, vendor_providers
from tests.openprogram.providers.vendors.wire_requests import wire_request
from tests.shared_data import shared

__all__ = ["APIS", "case_names", "diff_json", "exchange_events", "final", "provider", "serve_case"]

#: The folders of the cases, and the api of ours that serves them.
APIS = {
    "anthropic-messages": "anthropic-messages",
    "openai-chat": "openai-completions",
    "openai-compatible": "openai-completions",
}


def case_names() -> list[str]:
    """`folder/name` of every case. Skips the module where there are none."""
    cases = shared("wire", "cases")
    return [f"{folder}/{path.stem}" for folder in APIS for path in sorted((cases / folder).glob("*.json"))]


@cache
def _serve_module() -> Any:
    spec = importlib.util.spec_from_file_location("wire_serve", shared("wire", "serve.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def serve_case(name: str, **options: Any) -> Any:
    """A running server for the case, as a context manager that gives its URL. Options: those of serve.py."""
    return _serve_module().serve_case(shared("wire", "cases", f"{name}.json"), **options)


def diff_json(recorded: Any, sent: Any) -> Iterator[str]:
    """Where two JSON values differ, as `/pointer: what` lines."""
    return cast(Iterator[str], _serve_module().diff_json(recorded, sent))


def provider(api: str, now_ms: Callable[[], int] = lambda: 1_700_000_000_000) -> VendorProvider:
    """The adapter for an api, without an environment and with a clock that stands still."""
    chosen = vendor_providers(environ={}, now_ms=now_ms)[api]
    assert isinstance(chosen, VendorProvider)
    return chosen


async def exchange_events(name: str, url: Any, index: int) -> list[AssistantMessageEvent]:
    """The events of one exchange of a case: the recorded request, asked through the adapter."""
    api = APIS[name.split("/")[0]]
    body = url.server.exchanges[index]["request"]["body"]
    vendor = "openrouter" if "openrouter" in name else ""
    model, context, options = wire_request(body, api, url.base_url, vendor)
    return [event async for event in provider(api).stream_simple(model, context, options)]


def final(events: list[AssistantMessageEvent]) -> AssistantMessage:
    """The message of the terminal event: there is one, and it is the last event."""
    terminal = [event for event in events if event.type in ("done", "error")]
    assert terminal == events[-1:]
    last = events[-1]
    if last.type == "done":
        assert last.reason == last.message.stop_reason
        return last.message
    assert last.type == "error"
    assert last.reason == last.error.stop_reason == "error"
    return last.error
