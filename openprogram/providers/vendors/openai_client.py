"""OpenAI's client, for the two apis that it serves."""

from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx2

from openprogram.providers.types import Model, StreamOptions
from openprogram.providers.vendors.dialect import Endpoint

__all__ = ["cache_fields", "client_arguments", "is_openai"]

#: Servers of OpenAI's own models.
_OPENAI_HOSTS = ("openai.com", "azure.com")

#: The SDK demands a key, and sends it, even to a server that wants none.
_NO_KEY = "no-key"


def is_openai(base_url: str) -> bool:
    """Whether OpenAI or Azure answers there. Empty: OpenAI itself."""
    host = urlsplit(base_url).hostname or ""
    return not base_url or any(host == name or host.endswith("." + name) for name in _OPENAI_HOSTS)


def client_arguments(endpoint: Endpoint, http: httpx2.AsyncClient) -> dict[str, Any]:
    """What `AsyncOpenAI` is built from: over `http`, without retries, and without a key where there is none.

    A query in the base URL, such as Azure's `?api-version=`, goes with each request.
    """
    key, url = endpoint.api_key, urlsplit(endpoint.base_url)
    in_header = {endpoint.key_header: key} if endpoint.key_header and key else {}
    if key is None or in_header:
        http.event_hooks = {**http.event_hooks, "request": [_leave_out_key]}
    return {
        "api_key": _NO_KEY if key is None or in_header else key,
        "base_url": url._replace(query="").geturl(),
        "default_query": dict(parse_qsl(url.query)),
        "default_headers": in_header,
        "max_retries": 0,
        "timeout": endpoint.timeout,
        "http_client": http,
    }


def cache_fields(model: Model, options: StreamOptions) -> dict[str, Any]:
    """What OpenAI's prompt cache is told. Other servers may refuse fields that they do not know."""
    fields: dict[str, Any] = {}
    if is_openai(model.base_url):
        if options.session_id is not None:
            fields["prompt_cache_key"] = options.session_id
        if options.cache_retention == "long":
            fields["prompt_cache_retention"] = "24h"
    return fields


async def _leave_out_key(request: httpx2.Request) -> None:
    """httpx2's request hook. A header that the caller set stays."""
    if request.headers.get("authorization") == f"Bearer {_NO_KEY}":
        del request.headers["authorization"]
