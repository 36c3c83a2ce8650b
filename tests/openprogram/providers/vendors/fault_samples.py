"""What one api needs for the tests of failures and of leaving: a part of its answer, and faults in its own words.

Each row of VENDOR_APIS has one here; `test_failures.py` says so if it is missing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from openprogram.providers.types import ErrorReason
from tests.openprogram.providers.vendors.loopback import anthropic_stream, aws_frame, event_stream, openai_stream
from tests.openprogram.providers.vendors.small_answers import ANSWERS, STREAM_TYPES

__all__ = ["SAMPLES", "FaultSample", "Outcome"]

#: Reason, and whether trying again can help.
Outcome = tuple[ErrorReason, bool]


@dataclass(frozen=True)
class FaultSample:
    """One api. `said`: the answer so far, up to and with the first text delta, `One `, one event a piece.

    `busy`: an event that says the server is overloaded. `garbled`: an event of the stream whose JSON is broken.
    `others`: outcomes that differ from the common ones, by the name of the fault, with the reason in a comment.
    """

    said: Sequence[bytes]
    busy: bytes
    garbled: bytes
    content_type: str = "text/event-stream"
    others: Mapping[str, Outcome] = field(default_factory=dict)


SAMPLES = {
    "anthropic-messages": FaultSample(
        said=ANSWERS["anthropic-messages"][:9],
        busy=anthropic_stream({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}})[0],
        garbled=b'event: content_block_delta\ndata: {"type": "content_block_delta", "index": 1, "delta": {"te\n\n',
    ),
    "openai-completions": FaultSample(
        said=ANSWERS["openai-completions"][:3],
        busy=openai_stream({"error": {"type": "server_error", "code": "overloaded", "message": "busy"}}, done=False)[0],
        garbled=b'data: {"choices": [{"index": 0, "delta": {"con\n\n',
    ),
    "openai-responses": FaultSample(
        said=ANSWERS["openai-responses"][:7],
        busy=event_stream(
            {"type": "error", "error": {"type": "server_error", "code": "overloaded", "message": "busy"}}
        )[0],
        garbled=b'event: response.output_text.delta\ndata: {"type": "response.output_text.delta", "del\n\n',
    ),
    "google-generative-ai": FaultSample(
        said=ANSWERS["google-generative-ai"][:3],
        busy=b'{"error": {"code": 503, "status": "UNAVAILABLE", "message": "The model is overloaded."}}\n',
        garbled=b'data: {"candidates": [{"con\n\n',
    ),
    "bedrock-converse-stream": FaultSample(
        said=ANSWERS["bedrock-converse-stream"][:7],
        busy=aws_frame(
            {":message-type": "exception", ":exception-type": "serviceUnavailableException"}, {"message": "busy"}
        ),
        garbled=aws_frame(
            {":message-type": "event", ":event-type": "contentBlockDelta"}, b'{"contentBlockIndex": 3, "del'
        ),
        content_type=STREAM_TYPES["bedrock-converse-stream"],
        # AWS has one word for a server that has too much to do and one that is down
        others={"an error in the stream": ("server", True)},
    ),
    "mistral-conversations": FaultSample(
        said=ANSWERS["mistral-conversations"][:4],
        busy=openai_stream({"object": "error", "type": "service_tier_capacity_exceeded", "message": "busy"})[0],
        garbled=b'data: {"id": "c", "choices": [{"index": 0, "delta": {"con\n\n',
    ),
}
