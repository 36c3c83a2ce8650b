"""A test that is replayed. Nothing here could record or go live."""

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from openprogram.pipeline.verdict import Verdict
from openprogram.providers.event_stream import EventStream
from openprogram.providers.replay import ReplayProvider
from openprogram.providers.types import Context, Model, SimpleStreamOptions, StreamOptions

__all__ = ["ReplayItem"]


class ReplayItem:
    """Answers from `path`. Raises RecordingFileError: it can't be read, or is damaged."""

    mode: Literal["replay"] = "replay"

    def __init__(self, path: Path) -> None:
        self.path = path
        self.provider = ReplayProvider(path)

    @property
    def verdict(self) -> Verdict:
        """What came of every call so far."""
        return self.provider.verdict

    def provider_for(self, _api: str) -> ReplayProvider:
        """The replay, whatever the api."""
        return self.provider

    def stream(self, model: Model, context: Context, options: StreamOptions | None = None) -> EventStream:
        """The recorded events of the next call, if this is its request."""
        return self.provider.stream(model, context, options)

    def stream_simple(self, model: Model, context: Context, options: SimpleStreamOptions | None = None) -> EventStream:
        """The recorded events of the next call, if this is its request."""
        return self.provider.stream_simple(model, context, options)

    def wrap(self, _make_provider: Callable[[], object]) -> ReplayProvider:
        """The replay; nothing is made."""
        return self.provider

    def close(self) -> None:
        """Let the recording go. Calls afterwards fail."""
        self.provider.close()
