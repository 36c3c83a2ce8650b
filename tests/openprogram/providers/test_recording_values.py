"""What a call may carry and still be recorded, what fails it by name, and what a full disk does to it."""

from pathlib import Path
from typing import Any

import pytest
from anyio import fail_after, wait_all_tasks_blocked

from openprogram.pipeline.errors import RecordingFileError, RecordingValueError
from openprogram.pipeline.json_value import MAX_DEPTH
from openprogram.pipeline.log.writer import CallWriter, RecordingSink
from openprogram.providers.recording import RecordingProvider
from openprogram.providers.replay import ReplayMismatch, ReplayProvider
from openprogram.providers.scripted import ScriptedProvider, tool_call
from openprogram.providers.types import (
    AssistantMessage,
    Context,
    EventDone,
    EventToolCallEnd,
    ImageContent,
    StreamOptions,
    TextContent,
    Tool,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from tests.openprogram.providers.calls import (
    CONTEXT,
    DONE,
    MODEL,
    TEXT,
    Source,
    call_ends,
    collect,
    collect_failing,
    lines,
    own_tasks,
    text_context,
    user,
)

pytestmark = pytest.mark.anyio

LONE = "lone \ud83d half"
KEY, OTHER_KEY = "\ud800", "\ud801"


# ---- values that change while they are recorded


async def test_an_event_is_recorded_as_it_was_when_the_provider_gave_it(tmp_path: Path) -> None:
    """One message object that grows, in every event: what later changes is not in the earlier lines."""
    call = ToolCall(id="call-1", name="add", arguments={})
    message = AssistantMessage()

    class Grows(Source):
        async def generate(self) -> Any:
            for index in range(5):
                call.arguments["n"] = index
                yield EventToolCallEnd.model_construct(type="toolcall_end", content_index=index, tool_call=call)
                message.content.append(TextContent(text=str(index)))
            yield EventDone.model_construct(type="done", reason="stop", message=message)
            message.content.clear()

    path = tmp_path / "run.jsonl"
    received = await collect(RecordingProvider(Grows([]), path).stream(MODEL, CONTEXT))
    events = [line["event"] for line in lines(path) if line["type"] == "event"]
    assert [event["tool_call"]["arguments"]["n"] for event in events[:5]] == [0, 1, 2, 3, 4]
    assert [block["text"] for block in events[5]["message"]["content"]] == ["0", "1", "2", "3", "4"]
    assert {id(event.tool_call) for event in received if isinstance(event, EventToolCallEnd)} == {id(call)}


async def test_what_the_consumer_does_to_an_event_is_not_recorded(tmp_path: Path) -> None:
    done = EventDone(reason="stop", message=AssistantMessage(content=[TextContent(text="as answered")]))
    path = tmp_path / "run.jsonl"
    async for event in RecordingProvider(Source([*TEXT, done]), path).stream(MODEL, CONTEXT):
        if isinstance(event, EventDone):
            event.message.content.clear()
    with ReplayProvider(path) as provider:
        assert (await provider.stream(MODEL, CONTEXT)).text == "as answered"


async def test_the_request_is_recorded_as_it_is_when_the_call_begins(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    context = Context(messages=[user("as first meant")])
    stream = RecordingProvider(Source([*TEXT, DONE]), path).stream(MODEL, context)
    context.messages[0] = user("as sent")
    await anext(stream)
    context.messages.append(user("too late"))
    await collect(stream)
    (request,) = [line for line in lines(path) if line["type"] == "request"]
    assert [message["content"] for message in request["context"]["messages"]] == ["as sent"]
    with ReplayProvider(path) as provider:
        await provider.stream(MODEL, Context(messages=[user("as sent")]))
        provider.assert_consumed()


# ---- any string and any number that JSON has

SURROGATES = Context(
    system_prompt=LONE,
    messages=[
        UserMessage(content=LONE),
        AssistantMessage(content=[tool_call("look", {KEY: 1, OTHER_KEY: LONE, "of": {LONE: [LONE]}})]),
        ToolResultMessage(tool_call_id="call-1", tool_name="look", content=[TextContent(text=LONE)], details={LONE: 1}),
    ],
    tools=[Tool(name="look", description=LONE, parameters={"properties": {LONE: {}}})],
)


async def test_lone_surrogates_are_recorded_and_replayed_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    arguments = {KEY: LONE, OTHER_KEY: {LONE: [LONE, "🙂"]}}
    answer = AssistantMessage(content=[TextContent(text=LONE), tool_call("look", arguments)])
    options = StreamOptions(metadata={LONE: LONE})
    recorded = await collect(RecordingProvider(ScriptedProvider([answer]), path).stream(MODEL, SURROGATES, options))
    last = recorded[-1]
    assert isinstance(last, EventDone)
    assert last.message.tool_calls[0].arguments == arguments
    with ReplayProvider(path) as provider:
        assert await collect(provider.stream(MODEL, SURROGATES, options)) == recorded
        provider.assert_consumed()


async def test_two_keys_that_differ_in_a_lone_surrogate_stay_two(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    await RecordingProvider(ScriptedProvider(["a"]), path).stream(MODEL, SURROGATES)
    other = SURROGATES.model_copy(deep=True)
    assistant = other.messages[1]
    assert isinstance(assistant, AssistantMessage)
    assistant.tool_calls[0].arguments[OTHER_KEY] = "changed"
    with ReplayProvider(path) as provider:
        with pytest.raises(Exception, match="mismatch") as failure:
            await provider.stream(MODEL, other)
        path_of_key = r'context.messages[1].content[0].arguments["\ud801"]'
        assert failure.value.field_path == path_of_key  # type: ignore[attr-defined]


ODD_TEXTS = ["line\u2028separator", "para\u2029graph", "next\u0085line", "nul\0", "\r\n", "\ufeff", "🙂", "e\u0301", ""]


async def test_texts_that_could_break_a_line_come_back_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    context = text_context(*ODD_TEXTS)
    recorded = await collect(RecordingProvider(ScriptedProvider(ODD_TEXTS[:1]), path).stream(MODEL, context))
    with ReplayProvider(path) as provider:
        assert await collect(provider.stream(MODEL, context)) == recorded


async def test_an_image_comes_back_byte_for_byte(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    image = ImageContent(data="iVBORw0KGgo" + "A" * 100_000 + "==", mime_type="image/png")
    context = Context(messages=[UserMessage(content=[image])])
    await RecordingProvider(ScriptedProvider(["a"]), path).stream(MODEL, context)
    assert lines(path)[1]["context"]["messages"][0]["content"][0]["data"] == image.data
    with ReplayProvider(path) as provider:
        await provider.stream(MODEL, context)


async def test_numbers_keep_their_kind_and_their_size(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    arguments = {"int": 2**80, "float": 1e300, "whole": 1.0, "true": True, "minus zero": -0.0, "tiny": 5e-324}
    recorded = await RecordingProvider(ScriptedProvider([[tool_call("n", arguments)]]), path).stream(MODEL, CONTEXT)
    with ReplayProvider(path) as provider:
        replayed = await provider.stream(MODEL, CONTEXT)
    again = replayed.tool_calls[0].arguments
    assert replayed == recorded
    assert [(name, type(value), str(value)) for name, value in again.items()] == [
        (name, type(value), str(value)) for name, value in arguments.items()
    ]


# ---- values that JSON has not


def _nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


REFUSED: dict[str, tuple[Any, str]] = {
    "NaN": (float("nan"), "options.metadata.value"),
    "Infinity": ([1, float("-inf")], "options.metadata.value[1]"),
    "a key without a JSON form": ({object: 2}, "options.metadata.value"),
    "two keys that become one": ({1: 2, "1": 3}, "options.metadata.value"),
    "an object": (object(), "options.metadata.value"),
    "too deep": (_nested(MAX_DEPTH), "options.metadata.value" + "[0]" * (MAX_DEPTH - 4)),
}


@pytest.mark.parametrize(("value", "field_path"), REFUSED.values(), ids=REFUSED.keys())
async def test_a_request_that_json_cannot_hold_fails_by_name_before_anything_happens(
    tmp_path: Path, value: Any, field_path: str
) -> None:
    path, source = tmp_path / "run.jsonl", Source([DONE])
    options = StreamOptions(metadata={"value": value})
    stream = RecordingProvider(source, path).stream(MODEL, CONTEXT, options)
    with pytest.raises(RecordingValueError) as failure:
        await stream
    assert failure.value.field_path[: len(field_path)] == field_path
    assert source.log == []
    assert [line["type"] for line in lines(path)] == ["header"]


async def test_the_deepest_request_that_is_recorded_can_be_read_back(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    for depth in range(MAX_DEPTH, 0, -1):
        options = StreamOptions(metadata={"value": _nested(depth)})
        try:
            await RecordingProvider(Source([DONE]), path).stream(MODEL, CONTEXT, options)
        except RecordingValueError:
            continue
        break
    assert depth > MAX_DEPTH - 10
    with ReplayProvider(path) as provider:
        await provider.stream(MODEL, CONTEXT, options)


async def test_a_replayed_request_that_json_cannot_hold_fails_by_name_and_uses_up_nothing(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    await RecordingProvider(Source([DONE]), path).stream(MODEL, CONTEXT)
    with ReplayProvider(path) as provider:
        with pytest.raises(RecordingValueError):
            await provider.stream(MODEL, CONTEXT, StreamOptions(metadata={"value": float("nan")}))
        await provider.stream(MODEL, CONTEXT)
        assert provider.verdict.consumed == 1
        with pytest.raises(RecordingValueError):  # a call that was not recorded was made, whoever caught it
            provider.assert_consumed()


@pytest.mark.parametrize("value", [float("nan"), _nested(MAX_DEPTH), object()], ids=["NaN", "too deep", "an object"])
async def test_an_event_that_json_cannot_hold_fails_the_call_after_the_events_before_it(
    tmp_path: Path, value: Any
) -> None:
    bad = EventToolCallEnd(content_index=1, tool_call=tool_call("add", {"value": value}))
    path, source = tmp_path / "run.jsonl", Source([*TEXT, bad, DONE])
    stream = RecordingProvider(source, path).stream(MODEL, CONTEXT)
    received, failure = await collect_failing(stream, RecordingValueError)
    assert received == TEXT
    assert failure.field_path.startswith("event 5 tool_call.arguments.value")
    assert source.log == ["begun", "closed"]
    (end,) = call_ends(path)
    assert (end["outcome"], end["event_count"], end["error"]["type"]) == ("error", 5, "RecordingValueError")


async def test_an_item_that_is_no_event_fails_the_call(tmp_path: Path) -> None:
    path, source = tmp_path / "run.jsonl", Source([*TEXT, {"type": "text_delta"}])
    with pytest.raises(RecordingValueError, match="dict is not an event"):
        await RecordingProvider(source, path).stream(MODEL, CONTEXT)
    assert [(end["outcome"], end["event_count"]) for end in call_ends(path)] == [("error", 5)]
    assert source.log == ["begun", "closed"]


async def test_an_event_that_could_not_be_loaded_again_fails_the_call_and_not_the_whole_file(tmp_path: Path) -> None:
    """Made without validation, as `model_copy(update=…)` does; written, it would make every call unreadable."""
    path = tmp_path / "run.jsonl"
    bad = DONE.model_copy(update={"message": AssistantMessage().model_copy(update={"stop_reason": "tired"})})
    await RecordingProvider(Source([*TEXT, DONE]), path).stream(MODEL, CONTEXT)
    for event in (bad, TEXT[2].model_copy(update={"delta": None})):
        stream = RecordingProvider(Source([*TEXT, event]), path).stream(MODEL, CONTEXT)
        received, failure = await collect_failing(stream, RecordingValueError)
        assert received == TEXT
        assert failure.field_path == "event 5"
    with ReplayProvider(path) as provider:
        assert await collect(provider.stream(MODEL, CONTEXT)) == [*TEXT, DONE]


# ---- subclasses of our types


class PricedTool(Tool):
    """A tool as another package may define it."""

    price: int


class MarkedText(TextContent):
    """A block inside a message, likewise."""

    mark: int


async def test_fields_of_a_subclass_are_recorded_and_compared(tmp_path: Path) -> None:
    def context(price: int, mark: int) -> Context:
        message = UserMessage(content=[MarkedText(text="hi", mark=mark)])
        return Context(messages=[message], tools=[PricedTool(name="look", price=price)])

    path = tmp_path / "run.jsonl"
    await RecordingProvider(Source([DONE]), path).stream(MODEL, context(1, 1))
    recorded = lines(path)[1]["context"]
    assert (recorded["tools"][0]["price"], recorded["messages"][0]["content"][0]["mark"]) == (1, 1)
    with ReplayProvider(path) as provider:
        for other in (context(2, 1), context(1, 2)):
            with pytest.raises(ReplayMismatch):
                await provider.stream(MODEL, other)
        await provider.stream(MODEL, context(1, 1))


# ---- a file that can't be written


class FullDisk(RecordingSink):
    """A sink whose disk is full after some writes. `left`: writes that still succeed."""

    left = 100

    def _use_up(self) -> None:
        if self.left <= 0:
            raise RecordingFileError(path=self.path, reason="no space is left on the device")
        self.left -= 1

    def begin_call(self, *arguments: Any) -> CallWriter:
        self._use_up()
        return super().begin_call(*arguments)

    def append_events(self, *arguments: Any) -> None:
        self._use_up()
        super().append_events(*arguments)

    def end_call(self, *arguments: Any) -> None:
        self._use_up()
        super().end_call(*arguments)


async def test_a_request_that_cannot_be_written_does_not_go_live(tmp_path: Path) -> None:
    source = Source([*TEXT, DONE])
    sink = FullDisk(tmp_path / "run.jsonl")
    sink.left = 0
    with pytest.raises(RecordingFileError, match="no space is left"):
        await RecordingProvider(source, sink).stream(MODEL, CONTEXT)
    assert source.log == []
    assert own_tasks() == set()


@pytest.mark.parametrize("position", range(6))
async def test_an_event_that_cannot_be_written_is_not_seen_and_ends_the_call(tmp_path: Path, position: int) -> None:
    path, source = tmp_path / "run.jsonl", Source([*TEXT, DONE])
    sink = FullDisk(path)
    sink.left = 1 + position  # the request, and that many events, one at a time
    stream = RecordingProvider(Paced(source), sink).stream(MODEL, CONTEXT)
    with fail_after(5):
        received, failure = await collect_failing(stream, RecordingFileError)
    assert "no space is left" in failure.reason
    assert received == [*TEXT, DONE][:position]
    assert source.log == ["begun", "closed"]
    assert [line["type"] for line in lines(path)] == ["header", "request", *["event"] * position]
    assert own_tasks() == set()


async def test_a_call_whose_end_cannot_be_written_can_be_repaired_away(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    sink = FullDisk(path)
    sink.left = 1
    with pytest.raises(RecordingFileError):
        await RecordingProvider(Source([*TEXT, DONE]), sink).stream(MODEL, CONTEXT)
    sink.close()
    with pytest.raises(RecordingFileError, match="no call_end"):
        ReplayProvider(path)
    await RecordingProvider(Source([*TEXT, DONE]), path).stream(MODEL, CONTEXT)
    assert [end["call_index"] for end in call_ends(path)] == [1]


class Paced:
    """Gives each event only when nothing else can run: whatever was given before is with the consumer."""

    def __init__(self, source: Source) -> None:
        self._source = source

    async def stream(self, *_: Any) -> Any:
        generator = self._source.generate()
        try:
            async for event in generator:
                yield event
                await wait_all_tasks_blocked()
        finally:
            await generator.aclose()

    stream_simple = stream


@pytest.mark.parametrize("what", ["removed", "replaced"])
async def test_a_file_that_is_gone_while_it_is_recorded_fails_the_call(tmp_path: Path, what: str) -> None:
    path = tmp_path / "run.jsonl"
    source = Source([*TEXT, DONE])
    stream = RecordingProvider(Paced(source), path).stream(MODEL, CONTEXT)
    await anext(stream)
    path.unlink()
    if what == "replaced":
        path.write_text('{"type":"header","format_version":1}\n')
    with pytest.raises(RecordingFileError, match=what):
        await collect(stream)
    assert source.log == ["begun", "closed"]
    assert own_tasks() == set()
    if what == "replaced":
        assert path.read_text() == '{"type":"header","format_version":1}\n'


async def test_a_sink_that_was_closed_fails_the_next_call(tmp_path: Path) -> None:
    source = Source([*TEXT, DONE])
    provider = RecordingProvider(source, tmp_path / "run.jsonl")
    provider.close()
    provider.close()
    with pytest.raises(RecordingFileError):
        await provider.stream(MODEL, CONTEXT)
    assert source.log == []
