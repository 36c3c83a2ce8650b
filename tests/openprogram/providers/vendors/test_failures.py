"""Every kind of failure, and leaving at every position, at every api: recorded, over HTTP, and replayed offline."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import get_args

import pytest
from anyio import fail_after

from openprogram.providers.recording import RecordingProvider
from openprogram.providers.replay import RecordedCallError, ReplayProvider
from openprogram.providers.types import AssistantMessageEvent, ErrorReason, EventError, Model
from openprogram.providers.vendors import VENDOR_APIS, Timeouts, VendorProvider
from tests.openprogram.providers.vendors.fault_samples import SAMPLES, FaultSample, Outcome
from tests.openprogram.providers.vendors.loopback import Ending, Loopback, Response, loopback, unused_url
from tests.openprogram.providers.vendors.small_answers import HELLO, KEY, model

pytestmark = pytest.mark.anyio

APIS = [row.api for row in VENDOR_APIS]
each_api = pytest.mark.parametrize("api", APIS)


@pytest.fixture(scope="module", autouse=True)
def _imported() -> None:
    """The SDKs, whose import takes long on a busy machine: patience below is for the calls alone."""
    for row in VENDOR_APIS:
        row.load()


def test_each_api_has_a_sample() -> None:
    assert set(SAMPLES) == set(APIS)


def provider(api: str, read_s: float = 10) -> VendorProvider:
    [row] = [row for row in VENDOR_APIS if row.api == api]
    return VendorProvider(row, environ={}, now_ms=lambda: 42, timeouts=Timeouts(read_s=read_s))


@dataclass(frozen=True)
class Fault:
    """`answer`: what the server does, None where nobody listens. `begun`: whether text came before."""

    outcome: Outcome
    answer: Callable[[FaultSample], Response] | None
    begun: bool = False
    after: tuple[float, float] | None = None  # the earliest and the latest retry_after_s


def status(code: int, **headers: str) -> Callable[[FaultSample], Response]:
    # the words where each vendor has them
    return lambda _: Response.json(code, {"error": {"message": "in words"}, "message": "in words"}, **headers)


def stream(*pieces: str, ending: Ending = "end", said: bool = True) -> Callable[[FaultSample], Response]:
    """What was said, then the pieces of the sample with these names."""

    def answer(sample: FaultSample) -> Response:
        body = [*(sample.said if said else ()), *(getattr(sample, piece) for piece in pieces)]
        return Response(body, headers={"content-type": sample.content_type}, ending=ending)

    return answer


def half_an_event(sample: FaultSample) -> Response:
    whole = sample.said[-1]
    body = [*sample.said, whole[: len(whole) // 2]]
    return Response(body, headers={"content-type": sample.content_type})


def retry_date() -> str:
    return format_datetime(datetime.now(UTC) + timedelta(seconds=600), usegmt=True)


FAULTS = {
    "400": Fault(("invalid_request", False), status(400)),
    "401": Fault(("auth", False), status(401)),
    "403": Fault(("auth", False), status(403)),
    "404": Fault(("invalid_request", False), status(404)),
    "413": Fault(("context_overflow", False), status(413)),
    "429 with seconds": Fault(("rate_limit", True), status(429, retry_after="7"), after=(7, 7)),
    "429 with a date": Fault(
        ("rate_limit", True), lambda sample: status(429, retry_after=retry_date())(sample), after=(300, 600)
    ),
    "500": Fault(("server", True), status(500)),
    "503": Fault(("server", True), status(503)),
    "529": Fault(("overloaded", True), status(529)),
    "an error in the stream": Fault(("overloaded", True), stream("busy"), begun=True),
    "nobody listens": Fault(("network", True), None),
    "reset between events": Fault(("network", True), stream(ending="reset"), begun=True),
    "reset inside a chunk": Fault(("network", True), stream("busy", ending="torn"), begun=True),
    "silence": Fault(("timeout", True), stream(ending="silence"), begun=True),
    "silence from the start": Fault(("timeout", True), stream(ending="silence", said=False)),
    "a stream that ends too early": Fault(("network", True), stream(), begun=True),
    "a stream that ends inside an event": Fault(("network", True), half_an_event, begun=True),
    "JSON that is broken": Fault(("invalid_response", False), stream("garbled"), begun=True),
    "an empty stream": Fault(("network", True), stream(said=False)),
}


@each_api
@pytest.mark.parametrize("name", FAULTS)
async def test_a_failure_is_an_event_that_says_why_and_replays_offline(api: str, name: str, tmp_path: Path) -> None:
    fault, sample = FAULTS[name], SAMPLES[api]
    impatient = provider(api, read_s=0.3 if "silence" in name else 10)
    recording = RecordingProvider(impatient, tmp_path / "failed.jsonl")
    if fault.answer is None:
        asked = model(api, unused_url())
        events = await all_events(recording, asked)
    else:
        async with loopback(fault.answer(sample)) as server:
            asked = model(api, server.url)
            events = await all_events(recording, asked)
        assert len(server.requests) == 1
    recording.close()

    last = events[-1]
    assert isinstance(last, EventError)
    message = last.error
    assert message.error_reason in get_args(ErrorReason)
    assert (message.error_reason, message.error_retryable) == sample.others.get(name, fault.outcome)
    assert message.error_message
    if fault.after is None:
        assert message.error_retry_after_s is None
    else:
        assert message.error_retry_after_s is not None
        assert fault.after[0] <= message.error_retry_after_s <= fault.after[1]
    assert message.text.startswith("One ") is fault.begun

    with ReplayProvider(tmp_path / "failed.jsonl") as replay, fail_after(10):
        assert [event async for event in replay.stream_simple(asked, HELLO, KEY)] == events
        replay.assert_consumed()


async def all_events(asked: RecordingProvider, of: Model) -> list[AssistantMessageEvent]:
    with fail_after(10):
        return [event async for event in asked.stream_simple(of, HELLO, KEY)]


# ---- leaving, while recording


def falls_silent(api: str, pieces: int) -> Response:
    """The answer up to so many pieces, and then nothing more."""
    sample = SAMPLES[api]
    return Response(sample.said[:pieces], headers={"content-type": sample.content_type}, ending="silence")


async def events_before_silence(api: str, pieces: int) -> int:
    """How many events come of so many pieces."""
    async with loopback(falls_silent(api, pieces)) as server:
        with fail_after(10):
            events = [event async for event in provider(api, 0.3).stream_simple(model(api, server.url), HELLO, KEY)]
    return len(events) - 1


@each_api
async def test_cancelling_at_any_event_closes_the_connection_at_once_while_recording(api: str, tmp_path: Path) -> None:
    for pieces in range(len(SAMPLES[api].said) + 1):
        count = await events_before_silence(api, pieces)
        path = tmp_path / f"{pieces}.jsonl"
        recording = RecordingProvider(provider(api), path)
        async with loopback(falls_silent(api, pieces)) as server:
            asked = model(api, server.url)
            with fail_after(5):
                await cancelled_after(recording, asked, count, server)
                await server.dropped.wait()
        recording.close()
        assert await outcome(path, asked) == "cancelled"


async def cancelled_after(recording: RecordingProvider, asked: Model, count: int, server: Loopback) -> None:
    """Cancel a reader that has seen so many events and waits for the next."""
    reached = asyncio.Event()

    async def read() -> None:
        seen = 0
        async for _ in recording.stream_simple(asked, HELLO, KEY):
            seen += 1
            if seen == count:
                reached.set()

    reader = asyncio.create_task(read())
    await (reached.wait() if count else server.asked())
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader


@each_api
async def test_closing_after_any_event_closes_the_connection_at_once_while_recording(api: str, tmp_path: Path) -> None:
    pieces = len(SAMPLES[api].said)
    count = await events_before_silence(api, pieces)
    assert count >= 5
    for position in range(1, count + 1):
        path = tmp_path / f"{position}.jsonl"
        recording = RecordingProvider(provider(api), path)
        async with loopback(falls_silent(api, pieces)) as server:
            asked = model(api, server.url)
            events = recording.stream_simple(asked, HELLO, KEY)
            with fail_after(5):
                for _ in range(position):
                    await anext(events)
                await events.aclose()
                await server.dropped.wait()
        recording.close()
        assert await outcome(path, asked) == "abandoned"


async def outcome(path: Path, asked: Model) -> str:
    """How the recorded call ended."""
    with ReplayProvider(path) as replay, pytest.raises(RecordedCallError) as left:
        _ = [event async for event in replay.stream_simple(asked, HELLO, KEY)]
    return left.value.outcome
