"""The `bedrock-converse-stream` dialect: AWS Bedrock's ConverseStream, one api for the models of many companies.

Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html and pydantic-ai's
`BedrockConverseModel`.
"""

import re
from typing import Any, cast

import httpx2
from pydantic_ai.messages import ModelResponsePart, TextPart, ThinkingPart
from pydantic_ai.models import Model as VendorModel
from pydantic_ai.models import StreamedResponse
from pydantic_ai.models.bedrock import BedrockModelSettings
from pydantic_ai.providers.bedrock import BedrockModelProfile, BedrockProvider
from pydantic_ai.settings import ModelSettings, ThinkingEffort

from openprogram.providers.types import (
    Context,
    Model,
    ProviderContent,
    StreamOptions,
    ThinkingContent,
)
from openprogram.providers.vendors.aws import bedrock_client
from openprogram.providers.vendors.converse import ConverseModel, answer_is_whole
from openprogram.providers.vendors.dialect import Endpoint
from openprogram.providers.vendors.documents import Documents
from openprogram.providers.vendors.history import CallIds
from openprogram.providers.vendors.native_parts import native_block, native_part
from openprogram.providers.vendors.options import VERBATIM_PROFILE, reasoning_level
from openprogram.providers.vendors.plain_dialect import (
    closing_blocks,
    text_part,
    text_signature,
    thought_signature,
    tool_call_part,
)
from openprogram.providers.vendors.thinking import thinking_budget
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

CALL_IDS = CallIds(re.compile(r"[a-zA-Z0-9_-]{1,64}"), 24)
RICH_TOOL_RESULTS = True

_OFFICE = "application/vnd.openxmlformats-officedocument"
DOCUMENTS = Documents(
    frozenset(
        {
            "application/pdf",
            "application/msword",
            "application/vnd.ms-excel",
            f"{_OFFICE}.wordprocessingml.document",
            f"{_OFFICE}.spreadsheetml.sheet",
        }
    )
)

#: How pydantic-ai marks redacted reasoning.
_REDACTED = "redacted_content"

_PROFILE: BedrockModelProfile = {
    **VERBATIM_PROFILE,  # type: ignore[typeddict-item]  # a TypedDict spread into its own subclass
    "bedrock_supported_on_converse": True,
    "bedrock_disallows_sampling_settings": False,
    "bedrock_supports_tool_choice": True,
    "bedrock_send_back_thinking_parts": True,
    "bedrock_supports_prompt_caching": True,
    "bedrock_supports_tool_caching": True,
    "bedrock_supports_strict_tool_definition": True,
}

#: Of Claude, which pydantic-ai knows from Anthropic's own api.
_CLAUDE_PROFILE = {
    "anthropic_disallows_sampling_settings": False,
    "anthropic_enforces_strict_schema_limits": False,
    "anthropic_max_output_tokens": None,
}


def vendor_model(model: Model, endpoint: Endpoint, http: httpx2.AsyncClient) -> VendorModel:
    """See Dialect. Reads AWS's configuration. Raises ProviderFailed: it has no region or cannot be read."""
    client = bedrock_client(endpoint, model.id)
    profile = cast(BedrockModelProfile, {**_PROFILE, **_CLAUDE_PROFILE})
    return ConverseModel(model.id, client, http, endpoint.api_key, profile)


def settings(model: Model, context: Context, options: StreamOptions) -> ModelSettings:
    """Metadata, service tier, a cache mark on the last tool, and reasoning."""
    chosen = BedrockModelSettings()
    if options.metadata is not None:
        chosen["bedrock_request_metadata"] = options.metadata
    if options.service_tier is not None:
        chosen["bedrock_service_tier"] = {"type": options.service_tier}
    if context.tools and isinstance(mark := context.tools[-1].cache_control, dict):
        chosen["bedrock_cache_tool_definitions"] = mark.get("ttl", True)
    level = reasoning_level(options)
    return chosen if level is None else cast(ModelSettings, {**chosen, **_reasoning(model, options, level)})


def _reasoning(model: Model, options: StreamOptions, level: str) -> ModelSettings:
    """A budget for the Claude models that take one; for others, what pydantic-ai knows of their maker's own field.

    Raises ValueError: nothing is known of it.
    """
    family = cast(BedrockModelProfile, BedrockProvider.model_profile(model.id) or {})
    variant = family.get("bedrock_thinking_variant")
    if variant is None:
        raise ValueError(
            f"how {model.id!r} is asked to reason is not known: give its own field, as in "
            "StreamOptions(additionalModelRequestFields={...})"
        )
    if variant != "anthropic" or family.get("bedrock_supports_adaptive_thinking"):
        return ModelSettings(thinking=cast(ThinkingEffort, level))
    budget = thinking_budget(level, options, options.max_tokens or 0)
    thinking = {"thinking": {"type": "enabled", "budget_tokens": budget}}
    return BedrockModelSettings(bedrock_additional_model_requests_fields=thinking)


def thinking_signature(part: ThinkingPart) -> str | None:
    """The signature, or the whole redacted content: its text, or `base64:` and its bytes."""
    return part.signature


def is_redacted(part: ThinkingPart) -> bool:
    """A `redactedContent` block."""
    return part.id == _REDACTED


def thinking_part(block: ThinkingContent, system: str) -> ThinkingPart:
    """See Dialect."""
    return ThinkingPart(
        content=block.thinking,
        id=_REDACTED if block.redacted else None,
        signature=block.thinking_signature,
        provider_name=system,
    )


def citations(part: TextPart) -> list[dict[str, Any]] | None:
    """AWS's own objects, as `citation` deltas bring them."""
    return (part.provider_details or {}).get("citations")


def provider_block(part: ModelResponsePart) -> tuple[str, dict[str, Any]] | None:
    """Nova's code interpreter: its call, and its result."""
    return native_block(part)


def provider_part(block: ProviderContent, system: str) -> ModelResponsePart | None:
    """See Dialect."""
    return native_part(block, system)


def is_whole(response: StreamedResponse, watch: WireWatch) -> bool:
    """`messageStop` has come, and `metadata` behind it."""
    return answer_is_whole(response)
