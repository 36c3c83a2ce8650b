"""`openprogram models`: what `--model provider:id` can name, with context windows and prices."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from openprogram.cli.model_choice import PROVIDERS
from openprogram.cli.render import print_json, print_table
from openprogram.errors import UsageError

if TYPE_CHECKING:
    from openprogram.catalogue import KnownModel

__all__ = ["list_models"]


def list_models(
    provider: Annotated[
        str | None, typer.Option("--provider", help=f"Only this provider's: {', '.join(PROVIDERS)}.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable.")] = False,
) -> None:
    """List the models that are known, with context window (tokens) and prices (US dollars a million tokens).

    A `+` says that long prompts cost more. The list is that of the installed genai-prices: older names and families are
    in it as well. What a provider serves today, the provider says; an id that isn't listed works too.
    """
    from openprogram.catalogue import known_models
    from openprogram.cli.state import current_time

    if provider is not None and provider not in PROVIDERS:
        raise UsageError(f"{provider!r} is not a known provider", next_step=f"One of: {', '.join(PROVIDERS)}.")
    now = current_time()
    chosen = {name: served for name, served in PROVIDERS.items() if provider in (None, name)}
    listed = [(name, model) for name, served in chosen.items() for model in known_models(served.listed_as, now)]
    if as_json:
        print_json([_fields(name, model) for name, model in listed])
    else:
        rows = [_row(name, model) for name, model in listed]
        print_table(("model", "context", "input", "output", "cache read", "cache write"), rows)


def _row(provider: str, model: "KnownModel") -> tuple[str, ...]:
    cost = model.cost
    prices = (cost.input, cost.output, cost.cache_read, cost.cache_write) if cost is not None else (None,) * 4
    window = "-" if model.context_window is None else f"{model.context_window:,}"
    more = "+" if model.cost_grows else ""
    return f"{provider}:{model.id}", window, *("-" if price is None else f"{price:g}{more}" for price in prices)


def _fields(provider: str, model: "KnownModel") -> dict[str, Any]:
    return {
        "model": f"{provider}:{model.id}",
        "provider": provider,
        "id": model.id,
        "name": model.name,
        "api": PROVIDERS[provider].api,
        "context_window": model.context_window,
        "cost": None if model.cost is None else model.cost.model_dump(),
        "cost_grows": model.cost_grows,
        "deprecated": model.deprecated,
    }
