"""Two recordings compared: what is equal, what entered where, and what only follows."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openprogram.pipeline.json_value import ABSENT
from openprogram.pipeline.matching.policy import MatchWord
from openprogram.pipeline.redaction import REDACTION_VERSION
from openprogram.providers.recording import RecordingProvider
from openprogram.providers.replay import read_recording_file
from openprogram.providers.scripted import ScriptedProvider
from openprogram.providers.types import (
    AssistantMessage,
    Context,
    Model,
    StreamOptions,
    TextContent,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from openprogram.recordings.comparing import CallDifference, Comparison
from tests.openprogram.recording_files import call_lines, header_line, write_lines, write_recording
from tests.shared_data import shared

MODEL = Model(id="small-1", api="scripted", provider="example")
WEATHER = [ToolCall(id="c1", name="weather", arguments={"city": "Lisbon"})]
BOOK = [ToolCall(id="c2", name="book", arguments={"seats": 1})]
SCRIPT: list[Any] = [WEATHER, BOOK, "It is booked.", "You are welcome."]


def fine(call: ToolCall) -> str:
    return f"{call.name}: fine"


async def session(
    path: Path,
    script: Sequence[Any] = SCRIPT,
    tool: Callable[[ToolCall], str] = fine,
    *,
    system: str | None = None,
    model: Model = MODEL,
    options: StreamOptions | None = None,
    match: MatchWord | None = None,
    volatile: Sequence[str] | None = None,
) -> Path:
    """A conversation as long as the script: tools are answered, and after an answer without one the user goes on."""
    provider = RecordingProvider(ScriptedProvider(script), path, match=match, volatile=volatile)
    messages: list[Any] = [UserMessage(content="book a trip", timestamp=len(path.name))]
    for _ in script:
        answer = await provider.stream(model, Context(messages=messages, system_prompt=system), options)
        messages = [*messages, answer]
        messages += [
            ToolResultMessage(tool_call_id=call.id, tool_name=call.name, content=[TextContent(text=tool(call))])
            for call in answer.tool_calls
        ]
        if not answer.tool_calls:
            messages.append(UserMessage(content="thanks"))
    provider.close()
    return path


def compared(recorded: Path, incoming: Path) -> tuple[list[CallDifference], Comparison]:
    with read_recording_file(recorded) as first, read_recording_file(incoming) as second:
        comparison = Comparison(first, second)
        return list(comparison.calls()), comparison


def results(calls: list[CallDifference]) -> list[tuple[int | None, int | None, str]]:
    return [(call.recorded, call.incoming, call.result) for call in calls]


def requested(call: CallDifference) -> tuple[str, Any, Any]:
    assert call.request is not None
    return call.request.difference


def answered(call: CallDifference) -> tuple[str, Any, Any]:
    assert call.answer is not None
    return call.answer.difference


# ---- equal


@pytest.mark.anyio
async def test_two_runs_of_the_same_session_are_equal_whatever_the_clock_said(tmp_path: Path) -> None:
    calls, comparison = compared(await session(tmp_path / "a.jsonl"), await session(tmp_path / "bbb.jsonl"))
    assert results(calls) == [(index, index, "equal") for index in range(4)]
    assert comparison.same_policy


@pytest.mark.anyio
@pytest.mark.parametrize(
    "name", ["error-then-retry.jsonl", "one-text-call.jsonl", "secrets-in-headers.jsonl", "tool-loop.jsonl"]
)
async def test_a_recording_equals_itself_and_older_formats_of_events_too(name: str) -> None:
    path = shared("openprogram-v1", name)
    calls, _ = compared(path, path)
    assert {call.result for call in calls} == {"equal"}


@pytest.mark.anyio
async def test_how_an_answer_was_cut_into_events_makes_no_difference(tmp_path: Path) -> None:
    one = write_recording(tmp_path / "a.jsonl", answer="hello")
    lines = call_lines(0, answer="hello")
    start, first, *rest = lines[2:]
    assert first["event"]["type"] == "text_delta"
    pieces = [{**first, "event": {**first["event"], "delta": piece}} for piece in ("he", "l", "lo")]
    events = [lines[1], start, *pieces, *rest[:-1]]
    events = [{**event, "event_index": index} for index, event in enumerate(events)]
    two = write_lines(
        tmp_path / "b.jsonl", [header_line(), lines[0], *events, {**rest[-1], "event_count": len(events)}]
    )
    assert results(compared(one, two)[0]) == [(0, 0, "equal")]


# ---- where a difference entered


@pytest.mark.anyio
async def test_a_tool_that_returned_something_else_is_named_once_and_the_rest_follows(tmp_path: Path) -> None:
    recorded = await session(tmp_path / "a.jsonl")
    incoming = await session(tmp_path / "b.jsonl", tool=lambda call: "rain" if call.name == "weather" else fine(call))
    calls, _ = compared(recorded, incoming)
    assert results(calls) == [(0, 0, "equal"), (1, 1, "changed"), (2, 2, "follows"), (3, 3, "follows")]
    assert requested(calls[1]) == ("context.messages[2].content[0].text", "weather: fine", "rain")
    assert calls[1].request is not None
    assert calls[1].request.cause is not None
    assert "tool 'weather' (tool call 'c1', asked for by call 0, event" in calls[1].request.cause


@pytest.mark.anyio
async def test_a_second_difference_is_named_though_a_first_is_in_every_request(tmp_path: Path) -> None:
    recorded = await session(tmp_path / "a.jsonl")
    calls, _ = compared(recorded, await session(tmp_path / "b.jsonl", tool=lambda call: f"not {call.name}"))
    assert [call.result for call in calls] == ["equal", "changed", "changed", "follows"]
    assert requested(calls[2]) == ("context.messages[4].content[0].text", "book: fine", "not book")


@pytest.mark.anyio
async def test_a_changed_system_prompt_and_a_changed_option_are_named_once(tmp_path: Path) -> None:
    recorded = await session(tmp_path / "a.jsonl")
    calls, _ = compared(recorded, await session(tmp_path / "b.jsonl", system="Be brief."))
    assert [call.result for call in calls] == ["changed", "follows", "follows", "follows"]
    assert requested(calls[0]) == ("context.system_prompt", None, "Be brief.")
    options = StreamOptions(temperature=0.5)
    calls, _ = compared(recorded, await session(tmp_path / "c.jsonl", options=options))
    assert [call.result for call in calls] == ["changed", "follows", "follows", "follows"]
    assert requested(calls[0]) == ("options.temperature", None, 0.5)


@pytest.mark.anyio
async def test_an_inserted_call_is_the_only_one_without_a_counterpart(tmp_path: Path) -> None:
    recorded = await session(tmp_path / "a.jsonl")
    lookup = [ToolCall(id="c9", name="lookup", arguments={"q": "x"})]
    incoming = await session(tmp_path / "b.jsonl", [WEATHER, lookup, *SCRIPT[1:]])
    calls, _ = compared(recorded, incoming)
    assert results(calls) == [
        (0, 0, "equal"),
        (1, 1, "changed"),  # it is answered otherwise: with the inserted tool call
        (None, 2, "incoming_only"),
        (2, 3, "follows"),
        (3, 4, "follows"),
    ]
    back, _ = compared(incoming, recorded)
    assert [call.result for call in back] == ["equal", "changed", "recorded_only", "follows", "follows"]


@pytest.mark.anyio
async def test_an_answer_that_differs_shows_its_place_and_both_answers(tmp_path: Path) -> None:
    recorded = await session(tmp_path / "a.jsonl")
    porto = [ToolCall(id="c1", name="weather", arguments={"city": "Porto"})]
    calls, _ = compared(recorded, await session(tmp_path / "b.jsonl", [porto, *SCRIPT[1:]]))
    assert [call.result for call in calls] == ["changed", "follows", "follows", "follows"]
    assert answered(calls[0]) == ("message.content[0].arguments.city", "Lisbon", "Porto")
    ours, theirs = calls[0].answers
    assert ours is not None
    assert theirs is not None
    assert (ours.tools[0].arguments, theirs.tools[0].arguments) == ({"city": "Lisbon"}, {"city": "Porto"})


@pytest.mark.anyio
async def test_results_of_tool_calls_that_differ_follow_from_them(tmp_path: Path) -> None:
    def says(call: ToolCall) -> str:
        return f"weather of {call.arguments}"

    porto = [ToolCall(id="c1", name="weather", arguments={"city": "Porto"})]
    recorded = await session(tmp_path / "a.jsonl", tool=says)
    calls, _ = compared(recorded, await session(tmp_path / "b.jsonl", [porto, *SCRIPT[1:]], says))
    assert [call.result for call in calls] == ["changed", "follows", "follows", "follows"]


@pytest.mark.anyio
async def test_a_message_that_is_rewritten_later_is_named_though_it_differed_before(tmp_path: Path) -> None:
    def lines(*conversations: str) -> list[dict[str, Any]]:
        found = [header_line()]
        for index, texts in enumerate(conversations):
            request, *rest = call_lines(index)
            messages = [{"role": "user", "content": text} for text in texts.split()]
            found += [{**request, "context": {"messages": messages}}, *rest]
        return found

    recorded = write_lines(tmp_path / "a.jsonl", lines("u", "u x", "u x y", "u x y z"))
    incoming = write_lines(tmp_path / "b.jsonl", lines("u", "u p", "u q y", "u q y z"))
    calls, _ = compared(recorded, incoming)
    assert [call.result for call in calls] == ["equal", "changed", "changed", "follows"]
    assert requested(calls[2]) == ("context.messages[1].content", "x", "q")


@pytest.mark.anyio
async def test_a_result_of_an_unchanged_tool_call_is_named_behind_an_answer_that_differs(tmp_path: Path) -> None:
    def script(text: str) -> list[Any]:
        return [[TextContent(text=text), *WEATHER], "ok"]

    recorded = await session(tmp_path / "a.jsonl", script("I look."))
    incoming = await session(tmp_path / "b.jsonl", script("Let me see."), lambda _: "rain")
    calls, _ = compared(recorded, incoming)
    assert answered(calls[0]) == ("message.content[0].text", "I look.", "Let me see.")
    assert requested(calls[1]) == ("context.messages[2].content[0].text", "weather: fine", "rain")


@pytest.mark.anyio
async def test_usage_outcome_and_error_of_an_answer_count(tmp_path: Path) -> None:
    def lines(**changes: Any) -> list[dict[str, Any]]:
        call = call_lines(0)
        return [header_line(), *call[:-1], {**call[-1], **changes}]

    one = write_lines(tmp_path / "a.jsonl", lines())
    two = write_lines(tmp_path / "b.jsonl", lines(outcome="error", error={"type": "E", "message": "m"}))
    (call,) = compared(one, two)[0]
    assert answered(call) == ("error", None, {"type": "E", "message": "m"})
    usage = AssistantMessage(content=[TextContent(text="x")], usage=Usage(input=3, output=2, total_tokens=5))
    recorded = await session(tmp_path / "c.jsonl", ["x"])
    calls, comparison = compared(recorded, await session(tmp_path / "d.jsonl", [usage]))
    assert answered(calls[0])[0].startswith("message.")
    assert (comparison.tokens[0].input, comparison.tokens[1].input, comparison.tokens[1].total) == (0, 3, 5)


# ---- calls in another order, and policies


async def _two_questions(path: Path, first: str, second: str, match: MatchWord) -> Path:
    provider = RecordingProvider(ScriptedProvider([f"about {first}", f"about {second}"]), path, match=match)
    for text in (first, second):
        await provider.stream(MODEL, Context(messages=[UserMessage(content=text)]))
    provider.close()
    return path


@pytest.mark.anyio
async def test_calls_in_another_order_say_where_they_went(tmp_path: Path) -> None:
    recorded = await _two_questions(tmp_path / "a.jsonl", "a", "b", "order")
    calls, _ = compared(recorded, await _two_questions(tmp_path / "b.jsonl", "b", "a", "order"))
    assert results(calls) == [(None, 0, "incoming_only"), (0, 1, "equal"), (1, None, "recorded_only")]
    assert (calls[0].moved_to, calls[2].moved_to) == (1, 0)


@pytest.mark.anyio
async def test_where_calls_are_matched_by_content_their_order_makes_no_difference(tmp_path: Path) -> None:
    recorded = await _two_questions(tmp_path / "a.jsonl", "a", "b", "content")
    calls, comparison = compared(recorded, await _two_questions(tmp_path / "b.jsonl", "b", "a", "content"))
    assert results(calls) == [(0, 1, "equal"), (1, 0, "equal")]
    assert comparison.same_policy


@pytest.mark.anyio
async def test_headers_that_declare_different_matching_are_a_difference(tmp_path: Path) -> None:
    recorded = await session(tmp_path / "a.jsonl", match="content")
    calls, comparison = compared(recorded, await session(tmp_path / "b.jsonl"))
    assert {call.result for call in calls} == {"equal"}
    assert not comparison.same_policy


UUIDS = ("0b2f0f0e-8d3a-4b1c-9a51-111111111111", "7c9e6679-7425-40de-944b-222222222222")


@pytest.mark.anyio
async def test_volatile_values_are_bound_as_in_a_replay_and_one_that_is_swapped_is_named(tmp_path: Path) -> None:
    def ids(order: str, other: str) -> Callable[[ToolCall], str]:
        return lambda call: f"order {order}" if call.name == "weather" else f"paid {other}"

    recorded = await session(tmp_path / "a.jsonl", tool=ids(UUIDS[0], UUIDS[0]), volatile=["uuid"])
    calls, _ = compared(recorded, await session(tmp_path / "b.jsonl", tool=ids(UUIDS[1], UUIDS[1]), volatile=["uuid"]))
    assert {call.result for call in calls} == {"equal"}
    swapped = await session(tmp_path / "c.jsonl", tool=ids(UUIDS[1], UUIDS[0]), volatile=["uuid"])
    calls, _ = compared(recorded, swapped)
    assert [call.result for call in calls][:3] == ["equal", "equal", "changed"]
    assert requested(calls[2])[0] == "context.messages[4].content[0].text"
    plain = await session(tmp_path / "d.jsonl", tool=ids(UUIDS[0], UUIDS[0]))
    calls, _ = compared(plain, await session(tmp_path / "e.jsonl", tool=ids(UUIDS[1], UUIDS[1])))
    assert calls[1].result == "changed"


@pytest.mark.anyio
async def test_volatile_values_hide_no_other_difference(tmp_path: Path) -> None:
    def says(order: str, word: str) -> Callable[[ToolCall], str]:
        return lambda call: f"order {order} is {word}"

    recorded = await session(tmp_path / "a.jsonl", tool=says(UUIDS[0], "new"), volatile=["uuid"])
    calls, _ = compared(recorded, await session(tmp_path / "b.jsonl", tool=says(UUIDS[1], "old"), volatile=["uuid"]))
    assert calls[1].result == "changed"
    assert requested(calls[1])[0] == "context.messages[2].content[0].text"


# ---- secrets


@pytest.mark.anyio
async def test_a_secret_in_a_file_is_neither_shown_nor_a_difference(tmp_path: Path) -> None:
    tokens = ["ghp_" + "Zx4Qm81LwT7vBn2KdP9s", "ghp_" + "Aa4Qm81LwT7vBn2KdP9s"]
    paths = [
        write_lines(
            tmp_path / f"{index}.jsonl",
            [
                header_line(redaction_version=REDACTION_VERSION),
                *call_lines(0, prompt=f"is {token}", answer=f"it is {token} {index}"),
            ],
        )
        for index, token in enumerate(tokens)
    ]
    (call,) = compared(*paths)[0]
    assert call.request is None
    assert answered(call) == ("message.content[0].text", "it is [secret removed] 0", "it is [secret removed] 1")


@pytest.mark.anyio
async def test_a_call_that_has_nothing_there_is_told_from_null(tmp_path: Path) -> None:
    recorded = await session(tmp_path / "a.jsonl", ["x"], options=StreamOptions(metadata={"team": None}))
    calls, _ = compared(recorded, await session(tmp_path / "b.jsonl", ["x"], options=StreamOptions(metadata={})))
    assert requested(calls[0]) == ("options.metadata.team", None, ABSENT)


# ---- whatever the two hold

_TEXTS = st.sampled_from(["a", "b", "see c", ""])
_CALLS = st.lists(st.tuples(st.lists(_TEXTS, max_size=3), _TEXTS), max_size=4)


@settings(max_examples=60, deadline=None)
@given(_CALLS, _CALLS, st.booleans())
def test_all_calls_are_equal_exactly_where_each_is_at_its_place(
    tmp_path_factory: pytest.TempPathFactory, recorded: Any, incoming: Any, same: bool
) -> None:
    """And no call is lost or told twice, each with a result and, where it is changed, the place of it."""
    incoming = recorded if same else incoming
    folder = tmp_path_factory.mktemp("two")
    paths = []
    for name, calls in (("a.jsonl", recorded), ("b.jsonl", incoming)):
        lines = [header_line()]
        for index, (texts, answer) in enumerate(calls):
            request, *rest = call_lines(index, answer=answer)
            messages = [{"role": "user", "content": text} for text in texts]
            lines += [{**request, "context": {"messages": messages}}, *rest]
        paths.append(write_lines(folder / name, lines))

    found, _ = compared(*paths)

    assert all(call.result == "equal" for call in found) == (recorded == incoming)
    assert [call.recorded for call in found if call.recorded is not None] == list(range(len(recorded)))
    assert [call.incoming for call in found if call.incoming is not None] == list(range(len(incoming)))
    for call in found:
        assert (call.result == "changed") == (call.request is not None or call.answer is not None)
        if call.recorded is not None and call.incoming is not None:
            left, right = recorded[call.recorded], incoming[call.incoming]
            assert (call.result == "equal") == (left == right)
            assert (call.answer is not None) == (left[1] != right[1])
