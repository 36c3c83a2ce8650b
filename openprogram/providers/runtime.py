"""The one runtime lifecycle: built-in providers are registered and record or replay is activated, once.

    NEW ──▶ INITIALIZING ──▶ READY
                       └───▶ FAILED

It starts with the first provider lookup. Concurrent first callers wait for the same result. Importing this does
nothing; nothing here is undone before the process ends.
"""

import atexit
import os
import shlex
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final, TypeAlias, assert_never

from openprogram.config import Off, Record, Replay, load_config
from openprogram.credentials import load_keys
from openprogram.errors import OpenProgramError
from openprogram.home import Home, find_home
from openprogram.logs import configure_file_log, get_logger
from openprogram.pipeline.errors import PipelineError
from openprogram.pipeline.redaction import remove_secret_values
from openprogram.providers.api_registry import ApiProvider, ProviderTransform, publish_transform
from openprogram.providers.blocked import BlockedProvider
from openprogram.providers.recording import RecordingProvider, RecordingSink, open_sink
from openprogram.providers.replay import ReplayProvider

__all__ = [
    "Activation",
    "Blocked",
    "Inactive",
    "ProviderRuntime",
    "RecordActive",
    "ReplayActive",
    "RuntimeFailed",
    "RuntimeState",
    "get_activation",
    "initialize_provider_runtime",
]


class RuntimeState(Enum):
    """Where the lifecycle stands."""

    NEW = "new"
    INITIALIZING = "initializing"
    READY = "ready"
    FAILED = "failed"


#: A missing cell is a programming error.
NEXT_STATE: Final[dict[RuntimeState, frozenset[RuntimeState]]] = {
    RuntimeState.NEW: frozenset({RuntimeState.INITIALIZING}),
    RuntimeState.INITIALIZING: frozenset({RuntimeState.READY, RuntimeState.FAILED}),
    RuntimeState.READY: frozenset(),
    RuntimeState.FAILED: frozenset(),
}


class RuntimeFailed(OpenProgramError):
    """The runtime could not start. `stage`: what it did; `cause`: the error's type; `reason`: its text, redacted."""

    def __init__(self, *, stage: str, cause: str, reason: str) -> None:
        super().__init__(
            f"the provider runtime failed while it was {stage}: {cause}: {reason}",
            next_step="Start the process again once the cause is removed: a failed runtime stays failed.",
        )
        self.stage, self.cause, self.reason = stage, cause, reason


@dataclass(frozen=True)
class Inactive:
    """Calls are live and nothing is recorded."""


@dataclass(frozen=True)
class RecordActive:
    """Calls are live and go to `sink`."""

    sink: RecordingSink


@dataclass(frozen=True)
class ReplayActive:
    """Calls are answered by `provider`."""

    provider: ReplayProvider


@dataclass(frozen=True)
class Blocked:
    """Record or replay was configured and could not start: `provider` refuses every call. `cause`: redacted text."""

    mode: str
    cause: str
    provider: BlockedProvider


Activation: TypeAlias = Inactive | RecordActive | ReplayActive | Blocked


def _built_in_providers() -> dict[str, ApiProvider]:
    from openprogram.providers.vendors import vendor_providers

    return vendor_providers(stored_key=_stored_key)


def _stored_key(provider: str) -> str | None:
    """Asked by live calls alone. Raises ConfigError: the file with the keys can't be read."""
    return load_keys(find_home(os.environ)).get(provider)


class ProviderRuntime:
    """The lifecycle as an object. `environ`: where the state folder is looked up; `built_ins`: api → provider."""

    def __init__(
        self,
        environ: Mapping[str, str] = os.environ,
        built_ins: Callable[[], dict[str, ApiProvider]] = _built_in_providers,
    ) -> None:
        self._environ, self._built_ins = environ, built_ins
        # Reentrant, so that a provider that asks for a provider while it is registered gets an error, not a deadlock.
        self._lock = threading.RLock()
        self._state = RuntimeState.NEW
        self._failure: tuple[str, str, str] | None = None
        self._activation: Activation = Inactive()

    @property
    def state(self) -> RuntimeState:
        """Where the lifecycle stands."""
        return self._state

    @property
    def activation(self) -> Activation:
        """What record/replay came to; Inactive before the runtime is READY."""
        return self._activation

    def initialize(self) -> None:
        """Start, or wait for whoever is starting.

        Raises RuntimeFailed: a built-in provider could not be registered; a new exception for every caller, alike.
        """
        if self._state is RuntimeState.READY:
            return
        with self._lock:
            if self._state is RuntimeState.NEW:
                self._start()
            elif self._state is RuntimeState.INITIALIZING:
                raise RuntimeError("the provider runtime was asked for while it starts, by what it starts")
            if self._failure is not None:
                stage, cause, reason = self._failure
                raise RuntimeFailed(stage=stage, cause=cause, reason=reason)

    def _start(self) -> None:
        self._move(RuntimeState.INITIALIZING)
        try:
            self._activation = self._publish(dict(self._built_ins()))
        except BaseException as error:
            reason = str(remove_secret_values(str(error)))
            self._failure = ("registering the built-in providers", type(error).__name__, reason)
            self._move(RuntimeState.FAILED)
            if not isinstance(error, Exception):
                raise  # an interrupted program ends as it meant to; whoever asks again is told why there is nothing
        else:
            self._move(RuntimeState.READY)

    def _move(self, state: RuntimeState) -> None:
        assert state in NEXT_STATE[self._state]
        self._state = state

    def _publish(self, built_ins: dict[str, ApiProvider]) -> Activation:
        """Built-ins and what is configured, in one step. What goes wrong in the latter blocks every call instead."""
        mode, home = "the configuration", None
        try:
            home = find_home(self._environ)
            chosen = load_config(home).record_replay
            mode = type(chosen).__name__.lower()
            activation, transform = _prepare(chosen, home)
            publish_transform(transform, built_ins)
        except Exception as error:  # noqa: BLE001 - fail closed, whatever it was
            return _block(mode, error, home, built_ins)
        return activation


def _block(mode: str, error: Exception, home: Home | None, built_ins: dict[str, ApiProvider]) -> Blocked:
    cause = str(remove_secret_values(str(error)))
    if home is not None:
        configure_file_log(home)
    get_logger().error("runtime.activation_blocked", mode=mode, error_type=type(error).__name__, reason=cause)
    blocked = BlockedProvider(mode=mode, cause=cause)
    atexit.register(_tell_refused_calls, blocked)
    publish_transform(lambda _api, _provider: blocked, built_ins)
    return Blocked(mode, cause, blocked)


def _prepare(chosen: Off | Record | Replay, home: Home) -> tuple[Activation, ProviderTransform | None]:
    match chosen:
        case Off():
            return Inactive(), None
        case Record(file):
            configure_file_log(home)
            sink = open_sink(file)
            atexit.register(_tell_failed_calls, sink)
            return RecordActive(sink), lambda _api, provider: RecordingProvider(provider, sink)
        case Replay(file):
            configure_file_log(home)
            replay = ReplayProvider(file)
            atexit.register(_tell_how_it_went, replay, file)
            return ReplayActive(replay), lambda _api, _provider: replay
    assert_never(chosen)


def _tell_failed_calls(sink: RecordingSink) -> None:
    """At the end of a program that may have made an answer of an error: a replay of it would look right."""
    if failed := sink.failed_call_count:
        calls = "1 call" if failed == 1 else f"{failed} calls"
        look = shlex.join(["openprogram", "recordings", "show", str(sink.path.absolute())])
        sys.stderr.write(f"openprogram: {calls} failed, and will in every replay of this recording: {look}\n")


def _tell_refused_calls(blocked: BlockedProvider) -> None:
    """At the end of a program that may have caught the refusals."""
    if blocked.overlooked:
        sys.stderr.write(f"openprogram: {blocked.describe()}\n")


def _tell_how_it_went(replay: ReplayProvider, file: Path) -> None:
    """At the end of a program that nobody made ask for the verdict: it may have caught the mismatch and gone on."""
    if replay.verdict.asked:
        return
    with suppress(PipelineError):  # the file may have changed, which a call would have said
        _tell_recorded_failures(len(replay.recorded_failures()), file)
    if replay.verdict.overlooked:
        # Whoever forgot it, in another project maybe, would look for the difference in the program.
        switch = "Replay is switched on for all programs. To switch it off: openprogram recordings off"
        sys.stderr.write(f"openprogram: {replay.verdict.describe()}\nrecording: {file}\n{switch}\n")


def _tell_recorded_failures(count: int, file: Path) -> None:
    """A program shows the recorded error as if it were its own, such as that there is no API key."""
    if count:
        calls = "1 call was" if count == 1 else f"{count} calls were"
        look = shlex.join(["openprogram", "recordings", "show", str(file.absolute())])
        told = "answered with the failure that was recorded; a replay needs no key and no network"
        sys.stderr.write(f"openprogram: {calls} {told}: {look}\n")


_runtime: Final = ProviderRuntime()


def initialize_provider_runtime() -> None:
    """Start the process-wide runtime; the first provider lookup does it by itself.

    Raises RuntimeFailed: a built-in provider could not be registered.
    """
    _runtime.initialize()


def get_activation() -> Activation:
    """What record/replay came to in this process; Inactive before the runtime is READY."""
    return _runtime.activation
