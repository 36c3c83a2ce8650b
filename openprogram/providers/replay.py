"""Replay: a provider that answers from a recording and holds nothing that could reach a real one.

Also the promised import path of what reading and comparing define; each has one definition, in the pipeline.
"""

from pathlib import Path
from typing import Final, Self

from openprogram.pipeline.errors import RecordedCallError, RecordingFileError, ReplayMismatch, UnconsumedCalls
from openprogram.pipeline.log.files import PathLike
from openprogram.pipeline.log.reader import CallSummary, Recording, open_recording
from openprogram.pipeline.replay import Replayer
from openprogram.pipeline.stages.compare import (
    FREE_FORM_FIELD_NAMES,
    NON_DETERMINISTIC_FIELD_NAMES,
    ComparisonRules,
    Difference,
    find_first_difference,
)
from openprogram.pipeline.verdict import Verdict
from openprogram.providers.causes import find_cause
from openprogram.providers.codec import AssistantEventCodec, ProviderRequestCodec
from openprogram.providers.event_stream import EventStream, as_event_stream
from openprogram.providers.types import AssistantMessageEvent, Context, Model, SimpleStreamOptions, StreamOptions

__all__ = [
    "COMPARISON_RULES",
    "FREE_FORM_FIELD_NAMES",
    "NON_DETERMINISTIC_FIELD_NAMES",
    "CallSummary",
    "Difference",
    "RecordedCallError",
    "Recording",
    "RecordingFileError",
    "ReplayMismatch",
    "ReplayProvider",
    "UnconsumedCalls",
    "Verdict",
    "find_first_difference",
    "read_recording_file",
]

#: What replay does not compare, with the reasons; `openprogram recordings show --json` has it.
COMPARISON_RULES: Final = ComparisonRules(
    ignored_paths={
        "model.name": "shown to people, never sent to a provider",
        "model.cost": "a price list changes without changing a request",
        "model.context_window": "what the model could take, not what it is sent",
    }
)


def read_recording_file(path: PathLike) -> Recording:
    """Open a recording, read strictly. Close it, or use it as a context manager.

    Raises RecordingFileError with line number, call index and reason: see `open_recording`.
    """
    return open_recording(path, AssistantEventCodec().check)


class ReplayProvider:
    """Answers call after call from `recording_path`, comparing each request with the recorded one.

    Raises RecordingFileError at once: the file can't be read, is damaged, or is of another version. A call raises
    ReplayMismatch: its request differs (then no recorded call is used up), or no call is left;
    RecordedCallError, after the recorded events: the recorded call had not completed.
    """

    def __init__(self, recording_path: PathLike) -> None:
        self._recording = read_recording_file(recording_path)
        self._replayer: Replayer[AssistantMessageEvent] = Replayer(
            self._recording, ProviderRequestCodec(), AssistantEventCodec(), COMPARISON_RULES, find_cause
        )

    @property
    def path(self) -> Path:
        """The file that is read."""
        return self._recording.path

    @property
    def call_count(self) -> int:
        """How many calls are recorded."""
        return self._recording.call_count

    def first_tools(self) -> tuple[str, ...]:
        """Names of the tools that the first recorded request offers the model, in its order.

        Raises RecordingFileError: the file changed underneath.
        """
        if not self.call_count:
            return ()
        context = self._recording.request(0)["context"]
        tools = context.get("tools") if isinstance(context, dict) else None
        names = (tool.get("name") for tool in (tools if isinstance(tools, list) else []) if isinstance(tool, dict))
        return tuple(name for name in names if isinstance(name, str))

    @property
    def verdict(self) -> Verdict:
        """What came of every call so far. A mismatch stays in it, whoever caught the exception."""
        return self._replayer.verdict

    def recorded_failures(self) -> list[int]:
        """The calls answered so far that failed when they were recorded, by call_index.

        Their answer is the failure that was recorded; a replay asks no provider and needs no key. Raises
        RecordingFileError: the file changed underneath, or is closed.
        """
        return self._replayer.recorded_failures()

    def assert_consumed(self) -> None:
        """Check that the run was the recorded one, whole.

        Raises ReplayMismatch, RecordingFileError: one happened, even if it was caught. UnconsumedCalls: recorded
        calls are left over.
        """
        self.verdict.require()

    def stream(self, model: Model, context: Context, options: StreamOptions | None = None) -> EventStream:
        """The recorded events of the next call, if this is its request."""
        return as_event_stream(self._replayer.call((model, context, options)), model)

    def stream_simple(self, model: Model, context: Context, options: SimpleStreamOptions | None = None) -> EventStream:
        """The recorded events of the next call, if this is its request."""
        return as_event_stream(self._replayer.call((model, context, options)), model)

    def close(self) -> None:
        """Let the recording go; safe to call twice. Calls afterwards fail."""
        self._recording.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
