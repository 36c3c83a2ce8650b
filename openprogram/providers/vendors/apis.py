"""The apis that the adapter answers for, as a table: all that differs before an SDK is imported.

What differs afterwards (how the client is built, which settings exist, what must be sent back) is a module per
row that fulfils `openprogram.providers.vendors.dialect.Dialect`.
"""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:  # the protocol's signatures name pydantic-ai's types; importing this table must not load them
    from openprogram.providers.vendors.dialect import Dialect

__all__ = ["VENDOR_APIS", "MissingExtra", "Service", "VendorApi"]

_PACKAGE = "openprogram.providers.vendors"


class MissingExtra(ImportError):
    """A call needs an SDK that is not installed. `extra`: the extra of openprogram that brings it."""

    def __init__(self, api: str, extra: str) -> None:
        super().__init__(api, extra)
        self.api, self.extra = api, extra

    def __str__(self) -> str:
        return f'calls to {self.api!r} need the extra {self.extra!r}: pip install "openprogram[{self.extra}]"'


@dataclass(frozen=True)
class Service:
    """Where an api is served, for models that name no other place, and the environment variable with the key for it."""

    base_url: str
    key_variable: str


@dataclass(frozen=True)
class VendorApi:
    """One api.

    `extra`: the extra with its SDK. `module`: the dialect's module, below this package. `service`: the vendor's own;
    `services`: others, by `model.provider`, so that a key which was made for one company is not sent to another.
    `keyless_elsewhere`: servers that are none of these often want no key, so a call to them goes out without one.
    `finds_credentials`: without a key, the dialect looks for credentials of another kind.
    """

    api: str
    extra: str
    module: str
    service: Service
    services: Mapping[str, Service] = field(default_factory=lambda: MappingProxyType({}))
    keyless_elsewhere: bool = False
    finds_credentials: bool = False

    def service_of(self, provider: str) -> Service:
        """The service behind the name of a provider; the vendor's own where it isn't known."""
        return self.services.get(provider, self.service)

    def load(self) -> "Dialect":
        """The dialect; imports pydantic-ai and the SDK. Raises MissingExtra: one of them is not installed."""
        try:
            # A module is the implementation: its functions and constants are the protocol's members.
            return cast("Dialect", importlib.import_module(f"{_PACKAGE}.{self.module}"))
        except ImportError as error:
            raise MissingExtra(self.api, self.extra) from error


_OPENAI = Service("https://api.openai.com/v1", "OPENAI_API_KEY")

#: Others that speak OpenAI's protocols, by `model.provider`.
_COMPATIBLE = MappingProxyType(
    {
        "deepseek": Service("https://api.deepseek.com", "DEEPSEEK_API_KEY"),
        "groq": Service("https://api.groq.com/openai/v1", "GROQ_API_KEY"),
        "openrouter": Service("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
        "perplexity": Service("https://api.perplexity.ai", "PERPLEXITY_API_KEY"),
    }
)

VENDOR_APIS = (
    VendorApi(
        api="anthropic-messages",
        extra="anthropic",
        module="anthropic_messages",
        service=Service("https://api.anthropic.com", "ANTHROPIC_API_KEY"),
    ),
    VendorApi(
        api="openai-completions",
        extra="openai",
        module="openai_completions",
        service=_OPENAI,
        services=_COMPATIBLE,
        keyless_elsewhere=True,
    ),
    VendorApi(
        api="openai-responses",
        extra="openai",
        module="openai_responses",
        service=_OPENAI,
        services=_COMPATIBLE,
        keyless_elsewhere=True,
    ),
    VendorApi(
        api="bedrock-converse-stream",
        extra="bedrock",
        module="bedrock_converse_stream",
        service=Service("", "AWS_BEARER_TOKEN_BEDROCK"),  # a server per region
        finds_credentials=True,
    ),
    VendorApi(
        api="mistral-conversations",
        extra="mistral",
        module="mistral_conversations",
        service=Service("https://api.mistral.ai", "MISTRAL_API_KEY"),
    ),
)
