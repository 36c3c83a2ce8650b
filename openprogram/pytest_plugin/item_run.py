"""One test with a recording, from before its first fixture to after its last: what is started, checked and kept."""

from contextlib import ExitStack
from pathlib import Path
from typing import NoReturn, TypeAlias

import pytest

from openprogram.pipeline.errors import PipelineError
from openprogram.pipeline.log.source import COMPRESSED_SUFFIX
from openprogram.providers.api_registry import override_providers
from openprogram.pytest_plugin.live_item import LiveItem
from openprogram.pytest_plugin.names import recording_path
from openprogram.pytest_plugin.record_item import RecordItem
from openprogram.pytest_plugin.replay_item import ReplayItem
from openprogram.pytest_plugin.report import command_for, describe_error, describe_replay

__all__ = ["ItemRun"]

Running: TypeAlias = ReplayItem | RecordItem | LiveItem


def _fail(text: str) -> NoReturn:
    """Fail the test for its recording's sake; pytest prints the text without a traceback."""
    pytest.fail(text, pytrace=False)


class ItemRun:
    """`mode`: that of the command line; what it means for this test is decided when it starts."""

    def __init__(self, item: pytest.Item, mode: str) -> None:
        self.item, self._mode = item, mode
        self._stack = ExitStack()
        self._running: Running | None = None
        self._outcomes: dict[str, str] = {}
        self._told = False

    @property
    def recording(self) -> Running:
        """What the fixture gives."""
        assert self._running is not None  # a test whose start failed gets no fixtures
        return self._running

    def start(self) -> None:
        """Answer the process's calls from now on. Fails the test: the recording can't be used."""
        try:
            path = recording_path(self.item, self._given_path())
            match self._chosen_mode(path):
                case "record":
                    record = RecordItem(path)
                    self._running = record
                    self._stack.enter_context(override_providers(record.provider_for))
                case "replay":
                    replay = ReplayItem(_stored(path))
                    self._stack.callback(replay.close)
                    self._running = replay
                    self._stack.enter_context(override_providers(replay.provider_for))
                case _:
                    self._running = LiveItem(path)
        except PipelineError as error:
            _fail(describe_error(error, command_for(self.item)))

    def check_call(self) -> None:
        """Fails the test: the test passed and its replay did not."""
        if (text := self._what_failed()) is not None:
            self._told = True
            _fail(text)

    def reported(self, report: pytest.TestReport) -> None:
        """Take note of a phase's end. A failure of the test's own keeps its place, and gets ours as a section."""
        expected = report.skipped and hasattr(report, "wasxfail")  # a test that fails as its author said has run, whole
        self._outcomes[report.when or ""] = "passed" if expected else report.outcome
        if report.failed and not self._told and (text := self._what_failed()) is not None:
            self._told = True
            report.sections.append(("recording", text))

    def finish(self, *, teardown_failed: bool) -> None:
        """Stop. Fails the test: calls were not asked for, or what was recorded can't be kept."""
        running, self._running = self._running, None
        passed = self._outcomes == {"setup": "passed", "call": "passed"} and not teardown_failed
        try:
            match running:
                case RecordItem():
                    self._keep(running, passed=passed)
                case ReplayItem() if passed:
                    self._check_replay(running)
        finally:
            self._stack.close()

    def _keep(self, record: RecordItem, *, passed: bool) -> None:
        try:
            if passed:
                record.keep()
            elif "skipped" in self._outcomes.values():
                record.drop()
            else:
                record.set_aside()
        except PipelineError as error:
            _fail(describe_error(error, command_for(self.item)))

    def _check_replay(self, replay: ReplayItem) -> None:
        try:
            replay.verdict.require()
        except PipelineError:
            if not self._told:
                _fail(describe_replay(replay, command_for(self.item)))

    def _what_failed(self) -> str | None:
        if isinstance(self._running, ReplayItem) and self._running.verdict.failed:
            return describe_replay(self._running, command_for(self.item))
        return None

    def _given_path(self) -> str | None:
        marker = self.item.get_closest_marker("recording")
        if marker is None:
            return None
        return str(marker.args[0]) if marker.args else marker.kwargs.get("path")

    def _chosen_mode(self, path: Path) -> str:
        if self._mode == "record":
            return "replay" if _stored(path).exists() else "record"
        return "record" if self._mode == "rewrite" else self._mode


def _stored(path: Path) -> Path:
    """The recording as it is there: plain, or compressed."""
    compressed = path.with_name(path.name + COMPRESSED_SUFFIX)
    return compressed if compressed.exists() and not path.exists() else path
