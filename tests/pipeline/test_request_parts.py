"""A request as parts: what is remembered, and that remembering never changes what is written or compared."""

import datetime
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, field_serializer

from openprogram.pipeline.errors import RecordingValueError, ReplayMismatch
from openprogram.pipeline.fingerprint import fingerprint, is_same
from openprogram.pipeline.log.lines import encode_request
from openprogram.pipeline.redaction import remove_secret_values
from openprogram.pipeline.request_parts import DumpedPart, PartMemo, RequestText
from openprogram.pipeline.stages.normalize import normalized
from openprogram.pipeline.stages.redact import clean_request
from openprogram.providers.codec import ProviderRequestCodec
from openprogram.providers.recording import RecordingProvider
from openprogram.providers.replay import ReplayProvider
from openprogram.providers.scripted import ScriptedProvider
from openprogram.providers.types import (
    AssistantMessage,
    Context,
    Message,
    Model,
    SimpleStreamOptions,
    StreamOptions,
    TextContent,
    Tool,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)

MODEL = Model(id="m", api="scripted", provider="p")
CODEC = ProviderRequestCodec()


def clean(context: Context, options: StreamOptions | None, memo: PartMemo) -> RequestText:
    return clean_request(normalized((MODEL, context, options), CODEC, memo), memo).request


texts = st.text(max_size=20) | st.sampled_from(
    ["sk-ant-api03-" + "aB3" * 20, "Bearer " + "x9Y" * 12, "\ud800", "\ufffd"]
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts | st.just("token"), inner, max_size=3),
    max_leaves=8,
)
messages: st.SearchStrategy[Message] = st.one_of(
    st.builds(UserMessage, content=texts, timestamp=st.integers(0, 9)),
    st.builds(
        AssistantMessage,
        content=st.lists(
            st.builds(TextContent, text=texts)
            | st.builds(ToolCall, id=texts, name=texts, arguments=st.dictionaries(texts, json_values, max_size=3)),
            max_size=2,
        ),
        timestamp=st.integers(0, 9),
    ),
    st.builds(
        ToolResultMessage,
        tool_call_id=texts,
        tool_name=texts,
        content=st.lists(st.builds(TextContent, text=texts), max_size=2),
        details=json_values,
        timestamp=st.integers(0, 9),
    ),
)
contexts = st.builds(
    Context,
    system_prompt=st.none() | texts,
    messages=st.lists(messages, max_size=4),
    tools=st.none()
    | st.lists(st.builds(Tool, name=texts, parameters=st.dictionaries(texts, json_values, max_size=2)), max_size=2),
)
options = st.none() | st.builds(SimpleStreamOptions, api_key=st.none() | texts, metadata=st.none() | st.just({"a": 1}))


@given(st.lists(st.tuples(contexts, options), min_size=1, max_size=4))
def test_the_text_in_parts_is_the_redacted_dump_of_the_whole_whatever_came_before(
    requests: list[tuple[Context, StreamOptions | None]],
) -> None:
    memo = PartMemo()
    for context, chosen in [*requests, *requests]:
        whole = remove_secret_values(CODEC.dump((MODEL, context, chosen)))
        assert clean(context, chosen, memo).value() == whole


@given(contexts, options)
def test_a_request_is_the_line_that_was_written_of_it(context: Context, chosen: StreamOptions | None) -> None:
    memo = PartMemo()
    line = encode_request(3, clean(context, chosen, memo).body())
    assert clean(context, chosen, memo).is_line(line)
    later = context.model_copy(
        update={"messages": [m.model_copy(update={"timestamp": m.timestamp + 1}) for m in context.messages]}
    )
    assert clean(later, chosen, memo).is_line(line), "timestamps of our own messages are not compared"


@given(contexts, contexts)
def test_another_request_is_another_line(one: Context, other: Context) -> None:
    memo = PartMemo()
    line = encode_request(0, clean(one, None, memo).body())
    without_times: list[Any] = [remove_secret_values(CODEC.dump((MODEL, context, None))) for context in (one, other)]
    for request in without_times:
        for message in request["context"]["messages"]:
            message["timestamp"] = 0
    assert clean(other, None, memo).is_line(line) == (repr(without_times[0]) == repr(without_times[1]))


@pytest.mark.parametrize("change", ["cut", "longer", "another call's words", "another type"])
def test_a_line_that_only_begins_or_ends_alike_is_not_the_request(change: str) -> None:
    request = clean(Context(messages=[UserMessage(content="hi")]), None, PartMemo())
    line = encode_request(0, request.body())
    changed = {
        "cut": line[:-2],
        "longer": line[:-1] + b" x\n",
        "another call's words": line.replace(b'"hi"', b'"ho"'),
        "another type": line.replace(b'"request"', b'"event"'),
    }[change]
    assert request.is_line(line)
    assert not request.is_line(changed)


def test_a_message_that_the_caller_changes_is_not_taken_from_memory() -> None:
    memo, message = PartMemo(), UserMessage(content="first")
    context = Context(messages=[message])
    assert clean(context, None, memo).value()["context"]["messages"][0]["content"] == "first"
    message.content = "second"
    assert clean(context, None, memo).value()["context"]["messages"][0]["content"] == "second"


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
    assert not any(isinstance(part, DumpedPart) for part in opened.parts)


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


@given(json_values, json_values)
def test_values_of_one_fingerprint_are_the_same_json(one: object, other: object) -> None:
    left, right = fingerprint([one, one], frozenset()), fingerprint([other, one], frozenset())
    assert left is not None
    assert right is not None
    if is_same(left, right):
        assert repr(one) == repr(other)


def test_a_subclass_and_a_foreign_object_have_no_fingerprint() -> None:
    class Loud(UserMessage):
        pass

    for value in (Loud(content="x"), {"a": object()}, {1: 2}, [datetime.date(2026, 1, 1)], {"s"}):
        assert fingerprint(value, CODEC.plain_types) is None
    endless: list[object] = []
    endless.append(endless)
    assert fingerprint(endless, frozenset()) is None


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
    assert token.encode() not in bytes(request.body())
    assert b"Zx4Qm81LwT7vBn2K" not in bytes(request.body())


def test_a_field_that_a_context_excludes_is_not_recorded() -> None:
    class Own(Context):
        note: str = Field(default="PRIVATE", exclude=True)

    assert b"PRIVATE" not in bytes(clean(Own(), None, PartMemo()).body())


def test_a_secret_in_the_path_of_a_value_that_is_refused_is_not_shown() -> None:
    secret = "sk-ant-api03-" + "aB3xZ9" * 8
    with pytest.raises(RecordingValueError) as failure:
        clean(Context(), StreamOptions(metadata={secret: math.nan}), PartMemo())
    assert secret not in str(failure.value)
    assert failure.value.field_path.startswith("options.metadata")
