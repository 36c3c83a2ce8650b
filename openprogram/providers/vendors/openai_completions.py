"""The `openai-completions` dialect: OpenAI's Chat Completions API and the many servers that speak it.

Source: https://platform.openai.com/docs/api-reference/chat, https://openrouter.ai/docs (reasoning tokens) and
pydantic-ai's `OpenAIChatModel` and `OpenRouterModel`.
"""

import json
import re
from typing import Any, cast

import httpx2
from openai import AsyncOpenAI
from pydantic_ai.messages import TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.models import Model as VendorModel
from pydantic_ai.models import StreamedResponse
from pydantic_ai.models.openai import OpenAIChatModelSettings
from pydantic_ai.models.openrouter import OpenRouterModelSettings
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.providers.openrouter import OpenRouterProvider
from pydantic_ai.settings import ModelSettings

from openprogram.providers.types import (
    Context,
    Model,
    SimpleStreamOptions,
    StreamOptions,
    ThinkingContent,
    ToolCall,
)
from openprogram.providers.vendors.dialect import Endpoint
from openprogram.providers.vendors.documents import Documents
from openprogram.providers.vendors.first_choice import (
    FirstChoiceModel,
    FirstChoiceOpenRouterModel,
    finish_reason_came,
    sources_of,
)
from openprogram.providers.vendors.history import CallIds
from openprogram.providers.vendors.openai_client import cache_fields, client_arguments, is_openai
from openprogram.providers.vendors.options import VERBATIM_PROFILE, reasoning_level
from openprogram.providers.vendors.plain_dialect import provider_block, provider_part, text_part, text_signature
from openprogram.providers.vendors.wire import WireWatch

__all__ = [
    "CALL_IDS",
    "DOCUMENTS",
    "RICH_TOOL_RESULTS",
    "citations",
    "closing_blocks",
    "is_redacted",
    "is_whole",
    "provider_block",
    "provider_part",
    "settings",
    "text_part",
    "text_signature",
    "thinking_part",
    "thinking_signature",
    "thought_signature",
    "tool_call_part",
    "vendor_model",
]

#: OpenAI takes up to 40 characters; more is refused.
CALL_IDS = CallIds(re.compile(r"(?s).{1,40}"), 24)
RICH_TOOL_RESULTS = False
DOCUMENTS = Documents(frozenset({"application/pdf"}))


def vendor_model(model: Model, endpoint: Endpoint, http: httpx2.AsyncClient) -> VendorModel:
    """See Dialect. `model.provider` `openrouter` has a class of its own, which keeps `reasoning_details`."""
    client = AsyncOpenAI(**client_arguments(endpoint, http))
    # The SDK has read them from the environment, and would send them wherever the call goes.
    client.organization = client.project = None
    profile = OpenAIModelProfile(
        **VERBATIM_PROFILE,  # type: ignore[typeddict-item]  # a TypedDict spread into its own subclass
        openai_supports_strict_tool_definition=True,
        # Otherwise the temperature is taken out, with a warning, where the model is known to reason.
        openai_supports_reasoning=False,
        openai_chat_supports_max_completion_tokens=is_openai(endpoint.base_url),
    )
    if _is_openrouter(model):
        return FirstChoiceOpenRouterModel(model.id, provider=OpenRouterProvider(openai_client=client), profile=profile)
    return FirstChoiceModel(model.id, provider=OpenAIProvider(openai_client=client), profile=profile)


def _is_openrouter(model: Model) -> bool:
    return model.provider == "openrouter"


def settings(model: Model, context: Context, options: StreamOptions) -> ModelSettings:
    """Metadata, service tier and reasoning."""
    chosen = OpenAIChatModelSettings()
    if options.service_tier is not None:
        chosen["openai_service_tier"] = options.service_tier  # type: ignore[typeddict-item]  # the API judges it
    body = cache_fields(model, options)
    if options.metadata is not None:
        body["metadata"] = options.metadata
    if body:
        chosen["extra_body"] = {**body, **(options.model_extra or {})}
    level = reasoning_level(options)
    if level is None:
        return chosen
    if not _is_openrouter(model):
        chosen["openai_reasoning_effort"] = level  # type: ignore[typeddict-item]  # the API judges it
        return chosen
    budget = (options.thinking_budgets or {}).get(level) if isinstance(options, SimpleStreamOptions) else None
    reasoning: Any = {"effort": level} if budget is None else {"max_tokens": budget}
    return cast(ModelSettings, {**chosen, **OpenRouterModelSettings(openrouter_reasoning=reasoning)})


def thinking_signature(part: ThinkingPart) -> str | None:
    """The field that the reasoning came in (`reasoning_content`, `reasoning`), for it goes back in the same one.

    OpenRouter's details, with a signature or encrypted data inside, become one JSON text.
    """
    if not part.provider_details:
        return part.id
    return _json({"id": part.id, "signature": part.signature, "details": part.provider_details})


def is_redacted(part: ThinkingPart) -> bool:
    """OpenRouter's encrypted reasoning of another vendor."""
    return (part.provider_details or {}).get("type") == "reasoning.encrypted"


def thinking_part(block: ThinkingContent, system: str) -> ThinkingPart:
    """See Dialect."""
    details = _parsed(block.thinking_signature)
    if details is None:
        return ThinkingPart(block.thinking, id=block.thinking_signature, provider_name=system)
    return ThinkingPart(
        block.thinking,
        id=details.get("id"),
        signature=details.get("signature"),
        provider_details=details.get("details"),
        provider_name=system,
    )


def thought_signature(part: ToolCallPart) -> str | None:
    """The `extra_content` in which Gemini's OpenAI-compatible server puts its thought signature, as JSON text."""
    return _json(part.provider_details) if part.provider_details else None


def tool_call_part(call: ToolCall, system: str | None) -> ToolCallPart:
    """See Dialect."""
    return ToolCallPart(
        call.name,
        call.arguments,
        tool_call_id=call.id,
        provider_name=system,
        provider_details=_parsed(call.thought_signature) if system else None,
    )


def citations(part: TextPart) -> list[dict[str, Any]] | None:
    """None: `closing_blocks` has them."""
    return None


def closing_blocks(response: StreamedResponse) -> list[tuple[str, dict[str, Any]]]:
    """The answer's sources. They do not go back: a message of this api has no place for them."""
    sources = sources_of(response)
    return [("sources", sources)] if sources else []


def is_whole(response: StreamedResponse, watch: WireWatch) -> bool:
    """A finish reason or `[DONE]` has come. Several servers send only one of them."""
    return watch.terminal or finish_reason_came(response)


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True)


def _parsed(signature: str | None) -> dict[str, Any] | None:
    try:
        value = json.loads(signature or "")
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
