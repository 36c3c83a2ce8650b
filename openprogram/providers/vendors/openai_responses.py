"""The `openai-responses` dialect: OpenAI's Responses API and servers that speak it.

A call leaves nothing behind at the vendor: `store` is false unless the call says otherwise, no earlier answer is
referred to, and reasoning comes back encrypted, to be sent along. Source:
https://platform.openai.com/docs/api-reference/responses, .../docs/guides/reasoning#encrypted-reasoning-items and
pydantic-ai's `OpenAIResponsesModel`.
"""

import re
from typing import Any, cast

import httpx2
from pydantic_ai.messages import ModelResponsePart, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.models import Model as VendorModel
from pydantic_ai.models import StreamedResponse
from pydantic_ai.models.openai import OpenAIResponsesModel, OpenAIResponsesModelSettings
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.settings import ModelSettings

from openprogram.providers.types import (
    Context,
    Model,
    ProviderContent,
    StreamOptions,
    TextContent,
    ThinkingContent,
    ToolCall,
)
from openprogram.providers.vendors.dialect import Endpoint
from openprogram.providers.vendors.documents import Documents
from openprogram.providers.vendors.history import CallIds
from openprogram.providers.vendors.openai_client import cache_fields, client_arguments, is_openai
from openprogram.providers.vendors.options import VERBATIM_PROFILE, reasoning_level
from openprogram.providers.vendors.plain_dialect import closing_blocks
from openprogram.providers.vendors.responses_items import ItemsClient, carried_item, thought
from openprogram.providers.vendors.verbatim import json_text, parsed, verbatim_part
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

#: OpenAI takes up to 64 characters; more is refused.
CALL_IDS = CallIds(re.compile(r"(?s).{1,64}"), 24)
RICH_TOOL_RESULTS = False
DOCUMENTS = Documents(frozenset({"application/pdf"}), urls=True)


def vendor_model(model: Model, endpoint: Endpoint, http: httpx2.AsyncClient) -> VendorModel:
    """See Dialect."""
    client = ItemsClient(**client_arguments(endpoint, http))
    # The SDK has read them from the environment, and would send them wherever the call goes.
    client.organization = client.project = None
    profile = OpenAIModelProfile(
        **VERBATIM_PROFILE,  # type: ignore[typeddict-item]  # a TypedDict spread into its own subclass
        openai_supports_strict_tool_definition=True,
        # Otherwise the temperature is taken out, with a warning, where the model is known to reason.
        openai_supports_reasoning=False,
        openai_supports_encrypted_reasoning_content=False,  # `settings` asks for it
    )
    return OpenAIResponsesModel(model.id, provider=OpenAIProvider(openai_client=client), profile=profile)


def settings(model: Model, context: Context, options: StreamOptions) -> ModelSettings:
    """Storage, reasoning, metadata, service tier; and what pydantic-ai sends only beside function tools."""
    chosen = OpenAIResponsesModelSettings(openai_store=False, openai_include_raw_annotations=True)
    body = cache_fields(model, options)
    if options.service_tier is not None:
        chosen["openai_service_tier"] = options.service_tier  # type: ignore[typeddict-item]  # the API judges it
    if options.metadata is not None:
        body["metadata"] = options.metadata
    if not context.tools:  # there may be tools of the vendor's own, which pydantic-ai sees nothing of
        chosen["tool_choice"] = "auto"
        given = {"tool_choice": options.tool_choice, "parallel_tool_calls": options.parallel_tool_calls}
        body |= {name: value for name, value in given.items() if value is not None}
    level = reasoning_level(options)
    if level is not None:
        # Others than OpenAI may not know of summaries; they send the thinking itself.
        body["reasoning"] = {"effort": level, "summary": "auto"} if is_openai(model.base_url) else {"effort": level}
    if _reasons(model, level):
        body["include"] = ["reasoning.encrypted_content"]
    if body or options.model_extra:
        chosen["extra_body"] = {**body, **(options.model_extra or {})}
    return chosen


def _reasons(model: Model, level: str | None) -> bool:
    """Whether to ask for encrypted reasoning: a model that does not reason refuses the question."""
    if model.reasoning or level is not None:
        return True
    profile = cast(OpenAIModelProfile, OpenAIProvider.model_profile(model.id) or {})
    return is_openai(model.base_url) and profile.get("openai_supports_encrypted_reasoning_content", False)


# ---- answers


def text_signature(part: TextPart) -> str | None:
    """The message item's id, and the phase of the answer where it has one."""
    if part.id is None:
        return None
    phase = (part.provider_details or {}).get("phase")
    return json_text({"id": part.id} | ({"phase": phase} if phase else {}))


def citations(part: TextPart) -> list[dict[str, Any]] | None:
    """The annotations, as they came."""
    return (part.provider_details or {}).get("annotations")


def thinking_signature(part: ThinkingPart) -> str | None:
    """The reasoning item as JSON text, with the last of its texts. Their number stands in their place."""
    return part.signature


def is_redacted(part: ThinkingPart) -> bool:
    """A reasoning item without text."""
    item = parsed(part.signature)
    return item is not None and not item.get("summary") and not item.get("content")


def thought_signature(part: ToolCallPart) -> str | None:
    """What the item has beside call, name and arguments: its id, and the namespace of a tool that was searched for."""
    return json_text({"id": part.id, **(part.provider_details or {})}) if part.id else None


def provider_block(part: ModelResponsePart) -> tuple[str, dict[str, Any]] | None:
    """Any other output item, as it came. `kind` is its type."""
    item = carried_item(part)
    return None if item is None else (str(item.get("type")), item)


def is_whole(response: StreamedResponse, watch: WireWatch) -> bool:
    """`response.completed`, `.incomplete` or `.failed` has come. Of a refusal pydantic-ai keeps no finish reason."""
    return watch.terminal or "finish_reason" in (response.provider_details or {})


# ---- history


def text_part(block: TextContent, system: str) -> TextPart:
    """See Dialect: a message item with its id, or a message of one text."""
    item = parsed(block.text_signature)
    if item is None:
        return TextPart(block.text)
    content = {"type": "output_text", "text": block.text, "annotations": block.citations or []}
    return verbatim_part({"type": "message", "role": "assistant", "status": "completed", **item, "content": [content]})


def thinking_part(block: ThinkingContent, system: str) -> ModelResponsePart:
    """See Dialect."""
    item = parsed(block.thinking_signature)
    if item is None and block.thinking_signature:
        return ThinkingPart(block.thinking)  # another release's
    return verbatim_part(thought(block.thinking, item))


def tool_call_part(call: ToolCall, system: str | None) -> ModelResponsePart:
    """See Dialect."""
    if system is None:
        return ToolCallPart(call.name, call.arguments, tool_call_id=call.id)
    item = {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": json_text(call.arguments)}
    return verbatim_part({**(parsed(call.thought_signature) or {}), **item})


def provider_part(block: ProviderContent, system: str) -> ModelResponsePart:
    """See Dialect: the item as it came."""
    return verbatim_part(block.data)
