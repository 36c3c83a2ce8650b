"""What happens to a test with a recording, in each mode."""

import pytest

from tests.openprogram.pytest_plugin.suite import Suite

GREETING = """
    import asyncio
    import pytest
    from agent import ask

    @pytest.mark.recording
    def test_greeting():
        assert asyncio.run(ask("hi")) == "you said hi"
"""


def test_a_recorded_test_replays_without_a_live_call(suite: Suite) -> None:
    suite.write(test_a=GREETING)
    recorded = suite.run("--recording-mode=record")
    assert recorded.outcomes == {"passed": 1}, recorded
    assert suite.files() == ["recordings/test_a/test_greeting.jsonl"]
    assert suite.live_calls == ["hi"]
    replayed = suite.run()
    assert replayed.outcomes == {"passed": 1}, replayed
    assert "recordings: 1 replayed, 0 recorded; calls: 1 exact, 0 symbol-bound, 0 unused" in replayed.text
    assert suite.live_calls == ["hi"]


def test_a_test_without_a_recording_fails_and_the_command_it_shows_records_it(suite: Suite) -> None:
    suite.write(test_a=GREETING)
    finished = suite.run()
    assert (finished.status, finished.outcomes) == (1, {"error": 1})
    assert (suite.live_calls, suite.files()) == ([], [])
    assert suite.run_shown_command(finished).outcomes == {"passed": 1}
    assert suite.run().outcomes == {"passed": 1}


def test_a_mismatch_that_the_agent_swallows_three_times_fails_the_test(suite: Suite) -> None:
    suite.write(test_a=GREETING)
    suite.run("--recording-mode=record")
    suite.write(test_a=GREETING.replace("ask", "careless").replace('"hi"', '"hello"').replace("you said hi", "sorry"))
    finished = suite.run()
    assert finished.outcomes == {"failed": 1}, finished
    assert "recorded 'hi', incoming 'hello'" in finished.text
    assert suite.live_calls == ["hi"]


def test_calls_left_over_fail_the_test_at_teardown(suite: Suite) -> None:
    suite.write(test_a=GREETING)
    suite.run("--recording-mode=record")
    suite.write(test_a="import pytest\n\n@pytest.mark.recording\ndef test_greeting():\n    pass\n")
    finished = suite.run()
    assert finished.outcomes == {"passed": 1, "error": 1}, finished
    assert "recorded calls not used: 1 of 1" in finished.text
    assert "calls: 0 exact, 0 symbol-bound, 1 unused" in finished.text


def test_record_replays_what_has_a_recording_and_never_adds_to_it(suite: Suite) -> None:
    suite.write(test_a=GREETING)
    suite.run("--recording-mode=record")
    suite.write(
        test_a=GREETING
        + """
    @pytest.mark.recording
    def test_farewell():
        assert asyncio.run(ask("bye")) == "you said bye"

    def test_without():
        pass
"""
    )
    finished = suite.run("--recording-mode=record")
    assert finished.outcomes == {"passed": 3}, finished
    assert "recordings: 1 replayed, 1 recorded" in finished.text
    assert suite.live_calls == ["hi", "bye"]
    suite.write(test_a=GREETING.replace("hi", "hello"))
    finished = suite.run("--recording-mode=record")
    assert finished.outcomes == {"failed": 1}, finished
    assert suite.live_calls == ["hi", "bye"]


def test_a_failed_test_leaves_the_old_recording_and_the_new_one_beside_it(suite: Suite) -> None:
    suite.write(test_a=GREETING)
    suite.run("--recording-mode=record")
    file = suite.folder / "recordings" / "test_a" / "test_greeting.jsonl"
    before = file.read_bytes()
    suite.write(test_a=GREETING.replace('"hi"', '"hello"'))
    finished = suite.run("--recording-mode=rewrite")
    assert finished.outcomes == {"failed": 1}, finished
    assert file.read_bytes() == before
    assert suite.files("*.failed") == ["recordings/test_a/test_greeting.jsonl.failed"]
    assert "hello" in file.with_name(file.name + ".failed").read_text()
    suite.write(test_a=GREETING.replace('"hi"', '"hello"').replace("you said hi", "you said hello"))
    assert suite.run("--recording-mode=rewrite").outcomes == {"passed": 1}
    assert "hello" in file.read_text()
    assert suite.files() == ["recordings/test_a/test_greeting.jsonl"]


def test_only_a_test_that_ran_whole_keeps_its_recording(suite: Suite) -> None:
    """A skipped one leaves nothing; one that is expected to fail has run; a failed teardown is a failure."""
    suite.write(
        test_a="""
        import asyncio
        import pytest
        from agent import ask

        pytestmark = pytest.mark.recording

        @pytest.fixture
        def breaks():
            yield
            raise OSError("the disk is gone")

        def test_skipped_inside():
            asyncio.run(ask("a"))
            pytest.skip("not today")

        @pytest.mark.skip
        def test_skipped_before():
            pass

        @pytest.mark.xfail
        def test_expected_to_fail():
            assert asyncio.run(ask("b")) == "?"

        def test_teardown_fails(breaks):
            asyncio.run(ask("c"))

        def test_no_call():
            pass
        """
    )
    finished = suite.run("--recording-mode=record")
    assert finished.outcomes == {"passed": 2, "skipped": 2, "xfailed": 1, "error": 1}, finished
    assert [name.rpartition("/")[2] for name in suite.files()] == [
        "test_expected_to_fail.jsonl",
        "test_no_call.jsonl",
        "test_teardown_fails.jsonl.failed",
    ]
    replayed = suite.run("-k", "skipped or expected or no_call")
    assert replayed.outcomes["error"] == 1, replayed  # the test that skips inside was never recorded
    assert (replayed.outcomes["passed"], replayed.outcomes["xfailed"]) == (1, 1)


def test_off_is_live_and_records_nothing(suite: Suite) -> None:
    suite.write(
        test_a="""
        import asyncio
        from agent import ask

        def test_greeting(recording):
            assert (recording.mode, recording.verdict) == ("off", None)
            assert asyncio.run(ask("hi", recording)) == "you said hi"
            assert asyncio.run(ask("hi", recording.provider)) == "you said hi"
        """
    )
    finished = suite.run("--recording-mode=off")
    assert finished.outcomes == {"passed": 1}, finished
    assert (suite.live_calls, suite.files()) == (["hi", "hi"], [])


def test_a_provider_that_is_handed_over_is_recorded_and_replayed_and_made_in_no_replay(suite: Suite) -> None:
    suite.write(
        test_a="""
        import asyncio
        import conftest
        from agent import ask

        def make():
            print("a provider was made")
            return conftest.Echo()

        def test_greeting(recording):
            provider = recording.wrap(make)
            assert asyncio.run(ask("one", provider)) == "you said one"
            assert asyncio.run(ask("two", recording.provider)) == "you said two"
            assert asyncio.run(ask("three", recording)) == "you said three"
            assert asyncio.run(ask("four")) == "you said four"
        """
    )
    for arguments, made in ((["--recording-mode=record"], True), ([], False)):
        finished = suite.run("-s", *arguments)
        assert finished.outcomes == {"passed": 1}, finished
        assert ("a provider was made" in finished.text) is made
    assert suite.live_calls == ["one", "two", "three", "four"]


def test_threads_and_fixtures_are_answered_like_the_test(suite: Suite) -> None:
    suite.write(
        test_a="""
        import asyncio
        import threading
        import pytest
        from agent import ask

        @pytest.fixture
        def greeted():
            assert asyncio.run(ask("setup")) == "you said setup"
            yield
            assert asyncio.run(ask("teardown")) == "you said teardown"

        @pytest.mark.recording
        def test_greeting(greeted):
            answers = []
            thread = threading.Thread(target=lambda: answers.append(asyncio.run(ask("thread"))))
            thread.start()
            thread.join()
            assert answers == ["you said thread"]
        """
    )
    assert suite.run("--recording-mode=record").outcomes == {"passed": 1}
    finished = suite.run()
    assert finished.outcomes == {"passed": 1}, finished
    assert suite.live_calls == ["setup", "thread", "teardown"]


@pytest.mark.parametrize("mode", ["record", "replay"])
def test_a_fixture_that_outlives_the_test_may_connect_but_not_call_a_model(suite: Suite, mode: str) -> None:
    calls = "import asyncio\n    from agent import ask\n    "
    suite.write(test_a=GREETING)
    suite.run("--recording-mode=record")
    suite.write(
        test_a=f"""
import socket
import pytest
from test_greeting import test_greeting

@pytest.fixture(scope="session")
def server():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        with socket.create_connection(listening.getsockname()):
            yield
        with socket.create_connection(listening.getsockname()):
            pass

@pytest.fixture(scope="module")
def greets():
    {calls}asyncio.run(ask("module"))

@pytest.fixture(scope="module")
def takes_leave():
    yield
    {calls}asyncio.run(ask("module"))

@pytest.mark.recording("recordings/test_a/test_greeting.jsonl")
def test_connects(server):
    {calls}asyncio.run(ask("hi"))

@pytest.mark.recording("recordings/test_a/test_greeting.jsonl")
def test_greets(greets):
    pass

@pytest.mark.recording("recordings/test_a/test_greeting.jsonl")
def test_takes_leave(takes_leave):
    {calls}asyncio.run(ask("hi"))
""",
        test_greeting=GREETING,
    )
    live = len(suite.live_calls)
    for name, outcomes, new in (
        ("test_connects", {"passed": 1}, 1),
        ("test_greets", {"error": 1}, 0),
        ("test_takes_leave", {"passed": 1, "error": 1}, 1),
    ):
        finished = suite.run(f"--recording-mode={'rewrite' if mode == 'record' else 'replay'}", f"test_a.py::{name}")
        assert finished.outcomes == outcomes, finished
        assert ("belongs to no single test" in finished.text) is ("error" in outcomes)
        live += new if mode == "record" else 0
        assert len(suite.live_calls) == live


def test_the_configurations_own_mode_does_not_matter_to_a_replay_and_stops_a_recording(suite: Suite) -> None:
    suite.write(test_a=GREETING)
    suite.run("--recording-mode=record")
    (suite.folder / "state").mkdir(exist_ok=True)
    configured = suite.folder / "elsewhere.jsonl"
    (suite.folder / "state" / "config.json").write_text(
        f'{{"record_replay": {{"mode": "record", "file": "{configured}"}}}}'
    )
    assert suite.run().outcomes == {"passed": 1}
    finished = suite.run("--recording-mode=rewrite")
    assert finished.outcomes == {"error": 1}, finished
    assert "openprogram recordings off" in finished.text
    assert suite.live_calls == ["hi"]


def test_two_tests_that_would_record_into_one_file_record_nothing(suite: Suite) -> None:
    suite.write(
        test_a="""
        import asyncio
        import pytest
        from agent import ask

        @pytest.mark.parametrize("word", ["a", "b"])
        @pytest.mark.recording("shared.jsonl")
        def test_shared(word):
            asyncio.run(ask("hi"))
        """
    )
    finished = suite.run("--recording-mode=record")
    assert finished.outcomes == {"error": 2}, finished
    assert "test_a.py::test_shared[b]" in finished.text
    assert suite.live_calls == []
    assert suite.run("--recording-mode=record", "test_a.py::test_shared[a]").outcomes == {"passed": 1}
    assert suite.run().outcomes == {"passed": 2}


def test_a_mode_that_does_not_exist_is_a_usage_error(suite: Suite) -> None:
    suite.write(test_a=GREETING)
    assert suite.run("--recording-mode=once").status == 4
    (suite.folder / "pytest.ini").write_text("[pytest]\nrecording_mode = once\n")
    finished = suite.run()
    assert finished.status == 4
    assert "replay, record, rewrite, off" in finished.text
