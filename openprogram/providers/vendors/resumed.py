"""Subclasses of pydantic-ai's streams, in place of those that its models build."""

from dataclasses import fields
from typing import Any, TypeVar

from pydantic_ai.models import StreamedResponse

__all__ = ["resumed"]

_S = TypeVar("_S", bound=StreamedResponse)


def resumed(response: StreamedResponse, subclass: type[_S], **more: Any) -> _S:
    """`response`, which nobody has read from yet, as `subclass` of its own class. `more`: fields of the subclass alone.

    Where a model has no hook for the class of its streams, this stands for one.
    """
    own = {each.name: getattr(response, each.name) for each in fields(response) if each.init}
    return subclass(**own, **more)
