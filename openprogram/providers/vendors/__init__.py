"""Vendor providers: one adapter over pydantic-ai's model classes, one table row per api.

This is the only place for HTTP clients and SDKs. Importing it, and calling `vendor_providers()`, imports neither
pydantic-ai nor an SDK: that happens inside the first call. How requests, answers and failures are mapped:
docs/vendors.md. To add an api, see "Adding an api" there.
"""

import os
import time
from collections.abc import Callable, Mapping

from openprogram.providers.api_registry import ApiProvider
from openprogram.providers.vendors.apis import VENDOR_APIS, MissingExtra, VendorApi
from openprogram.providers.vendors.provider import Timeouts, VendorProvider, no_stored_key
from openprogram.providers.vendors.services import Service

__all__ = ["VENDOR_APIS", "MissingExtra", "Service", "Timeouts", "VendorApi", "VendorProvider", "vendor_providers"]


def _unix_ms() -> int:
    return time.time_ns() // 1_000_000


def vendor_providers(
    *,
    environ: Mapping[str, str] = os.environ,
    now_ms: Callable[[], int] = _unix_ms,
    stored_key: Callable[[str], str | None] = no_stored_key,
) -> dict[str, ApiProvider]:
    """A provider for each api of the table, by api name.

    `environ`: where an API key is looked up when a call brings none; read at each call. `now_ms`: the clock of
    `AssistantMessage.timestamp`, Unix milliseconds. `stored_key`: the key that is kept for a provider's name, or None;
    asked by each call that finds no other, in a thread. Keys of `openprogram config set-key` are known to the
    registered providers alone: a program that comes here says itself where its keys are.
    """
    return {row.api: VendorProvider(row, environ=environ, now_ms=now_ms, stored_key=stored_key) for row in VENDOR_APIS}
