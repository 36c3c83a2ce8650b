"""Which model the options of a command mean."""

from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from openprogram.errors import UsageError

if TYPE_CHECKING:
    from openprogram.providers.types import Model

__all__ = ["PROVIDERS", "Served", "choose_model", "with_known_facts"]


@dataclass(frozen=True)
class Served:
    """How a provider serves its models.

    `listed_as`: the provider's name in the catalogue. `base_url`: "" where the api knows it.
    """

    api: str
    listed_as: str
    base_url: str = ""


#: What `--model provider:id` knows. Any other server takes `--api`, `--base-url` and `--model-id`.
PROVIDERS: Final = MappingProxyType(
    {
        "anthropic": Served("anthropic-messages", "anthropic"),
        "bedrock": Served("bedrock-converse-stream", "aws"),
        "deepseek": Served("openai-completions", "deepseek"),
        "fireworks": Served("openai-completions", "fireworks"),
        "google": Served("google-generative-ai", "google"),
        "groq": Served("openai-completions", "groq"),
        "mistral": Served("mistral-conversations", "mistral"),
        "openai": Served("openai-completions", "openai"),
        "openrouter": Served("openai-completions", "openrouter", "https://openrouter.ai/api/v1"),
        "perplexity": Served("openai-completions", "perplexity"),
        "together": Served("openai-completions", "together"),
    }
)

_HOW: Final = (
    f"Write --model provider:id ({', '.join(PROVIDERS)}), or --api, --base-url and --model-id for another server."
)


def choose_model(model: str | None, api: str | None, base_url: str | None, model_id: str | None) -> "Model":
    """The model of `--model provider:id`, or of `--api` and `--model-id`; `--base-url` goes with either.

    Raises UsageError: neither or both ways, an unknown provider, or a base URL that isn't HTTP's.
    """
    from openprogram.providers.types import Model

    if base_url is not None and not base_url.startswith(("http://", "https://")):
        raise UsageError(f"--base-url {base_url!r} must begin with http:// or https://")

    if model is None:
        if api is None or model_id is None:
            raise UsageError(_what_is_missing(api, base_url, model_id), next_step=_HOW)
        return Model(id=model_id, api=api, provider="custom", base_url=base_url or "")
    for option, value in (("--api", api), ("--model-id", model_id)):
        if value is not None:
            raise UsageError(f"--model and {option} exclude each other", next_step=_HOW)
    provider, _, name = model.partition(":")
    if provider not in PROVIDERS or not name:
        raise UsageError(f"{model!r} is not provider:id of a known provider", next_step=_HOW)
    served = PROVIDERS[provider]
    return Model(id=name, api=served.api, provider=provider, base_url=base_url or served.base_url)


def with_known_facts(model: "Model", now: datetime) -> "Model":
    """`model` with context window and prices where the catalogue has them, and it is served where its provider does.

    Another server may have the same name for something else, at another price. A price that grows with the prompt is
    no `Model.cost`, which has one: the call's tokens are priced by the list then.
    """
    from openprogram.catalogue import find_model

    served = PROVIDERS.get(model.provider)
    if served is None or model.base_url != served.base_url:
        return model
    known = find_model(served.listed_as, model.id, now)
    if known is None:
        return model
    facts = {"context_window": known.context_window, "cost": None if known.cost_grows else known.cost}
    return model.model_copy(update={name: fact for name, fact in facts.items() if fact is not None})


def _what_is_missing(api: str | None, base_url: str | None, model_id: str | None) -> str:
    """Of another server's options, those that were not given; where none was given, that no model is chosen."""
    options = {"--api": api, "--base-url": base_url, "--model-id": model_id}
    given = [option for option, value in options.items() if value is not None]
    if not given:
        return "no model is chosen"
    missing = [option for option in ("--api", "--model-id") if option not in given]
    return f"{' and '.join(given)} without {' and '.join(missing)}"
