"""Half surrogate pairs, which Python's strings can hold and UTF-8 can't.

A model can stream an emoji in two halves, and a cut between them leaves one. It is recorded and shown as it is, but
no request can carry it: there it becomes U+FFFD, and two halves that stand side by side become the whole.
"""

from typing import Any, TypeVar

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError

__all__ = ["encodable_message", "encodable_text"]

_M = TypeVar("_M", bound=BaseModel)


def encodable_text(text: str) -> str:
    """The same text, or its nearest that has an encoding."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def encodable_message(message: _M) -> _M:
    """The same message, or a copy of it with every string in it encodable. `details`, never sent, are left out."""
    try:
        message.model_dump_json(exclude={"details"})  # by far the quickest look at all strings
    except PydanticSerializationError:
        return type(message).model_validate(_encodable(message.model_dump(exclude={"details"})))
    return message


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return encodable_text(value)
    if isinstance(value, dict):
        return {_encodable(key): _encodable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_encodable(item) for item in value]
    return value
