"""The agent loop: turns, parallel tools, limits, and how a run ends."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Literal

import anyio
import pytest

from openprogram.agent import (
    AgentFinished,
    Limits,
    ModelEvent,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
    run_agent,
    tool,
)
from openprogram.pipeline.errors import ReplayMismatch, StreamIncomplete
from openprogram.providers.scripted import ScriptedProvider, tool_call
from openprogram.providers.types import (
    AssistantMessage,
    AssistantMessageEvent,
    EventStart,
    SimpleStreamOptions,
    StopReason,
    TextContent,
    Tool,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from tests.openprogram.agent.runs import CONTEXT, MODEL, collect, result_texts, scripted_run

pytestmark = pytest.mark.anyio

MISMATCH = ReplayMismatch(call_index=1, field_path="context.messages[2]", recorded="a", incoming="b")


@tool
async def echo(text: str) -> str:
    """Say it again."""
    return f"echo:{text}"


def answer(*, stop_reason: StopReason = "stop", tokens: int = 0, calls: int = 0, text: str = "") -> AssistantMessage:
    return AssistantMessage(
        content=[TextContent(text=text), *(tool_call("echo", {"text": str(n)}, id=f"c{n}") for n in range(calls))],
        api="scripted",
        provider="test",
        model="m",
        stop_reason=stop_reason,
        usage=Usage(total_tokens=tokens),
    )


async def test_the_model_is_told_the_result_of_the_tool_it_asked_for() -> None:
    provider = ScriptedProvider([[tool_call("echo", {"text": "hi"})], "It said hi."])
    finished = await scripted_run(provider, [echo])
    assert finished.reason == "stop"
    assert finished.text == "It said hi."
    assert [message.role for message in finished.messages] == ["assistant", "toolResult", "assistant"]
    first, second = provider.requests
    assert first.context.messages == CONTEXT.messages
    assert second.context.messages == [*CONTEXT.messages, *finished.messages[:2]]
    assert second.context.messages[-1] == ToolResultMessage(
        tool_call_id="call-1", tool_name="echo", content=[TextContent(text="echo:hi")], timestamp=7
    )
    assert first.context.tools == second.context.tools == [echo.definition]
    assert first.context.system_prompt == "be brief"


async def test_events_come_in_the_order_in_which_things_happen() -> None:
    events = await collect(scripted_run([[tool_call("echo", {"text": "hi"})], "bye"], [echo]))
    outline = [type(event) for event in events if not isinstance(event, ModelEvent)]
    assert outline == [
        TurnStarted, ToolStarted, ToolFinished, TurnFinished, TurnStarted, TurnFinished, AgentFinished,
    ]  # fmt: skip
    assert [event.event.type for event in events if isinstance(event, ModelEvent) and event.turn == 1] == [
        "start", "text_start", "text_delta", "text_end", "done",
    ]  # fmt: skip


async def test_without_tools_the_model_is_offered_none() -> None:
    provider = ScriptedProvider(["hello"])
    finished = await scripted_run(provider)
    assert (finished.reason, finished.text) == ("stop", "hello")
    assert provider.requests[0].context.tools is None


async def test_options_go_with_every_call_and_the_context_stays_as_it_was() -> None:
    provider = ScriptedProvider([[tool_call("echo", {"text": "hi"})], "bye"])
    before, options = CONTEXT.model_copy(deep=True), SimpleStreamOptions(temperature=0.5)
    await run_agent(provider.stream_simple, MODEL, CONTEXT, [echo], options=options)
    assert before == CONTEXT
    assert [request.options for request in provider.requests] == [options, options]


async def test_parallel_tools_finish_in_any_order_and_their_results_stand_in_call_order() -> None:
    second_is_done = anyio.Event()

    @tool
    async def first() -> str:
        await second_is_done.wait()
        return "1"

    @tool
    async def second() -> str:
        return "2"

    run = scripted_run([[tool_call("first", {}, id="a"), tool_call("second", {}, id="b")], "done"], [first, second])
    finished_order = []
    with anyio.fail_after(5):
        async for event in run:
            if isinstance(event, ToolFinished):
                finished_order.append(event.call.id)
                second_is_done.set()
    assert finished_order == ["b", "a"]
    assert result_texts(await run) == [("a", "1", False), ("b", "2", False)]


async def test_tools_that_fail_tell_the_model_and_do_not_stop_the_others() -> None:
    @tool
    async def broken() -> str:
        raise KeyError("no such city")

    calls = [
        tool_call("broken", {}, id="a"),
        tool_call("missing", {}, id="b"),
        tool_call("echo", {"txt": "hi"}, id="c"),
        tool_call("echo", {"text": "hi"}, id="d"),
    ]
    finished = await scripted_run([calls, "done"], [broken, echo])
    assert result_texts(finished) == [
        ("a", "KeyError: 'no such city'", True),
        ("b", "unknown tool 'missing'; known tools: broken, echo", True),
        ("c", "invalid arguments for echo: text: Field required; txt: Extra inputs are not permitted", True),
        ("d", "echo:hi", False),
    ]


async def test_a_tool_that_is_cancelled_from_inside_fails_alone() -> None:
    @tool
    async def waits_for_what_never_comes() -> None:
        future = asyncio.get_running_loop().create_future()
        future.cancel()
        await future

    calls = [tool_call("waits_for_what_never_comes", {}, id="a"), tool_call("echo", {"text": "hi"}, id="b")]
    finished = await scripted_run([calls, "done"], [waits_for_what_never_comes, echo])
    assert result_texts(finished) == [("a", "CancelledError: the tool was cancelled", True), ("b", "echo:hi", False)]


# ---- how a run ends


async def test_a_cut_off_answer_ends_the_run_and_its_tool_calls_do_not_run() -> None:
    finished = await scripted_run([answer(stop_reason="length", calls=1)], [echo])
    assert finished.reason == "length"
    assert [message.role for message in finished.messages] == ["assistant"]


@pytest.mark.parametrize("stop_reason", ["error", "aborted"])
async def test_a_failure_of_the_provider_ends_the_run_with_its_message(
    stop_reason: Literal["error", "aborted"],
) -> None:
    failed = answer(stop_reason=stop_reason, calls=1).model_copy(update={"error_reason": "overloaded"})
    events = await collect(scripted_run([failed], [echo]))
    assert events[-2] == TurnFinished(0, failed, ())
    assert events[-1] == AgentFinished((failed,), "provider_error")


async def test_tool_calls_run_even_where_the_provider_calls_it_a_stop() -> None:
    finished = await scripted_run([answer(stop_reason="stop", calls=1), "done"], [echo])
    assert [message.role for message in finished.messages] == ["assistant", "toolResult", "assistant"]


async def test_an_answer_that_asks_for_no_tool_ends_the_run_whatever_it_is_called() -> None:
    assert (await scripted_run([answer(stop_reason="toolUse")], [echo])).reason == "stop"


async def test_an_answer_that_the_vendor_paused_is_sent_back_and_goes_on() -> None:
    paused = answer(text="Searching").model_copy(update={"paused": True})
    provider = ScriptedProvider([paused, "Found."])
    finished = await scripted_run(provider)
    assert (finished.reason, finished.text) == ("stop", "Found.")
    assert provider.requests[1].context.messages == [*CONTEXT.messages, paused]


def structured(text: str, **read: Any) -> AssistantMessage:
    return answer(text=text).model_copy(update=read)


async def test_an_answer_that_does_not_fit_goes_back_with_what_is_wrong_with_it() -> None:
    wrong = structured('{"n": "3"}', parse_error="n: '3' is not of type 'integer'")
    provider = ScriptedProvider([wrong, structured('{"n": 3}', parsed={"n": 3})])
    finished = await scripted_run(provider)
    assert (finished.reason, finished.parsed) == ("stop", {"n": 3})
    *before, sent_back, told = provider.requests[1].context.messages
    assert (before, sent_back) == (CONTEXT.messages, wrong)
    assert isinstance(told, UserMessage)
    assert "n: '3' is not of type 'integer'" in str(told.content)
    assert told.timestamp == 7


async def test_an_answer_is_sent_back_only_so_often() -> None:
    wrong = structured("three", parse_error="not JSON")
    provider = ScriptedProvider([wrong] * 5)
    finished = await scripted_run(provider, limits=Limits(max_corrections=1))
    assert (finished.reason, finished.parsed, len(provider.requests)) == ("invalid_answer", None, 2)
    assert finished.messages[-1] == wrong


async def test_a_replay_mismatch_leaves_the_loop_as_itself() -> None:
    run = scripted_run([[tool_call("echo", {"text": "hi"})], MISMATCH], [echo])
    for _ in range(2):
        with pytest.raises(ReplayMismatch) as failure:
            await run
        assert failure.value is MISMATCH


async def test_a_replay_mismatch_inside_a_tool_leaves_the_loop_as_itself() -> None:
    @tool
    async def ask_another_agent() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(collect, scripted_run([MISMATCH]))

    @tool
    async def waits() -> None:
        await anyio.sleep_forever()

    run = scripted_run(
        [[tool_call("waits", {}, id="a"), tool_call("ask_another_agent", {}, id="b")]], [ask_another_agent, waits]
    )
    with anyio.fail_after(5), pytest.raises(ReplayMismatch) as failure:
        await run
    assert failure.value is MISMATCH


async def test_a_programming_error_in_the_stream_function_arrives_as_itself() -> None:
    failure = ZeroDivisionError("a bug")
    run = scripted_run([failure])
    with pytest.raises(ZeroDivisionError) as raised:
        await collect(run)
    assert raised.value is failure


async def test_a_provider_that_ends_without_a_final_message_is_an_error() -> None:
    with pytest.raises(StreamIncomplete):
        await scripted_run([[EventStart()]])


async def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="same name: echo, echo"):
        scripted_run([], [echo, echo])


async def test_a_context_with_tool_definitions_of_its_own_is_refused() -> None:
    context = CONTEXT.model_copy(update={"tools": [Tool(name="other")]})
    with pytest.raises(ValueError, match=r"context\.tools is set"):
        run_agent(ScriptedProvider([]).stream_simple, MODEL, context, [echo])


# ---- limits


async def test_the_turn_limit_forbids_the_next_call_after_the_tools_have_run() -> None:
    provider = ScriptedProvider([answer(calls=1)] * 3)
    finished = await scripted_run(provider, [echo], Limits(max_turns=2))
    assert finished.reason == "turn_limit"
    assert len(provider.requests) == 2
    assert [message.role for message in finished.messages] == ["assistant", "toolResult"] * 2


async def test_a_model_that_stops_in_its_last_turn_has_stopped() -> None:
    finished = await scripted_run([answer(calls=1), "done"], [echo], Limits(max_turns=2))
    assert finished.reason == "stop"


@pytest.mark.parametrize(("max_total_tokens", "calls"), [(10, 1), (11, 2), (20, 2), (21, 3)])
async def test_the_token_limit_forbids_the_next_call_once_it_is_used_up(max_total_tokens: int, calls: int) -> None:
    provider = ScriptedProvider([answer(calls=1, tokens=10)] * 5)
    finished = await scripted_run(provider, [echo], Limits(max_total_tokens=max_total_tokens))
    assert finished.reason == "token_limit"
    assert len(provider.requests) == calls


async def test_the_time_limit_stops_tools_and_every_call_still_has_a_result() -> None:
    stopped: list[str] = []

    @tool
    async def waits() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            stopped.append("waits")

    calls = [tool_call("waits", {}, id="a"), tool_call("echo", {"text": "hi"}, id="b")]
    with anyio.fail_after(5):
        finished = await scripted_run([calls], [waits, echo], Limits(max_seconds=0.05))
    assert finished.reason == "time_limit"
    assert stopped == ["waits"]
    assert result_texts(finished) == [("a", "not finished: the run was stopped", True), ("b", "echo:hi", False)]


async def test_the_time_limit_stops_a_provider_that_does_not_answer() -> None:
    with anyio.fail_after(5):
        finished = await run_agent(_silent, MODEL, CONTEXT, limits=Limits(max_seconds=0.05))
    assert finished == AgentFinished((), "time_limit")
    assert finished.text == ""


async def _silent(*_: object) -> AsyncIterator[AssistantMessageEvent]:
    await anyio.sleep_forever()
    yield EventStart()


@pytest.mark.parametrize("bound", ["max_turns", "max_total_tokens", "max_seconds"])
@pytest.mark.parametrize("value", [0, -1])
async def test_a_limit_that_allows_nothing_is_refused(bound: str, value: int) -> None:
    with pytest.raises(ValueError, match=bound):
        Limits(**{bound: value})


async def test_no_limit_at_all_can_be_asked_for() -> None:
    unlimited = Limits(max_turns=None)
    finished = await scripted_run([answer(calls=1)] * 101 + ["done"], [echo], unlimited)
    assert (finished.reason, finished.text) == ("stop", "done")
