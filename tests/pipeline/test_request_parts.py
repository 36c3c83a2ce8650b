"""A request as parts: what is remembered, and that remembering never changes what is written or compared."""

import datetime
import math
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, field_serializer

from openprogram.pipeline.errors import RecordingValueError, ReplayMismatch
from openprogram.pipeline.json_value import JsonValue, to_json_text
from openprogram.pipeline.redaction import remove_secret_values
from openprogram.pipeline.request_parts import DumpedList, DumpedPart, Part, PartMemo, clean_part
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
    StreamOptions,
    TextContent,
    Tool,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from tests.pipeline.requests import CODEC, MODEL, clean, contexts, messages, options


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


@pytest.mark.anyio
async def test_a_number_of_more_digits_than_can_be_written_is_refused_like_any_value(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    endless = Context(messages=[UserMessage(content="a"), _result(10**5000)])
    recording = RecordingProvider(ScriptedProvider(["ok"]), path)
    with pytest.raises(RecordingValueError, match=r"messages\[1\].*digits"):
        await recording.stream(MODEL, endless)
    await recording.stream(MODEL, Context())
    recording.close()
    with ReplayProvider(path) as replay:
        with pytest.raises(RecordingValueError):
            await replay.stream(MODEL, endless)
        await replay.stream(MODEL, Context())
        with pytest.raises(RecordingValueError):
            replay.assert_consumed()


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


class Interrupted(ProviderRequestCodec):
    """Between two of its steps with a message, a thread has a turn that changes it."""

    def __init__(self, turn: int, change: Callable[[], object]) -> None:
        self._turns_left, self._change = turn, change

    def text(self, part: Part) -> bytes | None:
        self._turn(part)
        text = super().text(part)
        self._turn(part)
        return text

    def dump_part(self, part: Part) -> JsonValue:
        self._turn(part)
        value = super().dump_part(part)
        self._turn(part)
        return value

    def _turn(self, part: Part) -> None:
        if part.name == "messages":
            if self._turns_left == 0:
                self._change()
            self._turns_left -= 1


@pytest.mark.parametrize("turn", range(6))
@pytest.mark.parametrize("seen", ["nothing", "the object", "the content", "both"])
@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize("then", [("new", "old", "zero"), ("old", "new", "zero")])
def test_a_message_that_changes_while_it_is_dumped_leaves_nothing_wrong_in_memory(
    turn: int, seen: str, held: bool, then: tuple[str, ...]
) -> None:
    def message(text: str) -> UserMessage:
        return UserMessage.model_construct(content=[TextContent(text=text)])

    def asked(sent: UserMessage) -> None:
        context = Context.model_construct(messages=[sent])
        assert clean(context, None, memo).value() == clean(context, None, PartMemo()).value()

    memo, changing = PartMemo(), message("zero")
    if seen in ("the object", "both"):
        asked(changing)
    if seen in ("the content", "both"):
        asked(message("old"))
    changing.content[0].text = "old"  # type: ignore[union-attr]
    codec = Interrupted(turn, lambda: setattr(changing.content[0], "text", "new"))
    clean_request(normalized((MODEL, Context.model_construct(messages=[changing]), None), codec, memo), memo)
    for text in then:
        if held:
            changing.content[0].text = text  # type: ignore[union-attr]
        asked(changing)
        asked(message(text))


def _user(text: str, number: int) -> UserMessage:
    return UserMessage(content=f"{text} {number}", timestamp=number)


def _conversation(number: int) -> list[Message]:
    """Grows by one message a call, and is cut down to a few now and then, as by an agent that summarises."""
    kept = number % 40
    return [*map(FIRST.get, range(number - kept, number + 1))]  # type: ignore[list-item]


#: The same objects in every call that has them.
FIRST = {number: _user("message " * 20, number) for number in range(600)}

#: What one program may ask for again and again: the messages of its nth call.
PROGRAMS: dict[str, Callable[[int], list[Message]]] = {
    "the same": lambda _: [FIRST[0]],
    "equal ones": lambda _: [_user("hi", 0)],
    "others": lambda number: [_user("hi", number)],
    "nested ones": lambda number: [_result([[number, at] for at in range(50)])],
    "an equal history": lambda number: [*(_user("hi", at) for at in range(5)), _user("ho", number)],
    "a conversation": _conversation,
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_memory_is_bounded_by_what_it_really_takes(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Objects that are held cost a multiple of their text, and an entry without any text costs as well."""
    monkeypatch.setattr(PartMemo, "GENERATION_BYTES", 200_000)
    memo, chosen = PartMemo(), StreamOptions(max_tokens=5)
    tracemalloc.start()
    try:
        for number in range(600):
            context = Context.model_construct(messages=PROGRAMS[program](number))
            clean(context, chosen, memo)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 3 * PartMemo.GENERATION_BYTES


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


@pytest.mark.parametrize("where", ["messages", "tools", "options"])
def test_a_serializer_that_fails_is_told_like_any_value_that_has_no_json_form(where: str) -> None:
    class Failing(BaseModel):
        at: int = 1

        @field_serializer("at")
        def _fail(self, at: int) -> int:
            raise ZeroDivisionError

    context, chosen = Context(messages=[UserMessage(content="a")], tools=[Tool(name="t")]), StreamOptions()
    path = {"messages": "context.messages[1]", "tools": "context.tools[1]", "options": "options"}[where]
    match where:
        case "messages":
            context.messages.append(_result(Failing()))
        case "tools":
            context.tools.append(Failing())  # type: ignore[union-attr, arg-type]
        case "options":
            chosen.metadata = {"a": Failing()}
    with pytest.raises(RecordingValueError, match="ZeroDivisionError") as failure:
        clean(context, chosen, PartMemo())
    assert failure.value.field_path == path


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


@pytest.mark.parametrize("text", ["plain", "\ud800 escaped"])
@pytest.mark.parametrize("behind", [{}, {"note": "é"}])
def test_the_stamp_of_a_message_is_told_from_its_neighbours_and_the_text_is_whole(
    text: str, behind: dict[str, JsonValue]
) -> None:
    value: dict[str, JsonValue] = {"timestamp": "no integer", "content": text, "at": 5, **behind}
    part = clean_part(value, 0, frozenset({"timestamp", "at"}))
    assert part.text == to_json_text(value)
    if text == "plain":
        assert part.stamp == b"5"
        assert clean_part(value, 0, frozenset({"at"}), to_json_text(value)) == part


@given(messages)
def test_a_message_is_written_as_its_redacted_dump_letter_for_letter(message: Message) -> None:
    context = Context.model_construct(messages=[message])
    whole = remove_secret_values(CODEC.dump((MODEL, context, None)))
    assert b"".join(clean(context, None, PartMemo()).body()) == to_json_text(whole) + b"\n"


@pytest.mark.parametrize("number", [3.6e-05, 1e-05, 1e16, 1.5e300])
def test_a_number_is_spelled_as_ever_whoever_made_the_text(number: float) -> None:
    message = _result(number)
    text = b"".join(clean(Context(messages=[message]), None, PartMemo()).body())
    assert b'"details":{"value":' + repr(number).encode() + b"}" in text


def test_a_message_that_is_nested_too_deep_is_refused() -> None:
    value: list[object] = []
    for _ in range(130):
        value = [value]
    with pytest.raises(RecordingValueError, match="nested deeper than 128 levels"):
        clean(Context(messages=[_result(value)]), None, PartMemo())


def test_a_message_that_becomes_one_of_known_content_while_it_is_dumped_leaves_nothing_wrong_in_memory() -> None:
    memo, changing = PartMemo(), UserMessage(content="first")
    for message in (UserMessage(content="old"), changing):
        clean(Context.model_construct(messages=[message]), None, memo)
    before, context = "before", Context.model_construct(messages=[changing])
    changing.content = before
    codec = Interrupted(0, lambda: setattr(changing, "content", "old"))
    clean_request(normalized((MODEL, context, None), codec, memo), memo)
    changing.content = before
    assert clean(context, None, memo).value()["context"]["messages"][0]["content"] == "before"
