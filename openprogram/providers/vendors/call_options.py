"""Options that are the adapter's own business, whatever the api: how long a call waits, and what is cached."""

from typing import TypeVar

from pydantic import BaseModel

from openprogram.providers.types import Context, StreamOptions

__all__ = ["prompt_cache", "read_timeout_s"]

_B = TypeVar("_B", bound=BaseModel)


def read_timeout_s(options: StreamOptions, default: float) -> float:
    """Seconds until the next bytes. Raises ValueError: `timeout_s` isn't positive."""
    if options.timeout_s is None:
        return default
    if not options.timeout_s > 0:
        raise ValueError(f"timeout_s is {options.timeout_s}: give seconds above 0, or None for the default")
    return options.timeout_s


def prompt_cache(context: Context, options: StreamOptions) -> Context:
    """The context with the cache marks that are to be sent: the caller's, or none.

    Raises ValueError: `cache_retention` is not `none`, `short` or `long`.
    """
    if options.cache_retention not in ("none", "short", "long"):
        raise ValueError(f"cache_retention {options.cache_retention!r} is not known: give 'none', 'short' or 'long'")
    if options.cache_retention != "none":
        return context
    messages = [
        _unmarked(message)
        if isinstance(message.content, str)
        else _unmarked(message).model_copy(update={"content": [_unmarked(block) for block in message.content]})
        for message in context.messages
    ]
    tools = context.tools and [_unmarked(tool) for tool in context.tools]
    return context.model_copy(update={"messages": messages, "tools": tools})


def _unmarked(marked: _B) -> _B:
    return (
        marked if getattr(marked, "cache_control", None) is None else marked.model_copy(update={"cache_control": None})
    )
