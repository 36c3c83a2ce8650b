"""Beside other plugins: async tests, workers, random order, pytest-recording; and in projects that don't use ours."""

import sys
from collections.abc import Sequence

import pytest

from tests.openprogram.pytest_plugin.suite import Suite

ASYNC = {
    "anyio": "pytest.mark.anyio",
    "asyncio": "pytest.mark.asyncio",
    "asyncio with a loop for the session": "pytest.mark.asyncio(loop_scope='session')",
}


@pytest.mark.parametrize("marker", ASYNC.values(), ids=ASYNC)
def test_async_tests_and_async_fixtures_are_recorded_and_replayed(suite: Suite, marker: str) -> None:
    plugin = marker.split(".")[2].partition("(")[0]
    fixture = "pytest.fixture" if plugin == "anyio" else "pytest_asyncio.fixture"
    test = f"""
        import pytest
        {"import pytest_asyncio" if plugin == "asyncio" else ""}
        from agent import ask, careless

        pytestmark = [pytest.mark.recording, {marker}]

        @pytest.fixture(scope="session")
        def anyio_backend():
            return "asyncio"

        @{fixture}
        async def greeted():
            assert await ask("setup") == "you said setup"
            yield
            assert await ask("teardown") == "you said teardown"

        @pytest.mark.parametrize("word", ["one", "two"])
        async def test_greeting(word, greeted):
            assert await ask(word) == f"you said {{word}}"

        async def test_handed_over(recording):
            assert await ask("three", recording.provider) == "you said three"
    """
    suite.write(test_a=test)
    recorded = suite.run("--recording-mode=record", plugins=(plugin,))
    assert recorded.outcomes == {"passed": 3}, recorded
    live = suite.live_calls
    assert sorted(live) == sorted(["setup", "one", "teardown", "setup", "two", "teardown", "three"])
    replayed = suite.run(plugins=(plugin,))
    assert replayed.outcomes == {"passed": 3}, replayed
    assert "calls: 7 exact" in replayed.text
    suite.write(
        test_a=test.replace("await ask(word)", "await careless(word + '!')").replace("you said {word}", "sorry")
    )
    changed = suite.run(plugins=(plugin,))
    assert changed.outcomes == {"failed": 2, "passed": 1, "error": 2}, changed  # the teardown gets no answer either
    assert "  test_a.py:" in changed.text
    assert suite.live_calls == live


MANY = """
    import asyncio
    import pytest
    from agent import ask, careless

    @pytest.mark.recording
    @pytest.mark.parametrize("number", range(12))
    def test_greeting(number):
        assert asyncio.run(ask(f"hi {number}")) == f"you said hi {number}"

    @pytest.mark.recording
    def test_careless():
        asyncio.run(careless(WORD))

    @pytest.mark.recording
    def test_unconsumed():
        for number in range(COUNT):
            asyncio.run(ask(f"bye {number}"))
"""


def _many(word: str, count: int) -> str:
    return MANY.replace("WORD", repr(word)).replace("COUNT", str(count))


@pytest.mark.parametrize(
    ("plugins", "arguments"),
    [(("xdist",), ["-n", "3"]), (("randomly",), []), (("xdist", "randomly"), ["-n", "3", "--dist", "loadfile"])],
    ids=["xdist", "randomly", "xdist and randomly"],
)
def test_workers_and_random_order_change_nothing(
    suite: Suite, plugins: tuple[str, ...], arguments: Sequence[str]
) -> None:
    suite.write(test_a=_many("hi", 3))
    recorded = suite.run("--recording-mode=record", *arguments, plugins=plugins)
    assert recorded.outcomes == {"passed": 14}, recorded
    assert "recordings: 0 replayed, 14 recorded" in recorded.text
    assert len(suite.files()) == 14
    suite.write(test_a=_many("hello", 1))
    replayed = suite.run(*arguments, plugins=plugins)
    assert replayed.outcomes == {"failed": 1, "passed": 13, "error": 1}, replayed
    assert "recordings: 14 replayed, 0 recorded; calls: 13 exact, 0 symbol-bound, 3 unused" in replayed.text
    assert "recorded 'hi', incoming 'hello'" in replayed.text
    assert "recorded calls not used: 2 of 3" in replayed.text
    assert len(suite.live_calls) == 16


def test_pytest_recording_and_ours_work_in_one_suite_and_in_one_test(suite: Suite) -> None:
    """Its options, fixtures, markers and plugin name are others than ours: `--record-mode`, `vcr`, `recording`."""
    suite.write(
        test_a="""
        import asyncio
        import socket
        import urllib.request
        import pytest
        from agent import ask

        URL = "http://127.0.0.1:PORT/"

        @pytest.mark.vcr
        def test_theirs():
            assert urllib.request.urlopen(URL).read() == b"hello"

        @pytest.mark.recording
        def test_ours():
            assert asyncio.run(ask("hi")) == "you said hi"

        @pytest.mark.vcr
        @pytest.mark.recording
        def test_both():
            assert urllib.request.urlopen(URL).read() == b"hello"
            assert asyncio.run(ask("both")) == "you said both"

        @pytest.mark.block_network
        @pytest.mark.recording
        def test_their_guard_in_front_of_ours():
            with pytest.raises(Exception):
                socket.create_connection(("192.0.2.1", 443), timeout=0.01)

        @pytest.mark.block_network
        def test_their_guard():
            with pytest.raises(RuntimeError, match="Network is disabled"):
                socket.create_connection(("192.0.2.1", 443), timeout=0.01)
        """
    )
    page = suite.folder / "test_a.py"
    source = page.read_text()
    program = (
        "import http.server\n"
        "class Hello(http.server.BaseHTTPRequestHandler):\n"
        "    def do_GET(self):\n"
        "        self.send_response(200)\n"
        "        self.send_header('content-length', '5')\n"
        "        self.end_headers()\n"
        "        self.wfile.write(b'hello')\n"
        "    def log_message(self, *_): pass\n"
        "def serve():\n"
        "    import threading\n"
        "    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Hello)\n"
        "    threading.Thread(target=server.serve_forever, daemon=True).start()\n"
        "    return server\n"
    )
    namespace: dict[str, object] = {}
    exec(program, namespace)
    server = namespace["serve"]()  # type: ignore[operator]
    try:
        page.write_text(source.replace("PORT", str(server.server_address[1])))
        recorded = suite.run("--recording-mode=record", "--record-mode=once", plugins=("recording", "xdist"))
        assert recorded.outcomes == {"passed": 5}, recorded
    finally:
        server.shutdown()
        server.server_close()
    assert (suite.folder / "cassettes" / "test_a" / "test_theirs.yaml").exists()
    replayed = suite.run("--block-network", plugins=("recording",))
    assert replayed.outcomes == {"passed": 5}, replayed
    assert "recordings: 3 replayed" in replayed.text
    assert suite.live_calls == ["hi", "both"]


def test_a_projects_own_fixture_of_that_name_is_none_of_our_business(suite: Suite) -> None:
    suite.write(
        test_a="""
        import pytest

        @pytest.fixture
        def recording():
            return "a tape"

        def test_tape(recording):
            assert recording == "a tape"
        """
    )
    finished = suite.run()
    assert finished.outcomes == {"passed": 1}, finished
    assert "recordings:" not in finished.text


def test_a_project_that_uses_no_recording_pays_for_one_module(suite: Suite) -> None:
    suite.write(
        conftest="",
        test_a="""
        import sys

        def test_nothing_was_imported():
            ours = {name for name in sys.modules if name.partition(".")[0] == "openprogram"}
            assert ours == {"openprogram", "openprogram.pytest_plugin", "openprogram.pytest_plugin.plugin"}
            assert not {"anyio", "pydantic", "pydantic_core", "structlog", "asyncio"} & set(sys.modules)
        """,
    )
    for arguments, plugins in (([], ()), (["--markers"], ()), (["--recording-mode=record"], ("randomly",))):
        finished = suite.run(*arguments, plugins=plugins)
        assert finished.status == 0, finished
        assert "recordings:" not in finished.text
    assert "@pytest.mark.recording(path=None" in suite.run("--markers").text
    assert sys.modules.get("openprogram.pytest_plugin.plugin") is not None  # our own suite loads it like any other
