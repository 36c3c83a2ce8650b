"""The message is the fold of its events (design: "Events are deltas; the message is their fold")."""

import json
import weakref
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openprogram.providers.fold import Fold, parse_partial_arguments
from openprogram.providers.types import (
    AssistantContent,
    AssistantMessage,
    AssistantMessageEvent,
    EventDone,
    EventError,
    EventProviderBlock,
    EventStart,
    EventTextDelta,
    EventTextEnd,
    EventTextStart,
    EventThinkingDelta,
    EventThinkingEnd,
    EventThinkingStart,
    EventToolCallDelta,
    EventToolCallEnd,
    EventToolCallStart,
    ProviderContent,
    TextContent,
    ThinkingContent,
    ToolCall,
)

# ---- any well-formed stream: blocks of any kind, cut anywhere, interleaved anyhow

any_text = st.text(st.characters(), max_size=20)  # lone surrogates included
any_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | any_text,
    lambda children: st.lists(children, max_size=3) | st.dictionaries(any_text, children, max_size=3),
    max_leaves=8,
)
any_arguments = st.dictionaries(any_text, any_json, max_size=4)
any_block: st.SearchStrategy[AssistantContent] = st.one_of(
    st.builds(
        TextContent,
        text=any_text,
        text_signature=st.none() | any_text,
        citations=st.none() | st.lists(any_arguments, max_size=2),
    ),
    st.builds(
        ThinkingContent,
        thinking=any_text,
        thinking_signature=st.none() | any_text,
        redacted=st.none() | st.booleans(),
    ),
    st.builds(ToolCall, id=any_text, name=any_text, arguments=any_arguments, thought_signature=st.none() | any_text),
    st.builds(ProviderContent, api=any_text, provider=any_text, kind=any_text, data=any_arguments),
)


def message(content: list[AssistantContent]) -> AssistantMessage:
    return AssistantMessage(content=content, api="scripted", provider="test", model="m")


@st.composite
def pieces(draw: st.DrawFn, text: str) -> list[str]:
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=4)))
    return [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


@st.composite
def block_events(draw: st.DrawFn, index: int, block: AssistantContent) -> list[AssistantMessageEvent]:
    match block:
        case TextContent(text=text, text_signature=signature):
            return [
                EventTextStart(content_index=index),
                *(EventTextDelta(content_index=index, delta=piece) for piece in draw(pieces(text))),
                EventTextEnd(content_index=index, content=text, text_signature=signature, citations=block.citations),
            ]
        case ThinkingContent(thinking=text, thinking_signature=signature, redacted=redacted):
            return [
                EventThinkingStart(content_index=index),
                *(EventThinkingDelta(content_index=index, delta=piece) for piece in draw(pieces(text))),
                EventThinkingEnd(content_index=index, content=text, thinking_signature=signature, redacted=redacted),
            ]
        case ToolCall():
            whole = json.dumps(block.arguments, ensure_ascii=draw(st.booleans()))
            return [
                EventToolCallStart(content_index=index, id=block.id, name=block.name),
                *(EventToolCallDelta(content_index=index, delta=piece) for piece in draw(pieces(whole))),
                EventToolCallEnd(content_index=index, tool_call=block),
            ]
        case ProviderContent():
            return [EventProviderBlock(content_index=index, block=block)]


@st.composite
def streams(draw: st.DrawFn) -> tuple[AssistantMessage, list[AssistantMessageEvent]]:
    """A message and events that add up to it, the terminal event left out."""
    blocks = draw(st.lists(any_block, max_size=4))
    waiting = [draw(block_events(index, block)) for index, block in enumerate(blocks)]
    events: list[AssistantMessageEvent] = [EventStart()]
    while any(waiting):
        chosen = draw(st.sampled_from([queue for queue in waiting if queue]))
        events.append(chosen.pop(0))
    return message(blocks), events


def folded(*events: AssistantMessageEvent) -> Fold:
    fold = Fold("scripted", "test", "m")
    for event in events:
        fold.add(event)
    return fold


@given(streams())
def test_the_fold_of_the_deltas_is_the_message(stream: tuple[AssistantMessage, list[AssistantMessageEvent]]) -> None:
    whole, events = stream
    fold = folded(*events)
    assert fold.partial == whole
    assert fold.final is None


@given(streams())
def test_looking_at_every_position_changes_nothing(
    stream: tuple[AssistantMessage, list[AssistantMessageEvent]],
) -> None:
    whole, events = stream
    fold = folded()
    for event in events:
        fold.add(event)
        assert fold.partial == fold.partial
    assert fold.partial == whole


@given(st.data())
def test_events_added_many_at_once_fold_as_each_by_itself(data: st.DataObject) -> None:
    """However many, wherever cut, whoever looks: only the text of deltas that wait for long is kept."""
    events: list[AssistantMessageEvent] = []
    for block in data.draw(st.lists(any_block, max_size=3)):
        events += data.draw(block_events(data.draw(st.integers(0, 1)), block)) * data.draw(st.sampled_from([1, 2, 40]))
    if data.draw(st.booleans()):
        events = data.draw(st.permutations(events))
    events += data.draw(st.sampled_from([[], [EventDone(reason="stop", message=message([]))]]))
    one, many = folded(), folded()
    while events:
        count = data.draw(st.sampled_from([1, 2, 63, 64, 65, 200]))
        for event in events[:count]:
            one.add(event)
            one.partial  # noqa: B018 - folds it at once
        many.add_all(events[:count])
        del events[:count]
        if data.draw(st.booleans()):
            assert many.partial == one.partial
    assert many.partial == one.partial
    assert many.final is one.final


@pytest.mark.parametrize("at_once", [1, 100])
def test_of_a_delta_that_was_added_long_ago_only_the_text_is_kept(at_once: int) -> None:
    fold, first = folded(), EventTextDelta(content_index=0, delta="first ")
    seen = weakref.ref(first)
    waiting: list[AssistantMessageEvent] = [first, *(EventTextDelta(content_index=0, delta="a") for _ in range(99))]
    del first
    for start in range(0, 100, at_once):
        batch = waiting[start : start + at_once]
        if at_once == 1:
            fold.add(batch[0])
        else:
            fold.add_all(batch)
    del batch
    waiting.clear()
    assert seen() is None
    assert fold.partial.text == "first " + "a" * 99


class Noted(EventTextDelta):
    """What a provider of its own may yield: a delta that is more."""

    note: str = ""


def test_an_event_of_a_class_of_its_own_folds_in_its_place() -> None:
    deltas = [EventTextDelta(content_index=0, delta=str(n)) for n in range(100)]
    deltas[50] = Noted(content_index=0, delta="noted")
    fold = folded(*deltas)
    assert fold.partial.text == "".join(event.delta for event in deltas)


@given(st.data())
def test_any_sequence_of_events_folds_without_raising(data: st.DataObject) -> None:
    events: list[AssistantMessageEvent] = []
    for block in data.draw(st.lists(any_block, max_size=3)):
        events += data.draw(block_events(data.draw(st.integers(0, 1)), block))
    fold = folded()
    for event in data.draw(st.permutations(events)):
        fold.add(event)
        assert isinstance(fold.partial, AssistantMessage)


@given(any_arguments, st.data())
def test_the_beginning_of_any_arguments_reads_as_an_object(arguments: dict[str, Any], data: st.DataObject) -> None:
    whole = json.dumps(arguments, ensure_ascii=False)
    assert isinstance(parse_partial_arguments(whole[: data.draw(st.integers(0, len(whole)))]), dict)
    assert parse_partial_arguments(whole) == arguments


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("", {}),
        ('{"pa', {}),
        ('{"path": "/tm', {"path": "/tm"}),
        ('{"path": "/tmp", "li', {"path": "/tmp"}),
        ('{"lines": [1, 2', {"lines": [1, 2]}),
        ("[1, 2]", {}),
        ("not json", {}),
        ("[" * 100_000, {}),
    ],
)
def test_streamed_arguments_read_as_far_as_they_came(text: str, arguments: dict[str, Any]) -> None:
    assert parse_partial_arguments(text) == arguments


def test_a_tool_call_on_its_way_has_its_name_and_the_arguments_so_far() -> None:
    fold = folded(
        EventToolCallStart(content_index=0, id="call-1", name="read"),
        EventToolCallDelta(content_index=0, delta='{"path": "a.t'),
    )
    assert fold.partial.content == [ToolCall(id="call-1", name="read", arguments={"path": "a.t"})]
    fold.add(EventToolCallDelta(content_index=0, delta='xt"}'))
    assert fold.partial.content == [ToolCall(id="call-1", name="read", arguments={"path": "a.txt"})]


def test_blocks_stand_in_the_order_of_their_index() -> None:
    fold = folded(EventTextDelta(content_index=2, delta="b"), EventThinkingDelta(content_index=0, delta="a"))
    assert fold.partial.content == [ThinkingContent(thinking="a"), TextContent(text="b")]


def test_an_event_of_another_kind_begins_the_block_anew() -> None:
    fold = folded(EventTextDelta(content_index=0, delta="a"), EventThinkingDelta(content_index=0, delta="b"))
    assert fold.partial.content == [ThinkingContent(thinking="b")]


def test_before_the_terminal_event_the_message_invents_nothing() -> None:
    partial = folded(EventTextDelta(content_index=0, delta="a")).partial
    assert (partial.api, partial.provider, partial.model) == ("scripted", "test", "m")
    assert (partial.stop_reason, partial.timestamp, partial.usage.total_tokens) == ("stop", 0, 0)


def test_changing_a_partial_message_changes_neither_event_nor_fold() -> None:
    call = ToolCall(id="call-1", name="read", arguments={"paths": ["a"]})
    fold = folded(EventToolCallEnd(content_index=0, tool_call=call))
    [seen] = fold.partial.tool_calls
    seen.arguments["paths"].append("b")
    assert call.arguments == {"paths": ["a"]}
    assert fold.partial.tool_calls == [call]


def test_a_provider_block_that_comes_again_replaces_the_first() -> None:
    first, last = (ProviderContent(api="a", provider="p", kind="k", data={"n": n}) for n in (1, 2))
    fold = folded(
        EventProviderBlock(content_index=0, block=first),
        EventTextDelta(content_index=1, delta="a"),
        EventProviderBlock(content_index=0, block=last),
    )
    assert fold.partial.content == [last, TextContent(text="a")]


def test_changing_an_opaque_block_of_the_message_changes_no_event() -> None:
    block = ProviderContent(api="a", provider="p", kind="k", data={"list": [1]})
    end = EventTextEnd(content_index=1, content="a", citations=[{"url": "u"}])
    opaque, text = folded(EventProviderBlock(content_index=0, block=block), end).partial.content
    assert isinstance(opaque, ProviderContent)
    assert isinstance(text, TextContent)
    assert text.citations
    opaque.data["list"].append(2)
    text.citations[0]["url"] = "other"
    assert (block.data, end.citations) == ({"list": [1]}, [{"url": "u"}])


def test_after_done_it_is_that_message() -> None:
    final = message([TextContent(text="whole")])
    fold = folded(EventTextDelta(content_index=0, delta="who"), EventDone(reason="stop", message=final))
    assert fold.partial is final
    assert fold.final is final


def test_after_error_it_is_the_error_message() -> None:
    final = message([TextContent(text="who")]).model_copy(update={"stop_reason": "error", "error_reason": "network"})
    fold = folded(EventTextDelta(content_index=0, delta="who"), EventError(reason="error", error=final))
    assert fold.partial is final
