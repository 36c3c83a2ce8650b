"""A test whose calls are live and not recorded: `--recording-mode=off`."""

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from openprogram.providers import stream as registry
from openprogram.providers.api_registry import ApiProvider
from openprogram.providers.event_stream import EventStream
from openprogram.providers.types import Context, Model, SimpleStreamOptions, StreamOptions

__all__ = ["LiveItem"]


class LiveItem:
    """The registry as it is."""

    mode: Literal["off"] = "off"
    verdict = None

    def __init__(self, path: Path) -> None:
        self.path = path
        self.provider: ApiProvider = self

    def stream(self, model: Model, context: Context, options: StreamOptions | None = None) -> EventStream:
        """As `openprogram.providers.stream.stream`."""
        return registry.stream(model, context, options)

    def stream_simple(self, model: Model, context: Context, options: SimpleStreamOptions | None = None) -> EventStream:
        """As `openprogram.providers.stream.stream_simple`."""
        return registry.stream_simple(model, context, options)

    def wrap(self, make_provider: Callable[[], ApiProvider]) -> ApiProvider:
        """What `make_provider` makes."""
        return make_provider()
