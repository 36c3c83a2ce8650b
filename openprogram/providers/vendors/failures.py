"""Why a call failed: what pydantic-ai, the SDKs and httpx2 raise, as a value.

A failure of the provider is data. Everything else that goes wrong is an error of a program and is raised.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import httpx2
from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelOverloadedError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestRejectedError,
    ModelServerError,
    ModelTimeoutError,
    ModelUnavailableError,
    UnexpectedModelBehavior,
)

from openprogram.pipeline.redaction.names import SECRET_PLACEHOLDER
from openprogram.providers.types import ErrorReason
from openprogram.providers.vendors.wire import WireWatch

__all__ = ["CUT_OFF", "Failure", "ProviderFailed", "provider_failures", "provider_words"]


#: Characters of a key that nobody guesses.
_SHORTEST_SECRET = 8


@dataclass(frozen=True)
class Failure:
    """Why a provider failed. `retry_after_s`: the wait that it asked for, in seconds."""

    reason: ErrorReason
    message: str
    retryable: bool
    retry_after_s: float | None = None

    def without(self, key: str | None) -> "Failure":
        """The same, but for the key: some servers quote it when they refuse it, and messages are recorded.

        A very short one, such as a server of one's own takes, is no secret, and may be part of a word.
        """
        if key is None or len(key) < _SHORTEST_SECRET:
            return self
        return replace(self, message=self.message.replace(key, SECRET_PLACEHOLDER))


#: The body came to a proper end, the answer did not: a server died behind its proxy.
CUT_OFF = Failure("network", "the stream ended before the answer did", retryable=True)


class ProviderFailed(Exception):
    """Carries a Failure from where it is found to where it becomes an event. Never leaves the adapter."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


#: pydantic-ai's categories, the special before the general: reason, and whether trying again can help.
_CATEGORIES: tuple[tuple[type[ModelAPIError], ErrorReason, bool], ...] = (
    (ModelContextWindowExceededError, "context_overflow", False),
    (ModelAuthenticationError, "auth", False),
    (ModelRequestRejectedError, "invalid_request", False),
    (ModelRateLimitError, "rate_limit", True),
    (ModelQuotaExceededError, "rate_limit", False),  # the money is spent: waiting does not help
    (ModelOverloadedError, "overloaded", True),
    (ModelUnavailableError, "server", True),
    (ModelServerError, "server", True),
    (ModelTimeoutError, "timeout", True),
    (ModelConnectionError, "network", True),
)

#: Statuses that pydantic-ai puts into no category.
_STATUSES: dict[int, tuple[ErrorReason, bool]] = {
    408: ("timeout", True),
    409: ("server", True),  # a lock that another request holds, says OpenAI's SDK, which retries it
    413: ("context_overflow", False),
}

#: What code that reads a provider's answer raises when the answer is not what it takes it for.
_MISREAD = (AssertionError, AttributeError, KeyError, IndexError, TypeError, ValueError)


@contextmanager
def provider_failures(watch: WireWatch) -> Iterator[None]:
    """Raise ProviderFailed in place of whatever the code inside raises because of the provider.

    For calls into pydantic-ai only. What it raises before the server has answered, other than its own errors and
    those of the connection, is about our request and stays as it is; afterwards it is about the server's answer.
    """
    try:
        yield
    except ModelAPIError as error:
        raise ProviderFailed(_api_failure(error, watch)) from error
    except httpx2.TimeoutException as error:
        raise ProviderFailed(Failure("timeout", _described(error), retryable=True)) from error
    except httpx2.RequestError as error:
        raise ProviderFailed(Failure("network", _connection_words(error), retryable=True)) from error
    except UnexpectedModelBehavior as error:
        nothing_came = watch.ended and not watch.terminal and watch.is_stream
        raise ProviderFailed(CUT_OFF if nothing_came else _unreadable(watch, str(error))) from error
    except _MISREAD as error:
        if watch.status is None:
            raise
        raise ProviderFailed(_unreadable(watch, _described(error))) from error


def _api_failure(error: ModelAPIError, watch: WireWatch) -> Failure:
    if type(error) is ModelAPIError and error.body is None and watch.status is not None:
        # Neither a category nor a word from the provider: its answer could not be decoded.
        return _unreadable(watch, error.message)
    if type(error) is ModelConnectionError and (cause := _connection_failure(error)) is not None:
        return Failure("network", _connection_words(cause), retryable=True)
    reason, retryable = _classified(error)
    if isinstance(error, ModelHTTPError) and error.provider_retry_hint is not None:
        retryable = error.provider_retry_hint
    return Failure(reason, _message(error), retryable, _retry_after_s(error))


def _classified(error: ModelAPIError) -> tuple[ErrorReason, bool]:
    if _code(error.body) == "tool_use_failed":
        # Groq's 400 where the model, not the caller, made a call that doesn't fit its schema: the next one may fit.
        return "invalid_response", True
    for category, reason, retryable in _CATEGORIES:
        if isinstance(error, category):
            return reason, retryable
    if isinstance(error, ModelHTTPError):
        client_error: tuple[ErrorReason, bool] = ("invalid_request", False)
        return _STATUSES.get(error.status_code, client_error if error.status_code < 500 else ("server", True))
    if str(error.provider_error_type).startswith("invalid_request"):
        return "invalid_request", False
    return "unknown", False


def _message(error: ModelAPIError) -> str:
    """The provider's own words where it has some, after the status that they came with."""
    words = provider_words(error.body) or error.message
    # pydantic-ai gives an error inside a stream the status that it would have had before it
    return f"{error.status_code}: {words}" if isinstance(error, ModelHTTPError) and not error.in_stream else words


def _code(body: object) -> object:
    inner = body.get("error", body) if isinstance(body, dict) else None
    return inner.get("code") if isinstance(inner, dict) else None


def provider_words(body: object) -> str | None:
    """What an error body says to people, in any of the vendors' shapes; None where it says nothing.

    `error` or AWS's `Error` inside, or none (Mistral); `message`, `Message` or FastAPI's `detail`, which may be a list
    of findings (Mistral, vLLM). pydantic-ai hands over some bodies as text.
    """
    if isinstance(body, str) and body.lstrip().startswith("{"):
        try:
            body = json.loads(body)
        except ValueError:
            return str(body)
    match body:
        case {"error": inner} | {"Error": inner} if inner:
            return provider_words(inner)
        case {"message": words} | {"Message": words} | {"detail": words} | {"msg": words} if words:
            return provider_words(words)
        case [*findings]:
            return "; ".join(words for each in findings if (words := provider_words(each))) or None
        case str() as words:
            return words or None
    return None


def _retry_after_s(error: ModelAPIError) -> float | None:
    """The wait that the provider asked for, in seconds.

    Not from the head of a stream that failed later: Anthropic sends `retry-after` with good answers too. And Azure
    sends `retry-after-ms: 0` beside `retry-after: 1`, where a wait of nothing is no answer.
    """
    if error.in_stream:
        return None
    headers = (error.headers or {}) if isinstance(error, ModelHTTPError) else {}
    if error.retry_after == 0 and headers.get("retry-after", "").isdecimal():
        return float(headers["retry-after"])
    return error.retry_after


def _unreadable(watch: WireWatch, detail: str) -> Failure:
    if watch.content_type and not watch.is_stream:
        detail = f"the server answered with {watch.content_type} where an event stream was asked for"
    elif watch.torn:
        return CUT_OFF  # half an event cannot be read either
    return Failure("invalid_response", detail, retryable=False)


def _connection_failure(error: BaseException) -> httpx2.RequestError | None:
    """What lies below an SDK's own words, which are `Connection error.` whatever it was."""
    below: BaseException | None = error
    while below is not None and not isinstance(below, httpx2.RequestError):
        below = below.__cause__ or below.__context__
    return below


def _connection_words(error: httpx2.RequestError) -> str:
    """What failed at which server; of its URL nothing that could be a secret."""
    try:
        url = error.request.url
    except RuntimeError:  # it wasn't told for which request it was raised
        return _described(error)
    return f"{_described(error)} ({url.scheme}://{url.netloc.decode('ascii')})"


def _described(error: Exception) -> str:
    # httpx2's timeouts have no text of their own
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
