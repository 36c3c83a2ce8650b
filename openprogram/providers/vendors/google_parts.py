"""Answers of Gemini on their way from google-genai to pydantic-ai.

pydantic-ai knows many kinds of parts, not all; it joins texts over the signature between them and makes tool calls out
of grounding. So before it sees an answer:

- text, thinking and function calls pass, a signed text as one of its own, a call without an id with one;
- any other part passes as the one that pydantic-ai carries unread (code to run), with the JSON that came;
- what is said of the whole answer, such as its grounding, follows at the end in the same way;
- an ending that is a failure is told as one, in Gemini's words.

Source: https://ai.google.dev/api/generate-content.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from google.genai.types import Candidate, Content, ExecutableCode, GenerateContentResponse, Language, Part
from pydantic_ai.messages import ModelResponsePart, NativeToolCallPart

from openprogram.providers.vendors.failures import Failure
from openprogram.providers.vendors.google_contents import METADATA_KINDS, SIGNATURE_ALONE, made_call_id
from openprogram.providers.vendors.verbatim import json_text, parsed

__all__ = ["Chunks", "carried_block"]

#: Fields that stand beside what a part is.
_BESIDE = ("mediaResolution", "partMetadata", "thought", SIGNATURE_ALONE, "videoMetadata")

#: Finish reasons of an answer that came to its end.
_GOOD = frozenset({"STOP", "MAX_TOKENS", "CONTINUATION"})

#: Finish reasons by which the vendor holds an answer back. Trying again does not help.
_FILTERED = frozenset(
    {
        "BLOCKLIST",
        "IMAGE_PROHIBITED_CONTENT",
        "IMAGE_RECITATION",
        "IMAGE_SAFETY",
        "MODEL_ARMOR",
        "PROHIBITED_CONTENT",
        "RECITATION",
        "SAFETY",
        "SPII",
    }
)


@dataclass
class Chunks:
    """The chunks of one answer, one after the other. `numbers`: of calls that come without an id."""

    numbers: Iterator[int] = field(default_factory=lambda: count(1))
    failure: Failure | None = None  #: why the answer is none, once its end has come
    _metadata: dict[str, Any] = field(default_factory=dict)

    def translated(self, chunk: GenerateContentResponse, raw: bytes | None) -> GenerateContentResponse:
        """The chunk as pydantic-ai should see it. `raw`: the JSON that it was read from."""
        blocked = chunk.prompt_feedback and chunk.prompt_feedback.block_reason
        if blocked and chunk.prompt_feedback:
            self.failure = _filtered(
                f"the prompt was blocked: {blocked.value}", chunk.prompt_feedback.block_reason_message
            )
        chunk.candidates = [each for each in chunk.candidates or [] if not each.index]
        for candidate in chunk.candidates:
            self._candidate(candidate, raw)
        return chunk

    def closing(self) -> GenerateContentResponse | None:
        """What is said of the whole answer, as a last chunk; None: nothing is."""
        if not self._metadata:
            return None
        parts = [_carrier(kind, data) for kind, data in self._metadata.items()]
        return GenerateContentResponse(candidates=[Candidate(content=Content(parts=parts))])

    def _candidate(self, candidate: Candidate, raw: bytes | None) -> None:
        if candidate.finish_reason:
            self.failure = _ending(candidate.finish_reason.value, raw)
        said = (candidate.grounding_metadata, candidate.url_context_metadata, candidate.citation_metadata)
        if any(each is not None for each in said):
            original = _original(raw) or candidate.model_dump(mode="json", by_alias=True, exclude_none=True)
            self._metadata |= {kind: original[kind] for kind in METADATA_KINDS if original.get(kind)}
            candidate.grounding_metadata = candidate.url_context_metadata = None
        if candidate.content and candidate.content.parts:
            candidate.content.parts = list(self._parts(candidate.content.parts, raw))

    def _parts(self, parts: Iterable[Part], raw: bytes | None) -> Iterator[Part]:
        original: list[Any] | None = None
        for index, part in enumerate(parts):
            if part.text is not None:
                if part.thought_signature:
                    yield from (_boundary(), part, _boundary())
                else:
                    yield part
            elif part.function_call:
                if part.function_call.id is None:
                    part.function_call.id = made_call_id(next(self.numbers))
                yield part
            else:
                if original is None:
                    original = (_original(raw).get("content") or {}).get("parts") or []
                whole = original[index] if index < len(original) else None
                yield _opaque(whole or part.model_dump(mode="json", by_alias=True, exclude_none=True))


def _original(raw: bytes | None) -> dict[str, Any]:
    """The first candidate as it came."""
    candidates = json.loads(raw).get("candidates") if raw else None
    return next((each for each in candidates or [] if not each.get("index")), {})


def _opaque(part: dict[str, Any]) -> Part:
    kinds = [key for key in part if key not in _BESIDE]
    return _carrier(kinds[0] if kinds else SIGNATURE_ALONE, part)


def _carrier(kind: str, data: Any) -> Part:
    return Part(executable_code=ExecutableCode(code=json_text({"kind": kind, "data": data}), language=Language.PYTHON))


def _boundary() -> Part:
    """What ends a text, so that the next one does not go on with it."""
    return Part(executable_code=ExecutableCode(code="", language=Language.PYTHON))


def carried_block(part: ModelResponsePart) -> tuple[str, dict[str, Any]] | None:
    """Kind and JSON of a part that was carried through; None for a boundary, and for parts that carry nothing."""
    if not isinstance(part, NativeToolCallPart) or not isinstance(part.args, dict):
        return None
    block = parsed(str(part.args.get("code")))
    return None if block is None else (block["kind"], block["data"])


# ---- endings


def _ending(word: str, raw: bytes | None) -> Failure | None:
    if word in _GOOD:
        return None
    message = _original(raw).get("finishMessage")
    words = f"the model ended its answer with {word}"
    if word in _FILTERED:
        return _filtered(words, message)
    # A malformed call, a language that it does not speak, and whatever comes: another attempt goes another way.
    return Failure("server", f"{words}: {message}" if message else words, retryable=True)


def _filtered(words: str, message: str | None) -> Failure:
    return Failure("content_filter", f"{words}: {message}" if message else words, retryable=False)
