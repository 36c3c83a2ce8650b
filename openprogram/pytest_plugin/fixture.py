"""What the fixture `recording` gives to a test."""

from collections.abc import Callable
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

from openprogram.pipeline.verdict import Verdict
from openprogram.providers.api_registry import ApiProvider
from openprogram.providers.event_stream import EventStream
from openprogram.providers.types import Context, Model, SimpleStreamOptions, StreamOptions

__all__ = ["ItemMode", "ItemRecording"]

#: What happens to the calls of one test: decided before it starts.
ItemMode: TypeAlias = Literal["replay", "record", "off"]


class ItemRecording(Protocol):
    """The recording of the running test.

    `path`: the recording, whether or not it is there yet. `mode`: what happens to this test's calls. `provider`:
    what the code under test may be given; its `stream` and `stream_simple` are here too. `verdict`: what came of
    every call so far, None unless the test is replayed.
    """

    @property
    def path(self) -> Path: ...

    @property
    def mode(self) -> ItemMode: ...

    @property
    def verdict(self) -> Verdict | None: ...

    @property
    def provider(self) -> ApiProvider: ...

    def stream(self, model: Model, context: Context, options: StreamOptions | None = None) -> EventStream:
        """As `provider.stream`."""
        ...

    def stream_simple(self, model: Model, context: Context, options: SimpleStreamOptions | None = None) -> EventStream:
        """As `provider.stream_simple`."""
        ...

    def wrap(self, make_provider: Callable[[], ApiProvider]) -> ApiProvider:
        """A provider of your own, recorded. `make_provider` is not called in a replay: nothing live is constructed."""
        ...
