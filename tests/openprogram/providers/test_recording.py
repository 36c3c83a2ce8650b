"""Record a provider's calls, replay them: the same events, the same message, and a file that is always ahead."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from anyio import fail_after

from openprogram.providers.api_registry import ApiProvider
from openprogram.providers.recording import RecordingProvider
from openprogram.providers.replay import ReplayProvider
from openprogram.providers.scripted import Answer, ScriptedProvider, message_events, tool_call
from openprogram.providers.types import (
    AssistantMessage,
    AssistantMessageEvent,
    Context,
    EventDone,
    EventError,
    EventStart,
    EventTextDelta,
    EventTextEnd,
    EventTextStart,
    SimpleStreamOptions,
    StreamOptions,
    TextContent,
    ThinkingContent,
    ToolResultMessage,
)
from tests.openprogram.providers.calls import CONTEXT, DONE, MODEL, TEXT, Source, collect, lines, text_context, user

pytestmark = pytest.mark.anyio

FAILED = AssistantMessage(
    content=[TextContent(text="half an ans")],
    stop_reason="error",
    error_message="overloaded",
    error_reason="overloaded",
    error_retryable=True,
    error_retry_after_s=1.5,
)
EMPTY_DELTAS: list[AssistantMessageEvent] = [
    EventStart(),
    EventTextStart(content_index=0),
    EventTextDelta(content_index=0, delta=""),
    EventTextDelta(content_index=0, delta="a"),
    EventTextDelta(content_index=0, delta=""),
    EventTextEnd(content_index=0, content="a"),
    DONE,
]
ONLY_THE_END: list[AssistantMessageEvent] = [DONE]
ANSWERS: dict[str, Answer] = {
    "text": "The answer, in a few words.",
    "thinking": AssistantMessage(
        content=[ThinkingContent(thinking="let me see", thinking_signature="c2lnbmF0dXJl"), TextContent(text="yes")]
    ),
    "a tool call": AssistantMessage(
        content=[TextContent(text="I'll add"), tool_call("add", {"a": 1, "b": 2.5, "of": [None, True, "x"]})],
        stop_reason="toolUse",
    ),
    "two tool calls": [tool_call("add", {"a": 1}, "call-1"), tool_call("add", {}, "call-2")],
    "an error event": FAILED,
    "nothing but the end": ONLY_THE_END,
    "empty deltas": EMPTY_DELTAS,
}


@pytest.mark.parametrize("method", ["stream", "stream_simple"])
@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS.keys())
async def test_a_replay_gives_the_events_and_the_message_of_the_recorded_call(
    tmp_path: Path, answer: Answer, method: str
) -> None:
    path = tmp_path / "run.jsonl"
    recording = getattr(RecordingProvider(ScriptedProvider([answer]), path), method)(MODEL, CONTEXT)
    recorded = await collect(recording)
    with ReplayProvider(path) as provider:
        replay = getattr(provider, method)(MODEL, CONTEXT)
        replayed = await collect(replay)
        provider.assert_consumed()
    assert replayed == recorded
    assert await replay == await recording
    assert replay.partial == recording.partial


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS.keys())
async def test_awaiting_a_stream_gives_the_final_message_in_both_modes(tmp_path: Path, answer: Answer) -> None:
    direct = await collect(ScriptedProvider([answer]).stream(MODEL, CONTEXT))
    last = direct[-1]
    final = last.message if isinstance(last, EventDone) else last.error if isinstance(last, EventError) else None
    path = tmp_path / "run.jsonl"
    assert await RecordingProvider(ScriptedProvider([answer]), path).stream(MODEL, CONTEXT) == final
    with ReplayProvider(path) as provider:
        assert await provider.stream(MODEL, CONTEXT) == final


async def test_a_stream_may_be_entered_in_both_modes(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    async with RecordingProvider(ScriptedProvider(["a b c"]), path).stream(MODEL, CONTEXT) as stream:
        recorded = await collect(stream)
    with ReplayProvider(path) as provider:
        async with provider.stream(MODEL, CONTEXT) as stream:
            assert await collect(stream) == recorded


async def test_the_consumer_gets_the_providers_own_objects(tmp_path: Path) -> None:
    events = [*TEXT, DONE]
    received = await collect(RecordingProvider(Source(events), tmp_path / "run.jsonl").stream(MODEL, CONTEXT))
    assert [id(event) for event in received] == [id(event) for event in events]


async def test_a_call_begins_at_the_first_iteration_and_not_before(tmp_path: Path) -> None:
    source = Source([*TEXT, DONE])
    path = tmp_path / "run.jsonl"
    stream = RecordingProvider(source, path).stream(MODEL, CONTEXT)
    assert [line["type"] for line in lines(path)] == ["header"]
    assert source.log == []
    await anext(stream)
    assert lines(path)[1]["type"] == "request"
    await stream.aclose()


async def test_a_stream_that_was_never_begun_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    stream = RecordingProvider(Source([*TEXT, DONE]), path).stream(MODEL, CONTEXT)
    await stream.aclose()
    assert await collect(stream) == []
    assert [line["type"] for line in lines(path)] == ["header"]


async def test_the_request_is_on_file_before_the_provider_starts(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    seen: list[list[dict[str, Any]]] = []

    class Reads:
        """A provider that looks at the file when it is called, and again when it starts."""

        async def _answer(self) -> Any:
            seen.append(lines(path))
            yield DONE

        def stream(self, model: Any, context: Any, options: Any = None) -> Any:
            seen.append(lines(path))
            return self._answer()

        stream_simple = stream

    await RecordingProvider(Reads(), path).stream(MODEL, CONTEXT)
    assert [[line["type"] for line in found] for found in seen] == [["header", "request"]] * 2
    assert seen[0][1]["context"]["messages"][0]["content"] == "hi"


async def test_an_event_is_on_file_before_it_is_seen_and_the_terminal_one_after_the_calls_end(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    async with RecordingProvider(Source([*TEXT, DONE]), path).stream(MODEL, CONTEXT) as stream:
        seen = []
        async for event in stream:
            seen.append(event)
            found = [line for line in lines(path) if line["type"] == "event"]
            assert [line["event"]["type"] for line in found][: len(seen)] == [one.type for one in seen]
            ends = [line for line in lines(path) if line["type"] == "call_end"]
            if event.type == "done":
                assert ends == [{"type": "call_end", "call_index": 0, "event_count": 6, "outcome": "complete"}]
    assert seen == [*TEXT, DONE]


async def test_the_lines_of_a_call_are_numbered_from_zero(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    provider = RecordingProvider(ScriptedProvider(["a", "b"]), path)
    await provider.stream(MODEL, text_context("one"))
    await provider.stream(MODEL, text_context("two"))
    header, *rest = lines(path)
    assert header["format_version"] == 1
    assert [line["call_index"] for line in rest] == [0] * 7 + [1] * 7
    assert [line["event_index"] for line in rest if line["type"] == "event"] == [*range(5), *range(5)]


async def test_a_second_provider_appends_to_a_valid_recording(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    for text in ("one", "two"):
        provider = RecordingProvider(ScriptedProvider([text]), path)
        assert (await provider.stream(MODEL, CONTEXT)).text == text
        provider.close()
    with ReplayProvider(path) as replay:
        assert replay.call_count == 2


async def test_a_tool_loop_of_two_turns_replays_from_its_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    live = ScriptedProvider([[tool_call("add", {"a": 1, "b": 2})], "The sum is 3."])

    async def two_turns(provider: ApiProvider) -> list[AssistantMessage]:
        answer = await _message(provider, Context(messages=[user("add 1 and 2")]))
        (call,) = answer.tool_calls
        total = str(call.arguments["a"] + call.arguments["b"])
        result = ToolResultMessage(tool_call_id=call.id, tool_name=call.name, content=[TextContent(text=total)])
        return [answer, await _message(provider, Context(messages=[user("add 1 and 2"), answer, result]))]

    recorded = await two_turns(RecordingProvider(live, path))
    assert len(live.requests) == 2
    with ReplayProvider(path) as provider:
        assert await two_turns(provider) == recorded
        provider.assert_consumed()
    assert recorded[-1].text == "The sum is 3."


async def test_an_agent_run_replays_from_its_file_alone(tmp_path: Path) -> None:
    from openprogram.agent import AgentFinished, run_agent, tool

    worked: list[int] = []

    @tool
    def add(a: int, b: int) -> str:
        """Adds."""
        worked.append(a + b)
        return str(a + b)

    async def run(provider: ApiProvider) -> AgentFinished:
        return await run_agent(provider.stream_simple, MODEL, CONTEXT, [add], now_ms=lambda: 0)

    path = tmp_path / "run.jsonl"
    script: list[Answer] = [[tool_call("add", {"a": 1, "b": 2})], [tool_call("add", {"a": 3, "b": 3}, "call-2")], "6"]
    recorded = await run(RecordingProvider(ScriptedProvider(script), path))
    with ReplayProvider(path) as provider:
        assert await run(provider) == recorded
        provider.assert_consumed()
    assert worked == [3, 6, 3, 6]  # the tools ran again: only the provider is replayed here


async def test_options_for_the_running_program_are_not_recorded_and_not_compared(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    options = StreamOptions(temperature=0.5, signal=object(), on_payload=print)
    options_with_extra = StreamOptions.model_validate({"temperature": 0.5, "on_response": lambda: None})
    provider = RecordingProvider(ScriptedProvider(["a", "b"]), path)
    await provider.stream(MODEL, CONTEXT, options)
    await provider.stream(MODEL, CONTEXT, options_with_extra)
    for request in (line for line in lines(path) if line["type"] == "request"):
        assert request["options"]["temperature"] == 0.5
        assert not {"signal", "on_payload", "on_response"} & request["options"].keys()
    with ReplayProvider(path) as replay:
        await replay.stream(MODEL, CONTEXT, StreamOptions(temperature=0.5))
        await replay.stream(MODEL, CONTEXT, StreamOptions(temperature=0.5, signal=object()))
        replay.assert_consumed()


async def test_the_live_provider_gets_the_callers_own_arguments(tmp_path: Path) -> None:
    got: list[Any] = []

    class Keeps(Source):
        def stream(self, *arguments: Any) -> Any:
            got.extend(arguments)
            return self.generate()

    options = SimpleStreamOptions(signal=object())
    await RecordingProvider(Keeps([DONE]), tmp_path / "run.jsonl").stream(MODEL, CONTEXT, options)
    assert [id(argument) for argument in got] == [id(MODEL), id(CONTEXT), id(options)]


async def test_a_secret_is_left_out_of_the_file_and_matches_itself_in_replay(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    await RecordingProvider(ScriptedProvider(["a"]), path).stream(MODEL, CONTEXT, StreamOptions(api_key="one-secret"))
    assert b"one-secret" not in path.read_bytes()
    with ReplayProvider(path) as provider:
        await provider.stream(MODEL, CONTEXT, StreamOptions(api_key="another-secret"))
        provider.assert_consumed()


async def test_a_recording_needs_no_more_than_two_generators_of_a_provider(tmp_path: Path) -> None:
    class Plain:
        async def stream(self, model: Any, context: Any, options: Any = None) -> Any:
            for event in message_events(AssistantMessage(content=[TextContent(text="plain")])):
                yield event

        stream_simple = stream

    path = tmp_path / "run.jsonl"
    assert (await RecordingProvider(Plain(), path).stream(MODEL, CONTEXT)).text == "plain"
    with ReplayProvider(path) as provider, fail_after(5):
        assert (await provider.stream_simple(MODEL, CONTEXT)).text == "plain"


async def test_recordings_of_the_same_calls_differ_in_nothing(tmp_path: Path) -> None:
    async def record(path: Path) -> list[dict[str, Any]]:
        await RecordingProvider(ScriptedProvider(list(ANSWERS.values())[:3]), path).stream(MODEL, CONTEXT)
        return lines(path)[1:]

    assert await record(tmp_path / "a.jsonl") == await record(tmp_path / "b.jsonl")


async def test_a_recorded_event_holds_no_partial_message(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    answer: Sequence[AssistantMessageEvent] = [EventStart.model_validate({"type": "start", "partial": {}}), DONE]
    await RecordingProvider(ScriptedProvider([answer]), path).stream(MODEL, CONTEXT)
    assert "partial" not in json.dumps(lines(path))


async def _message(provider: ApiProvider, context: Context) -> AssistantMessage:
    from openprogram.providers.event_stream import as_event_stream

    return await as_event_stream(provider.stream(MODEL, context), MODEL)
