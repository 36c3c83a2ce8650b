"""A recording of live calls that failed, or of none, is a recording all the same: the run says so."""

import re
import shlex

import pytest

from tests.openprogram.cli.command import run_process
from tests.openprogram.pytest_plugin.suite import AGENT, Finished, Suite

#: The api `here` fails as a vendor's without a key does; `broken` raises.
CONFTEST = """
from openprogram.providers.api_registry import register_api_provider
from openprogram.providers.scripted import message_events
from openprogram.providers.types import AssistantMessage


class Keyless:
    async def stream(self, model, context, options=None):
        names = {"api": model.api, "provider": model.provider, "model": model.id}
        error = {"stop_reason": "error", "error_reason": "auth", "error_message": "no API key"}
        for event in message_events(AssistantMessage(content=[], **names, **error)):
            yield event

    stream_simple = stream


class Broken:
    async def stream(self, model, context, options=None):
        raise LookupError("no such model")
        yield

    stream_simple = stream


register_api_provider("here", Keyless())
register_api_provider("broken", Broken())
"""

TEST = """
import asyncio
import pytest
from agent import MODEL, ask, careless

async def polite(question):
    return await ask(question) or "Sorry, try again later."

@pytest.mark.recording
def test_polite():
    assert "Sorry" in asyncio.run(polite("hi"))
"""


@pytest.fixture
def suite(suite: Suite) -> Suite:
    suite.write(conftest=CONFTEST, test_a=TEST)
    return suite


def warnings(finished: Finished) -> list[str]:
    return [line for line in finished.text.splitlines() if line.startswith("warning: ")]


def commands(finished: Finished, words: str) -> list[str]:
    return re.findall(rf"^  {words}: (.+)$", finished.text, re.MULTILINE)


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "xdist"])
def test_a_passed_test_whose_live_call_failed_is_told_with_the_reason_and_what_to_do(
    suite: Suite, workers: tuple[str, ...]
) -> None:
    plugins = ("xdist",) if workers else ()
    finished = suite.run("--recording-mode=record", *workers, plugins=plugins)
    assert finished.outcomes == {"passed": 1}, finished
    assert warnings(finished) == ["warning: recordings/test_a/test_polite.jsonl: 1 of 1 calls failed: call 0 auth"]

    (look,) = commands(finished, "to see it")
    program, *arguments = shlex.split(look)
    arguments[arguments.index("recordings/test_a/test_polite.jsonl")] = str(
        suite.folder / "recordings/test_a/test_polite.jsonl"
    )
    assert (program, "no API key" in run_process(suite.folder, *arguments).out) == ("openprogram", True)

    (again,) = commands(finished, "to record it again, unless it is meant")
    assert shlex.split(again)[-2:] == ["test_a.py::test_polite", "--recording-mode=rewrite"]


def test_a_replay_and_a_recording_without_failures_say_nothing(suite: Suite) -> None:
    suite.run("--recording-mode=record")
    assert warnings(suite.run()) == []
    suite.write(
        conftest="""
        from openprogram.providers.api_registry import register_api_provider
        from openprogram.providers.scripted import ScriptedProvider

        register_api_provider("here", ScriptedProvider(["Sorry, sold out."]))
        """
    )
    rewritten = suite.run("--recording-mode=rewrite")
    assert (rewritten.outcomes, warnings(rewritten)) == ({"passed": 1}, [])


def test_a_replayed_test_that_fails_over_recorded_failures_is_told_that_they_were_recorded(suite: Suite) -> None:
    """It fails as if it lacked a key, which no replay needs."""
    suite.run("--recording-mode=record")
    suite.write(test_a=TEST.replace('"Sorry" in', '"coat" in'))
    finished = suite.run()
    assert finished.outcomes == {"failed": 1}, finished
    assert "call 0 was answered with an error: auth: no API key\n" in finished.text
    assert (
        finished.text.count("this was recorded, and is played again: a replay asks no provider and needs no key") == 1
    )

    suite.write(test_a=TEST, agent=AGENT.replace('api="here"', 'api="broken"'))
    suite.run("--recording-mode=rewrite")  # the agent doesn't catch it, so that the test fails
    (suite.folder / "recordings/test_a/test_polite.jsonl.failed").replace(
        suite.folder / "recordings/test_a/test_polite.jsonl"
    )
    raised = suite.run()
    assert raised.outcomes == {"failed": 1}, raised
    assert "call 0 was answered with what the provider raised\n" in raised.text


def test_what_a_provider_raised_and_the_agent_caught_is_told_too(suite: Suite) -> None:
    test = TEST.replace('"Sorry" in asyncio.run(polite("hi"))', '"sorry" in asyncio.run(careless("hi"))')
    suite.write(test_a=test, agent=AGENT.replace('api="here"', 'api="broken"'))
    finished = suite.run("--recording-mode=record")
    assert finished.outcomes == {"passed": 1}, finished
    (line,) = warnings(finished)
    assert line.endswith(": 3 of 3 calls failed: call 0 LookupError, call 1 LookupError, call 2 LookupError")


def test_a_test_that_failed_is_told_the_same_of_what_was_set_aside(suite: Suite) -> None:
    suite.write(test_a=TEST.replace('"Sorry" in', '"coat" in'))
    finished = suite.run("--recording-mode=record")
    assert finished.outcomes == {"failed": 1}, finished
    assert warnings(finished) == [
        "warning: recordings/test_a/test_polite.jsonl.failed: 1 of 1 calls failed: call 0 auth"
    ]


def test_of_many_tests_each_recording_has_a_line_of_its_own(suite: Suite) -> None:
    suite.write(test_b=TEST, test_c=TEST)
    finished = suite.run("--recording-mode=record")
    assert finished.outcomes == {"passed": 3}, finished
    assert sorted(line.split(":")[1] for line in warnings(finished)) == [
        f" recordings/test_{name}/test_polite.jsonl" for name in "abc"
    ]
    assert "recordings: 0 replayed, 3 recorded;" in finished.text


def test_a_recording_without_calls_is_told_since_its_replay_checks_nothing(suite: Suite) -> None:
    suite.write(test_a=TEST.replace('assert "Sorry" in asyncio.run(polite("hi"))', "pass"))
    finished = suite.run("--recording-mode=record")
    assert finished.outcomes == {"passed": 1}, finished
    (line,) = warnings(finished)
    assert line == (
        "warning: recordings/test_a/test_polite.jsonl: no call was recorded, so that its replay checks nothing"
    )
