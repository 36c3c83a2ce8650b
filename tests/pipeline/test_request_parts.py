"""A request as parts: what is remembered, and that remembering never changes what is written or compared."""

import datetime
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, field_serializer

from openprogram.pipeline.errors import RecordingValueError, ReplayMismatch
from openprogram.pipeline.redaction import remove_secret_values
from openprogram.pipeline.request_parts import DumpedList, DumpedPart, PartMemo
from openprogram.pipeline.stages.normalize import normalized
from openprogram.providers.recording import RecordingProvider
from openprogram.providers.replay import ReplayProvider
from openprogram.providers.scripted import ScriptedProvider
from openprogram.providers.types import (
    AssistantMessage,
    Context,
    StreamOptions,
    TextContent,
    Tool,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from tests.pipeline.requests import CODEC, MODEL, clean, contexts, options


@given(st.lists(st.tuples(contexts, options), min_size=1, max_size=4))
def test_the_text_in_parts_is_the_redacted_dump_of_the_whole_whatever_came_before(
    requests: list[tuple[Context, StreamOptions | None]],
) -> None:
    memo = PartMemo()
    for context, chosen in [*requests, *requests]:
        whole = remove_secret_values(CODEC.dump((MODEL, context, chosen)))
        assert clean(context, chosen, memo).value() == whole


def test_a_message_that_the_caller_changes_is_not_taken_from_memory() -> None:
    memo, message = PartMemo(), UserMessage(content="first")
    context = Context(messages=[message])
    assert clean(context, None, memo).value()["context"]["messages"][0]["content"] == "first"
    message.content = "second"
    assert clean(context, None, memo).value()["context"]["messages"][0]["content"] == "second"


def test_a_tool_that_the_caller_changes_is_not_taken_from_memory() -> None:
    memo, tool = PartMemo(), Tool(name="t", parameters={"type": "object", "properties": {}})
    context = Context.model_construct(tools=[tool])
    clean(context, None, memo)
    tool.parameters["properties"]["path"] = {"type": "string"}
    assert clean(context, None, memo).value() == clean(context, None, PartMemo()).value()


def test_an_argument_that_the_caller_changes_deep_inside_is_not_taken_from_memory() -> None:
    call = ToolCall(id="c", name="t", arguments={"rows": [{"n": 1}]})
    context = Context(messages=[AssistantMessage(content=[call])])
    memo = PartMemo()
    clean(context, None, memo)
    for value in (True, 1.0, "1", None):
        call.arguments["rows"][0]["n"] = value
        got = clean(context, None, memo).value()["context"]["messages"][0]["content"][0]["arguments"]
        assert repr(got) == repr({"rows": [{"n": value}]})


def test_nan_is_refused_although_null_in_its_place_is_remembered() -> None:
    memo = PartMemo()
    clean(Context(messages=[_result(None)]), None, memo)
    with pytest.raises(RecordingValueError) as failure:
        clean(Context(messages=[UserMessage(content="a"), _result(math.nan)]), None, memo)
    assert failure.value.field_path == "context.messages[1].details.value"


@pytest.mark.parametrize(
    ("one", "other"),
    [(b"abc", "abc"), ({1: 1}, {"1": 1}), ({1, 2}, [1, 2]), (math.pi, str(math.pi)), (True, 1), (1, 1.0)],
)
def test_two_values_that_look_alike_never_share_a_memory(one: object, other: object) -> None:
    memo = PartMemo()
    for value in (one, other, one):
        context = Context(messages=[_result(value)])
        assert clean(context, None, memo).value() == clean(context, None, PartMemo()).value()


def test_keys_of_lone_surrogates_are_told_apart() -> None:
    memo = PartMemo()
    for key in ("\ud800", "\ud801"):
        context = Context(messages=[_result({key: 1})])
        assert clean(context, None, memo).value()["context"]["messages"][0]["details"] == {"value": {key: 1}}


def test_the_same_value_under_two_names_is_redacted_by_its_name() -> None:
    memo = PartMemo()
    schema = {"type": "object", "properties": {"token": {"type": "string", "description": "a token"}}}
    context = Context.model_validate({"tools": [{"name": "t", "parameters": schema}], "token": "abc"})
    context.messages.append(UserMessage(content="abc"))
    value = clean(context, None, memo).value()["context"]
    assert value["tools"][0]["parameters"] == schema
    assert value["token"] == "[secret removed]"
    assert value["messages"][0]["content"] == "abc"


def test_an_equal_message_that_is_another_object_is_known_by_its_content() -> None:
    memo, message = PartMemo(), UserMessage(content="hi", timestamp=1)
    clean(Context(messages=[message]), None, memo)
    opened = normalized((MODEL, Context(messages=[message.model_copy()]), None), CODEC, memo)
    (found,) = [part for part in opened.parts if isinstance(part, DumpedList)]
    assert not any(isinstance(item, DumpedPart) for item in found.items)


@pytest.mark.parametrize("change", ["a field", "an item more", "an item less", "an extra field", "a field deleted"])
def test_the_same_object_is_dumped_again_once_it_has_changed(change: str) -> None:
    memo = PartMemo()
    message = ToolResultMessage(tool_call_id="c", tool_name="t", content=[TextContent(text="a"), TextContent(text="b")])
    before = clean(Context(messages=[message]), None, memo).value()
    assert clean(Context(messages=[message]), None, memo).value() == before
    match change:
        case "a field":
            message.content[0] = TextContent(text="A")
        case "an item more":
            message.content.append(TextContent(text="c"))
        case "an item less":
            message.content.pop()
        case "an extra field":
            message.note = "x"  # type: ignore[attr-defined]
        case "a field deleted":
            del message.details
    after = clean(Context(messages=[message]), None, memo).value()
    assert after != before
    assert after == clean(Context(messages=[message]), None, PartMemo()).value()


def test_what_no_request_asks_for_any_more_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PartMemo, "GENERATION_BYTES", 1000)
    memo = PartMemo()
    for number in range(200):
        clean(Context(messages=[UserMessage(content=f"{number} " * 50)]), None, memo)
    assert len(memo._young) + len(memo._old) < 30


@pytest.mark.anyio
async def test_a_changed_timestamp_below_free_form_is_a_mismatch_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    recording = RecordingProvider(ScriptedProvider(["ok"]), path)
    await recording.stream(MODEL, Context(messages=[_result({"timestamp": 1})]))
    recording.close()
    with ReplayProvider(path) as replay, pytest.raises(ReplayMismatch) as mismatch:
        await replay.stream(MODEL, Context(messages=[_result({"timestamp": 2})]))
    assert mismatch.value.field_path == "context.messages[0].details.value.timestamp"


def _result(value: object) -> ToolResultMessage:
    return ToolResultMessage(tool_call_id="c", tool_name="t", content=[], details={"value": value})


# ---- what an unknown type may do


def test_two_messages_that_only_their_own_serializer_takes_for_equal_are_told_apart() -> None:
    class Timed(UserMessage):
        at: datetime.time

        @field_serializer("at", when_used="json")
        def _coarse(self, at: datetime.time) -> str:
            return "some time"

    memo = PartMemo()
    for hour in (1, 2):
        context = Context.model_construct(messages=[Timed(content="x", at=datetime.time(hour))])
        got = clean(context, None, memo).value()
        assert got == clean(context, None, PartMemo()).value()
        assert got["context"]["messages"][0]["at"] == f"0{hour}:00:00"


@pytest.mark.parametrize(("one", "other"), [({b"ab": 1}, {"YWI=": 1}), ({"YWI=": 1}, {b"ab": 1})])
def test_keys_of_bytes_and_of_text_are_told_apart(one: object, other: object) -> None:
    memo = PartMemo()
    for value in (one, other):
        context = Context(messages=[_result(value)])
        assert clean(context, None, memo).value() == clean(context, None, PartMemo()).value()


def test_an_iterator_is_refused_and_not_used_up() -> None:
    numbers = iter([1, 2])
    with pytest.raises(RecordingValueError, match="read only once"):
        clean(Context(messages=[_result(numbers)]), None, PartMemo())
    assert list(numbers) == [1, 2]


def test_an_extra_field_of_a_context_is_redacted_beside_its_neighbours_and_by_its_name() -> None:
    token = "ghp_" + "Zx4Qm81LwT7vBn2KdP9sR5tYc3Ae6Uf0Hj1G"
    context = Context.model_validate({"messages": [], "name": "Authorization", "value": "Zx4Qm81LwT7vBn2K", token: 1})
    request = clean(context, None, PartMemo())
    assert request.value()["context"]["value"] == "[secret removed]"
    assert token.encode() not in b"".join(request.body())
    assert b"Zx4Qm81LwT7vBn2K" not in b"".join(request.body())


def test_a_field_that_a_context_excludes_is_not_recorded() -> None:
    class Own(Context):
        note: str = Field(default="PRIVATE", exclude=True)

    assert b"PRIVATE" not in b"".join(clean(Own(), None, PartMemo()).body())


def test_a_secret_in_the_path_of_a_value_that_is_refused_is_not_shown() -> None:
    secret = "sk-ant-api03-" + "aB3xZ9" * 8
    with pytest.raises(RecordingValueError) as failure:
        clean(Context(), StreamOptions(metadata={secret: math.nan}), PartMemo())
    assert secret not in str(failure.value)
    assert failure.value.field_path.startswith("options.metadata")
