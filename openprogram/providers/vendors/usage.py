"""Tokens and what they cost."""

from pydantic_ai.usage import RequestUsage

from openprogram.providers.types import Cost, Model, Usage

__all__ = ["usage_of"]


def usage_of(model: Model, reported: RequestUsage) -> Usage:
    """Ours for pydantic-ai's, which counts tokens read from and written to the cache among the input.

    Cost: by `model.cost`, US dollars per million tokens.
    """
    cached = reported.cache_read_tokens + reported.cache_write_tokens
    usage = Usage(
        input=max(0, reported.input_tokens - cached),
        output=reported.output_tokens,
        cache_read=reported.cache_read_tokens,
        cache_write=reported.cache_write_tokens,
    )
    usage.total_tokens = usage.input + usage.output + usage.cache_read + usage.cache_write
    usage.cost = Cost(
        input=usage.input * model.cost.input / 1e6,
        output=usage.output * model.cost.output / 1e6,
        cache_read=usage.cache_read * model.cost.cache_read / 1e6,
        cache_write=usage.cache_write * model.cost.cache_write / 1e6,
    )
    usage.cost.total = usage.cost.input + usage.cost.output + usage.cost.cache_read + usage.cost.cache_write
    return usage
