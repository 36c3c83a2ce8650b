"""A mismatch says where the difference entered: the tool, the prompt, the call, with both sides labelled."""

from collections.abc import Callable
from pathlib import Path

import pytest

from openprogram.providers.recording import RecordingProvider
from openprogram.providers.replay import ReplayMismatch, ReplayProvider
from openprogram.providers.scripted import ScriptedProvider, tool_call
from openprogram.providers.types import (
    AssistantMessage,
    Context,
    Message,
    Model,
    StreamOptions,
    TextContent,
    Tool,
    ToolResultMessage,
)
from tests.openprogram.providers.calls import MODEL, text_context, user

pytestmark = pytest.mark.anyio

UUIDS = "1b4e28ba-2fa1-41d2-883f-0016d3cca427", "6fa459ea-ee8a-4ca4-894e-db77e160355e"


def _result(text: str, call_id: str = "call-1", name: str = "echo") -> ToolResultMessage:
    return ToolResultMessage(tool_call_id=call_id, tool_name=name, content=[TextContent(text=text)])


ECHO = Tool(name="echo", description="Returns it.", parameters={"type": "object"})
ADD = Tool(name="add", description="Adds.")
PROMPT = user("use echo")
ASKED = AssistantMessage(
    content=[TextContent(text="I'll ask"), tool_call("echo", {"value": "hi"})],
    api="scripted",
    provider="example",
    model="small-1",
    stop_reason="toolUse",
)
FIRST = Context(system_prompt="Be brief.", messages=[PROMPT], tools=[ECHO, ADD])


def _second(*messages: Message) -> Context:
    return FIRST.model_copy(update={"messages": list(messages)})


SECOND = _second(PROMPT, ASKED, _result("echo:hi"))


async def _cause(path: Path, recorded: list[Context], incoming: list[Context]) -> ReplayMismatch:
    """The mismatch of the last of `incoming`, the others being as recorded."""
    provider = RecordingProvider(ScriptedProvider([ASKED] * len(recorded)), path)
    for context in recorded:
        await provider.stream(MODEL, context)
    with ReplayProvider(path) as replay:
        for context in incoming[:-1]:
            await replay.stream(MODEL, context)
        with pytest.raises(ReplayMismatch) as failure:
            await replay.stream(MODEL, incoming[-1])
    assert failure.value.cause is None or str(failure.value).endswith(f"\ncause: {failure.value.cause}")
    return failure.value


CHANGES: dict[str, tuple[Context, str, str]] = {
    "a tool result": (
        _second(PROMPT, ASKED, _result("echo:bye")),
        "context.messages[2].content[0].text",
        "tool 'echo' (tool call 'call-1', asked for by call 0, event 8) returned something else: "
        "recorded 'echo:hi', incoming 'echo:bye'",
    ),
    "a tool result with more blocks": (
        _second(
            PROMPT,
            ASKED,
            ToolResultMessage(
                tool_call_id="call-1", tool_name="echo", content=[TextContent(text="echo:hi"), TextContent(text="2")]
            ),
        ),
        "context.messages[2].content[1]",
        "tool 'echo' (tool call 'call-1', asked for by call 0, event 8) returned something else: "
        "recorded absent, incoming {'type': 'text', 'text': '2', 'text_signature': None, 'cache_control': None}",
    ),
    "a tool that fails now": (
        _second(PROMPT, ASKED, _result("echo:hi").model_copy(update={"is_error": True})),
        "context.messages[2].is_error",
        "tool 'echo' (tool call 'call-1', asked for by call 0, event 8) failed, and had succeeded: "
        "recorded False, incoming True",
    ),
    "a tool that raises now": (
        _second(PROMPT, ASKED, _result("RuntimeError: db down").model_copy(update={"is_error": True})),
        "context.messages[2].content[0].text",
        "tool 'echo' (tool call 'call-1', asked for by call 0, event 8) failed, and had succeeded: "
        "recorded 'echo:hi', incoming 'RuntimeError: db down'",
    ),
    "a tool's details": (
        _second(PROMPT, ASKED, _result("echo:hi").model_copy(update={"details": {"bytes": 7}})),
        "context.messages[2].details",
        "tool 'echo' (tool call 'call-1', asked for by call 0, event 8) returned other details for the program: "
        "recorded None, incoming {'bytes': 7}",
    ),
    "the answer to another tool call": (
        _second(PROMPT, ASKED, _result("echo:hi", "call-9")),
        "context.messages[2].tool_call_id",
        "message 2 answers another tool call: recorded 'call-1' of tool 'echo', asked for by call 0, event 8, "
        "incoming 'call-9' of tool 'echo'",
    ),
    "the system prompt": (
        SECOND.model_copy(update={"system_prompt": "Be long."}),
        "context.system_prompt",
        "the system prompt reads otherwise than when it was recorded",
    ),
    "a tool's description": (
        SECOND.model_copy(update={"tools": [ECHO, ADD.model_copy(update={"description": "Subtracts."})]}),
        "context.tools[1].description",
        "tool 'add' is defined otherwise than when it was recorded: its description",
    ),
    "a tool's parameters": (
        SECOND.model_copy(update={"tools": [ECHO.model_copy(update={"parameters": {"type": "array"}}), ADD]}),
        "context.tools[0].parameters.type",
        "tool 'echo' is defined otherwise than when it was recorded: its parameters.type",
    ),
    "a tool that was added": (
        SECOND.model_copy(update={"tools": [ECHO, ADD, Tool(name="look")]}),
        "context.tools[2]",
        "incoming tools that were not recorded: 'look'",
    ),
    "a tool that was removed": (
        SECOND.model_copy(update={"tools": [ADD]}),
        "context.tools[0].description",
        "recorded tools that are not incoming: 'echo'",
    ),
    "all tools removed": (
        SECOND.model_copy(update={"tools": None}),
        "context.tools",
        "recorded tools that are not incoming: 'echo', 'add'",
    ),
    "a tool that was renamed": (
        SECOND.model_copy(update={"tools": [ECHO, ADD.model_copy(update={"name": "plus"})]}),
        "context.tools[1].name",
        "incoming tools that were not recorded: 'plus'; recorded tools that are not incoming: 'add'",
    ),
    "the order of tools": (
        SECOND.model_copy(update={"tools": [ADD, ECHO]}),
        "context.tools[0].description",
        "the tools stand in another order: recorded 'echo', 'add', incoming 'add', 'echo'",
    ),
    "a user message": (
        _second(user("use it"), ASKED, _result("echo:hi")),
        "context.messages[0].content",
        "user message 0 reads otherwise than when it was recorded",
    ),
    "an edited answer": (
        _second(PROMPT, ASKED.model_copy(update={"content": ASKED.content[1:]}), _result("echo:hi")),
        "context.messages[1].content[0]",
        "assistant message 1: recorded as call 0 answered it, incoming changed by the program before it was sent back",
    ),
    "fewer messages": (
        _second(PROMPT, ASKED),
        "context.messages[2]",
        "the conversation has fewer messages: recorded 3, incoming 2; recorded alone has, at message 2: toolResult",
    ),
    "more messages": (
        _second(PROMPT, ASKED, _result("echo:hi"), user("and?")),
        "context.messages[3]",
        "the conversation has more messages: recorded 3, incoming 4; incoming alone has, at message 3: user",
    ),
    "a message put in between": (
        _second(PROMPT, user("hurry"), ASKED, _result("echo:hi")),
        "context.messages[1].api",
        "the conversation has more messages: recorded 3, incoming 4; incoming alone has, at message 1: user",
    ),
    "more messages that are others": (
        _second(user("other"), ASKED, _result("echo:hi"), user("and?")),
        "context.messages[0].content",
        "the conversation has more messages: recorded 3, incoming 4; they part at message 0",
    ),
    "another kind of message": (
        _second(PROMPT, ASKED, user("echo:hi")),
        "context.messages[2].content",
        "message 2 is another one: recorded role 'toolResult', incoming role 'user'",
    ),
    "a call made again": (
        FIRST,
        "context.messages[1]",
        "a call is made again: the incoming request is that of recorded call 0, already answered",
    ),
}


@pytest.mark.parametrize(("incoming", "field_path", "cause"), CHANGES.values(), ids=CHANGES.keys())
async def test_a_change_in_the_second_turn_is_named(
    tmp_path: Path, incoming: Context, field_path: str, cause: str
) -> None:
    mismatch = await _cause(tmp_path / "run.jsonl", [FIRST, SECOND], [FIRST, incoming])
    assert mismatch.call_index == 1
    assert mismatch.field_path.startswith(field_path)
    assert mismatch.cause == cause


async def test_a_tool_that_had_failed_and_succeeds_now_is_named_as_that(tmp_path: Path) -> None:
    failed = _result("RuntimeError: db down").model_copy(update={"is_error": True})
    mismatch = await _cause(tmp_path / "run.jsonl", [FIRST, _second(PROMPT, ASKED, failed)], [FIRST, SECOND])
    assert mismatch.cause is not None
    assert "succeeded, and had failed: recorded 'RuntimeError: db down', incoming 'echo:hi'" in mismatch.cause


async def test_calls_that_come_in_another_order_are_named(tmp_path: Path) -> None:
    contexts = [text_context("one"), text_context("two"), text_context("three")]
    mismatch = await _cause(tmp_path / "run.jsonl", contexts, [contexts[0], contexts[2]])
    assert (mismatch.call_index, mismatch.recorded, mismatch.incoming) == (1, "two", "three")
    assert mismatch.cause == (
        "the calls come in another order: the incoming request is that of recorded call 2, not of call 1"
    )


async def test_a_request_like_another_call_but_for_its_model_is_not_called_that_call(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    provider = RecordingProvider(ScriptedProvider(["a", "b"]), path)
    await provider.stream(MODEL, text_context("one"))
    await provider.stream(MODEL, text_context("two"))
    with ReplayProvider(path) as replay, pytest.raises(ReplayMismatch) as failure:
        await replay.stream(MODEL.model_copy(update={"id": "large-1"}), text_context("two"))
    assert failure.value.cause == "user message 0 reads otherwise than when it was recorded"


async def test_tool_results_in_another_order_are_named(tmp_path: Path) -> None:
    both = AssistantMessage(content=[tool_call("echo", {}, "call-1"), tool_call("add", {}, "call-2")])
    recorded = _second(PROMPT, both, _result("a", "call-1"), _result("b", "call-2", "add"))
    incoming = _second(PROMPT, both, _result("b", "call-2", "add"), _result("a", "call-1"))
    mismatch = await _cause(tmp_path / "run.jsonl", [recorded], [incoming])
    assert mismatch.cause == (
        "the tool results stand in another order: recorded 'call-1', 'call-2', incoming 'call-2', 'call-1'"
    )


async def test_an_answer_that_was_edited_only_when_it_was_recorded_is_named(tmp_path: Path) -> None:
    edited = _second(PROMPT, ASKED.model_copy(update={"content": ASKED.content[1:]}), _result("echo:hi"))
    mismatch = await _cause(tmp_path / "run.jsonl", [FIRST, edited], [FIRST, SECOND])
    assert mismatch.cause == (
        "assistant message 1: incoming as call 0 answered it, recorded changed by the program before it was sent back"
    )


async def test_an_assistant_message_that_the_program_brings_is_named_as_that(tmp_path: Path) -> None:
    brought, other = (AssistantMessage(content=[TextContent(text=text)]) for text in ("earlier", "earlier!"))
    mismatch = await _cause(tmp_path / "run.jsonl", [_second(PROMPT, brought)], [_second(PROMPT, other)])
    assert mismatch.cause == (
        "assistant message 1 reads otherwise than when it was recorded, and no recorded call answered it"
    )


MINTED: dict[str, tuple[str, str, str]] = {
    "a UUID": (f"ticket {UUIDS[0]} is open", f"ticket {UUIDS[1]} is open", "a UUID"),
    "a UUID without dashes": (UUIDS[0].replace("-", ""), UUIDS[1].replace("-", ""), "a UUID without dashes"),
    "a time": ("at 2025-01-02T03:04:05Z", "at 2026-11-30 18:00:00.123+01:00", "a time"),
    "a Unix time": ("at 1735787045", "at 1764525600", "a Unix time"),
    "a temporary path": ("see /tmp/tmpab12/out.txt", "see /tmp/tmpzz99/out.txt", "a temporary path"),
    "two of them": (f"{UUIDS[0]} in /tmp/a", f"{UUIDS[1]} in /tmp/b", "a UUID and a temporary path"),
}


@pytest.mark.parametrize(("recorded", "incoming", "kind"), MINTED.values(), ids=MINTED.keys())
@pytest.mark.parametrize("where", ["a tool result", "a user message", "the system prompt"])
async def test_a_value_that_is_made_anew_in_every_run_is_named(
    tmp_path: Path, recorded: str, incoming: str, kind: str, where: str
) -> None:
    build: Callable[[str], Context] = {
        "a tool result": lambda text: _second(PROMPT, ASKED, _result(text)),
        "a user message": lambda text: _second(user(text)),
        "the system prompt": lambda text: FIRST.model_copy(update={"system_prompt": text}),
    }[where]
    mismatch = await _cause(tmp_path / "run.jsonl", [build(recorded)], [build(incoming)])
    assert mismatch.cause is not None
    assert mismatch.cause.endswith(f"(they differ in {kind} alone: made anew in every run)")


async def test_texts_that_differ_in_more_than_a_minted_value_are_not_excused(tmp_path: Path) -> None:
    one, other = text_context(f"open {UUIDS[0]}"), text_context(f"close {UUIDS[1]}")
    mismatch = await _cause(tmp_path / "run.jsonl", [one], [other])
    assert mismatch.cause == "user message 0 reads otherwise than when it was recorded"


@pytest.mark.parametrize(
    ("recorded", "incoming", "cause"),
    [
        (StreamOptions(temperature=0.0), StreamOptions(temperature=1.0), "an option is set otherwise: temperature"),
        (None, StreamOptions(temperature=1.0), "an option is set otherwise: temperature"),
        (StreamOptions(temperature=1.0), None, "an option is set otherwise: temperature"),
        (
            StreamOptions(metadata={"run": UUIDS[0]}),
            StreamOptions(metadata={"run": UUIDS[1]}),
            "an option is set otherwise: metadata.run (they differ in a UUID alone: made anew in every run)",
        ),
    ],
)
async def test_a_changed_option_is_named(
    tmp_path: Path, recorded: StreamOptions | None, incoming: StreamOptions | None, cause: str
) -> None:
    path = tmp_path / "run.jsonl"
    await RecordingProvider(ScriptedProvider(["a"]), path).stream(MODEL, FIRST, recorded)
    with ReplayProvider(path) as replay, pytest.raises(ReplayMismatch) as failure:
        await replay.stream(MODEL, FIRST, incoming)
    assert failure.value.cause == cause


async def test_a_changed_model_is_named(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    await RecordingProvider(ScriptedProvider(["a"]), path).stream(MODEL, FIRST)
    with ReplayProvider(path) as replay, pytest.raises(ReplayMismatch) as failure:
        await replay.stream(Model(id="large-1", api="scripted", provider="example"), FIRST)
    assert (failure.value.field_path, failure.value.cause) == ("model.id", "the model is set otherwise: id")


async def test_the_call_that_asked_is_the_latest_one_where_a_provider_repeats_its_ids(tmp_path: Path) -> None:
    third = _second(PROMPT, ASKED, _result("echo:hi"), ASKED, _result("again"))
    changed = _second(PROMPT, ASKED, _result("echo:hi"), ASKED, _result("changed"))
    mismatch = await _cause(tmp_path / "run.jsonl", [FIRST, SECOND, third], [FIRST, SECOND, changed])
    assert mismatch.cause is not None
    assert "asked for by call 1, event 8" in mismatch.cause


@pytest.mark.parametrize(("tool", "event"), [("echo", ", event 8"), ("add", ", event 12"), ("sub", "")])
async def test_the_call_that_asked_is_told_by_its_tool_where_an_answer_repeats_its_ids(
    tmp_path: Path, tool: str, event: str
) -> None:
    calls = [tool_call("echo", {"value": "hi"}), tool_call("add", {"a": 1}), tool_call("sub", {}), tool_call("sub", {})]
    asked = ASKED.model_copy(update={"content": [TextContent(text="I'll ask"), *calls]})
    path = tmp_path / "run.jsonl"
    provider = RecordingProvider(ScriptedProvider([asked, "done"]), path)
    await provider.stream(MODEL, FIRST)
    await provider.stream(MODEL, _second(PROMPT, asked, _result("hi", name=tool)))
    with ReplayProvider(path) as replay:
        await replay.stream(MODEL, FIRST)
        with pytest.raises(ReplayMismatch) as failure:
            await replay.stream(MODEL, _second(PROMPT, asked, _result("ho", name=tool)))
    assert failure.value.cause is not None
    assert f"(tool call 'call-1', asked for by call 0{event})" in failure.value.cause
