"""Tokens and what they cost."""

from datetime import UTC, datetime
from decimal import Decimal

from genai_prices import Usage as PricedUsage
from genai_prices import calc_price
from genai_prices.types import PriceCalculation
from pydantic_ai.usage import RequestUsage

from openprogram.providers.types import Cost, Model, Usage

__all__ = ["usage_of"]

#: Vendors that genai-prices knows by name, where the server's address is not known here.
_BY_NAME = {"bedrock-converse-stream": "aws"}


def usage_of(model: Model, reported: RequestUsage, at_ms: int) -> Usage:
    """Ours for pydantic-ai's, which counts tokens read from and written to the cache among the input.

    Cost: by `model.cost`, US dollars per million tokens, where the model has one; otherwise by the price list of the
    installed genai-prices, where it knows the server and the model at `at_ms` (Unix milliseconds); otherwise 0.
    """
    cached = reported.cache_read_tokens + reported.cache_write_tokens
    usage = Usage(
        input=max(0, reported.input_tokens - cached),
        output=reported.output_tokens,
        cache_read=reported.cache_read_tokens,
        cache_write=reported.cache_write_tokens,
    )
    usage.total_tokens = usage.input + usage.output + usage.cache_read + usage.cache_write
    usage.cost = _own_cost(model, usage) if "cost" in model.model_fields_set else _list_cost(model, reported, at_ms)
    return usage


def _own_cost(model: Model, usage: Usage) -> Cost:
    cost = Cost(
        input=usage.input * model.cost.input / 1e6,
        output=usage.output * model.cost.output / 1e6,
        cache_read=usage.cache_read * model.cost.cache_read / 1e6,
        cache_write=usage.cache_write * model.cost.cache_write / 1e6,
    )
    cost.total = cost.input + cost.output + cost.cache_read + cost.cache_write
    return cost


def _list_cost(model: Model, reported: RequestUsage, at_ms: int) -> Cost:
    """By list. It has one price for all input; what its kinds cost is told by pricing the call without each.

    The input of the same size keeps the price's step. What tokens do not explain (searches) is in the total alone.
    """
    at = datetime.fromtimestamp(at_ms / 1000, UTC)
    name = None if model.base_url else _BY_NAME.get(model.api)
    if not (model.base_url or name) or not reported.has_values():
        return Cost()

    def price(usage: PricedUsage | RequestUsage) -> PriceCalculation:
        if name is not None:
            return calc_price(usage, model.id, provider_id=name, genai_request_timestamp=at)
        return calc_price(usage, model.id, provider_api_url=model.base_url, genai_request_timestamp=at)

    size, read, written = reported.input_tokens, reported.cache_read_tokens, reported.cache_write_tokens
    try:
        whole = price(reported)
        plain = price(PricedUsage(input_tokens=size)).input_price
        saved = plain - price(PricedUsage(input_tokens=size, cache_read_tokens=read)).input_price
    except Exception:  # noqa: BLE001 - a price list that cannot price a call must not fail it
        return Cost()
    each = plain / size if size else Decimal(0)
    cost_read = each * read - saved
    rest = whole.input_price - each * max(0, size - read - written) - cost_read
    cost_written = rest if written else Decimal(0)
    return Cost(
        input=float(whole.input_price - cost_read - cost_written),
        output=float(whole.output_price),
        cache_read=float(cost_read),
        cache_write=float(cost_written),
        total=float(whole.total_price),
    )
