"""The apis that the adapter answers for, as a table: all that differs before an SDK is imported.

What differs afterwards (how the client is built, which settings exist, what must be sent back) is a module per
row that fulfils `openprogram.providers.vendors.dialect.Dialect`.
"""

import importlib
import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

from openprogram.errors import OpenProgramError
from openprogram.providers.types import Model
from openprogram.providers.vendors.services import (
    ANTHROPIC,
    AWS,
    COMPATIBLE,
    GOOGLE,
    MISTRAL,
    OPENAI,
    VERTEX,
    Service,
)

if TYPE_CHECKING:  # the protocol's signatures name pydantic-ai's types; importing this table must not load them
    from openprogram.providers.vendors.dialect import Dialect

__all__ = ["VENDOR_APIS", "MissingExtra", "Service", "VendorApi"]

_PACKAGE = "openprogram.providers.vendors"


class MissingExtra(OpenProgramError, ImportError):
    """A call needs an SDK that is not installed. `extra`: the extra of openprogram that brings it."""

    def __init__(self, api: str, extra: str) -> None:
        super().__init__(f'calls to {api!r} need the extra {extra!r}: pip install "openprogram[{extra}]"')
        self.api, self.extra = api, extra


@dataclass(frozen=True)
class VendorApi:
    """One api.

    `extra`: the extra with its SDK. `sdk`: that, as a module. `module`: the dialect's, below this package. `service`:
    the vendor's own; `services`: others with a server for this api, by `model.provider`. `keyless_elsewhere`: servers
    of others often want no key, so a call to them goes out without one. `finds_credentials`: without a key, the
    dialect looks for credentials of another kind.
    """

    api: str
    extra: str
    sdk: str
    module: str
    service: Service
    services: Mapping[str, Service] = field(default_factory=lambda: MappingProxyType({}))
    keyless_elsewhere: bool = False
    finds_credentials: bool = False

    def server(self, model: Model) -> str:
        """The base URL that a call to `model` goes to; "" where the dialect finds one.

        Raises ValueError: customers of the model's provider have a server each, and the model names none; or what it
        names is no URL of HTTP.
        """
        service = self.services.get(model.provider, self.service)
        if not (model.base_url or service.base_url or self.finds_credentials):
            raise ValueError(f"models of {model.provider!r} need a base_url: each customer has a server of their own")
        if model.base_url and urlsplit(model.base_url).scheme not in ("http", "https"):
            raise ValueError(f"base_url {model.base_url!r} must begin with http:// or https://")
        return model.base_url or service.base_url

    def require(self) -> None:
        """Look whether the extra is installed, which takes no time, where `load` takes seconds. Raises MissingExtra."""
        if not (_is_installed("pydantic_ai") and _is_installed(self.sdk)):
            raise MissingExtra(self.api, self.extra)

    def load(self) -> "Dialect":
        """The dialect; imports pydantic-ai and the SDK. Raises MissingExtra: one of them is not installed."""
        try:
            # A module is the implementation: its functions and constants are the protocol's members.
            return cast("Dialect", importlib.import_module(f"{_PACKAGE}.{self.module}"))
        except ImportError as error:
            raise MissingExtra(self.api, self.extra) from error


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ImportError:  # nor is the package around it
        return False


VENDOR_APIS = (
    VendorApi(
        api="anthropic-messages",
        extra="anthropic",
        sdk="anthropic",
        module="anthropic_messages",
        service=ANTHROPIC,
    ),
    VendorApi(
        api="openai-completions",
        extra="openai",
        sdk="openai",
        module="openai_completions",
        service=OPENAI,
        services=COMPATIBLE,
        keyless_elsewhere=True,
    ),
    VendorApi(
        api="openai-responses",
        extra="openai",
        sdk="openai",
        module="openai_responses",
        service=OPENAI,
        services=COMPATIBLE,
        keyless_elsewhere=True,
    ),
    VendorApi(
        api="google-generative-ai",
        extra="google",
        sdk="google.genai",
        module="google_generative_ai",
        service=GOOGLE,
        services=MappingProxyType({"google-vertex": VERTEX, "vertex": VERTEX}),
        keyless_elsewhere=True,
    ),
    VendorApi(
        api="bedrock-converse-stream",
        extra="bedrock",
        sdk="boto3",
        module="bedrock_converse_stream",
        service=AWS,
        finds_credentials=True,
    ),
    VendorApi(
        api="mistral-conversations",
        extra="mistral",
        sdk="mistralai",
        module="mistral_conversations",
        service=MISTRAL,
    ),
)
