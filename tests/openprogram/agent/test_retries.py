"""Failed provider calls are made again: how often, after what wait, and what is left of them."""

import random
from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest
from anyio.lowlevel import checkpoint
from hypothesis import given
from hypothesis import strategies as st

from openprogram.agent import (
    AgentFinished,
    AgentRun,
    AttemptFailed,
    Limits,
    ModelEvent,
    Retries,
    StillClock,
    TurnFinished,
    run_agent,
)
from openprogram.providers.api_registry import ApiProvider
from openprogram.providers.recording import RecordingProvider
from openprogram.providers.replay import ReplayProvider, read_recording_file
from openprogram.providers.scripted import Answer, ScriptedProvider, tool_call
from openprogram.providers.types import AssistantMessage, SimpleStreamOptions, TextContent, Usage
from tests.openprogram.agent.runs import CONTEXT, MODEL, collect
from tests.openprogram.providers.vendors.wire_cases import exchange_call, serve_case
from tests.wire.calls import Call
from tests.wire.check import vendor_provider

pytestmark = pytest.mark.anyio

PATIENT, UNLIMITED = Retries(), Limits()


class NotedClock:
    """Does not wait, and notes how long it was to."""

    def __init__(self) -> None:
        self.waits: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        await checkpoint()


class NoClock:
    """For runs that have nothing to wait for."""

    async def sleep(self, seconds: float) -> None:
        raise AssertionError(f"asked to wait {seconds} s")


def failure(*, retryable: bool = True, after: float | None = None, tokens: int = 0) -> AssistantMessage:
    return AssistantMessage(
        content=[TextContent(text="half an ans")],
        api="scripted",
        provider="test",
        model="m",
        stop_reason="error",
        error_reason="overloaded",
        error_message="busy",
        error_retryable=retryable,
        error_retry_after_s=after,
        usage=Usage(total_tokens=tokens),
    )


def retried(
    answers: Sequence[Answer] | ScriptedProvider,
    clock: NotedClock | NoClock | StillClock,
    *,
    retries: Retries = PATIENT,
    limits: Limits = UNLIMITED,
    options: SimpleStreamOptions | None = None,
) -> AgentRun:
    provider = answers if isinstance(answers, ScriptedProvider) else ScriptedProvider(answers)
    return run_agent(
        provider.stream_simple,
        MODEL,
        CONTEXT,
        retries=retries,
        limits=limits,
        options=options,
        clock=clock,
        chance=random.Random(1),
        now_ms=lambda: 7,
    )


# ---- the rule


@given(
    attempts=st.integers(1, 500),
    asked=st.none() | st.floats(0, 1000),
    limit_ms=st.integers(0, 2_000_000),
    first=st.floats(0, 10),
    longest=st.floats(0, 100),
    seed=st.integers(),
)
def test_a_wait_is_at_least_what_was_asked_and_otherwise_bounded(
    attempts: int, asked: float | None, limit_ms: int, first: float, longest: float, seed: int
) -> None:
    retries = Retries(max_attempts=501, first_wait_s=first, max_wait_s=longest)
    wait = retries.wait_s(failure(after=asked), attempts, limit_ms, random.Random(seed))
    if asked is not None and asked * 1000 > limit_ms:
        assert wait is None
        return
    assert wait is not None
    backoff = min(first * 2.0 ** min(attempts - 1, 60), longest)
    assert max(asked or 0, backoff / 2) <= wait <= max(asked or 0, backoff)


@pytest.mark.parametrize("attempts", [1, 2, 3])
def test_waits_double_and_are_spread(attempts: int) -> None:
    retries, chance = Retries(first_wait_s=1, max_wait_s=100), random.Random(0)
    waits = [retries.wait_s(failure(), attempts, 60_000, chance) for _ in range(50)]
    longest = 2.0 ** (attempts - 1)
    assert len(set(waits)) == 50
    assert all(wait is not None and longest / 2 <= wait <= longest for wait in waits)


@pytest.mark.parametrize("fields", [{"max_attempts": 0}, {"first_wait_s": -1}, {"max_wait_s": -1}])
def test_settings_that_mean_nothing_are_refused(fields: dict[str, int]) -> None:
    with pytest.raises(ValueError):
        Retries(**fields)


# ---- the loop


async def test_a_failed_call_is_made_again_with_the_same_request_and_leaves_nothing_in_the_history() -> None:
    provider, clock = ScriptedProvider([failure(), failure(), "Done."]), NotedClock()
    events = await collect(retried(provider, clock))
    finished = events[-1]
    assert isinstance(finished, AgentFinished)
    assert (finished.reason, finished.text) == ("stop", "Done.")
    assert [message.role for message in finished.messages] == ["assistant"]
    assert provider.requests[0] == provider.requests[1] == provider.requests[2]
    failed = [event for event in events if isinstance(event, AttemptFailed)]
    assert finished.failed_attempts == tuple(failed)
    assert [(each.turn, each.attempt, each.message.text) for each in failed] == [
        (0, 0, "half an ans"),
        (0, 1, "half an ans"),
    ]
    assert [each.wait_s for each in failed] == clock.waits
    attempts = [event.attempt for event in events if isinstance(event, ModelEvent)]
    assert sorted(attempts) == attempts
    assert set(attempts) == {0, 1, 2}
    assert len([event for event in events if isinstance(event, TurnFinished)]) == 1


async def test_attempts_are_counted_anew_in_each_turn() -> None:
    answers: list[Answer] = [failure(), [tool_call("none", {})], failure(), "Done."]
    finished = await retried(answers, NotedClock(), retries=Retries(max_attempts=2))
    assert finished.reason == "stop"
    assert [(each.turn, each.attempt) for each in finished.failed_attempts] == [(0, 0), (1, 0)]


async def test_the_last_attempt_ends_the_run_with_what_failed() -> None:
    provider = ScriptedProvider([failure()] * 3)
    finished = await retried(provider, NotedClock(), retries=Retries(max_attempts=3))
    assert finished.reason == "provider_error"
    assert finished.messages == (failure(),)
    assert (len(provider.requests), len(finished.failed_attempts)) == (3, 2)


@pytest.mark.parametrize(
    ("answer", "retries", "limits", "options"),
    [
        (failure(retryable=False), Retries(), Limits(), None),
        (failure(), Retries(max_attempts=1), Limits(), None),
        (failure(after=61), Retries(), Limits(), None),
        (failure(after=2), Retries(), Limits(), SimpleStreamOptions(max_retry_delay_ms=1999)),
        (failure(tokens=10), Retries(), Limits(max_total_tokens=10), None),
        (failure().model_copy(update={"stop_reason": "aborted"}), Retries(), Limits(), None),
    ],
    ids=[
        "hopeless",
        "one attempt",
        "asks for too long",
        "asks for longer than the option",
        "no tokens left",
        "aborted",
    ],
)
async def test_what_cannot_be_helped_is_not_tried_again(
    answer: AssistantMessage, retries: Retries, limits: Limits, options: SimpleStreamOptions | None
) -> None:
    run = retried([answer], NoClock(), retries=retries, limits=limits, options=options)
    finished = await run
    assert (finished.reason, finished.messages, finished.failed_attempts) == ("provider_error", (answer,), ())


async def test_the_wait_that_the_provider_asks_for_is_kept() -> None:
    clock = NotedClock()
    options = SimpleStreamOptions(max_retry_delay_ms=120_000)
    await retried([failure(after=90.5), "Done."], clock, options=options)
    assert clock.waits == [90.5]


class Stuck:
    """A clock that stands still while someone waits on it."""

    def __init__(self) -> None:
        self.waiting = anyio.Event()

    async def sleep(self, seconds: float) -> None:
        self.waiting.set()
        await anyio.sleep_forever()


async def test_a_run_is_closed_and_timed_out_while_it_waits() -> None:
    clock = Stuck()
    run = run_agent(ScriptedProvider([failure()]).stream_simple, MODEL, CONTEXT, clock=clock)
    with anyio.fail_after(10):
        async with run:
            async for event in run:
                if isinstance(event, AttemptFailed):
                    break
            await clock.waiting.wait()
        provider = ScriptedProvider([failure()])
        limits = Limits(max_seconds=0.05)
        finished = await run_agent(provider.stream_simple, MODEL, CONTEXT, clock=Stuck(), limits=limits)
    assert (finished.reason, finished.messages, len(finished.failed_attempts)) == ("time_limit", (), 1)


# ---- recorded, over HTTP, and replayed


FAILING = [
    ("anthropic-messages/derived-http-529-then-ok", "overloaded", 0),
    ("openai-compatible/groq-error-mid-stream", "invalid_response", 412),
]


@pytest.mark.parametrize(("name", "reason", "partial"), FAILING)
async def test_each_attempt_is_a_recorded_call_and_a_replay_does_not_wait(
    name: str, reason: str, partial: int, tmp_path: Path
) -> None:
    path, clock = tmp_path / "run.jsonl", NotedClock()
    with serve_case(name) as url:
        call = exchange_call(name, url, 0)
        provider = vendor_provider(call.model.api)
        assert provider is not None
        recording = RecordingProvider(provider, path)
        live = await collect(one_turn(recording, call, clock))
        recording.close()
    finished = live[-1]
    assert isinstance(finished, AgentFinished)
    [failed] = finished.failed_attempts
    assert (failed.message.error_reason, failed.message.error_retryable) == (reason, True)
    assert sum(len(getattr(block, "thinking", "")) for block in failed.message.content) == partial
    assert clock.waits == [failed.wait_s]
    with read_recording_file(path) as recorded:
        assert recorded.call_count == 2
    with ReplayProvider(path) as replay:
        assert await collect(one_turn(replay, call, StillClock())) == live
        replay.assert_consumed()


def one_turn(provider: ApiProvider, call: Call, clock: NotedClock | StillClock) -> AgentRun:
    context = call.context.model_copy(update={"tools": None})
    return run_agent(
        provider.stream_simple,
        call.model,
        context,
        options=call.options,
        limits=Limits(max_turns=1),
        clock=clock,
        chance=random.Random(1),
        now_ms=lambda: 7,
    )
