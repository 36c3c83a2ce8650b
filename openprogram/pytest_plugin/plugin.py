"""The hooks that pytest calls. Whatever a hook does stands in another module, imported by the first test that needs it.

pytest loads this in every project that has openprogram installed: it may cost nothing there.
"""

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from openprogram.pytest_plugin.fixture import ItemRecording
    from openprogram.pytest_plugin.item_run import ItemRun

__all__ = ["MARKER", "MODES"]

MARKER = "recording"
MODES = ("replay", "record", "rewrite", "off")

_RUN = pytest.StashKey["ItemRun"]()  # of the configuration: one test runs at a time


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options and ini settings; docs/how-to/pytest.md explains them."""
    group = parser.getgroup("openprogram", "recordings of model calls (openprogram)")
    group.addoption(
        "--recording-mode",
        choices=MODES,
        help="replay (the default): offline. record: record the tests that have no recording, replay the others. "
        "rewrite: record all. off: live, nothing is recorded.",
    )
    parser.addini("recording_mode", "--recording-mode where none is given", default="replay")


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker, and refuse a mode that does not exist."""
    config.addinivalue_line(
        "markers",
        f"{MARKER}(path=None): the test's model calls are replayed from a recording, by default "
        "recordings/<module>/<test>.jsonl beside the test file; a given path is relative to the test file's folder.",
    )
    if _mode(config) not in MODES:
        raise pytest.UsageError(f"recording_mode is {_mode(config)!r}: it must be one of {', '.join(MODES)}")


def _mode(config: pytest.Config) -> str:
    return str(config.getoption("recording_mode") or config.getini("recording_mode"))


def _has_recording(item: pytest.Item) -> bool:
    return item.get_closest_marker(MARKER) is not None or MARKER in getattr(item, "fixturenames", ())


def _run_of(item: pytest.Item) -> "ItemRun | None":
    run = item.config.stash.get(_RUN, None)
    return run if run is not None and run.item is item else None


# Neither a wrapper nor first: whether the test is skipped is decided before, and its fixtures are set up after.
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Start what answers or records the test's calls, before its fixtures make any."""
    if _has_recording(item):
        from openprogram.pytest_plugin.item_run import ItemRun

        item.config.stash[_RUN] = run = ItemRun(item, _mode(item.config))
        run.start()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Fail a test that passed although its replay did not."""
    result = yield
    if (run := _run_of(item)) is not None:
        run.check_call()
    return result


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, Any, Any]:
    """After the last fixture: stop, keep or set aside what was recorded, fail what was left unused."""
    run = _run_of(item)
    try:
        result = yield
    except BaseException:
        if run is not None:
            run.finish(teardown_failed=True)
        raise
    if run is not None:
        run.finish(teardown_failed=False)
    return result


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note how each phase went, and add what the recording has to say to a failure of the test's own."""
    report = yield
    if (run := _run_of(item)) is not None:
        run.reported(report)
        if report.when == "teardown":
            del item.config.stash[_RUN]
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Stop what an interrupted test has left running."""
    run = session.config.stash.get(_RUN, None)
    if run is not None:
        run.finish(teardown_failed=True)
        del session.config.stash[_RUN]


@pytest.fixture
def recording(request: pytest.FixtureRequest) -> "ItemRecording":
    """The test's recording: its `provider`, `stream` and `stream_simple`, its `path`, `mode` and `verdict`.

    Code under test that calls `openprogram.providers.stream` needs none of them: for it the marker is enough.
    """
    run = _run_of(request.node)
    if run is None:
        raise pytest.UsageError(
            "the fixture `recording` was asked for while the test ran: mark the test with @pytest.mark.recording"
        )
    return run.recording
