"""Record: a provider that wraps another, writes every call to a recording, and yields exactly its events.

Also the promised import path of what the format and redaction define; each has one definition, in the pipeline.
"""

import os
import weakref
from collections.abc import Sequence
from pathlib import Path

from openprogram.pipeline.log.files import PathLike
from openprogram.pipeline.log.lines import RECORDING_FORMAT_VERSION
from openprogram.pipeline.log.writer import RecordingSink
from openprogram.pipeline.matching.policy import MatchWord
from openprogram.pipeline.record import Recorder
from openprogram.pipeline.redaction import (
    SECRET_FIELD_NAMES,
    SECRET_PLACEHOLDER,
    remove_secret_values,
)
from openprogram.project import project_policy
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
    "open_sink",
    "remove_secret_values",
]


def open_sink(path: PathLike, match: MatchWord | None = None, volatile: Sequence[str] | None = None) -> RecordingSink:
    """A sink for `path`; a file that is new gets the project's policy, but for what is given. Raises as it does."""
    is_new = not os.path.lexists(path)
    header = project_policy(Path.cwd()).header_fields() if is_new and (match is None or volatile is None) else {}
    return RecordingSink(path, header, match=match, volatile=volatile)


class RecordingProvider:
    """Wraps `provider` and records its calls.

    `recording_path`: a recording that is created (mode 0600) or appended to, or a `RecordingSink` shared with other
    providers. The request is on file before the provider starts, an event before the consumer gets it; where the
    file can't be written, the call fails.
    `match`: `order` or `content`; `volatile`: rules such as `uuid`. They go into a new file's header and decide how a
    replay matches requests; None is what the project's pyproject.toml says, or else `order` and no rules.
    Raises RecordingFileError: the file is no recording, is damaged, can't be opened for writing, or is there already
    and says something else than the `match` or `volatile` given. RecordingValueError: no such word or rule.
    ConfigError: pyproject.toml, read for a new file only, can't be used. Source: docs/comparison.md.
    """

    def __init__(
        self,
        provider: ApiProvider,
        recording_path: PathLike | RecordingSink,
        *,
        match: MatchWord | None = None,
        volatile: Sequence[str] | None = None,
    ) -> None:
        self._provider = provider
        if isinstance(recording_path, RecordingSink):
            self.sink = recording_path
            self.sink.require_policy(match, volatile)
        else:
            self.sink = open_sink(recording_path, match, volatile)
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
