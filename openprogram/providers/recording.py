"""Record: a provider that wraps another, writes every call to a recording, and yields exactly its events.

Also the promised import path of what the format and redaction define; each has one definition, in the pipeline.
"""

import weakref

from openprogram.pipeline.log.files import PathLike
from openprogram.pipeline.log.lines import RECORDING_FORMAT_VERSION
from openprogram.pipeline.log.writer import RecordingSink
from openprogram.pipeline.record import Recorder
from openprogram.pipeline.redaction import (
    SECRET_FIELD_NAMES,
    SECRET_PLACEHOLDER,
    remove_secret_values,
)
from openprogram.providers.api_registry import ApiProvider
from openprogram.providers.codec import AssistantEventCodec, ProviderRequestCodec
from openprogram.providers.event_stream import EventStream, as_event_stream
from openprogram.providers.types import AssistantMessageEvent, Context, Model, SimpleStreamOptions, StreamOptions

__all__ = [
    "RECORDING_FORMAT_VERSION",
    "SECRET_FIELD_NAMES",
    "SECRET_PLACEHOLDER",
    "RecordingProvider",
    "RecordingSink",
    "remove_secret_values",
]


class RecordingProvider:
    """Wraps `provider` and records its calls.

    `recording_path`: a recording that is created (mode 0600) or appended to, or a `RecordingSink` shared with other
    providers. The request is on file before the provider starts, an event before the consumer gets it; where the
    file can't be written, the call fails.
    Raises RecordingFileError: the file is no recording, is damaged, or can't be opened for writing.
    """

    def __init__(self, provider: ApiProvider, recording_path: PathLike | RecordingSink) -> None:
        self._provider = provider
        if isinstance(recording_path, RecordingSink):
            self.sink = recording_path
        else:
            self.sink = RecordingSink(recording_path)
            weakref.finalize(self, self.sink.close)
        self._recorder: Recorder[AssistantMessageEvent] = Recorder(
            self.sink, ProviderRequestCodec(), AssistantEventCodec()
        )

    def stream(self, model: Model, context: Context, options: StreamOptions | None = None) -> EventStream:
        """The provider's own `stream`, recorded."""
        call = self._recorder.call((model, context, options), lambda: self._provider.stream(model, context, options))
        return as_event_stream(call, model)

    def stream_simple(self, model: Model, context: Context, options: SimpleStreamOptions | None = None) -> EventStream:
        """The provider's own `stream_simple`, recorded."""
        call = self._recorder.call(
            (model, context, options), lambda: self._provider.stream_simple(model, context, options)
        )
        return as_event_stream(call, model)

    def close(self) -> None:
        """Let the recording go; safe to call twice. Calls afterwards fail."""
        self.sink.close()
