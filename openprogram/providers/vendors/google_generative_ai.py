"""The `google-generative-ai` dialect: Gemini's generateContent API, at Google AI and at Vertex AI.

Source: https://ai.google.dev/api/generate-content, https://ai.google.dev/gemini-api/docs/thinking and pydantic-ai's
`GoogleModel`.
"""

from typing import Any, cast

import httpx2
from pydantic_ai.messages import ModelResponsePart, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.models import Model as VendorModel
from pydantic_ai.models import StreamedResponse
from pydantic_ai.profiles.google import GoogleModelProfile
from pydantic_ai.providers.google import GoogleProvider
from pydantic_ai.settings import ModelSettings

from openprogram.providers.types import (
    Context,
    Model,
    SimpleStreamOptions,
    StreamOptions,
    ThinkingContent,
)
from openprogram.providers.vendors.dialect import Endpoint
from openprogram.providers.vendors.documents import NO_DOCUMENTS
from openprogram.providers.vendors.google_client import FIRST_CALL, ContentsClient, ContentsModel
from openprogram.providers.vendors.google_contents import CALL_IDS, first_call_number, google_contents
from openprogram.providers.vendors.google_parts import carried_block
from openprogram.providers.vendors.options import VERBATIM_PROFILE, reasoning_level
from openprogram.providers.vendors.plain_dialect import closing_blocks, provider_part, text_part, tool_call_part
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

# `google_contents` writes the conversation, so of these pydantic-ai sees nothing.
RICH_TOOL_RESULTS = False
DOCUMENTS = NO_DOCUMENTS

#: Tokens of thinking for a level, at models that take no level, where the call gives none of its own.
_THINKING_BUDGETS = {"minimal": 512, "low": 2048, "medium": 8192, "high": 24576}

_PROFILE: GoogleModelProfile = {
    **VERBATIM_PROFILE,  # type: ignore[typeddict-item]  # a TypedDict spread into its own subclass
    "google_supports_tool_combination": True,
    "google_supports_strict_tool_definition": False,
    "google_supports_server_side_tool_invocations": False,
}


def vendor_model(model: Model, endpoint: Endpoint, http: httpx2.AsyncClient) -> VendorModel:
    """See Dialect."""
    provider = GoogleProvider(client=ContentsClient(endpoint, http))
    return ContentsModel(model.id, provider=provider, profile=_PROFILE)


def settings(model: Model, context: Context, options: StreamOptions) -> ModelSettings:
    """The conversation, labels, service tier and thinking, in the API's own words."""
    body: dict[str, Any] = {"contents": google_contents(context.messages, model)}
    if options.metadata is not None:
        body["labels"] = options.metadata
    if options.service_tier is not None:
        body["serviceTier"] = options.service_tier
    level = reasoning_level(options)
    if level is not None:
        body["generationConfig"] = {"thinkingConfig": _thinking_config(model, level, options)}
    own = dict(options.model_extra or {})
    if "generationConfig" in own and "generationConfig" in body:
        own["generationConfig"] = {**body["generationConfig"], **own["generationConfig"]}
    chosen = {"extra_body": {**body, **own}, FIRST_CALL: first_call_number(context.messages)}
    return cast(ModelSettings, chosen)


def _thinking_config(model: Model, level: str, options: StreamOptions) -> dict[str, Any]:
    """A budget where the call gives one, or the model takes nothing else; otherwise the level.

    Raises ValueError: a model that takes budgets, and a level that is unknown.
    """
    own = options.thinking_budgets or {} if isinstance(options, SimpleStreamOptions) else {}
    if level in own:
        return {"includeThoughts": True, "thinkingBudget": own[level]}
    profile = cast(GoogleModelProfile, GoogleProvider.model_profile(model.id) or {})
    if profile.get("google_supports_thinking_level", True):
        return {"includeThoughts": True, "thinkingLevel": level.upper()}
    if level not in _THINKING_BUDGETS:
        raise ValueError(f"reasoning {level!r} is not known: give one of {', '.join(_THINKING_BUDGETS)}")
    return {"includeThoughts": True, "thinkingBudget": _THINKING_BUDGETS[level]}


# ---- answers


def _signature(part: TextPart | ThinkingPart | ToolCallPart) -> str | None:
    signature = (part.provider_details or {}).get("thought_signature")
    return signature if isinstance(signature, str) else None


def text_signature(part: TextPart) -> str | None:
    """Its thought signature, in base64."""
    return _signature(part)


def thinking_signature(part: ThinkingPart) -> str | None:
    """Its thought signature, in base64."""
    return _signature(part)


def thought_signature(part: ToolCallPart) -> str | None:
    """Its thought signature, in base64. Of parallel calls the first alone has one."""
    return _signature(part)


def is_redacted(part: ThinkingPart) -> bool:
    """Gemini shows a summary of its thinking, or nothing."""
    return False


def citations(part: TextPart) -> list[dict[str, Any]] | None:
    """None: what a text rests on, Gemini says for the answer as a whole."""
    return None


def provider_block(part: ModelResponsePart) -> tuple[str, dict[str, Any]] | None:
    """Any other part, as it came, and what is said of the whole answer. `kind` is the name of its field."""
    return carried_block(part)


def is_whole(response: StreamedResponse, watch: WireWatch) -> bool:
    """A finish reason has come."""
    return "finish_reason" in (response.provider_details or {})


# ---- history: `google_contents` writes it


def thinking_part(block: ThinkingContent, system: str) -> ModelResponsePart:
    """See Dialect. Not asked."""
    return ThinkingPart(block.thinking)
