"""The rules beside the stages, and stages on bare streams."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

import pytest
from anyio import EndOfStream, create_memory_object_stream, wait_all_tasks_blocked
from anyio.abc import ObjectReceiveStream

from openprogram.pipeline.errors import RecordedCallError, RecordingFileError, ReplayMismatch, UnconsumedCalls
from openprogram.pipeline.items import CallClosed, CallEvent, CallOpened, CleanCall, WrittenEvent
from openprogram.pipeline.log.event_lines import EventTexts
from openprogram.pipeline.log.lines import CallEndLine
from openprogram.pipeline.log.reader import CallSummary
from openprogram.pipeline.log.scan import RawLine
from openprogram.pipeline.request_parts import DumpedPart, Part, PartMemo, RequestText
from openprogram.pipeline.stages.decode import Decoded
from openprogram.pipeline.stages.live import live
from openprogram.pipeline.stages.read import closing
from openprogram.pipeline.stages.redact import EventRedaction, clean_request
from openprogram.pipeline.streams import EVENTS_PER_BATCH, Given, Kept, merged, receive_at_once, send_at_once
from openprogram.pipeline.verdict import ReplayedCall, Verdict

pytestmark = pytest.mark.anyio

SECRET = "sk-ant-api03-4fQ9xZrT7mN2vB8kL5wJ1cY6hD3gS0pA-q8Rt5Yu2Io9Pa4Sd7Fg"


async def _filled(batches: Sequence[list[Any]]) -> ObjectReceiveStream[list[Any]]:
    send, receive = create_memory_object_stream[list[Any]](len(batches) or 1)
    async with send:
        for batch in batches:
            await send.send(batch)
    return receive


# ---- batches


async def test_batches_that_wait_are_joined() -> None:
    async with await _filled([[1], [2, 3], [4]]) as receive:
        assert [batch async for batch in merged(receive)] == [[1, 2, 3, 4]]


async def test_no_batch_grows_beyond_what_one_may_hold() -> None:
    async with await _filled([[number] for number in range(EVENTS_PER_BATCH * 2 + 1)]) as receive:
        sizes = [len(batch) async for batch in merged(receive)]
    assert sizes == [EVENTS_PER_BATCH, EVENTS_PER_BATCH, 1]


async def test_sending_at_once_gives_nobody_a_turn_while_there_is_room() -> None:
    send, receive = create_memory_object_stream[int](2)
    turns: list[int] = []
    other = asyncio.create_task(_count(turns))
    async with send, receive:
        await send_at_once(send, 1)
        await send_at_once(send, 2)
        assert turns == []
        assert [receive.receive_nowait(), receive.receive_nowait()] == [1, 2]
    await other


async def test_receiving_at_once_gives_nobody_a_turn_for_what_is_there() -> None:
    send, receive = create_memory_object_stream[int](1)
    turns: list[int] = []
    other = asyncio.create_task(_count(turns))
    async with receive:
        async with send:
            send.send_nowait(1)
            assert await receive_at_once(receive) == 1
            assert turns == []
            waiting = asyncio.create_task(receive_at_once(receive))
            await wait_all_tasks_blocked()
            send.send_nowait(2)
            assert await waiting == 2
        assert await receive_at_once(receive) is None
    await other


async def test_what_is_given_comes_once_and_what_is_sent_is_kept() -> None:
    given, kept = Given("item"), Kept[str]()
    async with given, kept:
        async for item in given:
            await kept.send(item)
    assert kept.item == "item"
    with pytest.raises(EndOfStream):
        await given.receive()


async def _count(turns: list[int]) -> None:
    turns.append(1)


# ---- redact


def _delta(text: str) -> CallEvent[str]:
    return CallEvent(text, {"type": "text_delta", "content_index": 0, "delta": text})


def test_a_request_is_cleaned_and_its_secrets_counted() -> None:
    options = DumpedPart(Part("options", None), None, None, {"api_key": "one"})
    clean = clean_request(CallOpened([b'{"model":{},"context":{},"options":', options, b"}"]), PartMemo())
    assert clean.request.value()["options"] == {"api_key": "[secret removed]"}
    assert clean.request.count == 1


def test_events_and_their_clean_dumps_stay_pairs_and_in_order() -> None:
    redaction: EventRedaction[str] = EventRedaction()
    texts = ["plain ", "the key is ", SECRET[:9], SECRET[9:], " and on", " it goes"]
    out: list[Any] = []
    for text in texts:
        out += redaction.feed([_delta(text)])
    out += redaction.feed([CallClosed("error")])
    *written, closed = out
    assert closed == CallClosed("error")
    assert [item.event for item in written if isinstance(item, WrittenEvent)] == texts
    recorded = "".join(str(item.clean["delta"]) for item in written)
    assert recorded == "plain the key is [secret removed] and on it goes"
    assert redaction.count == 1


def test_an_event_that_may_begin_a_secret_waits_with_all_behind_it() -> None:
    redaction: EventRedaction[str] = EventRedaction()
    assert redaction.feed([_delta("sk-ant-")]) == []
    later = redaction.feed([CallClosed("complete")])
    assert [type(item).__name__ for item in later] == ["WrittenEvent", "CallClosed"]


def test_what_the_file_says_of_a_failure_is_cleaned_and_what_the_consumer_gets_is_not() -> None:
    failure = ValueError(f"refused {SECRET}")
    closed = CallClosed("error", failure, {"type": "ValueError", "message": str(failure)})
    (clean,) = EventRedaction[str]().feed([closed])
    assert isinstance(clean, CallClosed)
    assert clean.failure is failure
    assert clean.error == {"type": "ValueError", "message": "refused [secret removed]"}


# ---- live


class _Codec:
    """Events are words; `end` is the terminal one."""

    def dump(self, event: str) -> dict[str, Any]:
        return {"type": event}

    def load_all(self, texts: EventTexts) -> list[str]:
        raise AssertionError("nothing is loaded in record")

    def check(self, event: dict[str, Any]) -> None:
        if event["type"] == "bad":
            raise ValueError("no such word")

    def is_terminal(self, event: dict[str, Any]) -> bool:
        return bool(event["type"] == "end")


async def _live(*events: str, hangs: bool = False) -> tuple[asyncio.Task[None], ObjectReceiveStream[Any], list[str]]:
    """The stage with one call to answer, its output, and what happened to its source."""
    log: list[str] = []

    async def source() -> AsyncGenerator[str, None]:
        try:
            for event in events:
                yield event
            if hangs:
                await asyncio.Event().wait()
        finally:
            log.append("closed")

    calls, receive = create_memory_object_stream[CleanCall](1)
    send, out = create_memory_object_stream[Any](10)
    async with calls:
        await calls.send(CleanCall(RequestText([])))
    return asyncio.create_task(live(receive, send, source, _Codec())), out, log


async def test_the_terminal_event_and_the_end_of_the_call_travel_together() -> None:
    task, out, log = await _live("a", "end", "after")
    async with out:
        sent = [batch async for batch in out]
    await task
    assert sent == [[CallEvent("a", {"type": "a"})], [CallEvent("end", {"type": "end"}), CallClosed("complete")]]
    assert log == ["closed"]


async def test_an_event_that_could_not_be_loaded_again_closes_the_call() -> None:
    task, out, log = await _live("a", "bad")
    async with out:
        *_, (closed,) = [batch async for batch in out]
    await task
    assert (closed.outcome, str(closed.failure)) == ("error", "cannot record event 1: no such word")
    assert log == ["closed"]


async def test_a_source_whose_stage_is_cancelled_is_closed_and_said_nothing_about() -> None:
    task, out, log = await _live("a", hangs=True)
    async with out:
        assert await out.receive() == [CallEvent("a", {"type": "a"})]
        await wait_all_tasks_blocked()
        task.cancel()  # not through a cancel scope: as a loop does that shuts down
        with pytest.raises(asyncio.CancelledError):
            await task
        assert [batch async for batch in out] == []
    assert log == ["closed"]


# ---- decode, read


async def test_decoding_gives_the_events_before_it_raises_the_failure() -> None:
    send, out = create_memory_object_stream[list[int]](10)
    async with out:
        async with Decoded[int](send, lambda items: [item * 10 for item in items]) as decoded:
            await decoded.send([1, 2])
            with pytest.raises(KeyError):
                await decoded.send([3, CallClosed("error", KeyError("x"))])
        assert [batch async for batch in out] == [[10, 20], [30]]


async def test_decoding_sends_no_empty_batch() -> None:
    send, out = create_memory_object_stream[list[int]](10)
    async with out:
        async with Decoded[int](send, lambda items: items) as decoded:
            await decoded.send([CallClosed("complete")])
        assert [batch async for batch in out] == []


@pytest.mark.parametrize("outcome", ["error", "cancelled", "abandoned"])
@pytest.mark.parametrize("error", [None, {"type": "ValueError", "message": "m"}, {"message": 7}])
def test_a_replay_ends_as_its_recording_did(outcome: Any, error: Any) -> None:
    summary = CallSummary(3, _raw_line())
    summary.end(CallEndLine(3, 0, outcome, error))
    closed = closing(summary)
    assert closed.outcome == outcome
    assert isinstance(closed.failure, RecordedCallError)
    assert (closed.failure.call_index, closed.failure.outcome) == (3, outcome)
    assert closed.failure.error_type == (error or {}).get("type")
    assert outcome in str(closed.failure)


def test_the_replay_of_a_complete_call_just_ends() -> None:
    summary = CallSummary(0, _raw_line())
    summary.end(CallEndLine(0, 0, "complete", None))
    assert closing(summary) == CallClosed("complete")


def _raw_line() -> RawLine:
    return RawLine(2, 0, b"{}\n")


# ---- the verdict


def _mismatch(call_index: int) -> ReplayMismatch:
    return ReplayMismatch(call_index=call_index, field_path="a", recorded=1, incoming=2)


def test_a_verdict_over_no_calls_is_incomplete_and_not_failed() -> None:
    verdict = Verdict(2)
    assert (verdict.failed, verdict.consumed) == (False, 0)
    with pytest.raises(UnconsumedCalls):
        verdict.require()


def test_the_first_failure_is_the_one_that_stays() -> None:
    verdict = Verdict(1)
    gone = RecordingFileError(path=Path("run.jsonl"), reason="the file changed", call_index=0)
    for call in (
        ReplayedCall(0, "unreadable", gone),
        ReplayedCall(0, "mismatch", _mismatch(0)),
        ReplayedCall(0, "served"),
    ):
        verdict.add(call)
    assert verdict.first_failure is gone
    with pytest.raises(RecordingFileError, match="the file changed") as raised:
        verdict.require()
    assert raised.value is not gone
    assert verdict.describe().splitlines()[:2] == ["replay failed", "call 0: unreadable"]


def test_the_calls_of_a_verdict_cannot_be_taken_back() -> None:
    verdict = Verdict(1)
    verdict.add(ReplayedCall(0, "mismatch", _mismatch(0)))
    verdict.calls.clear()
    assert verdict.failed
