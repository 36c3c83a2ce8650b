"""The `anthropic-messages` dialect: Anthropic's Messages API and servers that speak it.

Source: https://platform.claude.com/docs/en/api/messages and pydantic-ai's `AnthropicModel`.
"""

from typing import Any, cast

import httpx2
from anthropic import AsyncAnthropic
from anthropic.types.beta import BetaMetadataParam
from pydantic_ai.messages import ModelResponsePart, TextPart, ThinkingPart
from pydantic_ai.models import Model as VendorModel
from pydantic_ai.models import StreamedResponse
from pydantic_ai.models.anthropic import AnthropicModelSettings
from pydantic_ai.profiles.anthropic import AnthropicModelProfile
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.settings import ModelSettings, ThinkingEffort

from openprogram.providers.types import (
    Context,
    Model,
    StreamOptions,
    ThinkingContent,
)
from openprogram.providers.vendors.anthropic_request import CALL_IDS, CONTAINER, anthropic_messages, last_container
from openprogram.providers.vendors.anthropic_stream import WholeBlocksModel, container_of, own_block
from openprogram.providers.vendors.dialect import Endpoint
from openprogram.providers.vendors.documents import Documents
from openprogram.providers.vendors.options import VERBATIM_PROFILE, reasoning_level
from openprogram.providers.vendors.plain_dialect import (
    provider_part,
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

RICH_TOOL_RESULTS = True
DOCUMENTS = Documents(frozenset({"application/pdf"}), urls=True)

#: From these versions on, web search and web fetch filter what they find with code.
_WEB_TOOLS_RUN_CODE = "20260209"

#: How pydantic-ai marks a thinking block without text.
_REDACTED = "redacted_thinking"

_PROFILE: AnthropicModelProfile = {
    **VERBATIM_PROFILE,  # type: ignore[typeddict-item]  # a TypedDict spread into its own subclass
    "anthropic_disallows_sampling_settings": False,
    "anthropic_enforces_strict_schema_limits": False,
    "anthropic_max_output_tokens": None,
    # With binding on, pydantic-ai answers one kind of 400 with a second request. A call is one request here.
    "anthropic_binds_thinking_blocks": False,
}


def vendor_model(model: Model, endpoint: Endpoint, http: httpx2.AsyncClient) -> VendorModel:
    """See Dialect."""
    client = AsyncAnthropic(
        api_key=endpoint.api_key,
        base_url=endpoint.base_url,
        max_retries=0,
        timeout=endpoint.timeout,
        http_client=http,
    )
    return WholeBlocksModel(model.id, provider=AnthropicProvider(anthropic_client=client), profile=_PROFILE)


def settings(model: Model, context: Context, options: StreamOptions) -> ModelSettings:
    """`max_tokens` (the API demands one), metadata, service tier, thinking, and a cache mark on the last tool."""
    chosen = AnthropicModelSettings()
    max_tokens = options.max_tokens or model.max_tokens
    if max_tokens:
        chosen["max_tokens"] = max_tokens
    if options.metadata is not None:
        chosen["anthropic_metadata"] = cast(BetaMetadataParam, options.metadata)
    if options.service_tier is not None:
        chosen["anthropic_service_tier"] = options.service_tier  # type: ignore[typeddict-item]  # the API judges it
    if context.tools and isinstance(mark := context.tools[-1].cache_control, dict):
        chosen["anthropic_cache_tool_definitions"] = mark.get("ttl", True)
    level = reasoning_level(options)
    if level is not None and _takes_no_budget(model):
        chosen["thinking"] = cast(ThinkingEffort, level)
    elif level is not None:
        budget = thinking_budget(level, options, max_tokens)
        chosen["anthropic_thinking"] = {"type": "enabled", "budget_tokens": budget}
    chosen["extra_body"] = _body(model, context, options)
    return chosen


def _body(model: Model, context: Context, options: StreamOptions) -> dict[str, Any]:
    """The fields that pydantic-ai does not write, or not as they are."""
    body: dict[str, Any] = {"messages": anthropic_messages(context.messages, model)}
    if options.cache_retention == "long":
        body["cache_control"] = {"type": "ephemeral", "ttl": "1h"}  # the API marks the end of the prompt by itself
    body |= options.model_extra or {}
    container = last_container(context.messages, model)
    if container and "container" not in body and _runs_code(body.get("tools")):
        body["container"] = container
    return body


def _runs_code(tools: Any) -> bool:
    """Whether one of the vendor's tools has a container. A request with a container and without one is refused."""
    kinds = [str(tool.get("type")) for tool in tools or [] if isinstance(tool, dict)]
    return any(
        kind.startswith("code_execution_") or kind[-8:] >= _WEB_TOOLS_RUN_CODE for kind in kinds if kind[-8:].isdigit()
    )


def _takes_no_budget(model: Model) -> bool:
    """Later models think adaptively: they take an effort and refuse a budget."""
    profile = cast(AnthropicModelProfile, AnthropicProvider.model_profile(model.id) or {})
    return profile.get("anthropic_disallows_budget_thinking", False)


def thinking_signature(part: ThinkingPart) -> str | None:
    """The signature, or the whole encrypted block where the vendor shows no text."""
    return part.signature


def is_redacted(part: ThinkingPart) -> bool:
    """A `redacted_thinking` block. A `thinking` block can be empty too, and goes back as what it was."""
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
    """The API's citations, whole."""
    return (part.provider_details or {}).get("citations")


def provider_block(part: ModelResponsePart) -> tuple[str, dict[str, Any]] | None:
    """The API's own block, under its own type."""
    block = own_block(part)
    return None if block is None else (str(block["type"]), block)


def closing_blocks(response: StreamedResponse) -> list[tuple[str, dict[str, Any]]]:
    """The container that code was run in: the next request goes on in it."""
    container = container_of(response)
    return [(CONTAINER, container)] if container else []


def is_whole(response: StreamedResponse, watch: WireWatch) -> bool:
    """`message_stop` has come, or at least a stop reason where the lines could not be watched."""
    return watch.terminal or (not watch.readable and "finish_reason" in (response.provider_details or {}))
