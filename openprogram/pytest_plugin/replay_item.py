"""A test that is replayed. Nothing here could record or go live."""

from collections.abc import Callable
from pathlib import Path
from typing import Literal, Self

from openprogram.pipeline.errors import PipelineError
from openprogram.pipeline.verdict import Verdict
from openprogram.providers.event_stream import EventStream, as_event_stream
from openprogram.providers.replay import ReplayProvider
from openprogram.providers.types import AssistantMessageEvent, Context, Model, SimpleStreamOptions, StreamOptions
from openprogram.pytest_plugin.places import Place, Places

__all__ = ["LocatedReplay", "ReplayItem"]


class LocatedReplay:
    """A replay that knows where in the user's code its calls were made."""

    def __init__(self, replay: ReplayProvider, places: Places) -> None:
        self._replay, self._places = replay, places
        self._failed: list[tuple[PipelineError, tuple[Place, ...]]] = []

    def stream(self, model: Model, context: Context, options: StreamOptions | None = None) -> EventStream:
        """The recorded events of the next call, if this is its request."""
        return self._located(self._replay.stream(model, context, options), model)

    def stream_simple(self, model: Model, context: Context, options: SimpleStreamOptions | None = None) -> EventStream:
        """The recorded events of the next call, if this is its request."""
        return self._located(self._replay.stream_simple(model, context, options), model)

    def places_of(self, failure: PipelineError) -> tuple[Place, ...]:
        """Where the call was made that got `failure` raised, outermost first; empty where nothing is known."""
        return next((places for error, places in self._failed if error is failure), ())

    def _located(self, stream: EventStream, model: Model) -> EventStream:
        places = self._places.here()
        return as_event_stream(_Located(stream, lambda failure: self._failed.append((failure, places))), model)


class _Located:
    """The events of `stream`; tells `failed` what it raises."""

    def __init__(self, stream: EventStream, failed: Callable[[PipelineError], None]) -> None:
        self._stream, self._tell = stream, failed

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> AssistantMessageEvent:
        try:
            return await anext(self._stream)
        except PipelineError as failure:
            self._tell(failure)
            raise

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def aclose(self) -> None:
        await self._stream.aclose()


class ReplayItem:
    """Answers from `path`. Raises RecordingFileError: it can't be read, or is damaged."""

    mode: Literal["replay"] = "replay"

    def __init__(self, path: Path, places: Places) -> None:
        self.path = path
        self._replay = ReplayProvider(path)
        self.provider = LocatedReplay(self._replay, places)

    @property
    def verdict(self) -> Verdict:
        """What came of every call so far."""
        return self._replay.verdict

    def provider_for(self, _api: str) -> LocatedReplay:
        """The replay, whatever the api."""
        return self.provider

    def stream(self, model: Model, context: Context, options: StreamOptions | None = None) -> EventStream:
        """As `provider.stream`."""
        return self.provider.stream(model, context, options)

    def stream_simple(self, model: Model, context: Context, options: SimpleStreamOptions | None = None) -> EventStream:
        """As `provider.stream_simple`."""
        return self.provider.stream_simple(model, context, options)

    def wrap(self, _make_provider: Callable[[], object]) -> LocatedReplay:
        """The replay; nothing is made."""
        return self.provider

    def recorded_failures(self) -> list[int]:
        """As `ReplayProvider.recorded_failures`."""
        return self._replay.recorded_failures()

    def close(self) -> None:
        """Let the recording go. Calls afterwards fail."""
        self._replay.close()
