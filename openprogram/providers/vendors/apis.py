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

__all__ = ["VENDOR_APIS", "MissingExtra", "VendorApi"]

_PACKAGE = "openprogram.providers.vendors"


class MissingExtra(ImportError):
    """A call needs an SDK that is not installed. `extra`: the extra of openprogram that brings it."""

    def __init__(self, api: str, extra: str) -> None:
        super().__init__(api, extra)
        self.api, self.extra = api, extra

    def __str__(self) -> str:
        return f'calls to {self.api!r} need the extra {self.extra!r}: pip install "openprogram[{self.extra}]"'


@dataclass(frozen=True)
class VendorApi:
    """One api.

    `extra`: the extra with its SDK. `module`: the dialect's module, below this package. `base_url`: where the
    vendor serves it, for models that name no other place. `key_variable`: the environment variable with the key;
    `key_variables` has another one for some values of `model.provider`. `keyless_elsewhere`: servers other than
    the vendor's own often want no key, so a call to them goes out without one.
    """

    api: str
    extra: str
    module: str
    base_url: str
    key_variable: str
    key_variables: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    keyless_elsewhere: bool = False

    def load(self) -> "Dialect":
        """The dialect; imports pydantic-ai and the SDK. Raises MissingExtra: one of them is not installed."""
        try:
            # A module is the implementation: its functions and constants are the protocol's members.
            return cast("Dialect", importlib.import_module(f"{_PACKAGE}.{self.module}"))
        except ImportError as error:
            raise MissingExtra(self.api, self.extra) from error


VENDOR_APIS = (
    VendorApi(
        api="anthropic-messages",
        extra="anthropic",
        module="anthropic_messages",
        base_url="https://api.anthropic.com",
        key_variable="ANTHROPIC_API_KEY",
    ),
    VendorApi(
        api="openai-completions",
        extra="openai",
        module="openai_completions",
        base_url="https://api.openai.com/v1",
        key_variable="OPENAI_API_KEY",
        # A key that was made for one company is not sent to another.
        key_variables=MappingProxyType({"openrouter": "OPENROUTER_API_KEY"}),
        keyless_elsewhere=True,
    ),
)
