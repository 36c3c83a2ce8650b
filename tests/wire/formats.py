"""The apis whose recorded bytes can be read, as a table. To add one:

1. Write `tests/wire/<api>.py` with the three names of `WireFormat`. It reads the recorded bytes by itself and knows
   no case by name: everything comes from the request and the response that it is given.
2. Add its line to `FORMATS`. Cases of an api without one, or without a row in VENDOR_APIS, are `not implemented`.
3. Run `make wire`. What a sent request says in another form than the recorded one is brought to one form by
   `same_form`, and told in docs/vendors.md.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from tests.wire import (
    anthropic_messages,
    bedrock_converse_stream,
    google_generative_ai,
    mistral_conversations,
    openai_completions,
    openai_responses,
)
from tests.wire.calls import Call, Place
from tests.wire.expected import Expected, Response

__all__ = ["APIS", "FORMATS", "WireFormat"]


class WireFormat(Protocol):
    """How one api's requests and answers are read. A module is the implementation."""

    def expected(self, request: Mapping[str, Any], response: Response) -> Expected:
        """What the answer says. Both as in a case; `request["body"]` is None where it was not recorded."""
        ...

    def call(self, request: Mapping[str, Any], place: Place) -> Call:
        """The call that would send this request; any small call where the body was not recorded."""
        ...

    def same_form(self, body: dict[str, Any]) -> dict[str, Any]:
        """One body for all those that mean the same to the vendor. `body` stays as it is."""
        ...


#: The folders of the cases, and the api of ours that serves them.
APIS = {
    "anthropic-messages": "anthropic-messages",
    "openai-chat": "openai-completions",
    "openai-compatible": "openai-completions",
    "openai-responses": "openai-responses",
    "google-generate": "google-generative-ai",
    "bedrock-converse": "bedrock-converse-stream",
    "mistral-chat": "mistral-conversations",
}

#: By api of ours.
FORMATS: dict[str, WireFormat] = {
    "anthropic-messages": anthropic_messages,
    "openai-completions": openai_completions,
    "openai-responses": openai_responses,
    "google-generative-ai": google_generative_ai,
    "bedrock-converse-stream": bedrock_converse_stream,
    "mistral-conversations": mistral_conversations,
}
