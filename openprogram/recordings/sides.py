"""One of two recordings that are compared: its requests as replay compares them, its answers as messages."""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain
from typing import Any, NamedTuple

from openprogram.pipeline.canonical import canonical
from openprogram.pipeline.log.reader import Recording
from openprogram.pipeline.matching.content import Form, message_digests, outline
from openprogram.pipeline.recorded_requests import RecordedRequests
from openprogram.pipeline.redaction import remove_secret_values
from openprogram.providers.codec import TERMINAL_EVENT_TYPES, AssistantEventCodec, ProviderRequestCodec
from openprogram.providers.fold import Fold
from openprogram.providers.types import EventDone
from openprogram.recordings.alignment import CallKeys

__all__ = ["Answer", "AskedTool", "Side", "Tokens"]


class AskedTool(NamedTuple):
    """A tool that an answer asks for."""

    id: str
    name: str
    arguments: dict[str, Any]


@dataclass
class Tokens:
    """What calls took together. `cost`: US dollars."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    total: int = 0
    cost: float = 0.0

    def add(self, usage: Any) -> None:
        """Add the `usage` of a message."""
        self.input += usage["input"]
        self.output += usage["output"]
        self.cache_read += usage["cache_read"]
        self.cache_write += usage["cache_write"]
        self.total += usage["total_tokens"]
        self.cost += usage["cost"]["total"]


class Answer(NamedTuple):
    """How a call was answered. `value`: what is compared: `message` (the fold of its events), `ended` (the type of the
    terminal event, or None), `outcome`, `error`. `digest`: of the message, as it would stand in a later request."""

    value: dict[str, Any]
    digest: bytes

    @property
    def text(self) -> str:
        """The text blocks, joined."""
        return "".join(block["text"] for block in self.value["message"]["content"] if block["type"] == "text")

    @property
    def tools(self) -> list[AskedTool]:
        """The tool calls, in order."""
        return [
            AskedTool(block["id"], block["name"], block["arguments"])
            for block in self.value["message"]["content"]
            if block["type"] == "toolCall"
        ]


class Side:
    """Reads one call at a time; in memory stay digests. All that it gives is redacted by today's rules.

    Raises RecordingFileError: the file changed, or something in it doesn't fit today's types.
    """

    def __init__(self, recording: Recording, form: Form) -> None:
        self.recording, self._form = recording, form
        self.request = RecordedRequests(recording, ProviderRequestCodec(), always_redact=True)
        self._events = AssistantEventCodec()

    def keys(self) -> Iterator[CallKeys]:
        """What the calls are told apart by, in their order."""
        for call_index in range(self.recording.call_count):
            request = self.request(call_index)
            digests = self.message_digests(request)
            found = outline(request, self._form, digests)
            messages = request["context"].get("messages") or []
            start = max(
                (at + 1 for at, message in enumerate(messages) if message.get("role") == "assistant"), default=0
            )
            new = b"".join(digests[start:])
            # Of the parts the model, system prompt, tools and options: the others are messages.
            yield CallKeys(found.whole, blake2b(new, digest_size=16).digest(), found.parts[:4])

    def message_digests(self, request: dict[str, Any]) -> list[bytes]:
        """One a message: equal messages have the same."""
        return message_digests(request, self._form)

    def digest(self, value: Any) -> bytes:
        """The same for values in which everything is equal that is compared."""
        return blake2b(canonical(self._form.of(value, None)), digest_size=16).digest()

    def answer(self, call_index: int) -> Answer:
        """The call's events, folded. Of an answer that broke off, as far as it came."""
        summary = self.recording.calls[call_index]
        model = self.recording.request(call_index)["model"]
        fold, ended = Fold(*(_text(model, name) for name in ("api", "provider", "id"))), None
        for batch in self.recording.event_batches(call_index):
            for event in chain.from_iterable(map(self._events.load_all, batch)):
                fold.add(event)
                ended = event.type if event.type in TERMINAL_EVENT_TYPES else ended
        dumped = self._events.dump(EventDone(reason="stop", message=fold.partial))["message"]
        message: Any = remove_secret_values(dumped)
        value = {
            "message": message,
            "ended": ended,
            "outcome": summary.outcome,
            "error": remove_secret_values(summary.error),
        }
        return Answer(value, self.message_digests({"context": {"messages": [message]}})[0])


def _text(model: Any, name: str) -> str:
    value = model.get(name) if isinstance(model, dict) else None
    return value if isinstance(value, str) else ""
