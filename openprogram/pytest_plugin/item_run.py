"""One test with a recording, from before its first fixture to after its last: what is started, checked and kept."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NoReturn, TypeAlias

import pytest

from openprogram.errors import OpenProgramError
from openprogram.pipeline.errors import PipelineError, RecordingFileError
from openprogram.pipeline.log.source import stored_path
from openprogram.providers.api_registry import ProviderOverride, override_providers
from openprogram.pytest_plugin.guard import OfflineGuard
from openprogram.pytest_plugin.live_item import LiveItem
from openprogram.pytest_plugin.places import Places
from openprogram.pytest_plugin.record_item import RecordItem
from openprogram.pytest_plugin.replay_item import ReplayItem
from openprogram.pytest_plugin.report import (
    describe_attempts,
    describe_error,
    describe_failed_calls,
    describe_no_calls,
    describe_replay,
    hide_internals,
)
from openprogram.pytest_plugin.settings import item_settings
from openprogram.pytest_plugin.shared_paths import others_at

__all__ = ["CallOutsideTest", "ItemRun"]

Running: TypeAlias = ReplayItem | RecordItem | LiveItem


class CallOutsideTest(OpenProgramError):
    """A fixture that outlives the test made a model call: which test's recording it belonged to would be chance."""

    def __init__(self, who: str) -> None:
        super().__init__(
            f"{who} made a model call, which belongs to no single test: it is neither recorded nor replayed",
            next_step="Make the fixture function-scoped, or make the call in the test.",
        )


class ItemRun:
    """`mode`: that of the command line; what it means for this test is decided when it starts."""

    def __init__(self, item: pytest.Item, mode: str) -> None:
        self.item, self._mode = item, mode
        self._places = Places(item.path)
        self._running: Running | None = None
        self._guard: OfflineGuard | None = None
        self._answering, self._refusing = ExitStack(), ExitStack()
        self._outcomes: dict[str, str] = {}
        self._told = False
        self.counts: Mapping[str, int | str] = {"mode": "none"}

    @property
    def recording(self) -> Running:
        """What the fixture gives."""
        assert self._running is not None  # a test whose start failed gets no fixtures
        return self._running

    def start(self) -> None:
        """Answer the process's calls from now on. Fails the test: the recording can't be used."""
        try:
            self._start()
        except (PipelineError, OpenProgramError, pytest.UsageError) as error:
            text = describe_error(self.item, error)
        else:
            return
        _fail(text)  # outside: pytest would show the error once more, as the one that was being handled

    def _start(self) -> None:
        settings = item_settings(self.item)
        match self._chosen_mode(settings.path):
            case "record":
                self._refuse_shared(settings.path)
                self._running = record = RecordItem(settings)
                self._answering.enter_context(override_providers(record.provider_for))
            case "replay":
                self._running = replay = ReplayItem(stored_path(settings.path), self._places)
                self._guard = OfflineGuard(self._places, loopback=settings.loopback)
                self._answering.enter_context(self._guard)
                self._answering.enter_context(override_providers(replay.provider_for))
            case _:
                self._running = LiveItem(settings.path)

    @contextmanager
    def set_aside(self, who: str) -> Iterator[None]:
        """For a while, what is done is not the test's: its calls are refused, and nothing else is."""
        if isinstance(self._running, LiveItem | None):
            yield
            return
        with ExitStack() as stack:
            if self._guard is not None:
                stack.enter_context(self._guard.paused())
            stack.enter_context(override_providers(_refusing(who)))
            yield

    def stop(self) -> None:
        """The test's own fixtures are gone: what comes now, until `finish`, is not the test's."""
        if not isinstance(self._running, LiveItem | None):
            self._refusing.enter_context(override_providers(_refusing("a fixture that outlives the test")))
        self._answering.close()

    def check_call(self) -> None:
        """Fails the test: it passed, and its replay did not."""
        if (text := self._what_failed()) is not None:
            self._told = True
            _fail(text)

    def raised(self, error: pytest.ExceptionInfo[BaseException]) -> None:
        """Before a failure is reported: show the user's lines of it."""
        hide_internals(error)

    def reported(self, report: pytest.TestReport) -> None:
        """Take note of a phase's end. A failure of the test's own keeps its place, and gets ours as a section."""
        expected = report.skipped and hasattr(report, "wasxfail")  # a test that fails as its author said has run, whole
        self._outcomes[report.when or ""] = "passed" if expected else report.outcome
        if not report.failed or self._told:
            return
        if (text := self._what_failed()) is not None:
            self._told = True
        else:
            text = self._what_explains()
        if text is not None:
            report.sections.append(("recording", text))

    def finish(self, *, teardown_failed: bool) -> None:
        """Stop. Fails the test: calls were not asked for, or what was recorded can't be kept."""
        passed = self._outcomes == {"setup": "passed", "call": "passed"} and not teardown_failed
        try:
            match self._running:
                case RecordItem() as record:
                    self._finish_recording(record, passed=passed)
                case ReplayItem() as replay:
                    self._finish_replay(replay, passed=passed)
                case LiveItem():
                    self.counts = {"mode": "off"}
        except (PipelineError, OpenProgramError) as error:
            text = describe_error(self.item, error)
        else:
            return
        finally:
            self._close()
        _fail(text)

    def interrupted(self) -> None:
        """Stop in the middle of a test: nobody is left to be told."""
        with suppress(PipelineError, OpenProgramError):
            if isinstance(self._running, RecordItem):
                self._running.set_aside()
        self._close()

    def _close(self) -> None:
        running, self._running = self._running, None
        self._answering.close()
        self._refusing.close()
        if isinstance(running, ReplayItem):
            running.close()

    def _finish_recording(self, record: RecordItem, *, passed: bool) -> None:
        self.counts = {"mode": "not kept"}
        path = None
        if passed:
            path = record.keep()
            self.counts = {"mode": "record"}
        elif "skipped" in self._outcomes.values():
            record.drop()
        else:
            path = record.set_aside()
        if path is not None and record.failed_call_count:
            self.counts = {**self.counts, "warning": describe_failed_calls(self.item, path)}
        elif passed and path is not None and not record.call_count:
            self.counts = {**self.counts, "warning": describe_no_calls(self.item, path)}

    def _finish_replay(self, replay: ReplayItem, *, passed: bool) -> None:
        verdict = replay.verdict
        unused = verdict.call_count - verdict.consumed
        self.counts = {
            "mode": "replay",
            "exact": verdict.exact_count,
            "symbol-bound": verdict.symbol_bound_count,
            "unused": unused,
        }
        text = self._what_failed()
        if text is None and passed and unused:
            text = describe_replay(self.item, replay)
        if text is not None and not self._told:
            _fail(text)

    def _what_failed(self) -> str | None:
        told = []
        if self._guard is not None and self._guard.attempts:
            told.append(describe_attempts(self.item, self._guard.attempts))
        if isinstance(self._running, ReplayItem) and self._running.verdict.failed:
            told.append(describe_replay(self.item, self._running))
        return "\n".join(told) or None

    def _what_explains(self) -> str | None:
        """What may lie behind a failure of the test's own, where its recording did nothing wrong."""
        from openprogram.pytest_plugin.notes import failed_calls, recorded_failures, removed_secrets

        match self._running:
            case RecordItem() as record:
                return failed_calls(record)
            case ReplayItem() as replay:
                return "\n".join(filter(None, (recorded_failures(replay), removed_secrets(replay)))) or None
            case _:
                return None

    def _chosen_mode(self, path: Path) -> str:
        if self._mode == "record":
            return "replay" if stored_path(path).exists() else "record"
        return "record" if self._mode == "rewrite" else self._mode

    def _refuse_shared(self, path: Path) -> None:
        if others := others_at(self.item, str(path.absolute())):
            raise RecordingFileError(
                path=path,
                reason=f"other selected tests would record into it too: {', '.join(others)}",
                next_step="Give each a path of its own, or record one of them alone.",
            )


def _refusing(who: str) -> ProviderOverride:
    def refuse(_api: str) -> NoReturn:
        raise CallOutsideTest(who)

    return refuse


def _fail(text: str) -> NoReturn:
    """Fail the test for its recording's sake; pytest prints the text without a traceback."""
    pytest.fail(text, pytrace=False)
