"""Spans of scenario time."""

from typing import Annotated, Final, TypeAlias

from pydantic import Field

__all__ = ["MAX_SECONDS", "Seconds"]

#: A hundred years: longer than any scenario, and far from where adding times overflows.
MAX_SECONDS: Final = 100 * 365 * 86_400
#: A span, finite and not negative.
Seconds: TypeAlias = Annotated[float, Field(ge=0, le=MAX_SECONDS, allow_inf_nan=False)]
