"""What a caller is told of a value that can't be recorded, and of an exception, in words that hold no secret."""

from openprogram.pipeline.errors import RecordingValueError
from openprogram.pipeline.json_value import JsonValue, NotJson
from openprogram.pipeline.redaction import redact, remove_secret_values

__all__ = ["describe_exception", "refusal"]


def refusal(error: NotJson, where: str = "") -> RecordingValueError:
    """The error for a value that strict JSON can't hold. `where`: what it is a field of, such as `event 3`."""
    # A key of the caller's, and so a secret, may stand in the path: nothing was redacted yet where this comes from.
    field_path = " ".join(part for part in (where, str(remove_secret_values(error.field_path))) if part)
    return RecordingValueError(field_path=field_path, reason=str(remove_secret_values(error.reason)))


def describe_exception(failure: BaseException) -> dict[str, JsonValue]:
    """`type` and `message` of an exception, redacted, for a call_end line."""
    try:
        message = str(failure)
    except Exception:  # noqa: BLE001 - an exception that can't be printed must not take the place of itself
        message = "(its message could not be read)"
    described = redact({"type": type(failure).__name__, "message": message}).value
    assert isinstance(described, dict)
    return described
