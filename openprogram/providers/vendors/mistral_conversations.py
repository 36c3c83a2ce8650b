"""The `mistral-conversations` dialect: Mistral's chat completions. The api's name follows older recordings.

Source: https://docs.mistral.ai/api/endpoint/chat and pydantic-ai's `MistralModel`.
"""

import re
from typing import Any

import httpx2
from pydantic_ai.messages import TextPart, ThinkingPart
from pydantic_ai.models import Model as VendorModel
from pydantic_ai.models import StreamedResponse
from pydantic_ai.providers.mistral import MistralProvider
from pydantic_ai.settings import ModelSettings

from openprogram.providers.types import (
    Context,
    Model,
    StreamOptions,
    ThinkingContent,
)
from openprogram.providers.vendors.dialect import Endpoint
from openprogram.providers.vendors.documents import Documents
from openprogram.providers.vendors.history import CallIds
from openprogram.providers.vendors.mistral_chat import ChatModel
from openprogram.providers.vendors.options import VERBATIM_PROFILE, reasoning_level
from openprogram.providers.vendors.plain_dialect import (
    closing_blocks,
    provider_block,
    provider_part,
    text_part,
    text_signature,
    thought_signature,
    tool_call_part,
)
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

CALL_IDS = CallIds(re.compile(r"[a-zA-Z0-9]{9}"), 9)
RICH_TOOL_RESULTS = False
DOCUMENTS = Documents(frozenset({"application/pdf"}), urls=True)


def vendor_model(model: Model, endpoint: Endpoint, http: httpx2.AsyncClient) -> VendorModel:
    """See Dialect."""
    return ChatModel(model.id, endpoint, http, VERBATIM_PROFILE)


def settings(model: Model, context: Context, options: StreamOptions) -> ModelSettings:
    """Metadata, service tier and reasoning, all of them fields of the body."""
    fields: dict[str, Any] = {"metadata": options.metadata, "service_tier": options.service_tier}
    if reasoning_level(options) is not None and not _always_reasons(model):
        fields["reasoning_effort"] = "high"  # the only one there is
    given = {key: value for key, value in fields.items() if value is not None}
    return ModelSettings(extra_body={**(options.model_extra or {}), **given})


def _always_reasons(model: Model) -> bool:
    """Models that were made for it, and refuse the field."""
    return bool((MistralProvider.model_profile(model.id) or {}).get("thinking_always_enabled"))


def thinking_signature(part: ThinkingPart) -> str | None:
    """Some chunks have one."""
    return part.signature


def is_redacted(part: ThinkingPart) -> bool:
    """There is no such thing here."""
    return False


def thinking_part(block: ThinkingContent, system: str) -> ThinkingPart:
    """See Dialect."""
    return ThinkingPart(block.thinking, signature=block.thinking_signature, provider_name=system)


def citations(part: TextPart) -> list[dict[str, Any]] | None:
    """References are passed over: they name nothing that a reader could open."""
    return None


def is_whole(response: StreamedResponse, watch: WireWatch) -> bool:
    """A finish reason or `[DONE]` has come."""
    return watch.terminal or "finish_reason" in (response.provider_details or {})
