"""The hooks that pytest calls. Whatever a hook does stands in another module, imported by the first test that needs it.

pytest loads this in every project that has openprogram installed: it may cost nothing there.
"""

import sys
from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from openprogram.pytest_plugin.fixture import ItemRecording
    from openprogram.pytest_plugin.item_run import ItemRun
    from openprogram.pytest_plugin.unused import Unused

__all__ = ["COMMAND_LINE", "COUNTS", "MARKER", "MODES", "command_line", "has_recording"]

MARKER = "recording"
MODES = ("replay", "record", "rewrite", "off")
#: Where a worker of xdist finds how pytest was called, and a report what came of its test's recording.
COMMAND_LINE = "openprogram_command_line"
COUNTS = "openprogram_recording"

_DESELECTED = pytest.StashKey[bool]()
_UNUSED: "pytest.StashKey[Unused]" = pytest.StashKey()
_RUN: "pytest.StashKey[ItemRun]" = pytest.StashKey()  # of the configuration: one test runs at a time


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options and ini settings; docs/how-to/pytest.md explains them."""
    group = parser.getgroup("openprogram", "recordings of model calls (openprogram)")
    group.addoption(
        "--recording-mode",
        choices=MODES,
        help="replay (the default): offline. record: record the tests that have no recording, replay the others. "
        "rewrite: record all. off: live, nothing is recorded.",
    )
    group.addoption(
        "--recording-loopback",
        action="store_true",
        help="replayed tests may connect to this machine; else they may connect to nothing.",
    )
    group.addoption(
        "--recordings-unused",
        action="store_true",
        help="run no test; list the recordings that none of them uses, and exit with 1 if there are any.",
    )
    group.addoption(
        "--recordings-unused-json",
        metavar="FILE",
        help="as --recordings-unused, and write the answer to FILE: used, unused, skipped_modules.",
    )
    parser.addini("recording_mode", "--recording-mode where none is given", default="replay")
    parser.addini("recording_folder", "folder beside a test file for its recordings", default="recordings")
    parser.addini("recording_loopback", "as --recording-loopback", type="bool", default=False)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Let a conftest.py set things for the tests in its folder."""
    pluginmanager.add_hookspecs(_Hooks)


class _Hooks:
    """The hook that a conftest.py may implement, for the tests in and below its folder."""

    @pytest.hookspec(firstresult=True)
    def pytest_openprogram_settings(self, item: pytest.Item) -> Mapping[str, Any] | None:
        """Any of `folder`, `loopback`, `match` and `volatile`. Of several conftest.py, the nearest one counts."""


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker, and refuse a mode that does not exist."""
    config.addinivalue_line(
        "markers",
        f"{MARKER}(path=None, *, loopback=False, match=None, volatile=None): the test's model calls are replayed from "
        "a recording, by default recordings/<module>/<test>.jsonl beside the test file. A path is relative to the test "
        "file's folder.",
    )
    if _mode(config) not in MODES:
        raise pytest.UsageError(f"recording_mode is {_mode(config)!r}: it must be one of {', '.join(MODES)}")


def _mode(config: pytest.Config) -> str:
    return str(config.getoption("recording_mode") or config.getini("recording_mode"))


def has_recording(item: pytest.Item) -> bool:
    """Whether the test is marked, or asks for the fixture `recording`: ours, and not one that a project named so."""
    if item.get_closest_marker(MARKER) is not None:
        return True
    found = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {}).get(MARKER, ())
    return bool(found) and getattr(found[-1].func, "__module__", None) == __name__


def _run_of(item: pytest.Item) -> "ItemRun | None":
    run = item.config.stash.get(_RUN, None)
    return run if run is not None and run.item is item else None


def command_line(config: pytest.Config) -> dict[str, Any]:
    """How pytest was called: the program, its arguments, the folder. Plain values, to be sent to workers of xdist."""
    called = config.invocation_params
    return {"program": sys.argv[0], "arguments": [str(one) for one in called.args], "folder": str(called.dir)}


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker of xdist how pytest was called."""
    node.workerinput[COMMAND_LINE] = command_line(node.config)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Give a marked test the fixture, before those it asks for: set up first, it is torn down last of its own."""
    names = getattr(item, "fixturenames", None)
    if item.get_closest_marker(MARKER) is not None and names is not None and MARKER not in names:
        names.insert(0, MARKER)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Run no test where recordings are only looked over: this process collects, and workers have nothing to do."""
    if config.getoption("recordings_unused_json"):
        config.option.recordings_unused = True
    if config.getoption("recordings_unused"):
        config.option.collectonly = True


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    """Note that not the whole suite is there."""
    for item in items:
        item.config.stash[_DESELECTED] = True


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Find the tests that would record into one file, or the recordings that no test uses."""
    if session.config.getoption("recordings_unused"):
        from openprogram.pytest_plugin.unused import list_unused

        session.config.stash[_UNUSED] = list_unused(session, deselected=session.config.stash.get(_DESELECTED, False))
        if file := session.config.getoption("recordings_unused_json"):
            session.config.stash[_UNUSED].write(file)
        session.items.clear()  # or pytest would list the tests
        return
    items = [item for item in session.items if has_recording(item)]
    if items and _mode(session.config) in ("record", "rewrite"):
        from openprogram.pytest_plugin.shared_paths import note_shared_paths

        note_shared_paths(session.config, items)


# Neither a wrapper nor first: whether the test is skipped is decided before, and its fixtures are set up after.
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Start what answers or records the test's calls, before its fixtures make any."""
    if has_recording(item):
        from openprogram.pytest_plugin.item_run import ItemRun

        item.config.stash[_RUN] = run = ItemRun(item, _mode(item.config))
        run.start()


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Generator[None, Any, Any]:
    """A fixture that outlives the test belongs to no test: nothing it does is answered, recorded or refused."""
    run = request.config.stash.get(_RUN, None)
    if run is None or fixturedef.scope == "function":
        return (yield)
    with run.set_aside(f"the fixture {fixturedef.argname!r} of scope {fixturedef.scope!r}"):
        return (yield)


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
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note how each phase went, and add what the recording has to say to a failure of the test's own."""
    run = _run_of(item)
    if run is not None and call.excinfo is not None:
        run.raised(call.excinfo)
    report = yield
    if run is not None:
        run.reported(report)
        if report.when == "teardown":
            setattr(report, COUNTS, run.counts)
            del item.config.stash[_RUN]
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Stop what an interrupted test has left running; the exit status of `--recordings-unused`."""
    if (unused := session.config.stash.get(_UNUSED, None)) is not None:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED if unused.files else pytest.ExitCode.OK
    run = session.config.stash.get(_RUN, None)
    if run is not None:
        del session.config.stash[_RUN]
        run.interrupted()


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """One line: what was replayed and recorded. Before it, new recordings without calls or with failed ones."""
    reports = [report for group in terminalreporter.stats.values() for report in group]
    counts = [getattr(report, COUNTS) for report in reports if hasattr(report, COUNTS)]
    if (unused := config.stash.get(_UNUSED, None)) is not None:
        for line in unused.lines():
            terminalreporter.write_line(line)
    for told in (str(one["warning"]) for one in counts if "warning" in one):
        for line in told.splitlines():
            terminalreporter.write_line(line, yellow=True)
    if counts:
        from openprogram.pytest_plugin.summary import summary_line

        terminalreporter.write_line(summary_line(counts))


@pytest.fixture
def recording(request: pytest.FixtureRequest) -> Iterator["ItemRecording"]:
    """The test's recording: its `provider`, `stream` and `stream_simple`, its `path`, `mode` and `verdict`.

    Code under test that calls `openprogram.providers.stream` needs none of them: for it the marker is enough.
    """
    run = _run_of(request.node)
    if run is None:
        raise pytest.UsageError(
            "the fixture `recording` was asked for while the test ran: mark the test with @pytest.mark.recording"
        )
    yield run.recording
    run.stop()  # not later: fixtures that outlive the test are none of its business
