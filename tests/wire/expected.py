"""What a recorded answer says, read from its bytes alone: the value that a run is held to.

Nothing here knows a case by its name. Each api's module reads its own bytes into an `Expected`, in the simplest way
that could be right and without any code of the adapter; what the apis share (server-sent events, the meaning of an
HTTP status) is here.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from openprogram.providers.types import ErrorReason

__all__ = [
    "CUT_OFF",
    "Expected",
    "ExpectedFailure",
    "ExpectedTool",
    "Response",
    "http_failure",
    "is_event_stream",
    "plain_answer",
    "reason_of",
    "server_sent_events",
]

#: A case's `response`: `status`, `headers`, `body_text` or `body_base64`.
Response = Mapping[str, Any]


@dataclass(frozen=True)
class ExpectedFailure:
    """Why an exchange failed. `says`: words that the message must hold; `reason` None: any of the documented ones.

    `retry_after_s` `some`: the provider gave a date, so the seconds depend on when it is asked.
    """

    reason: ErrorReason | None
    retryable: bool
    says: str = ""
    retry_after_s: float | Literal["some"] | None = None


@dataclass(frozen=True)
class ExpectedTool:
    """A tool call. `arguments`: the text as it came, or what it is where the api sends it as JSON.

    `id` None: the api gives none, so the adapter makes one.
    """

    id: str | None
    name: str
    arguments: str | dict[str, Any]


@dataclass(frozen=True)
class Expected:
    """One exchange. `usage`: input without cached tokens, output, cache read, cache write.

    `text`, `thinking`: of all blocks together. `signatures`: what must come back with thinking or calls, in any order.
    `provider_blocks`: the vendor's own blocks, whole, in order; None where they are not read from the bytes.
    `citations`: of all text blocks together. `stop`: our stop reason, `error` where there is a `failure`.
    `notes`: what a reader of the result should know.
    """

    stop: str
    usage: tuple[int, int, int, int] = (0, 0, 0, 0)
    text: str = ""
    thinking: str = ""
    tools: list[ExpectedTool] = field(default_factory=list)
    signatures: list[str] = field(default_factory=list)
    provider_blocks: list[dict[str, Any]] | None = None
    citations: list[dict[str, Any]] = field(default_factory=list)
    failure: ExpectedFailure | None = None
    notes: list[str] = field(default_factory=list)


#: A stream without its last event.
CUT_OFF = ExpectedFailure("network", retryable=True)

_STATUSES: dict[int, ErrorReason] = {
    401: "auth",
    403: "auth",
    408: "timeout",
    409: "server",
    413: "context_overflow",
    429: "rate_limit",
    529: "overloaded",
}

#: Words in an error's type or code, the special before the general.
_WORDS: tuple[tuple[str, ErrorReason], ...] = (
    ("context_length", "context_overflow"),
    ("overloaded", "overloaded"),
    ("throttling", "rate_limit"),
    ("rate_limit", "rate_limit"),
    ("resource_exhausted", "rate_limit"),
    ("timeout", "timeout"),
    ("authentication", "auth"),
    ("permission", "auth"),
    ("invalid_request", "invalid_request"),
    ("not_found", "invalid_request"),
    ("server_error", "server"),
    ("api_error", "server"),
    ("internal", "server"),
    ("unavailable", "server"),
)

_RETRYABLE: frozenset[ErrorReason] = frozenset({"rate_limit", "overloaded", "network", "timeout", "server"})


def reason_of(error: object, status: int | None = None) -> tuple[ErrorReason, bool]:
    """Reason and whether to try again, from an error object's words, otherwise from the status."""
    fields = error if isinstance(error, Mapping) else {}
    words = " ".join(str(fields.get(name, "")) for name in ("type", "code", "status")).lower()
    if "tool_use_failed" in words:  # the model's answer is at fault, not the request: another may be better
        return "invalid_response", True
    if "insufficient_quota" in words:
        return "rate_limit", False
    if "too long" in str(fields.get("message", "")).lower():
        return "context_overflow", False
    reason = next((reason for word, reason in _WORDS if word in words), None)
    code = fields.get("code")
    by_number = status or (code if isinstance(code, int) else None)
    if by_number is not None and reason in (None, "invalid_request"):
        reason = _STATUSES.get(by_number, "invalid_request" if by_number < 500 else "server")
    reason = reason or "unknown"
    return reason, reason in _RETRYABLE


def is_event_stream(response: Response) -> bool:
    """Whether the answer says that it is one, in either of the two kinds."""
    kind = response["headers"].get("content-type", "")
    return "event-stream" in kind or "eventstream" in kind


def http_failure(response: Response) -> Expected | None:
    """What an HTTP error means; None for an answer with a status below 400."""
    status: int = response["status"]
    if status < 400:
        return None
    error = _error_of(_json(response.get("body_text", "")))
    reason, retryable = reason_of(error, status)
    headers = response["headers"]
    if "x-should-retry" in headers:
        retryable = headers["x-should-retry"] == "true"
    says = error.get("message", "") if isinstance(error, Mapping) else str(error or "")
    return Expected("error", failure=ExpectedFailure(reason, retryable, says, _retry_after_s(headers)))


def plain_answer(response: Response) -> Expected | None:
    """A plain answer to a call for a stream: an error that says so. None for a stream."""
    if is_event_stream(response):
        return None
    kind = response["headers"].get("content-type", "").split(";")[0]
    return Expected("error", failure=ExpectedFailure("invalid_response", retryable=False, says=kind))


def _retry_after_s(headers: Mapping[str, str]) -> float | Literal["some"] | None:
    """Milliseconds before seconds, but zero milliseconds beside seconds are none."""
    milliseconds, seconds = headers.get("retry-after-ms"), headers.get("retry-after")
    if milliseconds is not None and (float(milliseconds) or seconds is None):
        return float(milliseconds) / 1000
    if seconds is None or seconds.isdecimal():
        return None if seconds is None else float(seconds)
    return "some" if "GMT" in seconds else None


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _error_of(body: Any) -> Any:
    body = body[0] if isinstance(body, list) and body else body
    if not isinstance(body, Mapping):
        return body
    return body.get("error") or body


def server_sent_events(body: str) -> Iterator[tuple[str, str]]:
    """Name ("" where it has none) and data of each event; comments and fields that nobody knows are no events.

    Source: https://html.spec.whatwg.org/multipage/server-sent-events.html. An event that no blank line ends is none.
    """
    name, data = "", list[str]()
    for line in body.replace("\r\n", "\n").split("\n")[:-1]:  # what follows the last line end is no line
        key, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if not line:
            if data:
                yield name, "\n".join(data)
            name, data = "", []
        elif key == "event":
            name = value
        elif key == "data":
            data.append(value)
