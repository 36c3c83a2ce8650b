"""A conversation that grows, and one that is edited: what is remembered never changes what comes out."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openprogram.pipeline.part_lists import CleanPart, KnownList, KnownPart
from openprogram.pipeline.request_parts import DumpedList, DumpedPart, PartMemo
from openprogram.pipeline.snapshots import take_snapshot
from openprogram.pipeline.stages.normalize import normalized
from openprogram.providers.types import Context, Message, TextContent, ToolResultMessage, UserMessage
from tests.pipeline.requests import CODEC, MODEL, clean, messages


class Own(UserMessage):
    """A type of somebody else's: its dump may depend on anything."""


#: What an agent does between two calls: positions are taken modulo what there is.
edits = st.one_of(
    st.tuples(st.just("add"), st.lists(messages, min_size=1, max_size=3)),
    st.tuples(st.just("add"), st.just([Own(content="own")])),
    st.tuples(st.just("drop"), st.integers(0, 9)),
    st.tuples(st.just("replace"), st.tuples(st.integers(0, 9), st.lists(messages, max_size=2))),
    st.tuples(st.just("swap"), st.integers(0, 9)),
    st.tuples(st.just("change"), st.integers(0, 9)),
    st.tuples(st.just("copy"), st.none()),
    st.tuples(st.just("nothing"), st.none()),
    st.tuples(st.just("fork"), st.lists(messages, min_size=1, max_size=2)),
)


@given(st.lists(messages, max_size=4), st.lists(edits, max_size=8))
def test_every_request_of_a_conversation_is_what_it_is_without_memory(
    begun: list[Message], steps: list[tuple[str, Any]]
) -> None:
    memo, conversation = PartMemo(), list(begun)
    for step, more in [("nothing", None), *steps]:
        context = sent(_edited(conversation, step, more))
        request = clean(context, None, memo)
        anew = clean(context, None, PartMemo())
        assert b"".join(request.body()) == b"".join(anew.body())
        assert request.count == anew.count


def _edited(conversation: list[Message], step: str, more: Any) -> list[Message]:
    """The messages of the next request; `conversation` is what they come from and is changed in place."""
    where, put_there = more if step == "replace" else (more if step in ("drop", "swap", "change") else 0, [])
    at = where % max(1, len(conversation))
    match step:
        case "add":
            conversation.extend(more)
        case "drop":
            del conversation[at : at + 1]
        case "replace":
            conversation[at : at + 1] = put_there
        case "swap" if conversation:
            conversation.append(conversation.pop(at))
        case "change" if conversation:
            conversation[at].content = "changed"
        case "copy":
            conversation[:] = [message.model_copy(deep=True) for message in conversation]
        case "fork":
            return [*conversation, *more]
    return list(conversation)


def dumped(context: Context, memo: PartMemo) -> DumpedList:
    (found,) = [part for part in normalized((MODEL, context, None), CODEC, memo).parts if isinstance(part, DumpedList)]
    return found


def sent(conversation: Sequence[Message]) -> Context:
    """With the very objects, which pydantic would copy."""
    return Context.model_construct(messages=list(conversation))


def user(number: int) -> UserMessage:
    return UserMessage(content=f"message {number}", timestamp=number)


def test_of_a_conversation_that_grew_only_what_is_new_is_looked_at() -> None:
    memo, conversation = PartMemo(), [user(number) for number in range(5)]
    clean(sent(conversation), None, memo)
    conversation += [user(5), user(6)]
    found = dumped(sent(conversation), memo)
    assert found.known is not None
    assert [item.source for item in found.known.items] == conversation[:5]
    assert [item.part.position for item in found.items if isinstance(item, DumpedPart)] == [5, 6]


@pytest.mark.parametrize("edit", ["first changed", "middle changed", "middle taken out", "one put in between"])
def test_of_a_conversation_that_was_edited_what_is_as_it_was_is_not_dumped_again(edit: str) -> None:
    memo, conversation = PartMemo(), [user(number) for number in range(6)]
    clean(sent(conversation), None, memo)
    match edit:
        case "first changed":
            conversation[0].content = "new"
        case "middle changed":
            conversation[3].content = "new"
        case "middle taken out":
            del conversation[3]
        case "one put in between":
            conversation.insert(3, UserMessage(content="new"))
    found = dumped(sent(conversation), memo)
    anew = [item.part.source.content for item in found.items if isinstance(item, DumpedPart)]
    assert anew == ([] if edit == "middle taken out" else ["new"])
    assert (found.known, len(found.items)) == (None, len(conversation))


def test_a_message_that_was_put_back_is_known_again() -> None:
    memo, message = PartMemo(), ToolResultMessage(tool_call_id="c", tool_name="t", content=[TextContent(text="a")])
    context = sent([message])
    before = b"".join(clean(context, None, memo).body())
    message.content.append(TextContent(text="b"))
    clean(context, None, memo)
    message.content.pop()
    assert b"".join(clean(context, None, memo).body()) == before


def test_objects_of_known_content_that_are_sent_again_are_known_too() -> None:
    memo = PartMemo()
    clean(sent([user(1)]), None, memo)
    context = sent([user(1)])
    for _ in range(2):
        assert dumped(context, memo).known is not None
        clean(context, None, memo)


def copies(conversation: Sequence[Message]) -> Context:
    """New objects of the same content, as of a program that makes its messages anew for each request."""
    return sent([message.model_copy(deep=True) for message in conversation])


def test_a_conversation_of_new_objects_is_known_by_what_they_hold() -> None:
    memo, conversation = PartMemo(), [user(0)]
    clean(copies(conversation), None, memo)
    for number in range(1, 6):
        conversation.append(user(number))
        found = dumped(copies(conversation), memo)
        assert found.known is not None
        assert len(found.known.items) == number
        assert [item.part.source.content for item in found.items if isinstance(item, DumpedPart)] == [
            f"message {number}"
        ]
        text = b"".join(clean(copies(conversation), None, memo).body())
        assert text == b"".join(clean(copies(conversation), None, PartMemo()).body())


def test_two_conversations_of_new_objects_that_take_turns_are_both_known() -> None:
    memo, conversations = PartMemo(), [[user(number)] for number in (1, 2)]
    for _ in range(3):
        for conversation in conversations:
            clean(copies(conversation), None, memo)
            conversation.append(user(len(conversation)))
    assert all(dumped(copies(conversation), memo).known is not None for conversation in conversations)


def test_a_conversation_is_known_by_what_was_written_and_not_by_what_its_objects_hold_by_now() -> None:
    memo, conversation = PartMemo(), [user(0), user(1)]
    clean(sent(conversation), None, memo)
    conversation[1].content = "changed"
    assert dumped(copies(conversation), memo).known is None
    for _ in range(3):
        value = clean(copies(conversation), None, memo).value()
        assert value["context"]["messages"][1]["content"] == "changed"
    conversation[1].content = "message 1"
    assert clean(copies(conversation), None, memo).value()["context"]["messages"][1]["content"] == "message 1"


def test_after_an_edit_a_conversation_of_new_objects_is_known_again() -> None:
    memo, conversation = PartMemo(), [user(number) for number in range(4)]
    clean(copies(conversation), None, memo)
    del conversation[2]
    assert dumped(copies(conversation), memo).known is None
    clean(copies(conversation), None, memo)
    found = dumped(copies(conversation), memo)
    assert found.known is not None
    assert (len(found.known.items), found.items) == (3, [])


def known(number: int) -> KnownPart:
    source = user(number)
    return KnownPart(source, take_snapshot(source), CleanPart(b"%d" % number, b"", b"", 1))


def test_a_longer_list_is_another_one_and_the_shorter_stays_as_it_was() -> None:
    items = [known(number) for number in range(7)]
    short = KnownList(items[:3])
    one, other = short.extended(items[3:5]), short.extended(items[5:])
    texts = [b"".join(each.text) for each in (short, one, other)]
    assert texts == [b"0,1,2", b"0,1,2,3,4", b"0,1,2,5,6"]
    assert [each.count for each in (short, one, other)] == [3, 5, 5]
    sources = [item.source for item in items]
    assert one.begins(sources)
    assert short.begins([*sources[:3], *sources[5:]])
    assert not other.begins(sources)
    assert not one.begins(sources[:4])
