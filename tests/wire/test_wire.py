"""Recorded conversations with vendors, as `make wire` checks them, and that the checks can fail."""

import base64
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from openprogram.providers.event_stream import EventStream, as_event_stream
from openprogram.providers.replay import ReplayProvider
from openprogram.providers.types import (
    AssistantMessageEvent,
    Context,
    EventDone,
    EventTextDelta,
    EventToolCallEnd,
    Model,
    SimpleStreamOptions,
    StreamOptions,
    Usage,
)
from tests.shared_data import shared
from tests.wire.__main__ import main, table
from tests.wire.cases import WireCase, read_cases
from tests.wire.check import CaseResult, check_case, vendor_provider
from tests.wire.formats import APIS, FORMATS
from tests.wire.read_by_hand import EXPECTED, Answer, Failed

pytestmark = pytest.mark.anyio

CASES = [case for case in read_cases(shared("wire", "cases")) if APIS[case.folder] in FORMATS]

each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)

#: Cut into single bytes, every emoji, number and line end is split. Long answers would take minutes.
SHORT = [case for case in CASES if sum(len(str(each["response"])) for each in case.exchanges) < 6000]


@each_case
async def test_a_recorded_conversation_is_what_its_bytes_say_and_replays_from_the_file_alone(case: WireCase) -> None:
    result = await check_case(case)
    assert result.problems == []
    assert result.status == ("left out" if case.left_out else "passed")


@pytest.mark.parametrize("case", SHORT, ids=lambda case: case.name)
async def test_how_the_bytes_are_cut_makes_no_difference(case: WireCase) -> None:
    assert (await check_case(case, chunk=1)).problems == []


@pytest.mark.parametrize("case", SHORT, ids=lambda case: case.name)
async def test_an_answer_that_is_cut_anywhere_says_what_had_come(case: WireCase, tmp_path: Path) -> None:
    for part in (0.2, 0.5, 0.8, 0.95, 0.999):
        assert (await check_case(shortened(case, part, tmp_path))).problems == []


def shortened(case: WireCase, part: float, folder: Path) -> WireCase:
    """The case up to so much of its last answer, as a file of its own."""
    content = json.loads(json.dumps(case.content))
    response = content["exchanges"][-1]["response"]
    if response["status"] < 400:
        body = base64.b64decode(response["body_base64"]) if "body_base64" in response else response["body_text"]
        body = body[: int(len(body) * part)]
        kept = {"body_base64": base64.b64encode(body).decode()} if isinstance(body, bytes) else {"body_text": body}
        content["exchanges"][-1]["response"] = {**response, **kept}
    path = folder / case.folder / f"{part}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content))
    return WireCase(path)


# ---- the readers of the bytes


@pytest.mark.parametrize("name", EXPECTED)
def test_the_bytes_are_read_as_by_hand(name: str) -> None:
    case = WireCase(shared("wire", "cases", f"{name}.json"))
    form = FORMATS[APIS[case.folder]]
    for exchange, by_hand in zip(case.exchanges, EXPECTED[name], strict=True):
        read = form.expected(exchange["request"], exchange["response"])
        assert read.usage == by_hand.usage
        assert [(tool.id, tool.name) for tool in read.tools] == [tool[:2] for tool in by_hand.tools]
        if by_hand.texts is not None:
            assert len(read.text) == sum(map(length, by_hand.texts))
        if isinstance(by_hand, Failed):
            assert read.failure is not None
            assert (read.failure.reason, read.failure.retryable) == (by_hand.reason, by_hand.retryable)
            assert read.failure.retry_after_s == by_hand.retry_after_s
            assert len(read.thinking) == sum(map(length, by_hand.thinking))
        else:
            assert isinstance(by_hand, Answer)
            assert (read.failure, read.stop) == (None, by_hand.stop)
            assert len(read.thinking) == sum(length(text) for text, _ in by_hand.thinking)


def length(text: Any) -> int:
    return len(text) if isinstance(text, str) else int(text.length)


# ---- the checks can fail

Change = Callable[[AssistantMessageEvent], AssistantMessageEvent | None]


class Faulty:
    """The adapter, but each event goes through `change`, which may leave it out, and the question through `ask`."""

    def __init__(self, api: str, change: Change, ask: Callable[[Context], Context]) -> None:
        provider = vendor_provider(api)
        assert provider is not None
        self._provider, self._change, self._ask = provider, change, ask

    def stream(
        self, model: Model, context: Context, options: StreamOptions | None = None
    ) -> AsyncIterator[AssistantMessageEvent]:
        raise NotImplementedError

    async def stream_simple(
        self, model: Model, context: Context, options: SimpleStreamOptions | None = None
    ) -> AsyncIterator[AssistantMessageEvent]:
        async for event in self._provider.stream_simple(model, self._ask(context), options):
            if (changed := self._change(event)) is not None:
                yield changed


def no_text(event: AssistantMessageEvent) -> AssistantMessageEvent | None:
    return None if isinstance(event, EventTextDelta) else event


def no_end(event: AssistantMessageEvent) -> AssistantMessageEvent | None:
    return None if isinstance(event, EventToolCallEnd) else event


def with_message(**update: Any) -> Change:
    def changed(event: AssistantMessageEvent) -> AssistantMessageEvent:
        if isinstance(event, EventDone):
            return event.model_copy(update={"message": event.message.model_copy(update=update)})
        return event

    return changed


def same(event: AssistantMessageEvent) -> AssistantMessageEvent | None:
    return event


def unchanged(context: Context) -> Context:
    return context


def another_prompt(context: Context) -> Context:
    return context.model_copy(update={"system_prompt": "Say something else."})


FAULTS = [
    (no_text, unchanged, "block 0 is not what its deltas add up to"),
    (no_end, unchanged, "block 1 does not end"),
    (with_message(usage=Usage()), unchanged, "usage: (0, 0, 0, 0), the bytes say (416, 109, 0, 0)"),
    (with_message(stop_reason="stop"), unchanged, "stop reason: 'stop', the bytes say 'toolUse'"),
    (with_message(content=[]), unchanged, "the message is not what the events add up to"),
    (same, another_prompt, "sent /system"),
]


@pytest.mark.parametrize(("change", "ask", "problem"), FAULTS)
async def test_a_faulty_adapter_is_found_out(change: Change, ask: Callable[[Context], Context], problem: str) -> None:
    case = WireCase(shared("wire", "cases", "anthropic-messages", "tools-parallel.json"))
    result = await check_case(case, lambda api: Faulty(api, change, ask))
    assert result.status == "failed"
    assert any(problem in each for each in result.problems), result.problems


class ForgetfulReplay(ReplayProvider):
    """Leaves out the deltas, and what was used."""

    def stream_simple(self, model: Model, context: Context, options: SimpleStreamOptions | None = None) -> EventStream:
        async def events() -> AsyncIterator[AssistantMessageEvent]:
            async for event in super(ForgetfulReplay, self).stream_simple(model, context, options):
                if not isinstance(event, EventTextDelta):
                    yield with_message(usage=Usage())(event) or event

        return as_event_stream(events(), model)


async def test_a_replay_that_differs_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.wire.check.ReplayProvider", ForgetfulReplay)
    result = await check_case(WireCase(shared("wire", "cases", "anthropic-messages", "text-short.json")))
    assert result.problems == [
        f"exchange 0: the replayed {what}" for what in ("events differ", "message differs", "usage differs")
    ]


async def test_an_api_that_is_not_there_yet_is_not_passed_off_as_one() -> None:
    case = WireCase(shared("wire", "cases", "anthropic-messages", "text-short.json"))
    assert (await check_case(case, lambda _: None)).status == "not implemented"


def test_the_table_counts_by_folder() -> None:
    results = [CaseResult(f"f/{status}", "f", "a", status) for status in ("passed", "passed", "failed", "left out")]
    assert table(results)[2:] == ["| `f` | `a` | 4 | 2 | 1 failed, 1 left out |"]


def test_the_exit_code_says_whether_all_passed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = shared("wire", "cases", "anthropic-messages", "text-short.json").read_text()
    (tmp_path / "cases" / "anthropic-messages").mkdir(parents=True)
    path = tmp_path / "cases" / "anthropic-messages" / "unheard-of.json"
    path.write_text(whole)
    assert main([str(tmp_path / "cases")]) == 0
    path.write_text(whole.replace('"max_tokens"', '"max_token"'))  # no caller of ours would send that
    assert main([str(tmp_path / "cases")]) == 1
    assert "anthropic-messages/unheard-of: FAILED" in capsys.readouterr().out
    assert main([str(tmp_path)]) == 2
