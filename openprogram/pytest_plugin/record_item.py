"""A test that is recorded: into a file beside the recording, which replaces it if the test passes."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from openprogram.errors import OpenProgramError
from openprogram.pipeline.log.files import file_errors, sync_folder
from openprogram.pipeline.log.source import COMPRESSED_SUFFIX
from openprogram.project import project_policy
from openprogram.providers.api_registry import ApiProvider, get_registered_provider
from openprogram.providers.event_stream import EventStream, as_event_stream
from openprogram.providers.recording import RecordingProvider, RecordingSink
from openprogram.providers.replay import read_recording_file
from openprogram.providers.runtime import Inactive, get_activation, initialize_provider_runtime
from openprogram.providers.types import Context, Model, SimpleStreamOptions, StreamOptions
from openprogram.pytest_plugin.settings import ItemSettings

__all__ = ["FAILED_SUFFIX", "PARTIAL_SUFFIX", "RecordItem"]

FAILED_SUFFIX = ".failed"
PARTIAL_SUFFIX = ".partial"


class RecordItem:
    """Records the calls of a test into `path.partial`.

    `partial`: what has been recorded so far.

    Raises RecordingFileError: it can't be created. RecordingValueError: a policy of matching that there isn't.
    ConfigError: pyproject.toml can't be used. OpenProgramError: the configuration records or replays already.
    """

    mode: Literal["record"] = "record"
    verdict = None

    def __init__(self, settings: ItemSettings) -> None:
        _refuse_two_switches()
        self.path = path = settings.path
        self.partial = path.with_name(path.name + PARTIAL_SUFFIX)
        self._failed = path.with_name(path.name + FAILED_SUFFIX)
        with file_errors(path, "create"):
            path.parent.mkdir(parents=True, exist_ok=True)
            self.partial.unlink(missing_ok=True)  # of a run that was killed
        project = project_policy(path.parent).header_fields()
        self._sink = RecordingSink(self.partial, project, match=settings.match, volatile=settings.volatile)
        self._recorded: dict[str, tuple[ApiProvider, RecordingProvider]] = {}
        self.provider: ApiProvider = self

    @property
    def failed_call_count(self) -> int:
        """The calls so far that were answered with an error, or in which the provider raised one."""
        return self._sink.failed_call_count

    @property
    def call_count(self) -> int:
        """The calls so far."""
        return self._sink.call_count

    def provider_for(self, api: str) -> ApiProvider:
        """The registered provider, recorded."""
        live = get_registered_provider(api)
        known = self._recorded.get(api)
        if known is None or known[0] is not live:
            known = self._recorded[api] = live, RecordingProvider(live, self._sink)
        return known[1]

    def stream(self, model: Model, context: Context, options: StreamOptions | None = None) -> EventStream:
        """The events of the provider that is registered for the model's api, recorded."""
        return as_event_stream(self.provider_for(model.api).stream(model, context, options), model)

    def stream_simple(self, model: Model, context: Context, options: SimpleStreamOptions | None = None) -> EventStream:
        """The events of the provider that is registered for the model's api, recorded."""
        return as_event_stream(self.provider_for(model.api).stream_simple(model, context, options), model)

    def wrap(self, make_provider: Callable[[], ApiProvider]) -> ApiProvider:
        """What `make_provider` makes, recorded."""
        return RecordingProvider(make_provider(), self._sink)

    def keep(self) -> Path:
        """Let the new recording take the place of the old one, and return where it stands.

        Raises RecordingFileError: it is not whole, such as where a call goes on after the test; then it is set aside.
        """
        self._sink.close()
        try:
            read_recording_file(self.partial).close()
        except BaseException:
            self.set_aside()
            raise
        with file_errors(self.path, "replace"):
            self.partial.replace(self.path)
            self.path.with_name(self.path.name + COMPRESSED_SUFFIX).unlink(missing_ok=True)
            self._failed.unlink(missing_ok=True)
            sync_folder(self.path)
        return self.path

    def set_aside(self) -> Path | None:
        """Leave the old recording in place and the new one, if it has calls, beside it: there, or None without any."""
        if self._recorded_nothing():
            self.drop()
            return None
        self._sink.close()
        with file_errors(self._failed, "replace"):
            self.partial.replace(self._failed)
        return self._failed

    def _recorded_nothing(self) -> bool:
        with file_errors(self.partial, "read"), self.partial.open("rb") as stream:
            return sum(1 for _ in itertools.islice(stream, 2)) < 2  # the header alone

    def drop(self) -> None:
        """Forget what was recorded: the test did not run."""
        self._sink.close()
        with file_errors(self.partial, "remove"):
            self.partial.unlink(missing_ok=True)


def _refuse_two_switches() -> None:
    initialize_provider_runtime()
    if not isinstance(get_activation(), Inactive):
        raise OpenProgramError(
            "tests can't be recorded while the configuration records or replays: which of them the calls belong to "
            "would be chance",
            next_step="Switch it off: openprogram recordings off",
        )
