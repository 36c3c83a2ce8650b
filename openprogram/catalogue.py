"""The models that are known without asking anyone: what genai-prices, a dependency of every vendor's extra, ships.

It says which ids a provider has, how large their context is, and what they cost. There is no list of our own, and no
model has to be in it: an id that is not known is sent as it is, and costs nothing that we could tell.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from openprogram.errors import OpenProgramError
from openprogram.providers.types import ModelCost

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, ModelPrice, Provider

__all__ = ["CatalogueMissing", "KnownModel", "find_model", "known_models"]


class CatalogueMissing(OpenProgramError):
    """genai-prices is not installed."""

    def __init__(self) -> None:
        super().__init__(
            "the list of models comes with the vendors' extras, and none of them is installed",
            next_step='For instance: pip install "openprogram[anthropic]".',
        )


@dataclass(frozen=True)
class KnownModel:
    """One model. `context_window`: tokens, None where that is not known. `cost`: US dollars a million tokens, or None.

    `cost_grows`: long prompts cost more; `cost` has the price of short ones.
    """

    id: str
    name: str
    context_window: int | None
    cost: ModelCost | None
    cost_grows: bool
    deprecated: bool


def known_models(provider_id: str, now: datetime) -> list[KnownModel]:
    """All models of a provider, by id. `provider_id`: genai-prices' name for it; `now`: whose prices count.

    Raises CatalogueMissing; KeyError: no such provider.
    """
    return sorted((_known(model, now) for model in _provider(provider_id).models), key=lambda model: model.id)


def find_model(provider_id: str, model_id: str, now: datetime) -> KnownModel | None:
    """What is known of one id, such as `claude-sonnet-4-5-20250929`; None: nothing, or no catalogue is installed."""
    try:
        model = _provider(provider_id).find_model(model_id)
    except (CatalogueMissing, KeyError):
        return None
    return None if model is None else _known(model, now)


def _provider(provider_id: str) -> "Provider":
    try:
        from genai_prices.data_snapshot import get_snapshot  # takes a second or two, and loads an HTTP client
    except ImportError as error:
        raise CatalogueMissing from error
    found = {provider.id: provider for provider in get_snapshot().providers}
    return found[provider_id]


def _known(model: "ModelInfo", now: datetime) -> KnownModel:
    prices = dict(_prices(model.get_prices(now)))
    return KnownModel(
        id=model.id,
        name=model.name or model.id,
        context_window=model.context_window,
        cost=_cost({kind: float(getattr(price, "base", price)) for kind, price in prices.items()}),
        cost_grows=any(hasattr(price, "tiers") for price in prices.values()),
        deprecated=bool(model.deprecated),
    )


def _prices(prices: "ModelPrice") -> "Iterator[tuple[str, Any]]":
    """Decimal, or TieredPrices, by kind of token."""
    for kind in ("input", "output", "cache_read", "cache_write"):
        price = getattr(prices, f"{kind}_mtok")
        if price is not None:
            yield kind, price


def _cost(prices: dict[str, float]) -> ModelCost | None:
    """None where not even the prompt has a price. Without a price of their own, cached tokens cost what others cost."""
    if "input" not in prices:
        return None
    return ModelCost(**{"cache_read": prices["input"], "cache_write": prices["input"], **prices})
