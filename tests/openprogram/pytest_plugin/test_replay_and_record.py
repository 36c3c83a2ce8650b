"""What happens to a test with a recording, in each mode."""

from pathlib import Path

import pytest

from tests.openprogram.pytest_plugin.suite import Suite


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    return Suite(tmp_path)


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
    assert suite.live_calls == ["hi"]


def test_a_test_without_a_recording_fails_and_says_how_to_record_it(suite: Suite) -> None:
    suite.write(test_a=GREETING)
    finished = suite.run()
    assert finished.status == 1
    assert "pytest test_a.py::test_greeting --recording-mode=rewrite" in finished.text
    assert (suite.live_calls, suite.files()) == ([], [])


def test_a_mismatch_that_the_agent_swallows_fails_the_test(suite: Suite) -> None:
    suite.write(test_a=GREETING)
    suite.run("--recording-mode=record")
    suite.write(
        test_a="""
        import asyncio
        import pytest
        from agent import careless

        @pytest.mark.recording
        def test_greeting():
            assert asyncio.run(careless("hello")) == "sorry"
        """
    )
    finished = suite.run()
    assert finished.outcomes == {"failed": 1}, finished
    assert "recorded 'hi', incoming 'hello'" in finished.text
    assert suite.live_calls == ["hi"]


def test_calls_left_over_fail_the_test_at_teardown(suite: Suite) -> None:
    suite.write(test_a=GREETING)
    suite.run("--recording-mode=record")
    suite.write(
        test_a="""
        import pytest

        @pytest.mark.recording
        def test_greeting():
            pass
        """
    )
    finished = suite.run()
    assert finished.outcomes == {"passed": 1, "error": 1}, finished
    assert "recorded calls not used: 1 of 1" in finished.text
