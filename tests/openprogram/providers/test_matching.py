"""Recordings with matching policies, recorded and replayed by agents that call as agents do."""

import itertools
import json
import random
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openprogram.errors import ConfigError
from openprogram.pipeline.errors import RecordingValueError, UnconsumedCalls
from openprogram.pipeline.log.header import create_recording
from openprogram.pipeline.log.repair import repair_recording
from openprogram.pipeline.log.writer import RecordingSink
from openprogram.pipeline.matching.policy import MatchingPolicy
from openprogram.providers.codec import AssistantEventCodec
from openprogram.providers.recording import RecordingProvider
from openprogram.providers.replay import RecordingFileError, ReplayMismatch, ReplayProvider
from openprogram.providers.scripted import ScriptedProvider, tool_call
from openprogram.providers.types import (
    AssistantMessage,
    Context,
    Message,
    TextContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from tests.openprogram.providers.calls import CONTEXT, MODEL, collect, lines, text_context, user

pytestmark = pytest.mark.anyio

VOLATILE = ["uuid", "iso-time", "tmp-path", r"regex:order-(\d+)"]
SLOW = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)

_numbers = itertools.count()


def new_file(folder: Path) -> Path:
    """A path that no earlier example used."""
    return folder / f"{next(_numbers)}.jsonl"


# ---- by content: agents that call at the same time


def context_of(agent: int) -> Context:
    """Eight agents that differ in their system prompts alone."""
    return Context(system_prompt=f"You are agent {agent}.", messages=[user("Go on.")])


class Answers:
    """Answers each agent by its number, an event a turn of the loop."""

    async def stream(self, model: Any, context: Context, options: Any = None) -> Any:
        number = (context.system_prompt or "").removeprefix("You are agent ").removesuffix(".")
        async for event in ScriptedProvider([f"answer of {number}"]).stream(model, context, options):
            await checkpoint()
            yield event

    stream_simple = stream


async def all_calls(provider: Any, starts: Sequence[int], turns: Sequence[int]) -> dict[int, str]:
    """Start the agents' calls in that order, and let each wait some turns between events. Gives their answers."""
    answers: dict[int, str] = {}

    async def call(agent: int) -> None:
        async with provider.stream(MODEL, context_of(agent)) as stream:
            async for _ in stream:
                for _ in range(turns[agent]):
                    await checkpoint()
            answers[agent] = (await stream).text

    async with anyio.create_task_group() as group:
        for agent in starts:
            group.start_soon(call, agent)
    return answers


@SLOW
@given(
    recorded=st.permutations(range(8)),
    starts=st.permutations(range(8)),
    turns=st.lists(st.integers(0, 4), min_size=8, max_size=8),
)
async def test_eight_concurrent_calls_get_their_own_answers_in_every_order(
    tmp_path: Path, recorded: list[int], starts: list[int], turns: list[int]
) -> None:
    path = new_file(tmp_path)
    recording = RecordingProvider(Answers(), path, match="content")
    await all_calls(recording, recorded, turns)
    recording.close()
    with ReplayProvider(path) as provider:
        assert await all_calls(provider, starts, turns) == {agent: f"answer of {agent}" for agent in range(8)}
        provider.assert_consumed()
        assert provider.verdict.equality == "exact"
        assert sorted(call.call_index for call in provider.verdict.calls) == list(range(8))


@SLOW
@given(starts=st.permutations(range(8)), stranger=st.integers(0, 7))
async def test_a_call_that_none_of_them_made_stops_and_leaves_the_others_their_answers(
    tmp_path: Path, starts: list[int], stranger: int
) -> None:
    path = new_file(tmp_path)
    recording = RecordingProvider(Answers(), path, match="content")
    await all_calls(recording, [agent for agent in range(8) if agent != stranger], [0] * 8)
    recording.close()
    with ReplayProvider(path) as provider:
        for agent in starts:
            if agent == stranger and provider.verdict.consumed < 7:
                with pytest.raises(ReplayMismatch) as failure:
                    await provider.stream(MODEL, context_of(agent))
                assert failure.value.field_path == "context.system_prompt"
                assert failure.value.incoming == f"You are agent {agent}."
                assert "matching: match content" in str(failure.value)
            elif agent != stranger:
                assert (await provider.stream(MODEL, context_of(agent))).text == f"answer of {agent}"
        if starts[-1] == stranger:
            with pytest.raises(ReplayMismatch) as failure:
                await provider.stream(MODEL, context_of(stranger))
            assert (failure.value.field_path, provider.verdict.calls[-1].result) == ("call_index", "past_end")
        assert provider.verdict.failed


async def recorded(path: Path, contexts: Sequence[Context], **policy: Any) -> Path:
    """A recording of one call per context, answered `answer 0`, `answer 1` and so on."""
    answers = [f"answer {index}" for index in range(len(contexts))]
    provider = RecordingProvider(ScriptedProvider(answers), path, **policy)
    for context in contexts:
        await provider.stream(MODEL, context)
    provider.close()
    return path


async def test_equal_requests_are_answered_in_the_order_recorded(tmp_path: Path) -> None:
    contexts = [text_context("a"), text_context("b"), text_context("a")]
    path = await recorded(tmp_path / "run.jsonl", contexts, match="content")
    with ReplayProvider(path) as provider:
        texts = [(await provider.stream(MODEL, text_context(text))).text for text in ("b", "a", "a")]
        assert texts == ["answer 1", "answer 0", "answer 2"]
        provider.assert_consumed()


async def test_a_request_made_again_names_the_call_that_answered_it(tmp_path: Path) -> None:
    path = await recorded(tmp_path / "run.jsonl", [text_context("a"), text_context("b")], match="content")
    with ReplayProvider(path) as provider:
        await provider.stream(MODEL, text_context("a"))
        with pytest.raises(ReplayMismatch, match="that of recorded call 0, already answered") as failure:
            await provider.stream(MODEL, text_context("a"))
        assert failure.value.call_index == 1, "the nearest of those that are left"
        await provider.stream(MODEL, text_context("b"))
        with pytest.raises(ReplayMismatch, match="already answered"):
            provider.assert_consumed()


async def test_the_nearest_call_has_most_in_common(tmp_path: Path) -> None:
    contexts = [
        Context(system_prompt="one", messages=[user("a"), user("b")]),
        Context(system_prompt="two", messages=[user("a"), user("b"), user("c"), user("d")]),
        Context(system_prompt="two", messages=[user("a"), user("b"), user("x"), user("d")]),
    ]
    path = await recorded(tmp_path / "run.jsonl", contexts, match="content")
    with ReplayProvider(path) as provider:
        incoming = Context(system_prompt="two", messages=[user("a"), user("b"), user("x"), user("e")])
        with pytest.raises(ReplayMismatch) as failure:
            await provider.stream(MODEL, incoming)
        assert (failure.value.call_index, failure.value.field_path) == (2, "context.messages[3].content")


async def test_calls_left_over_are_named(tmp_path: Path) -> None:
    path = await recorded(tmp_path / "run.jsonl", [text_context(text) for text in "abc"], match="content")
    with ReplayProvider(path) as provider:
        await provider.stream(MODEL, text_context("b"))
        assert provider.verdict.unused == [0, 2]
        with pytest.raises(UnconsumedCalls, match="3 calls were recorded, 1 was asked for"):
            provider.assert_consumed()


async def test_a_request_is_found_however_its_line_is_spelled(tmp_path: Path) -> None:
    path = await recorded(tmp_path / "run.jsonl", [text_context("a"), text_context("b")], match="content")
    changed = lines(path)
    for line in changed:
        if line["type"] == "request":
            line["context"]["messages"][0]["timestamp"] = 99
            line["model"]["name"] = "another name in the catalogue"
            line["options"] = line.pop("options")
            del line["context"]["tools"]
    path.write_text("".join(json.dumps(line) + "\n" for line in changed))
    with ReplayProvider(path) as provider:
        assert (await provider.stream(MODEL, text_context("b"))).text == "answer 1"
        assert (await provider.stream(MODEL, text_context("a"))).text == "answer 0"


# ---- volatile values: tools that mint


class Tools:
    """Tools of one run: each order gets an id, a time and a folder that no other run has."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.ids: list[str] = []
        self.asked: list[dict[str, Any]] = []

    def run(self, turn: int, call: ToolCall) -> str:
        self.asked.append(call.arguments)
        minted = str(uuid.UUID(int=self._random.getrandbits(128), version=4))
        self.ids.append(minted)
        folder = f"/tmp/run{self._random.randrange(10**6)}"
        second = self._random.randrange(60)
        return (
            f"order-{self._random.randrange(10**9)} is {minted}, made 2026-07-01T10:{turn:02}:{second:02}.{turn}Z; "
            f"see {folder}/{minted}/log.txt."
        )


async def converse(
    provider: Any, run_tool: Callable[[int, ToolCall], str], turns: int = 10, start: str = "Begin."
) -> list[Message]:
    """An agent's run: call, run the tools, call again, until no tool is asked for."""
    messages: list[Message] = [UserMessage(content=start)]
    for turn in range(turns + 1):
        answer = await provider.stream(MODEL, Context(system_prompt="Mint.", messages=list(messages)))
        messages.append(answer)
        for call in answer.tool_calls:
            result = TextContent(text=run_tool(turn, call))
            messages.append(ToolResultMessage(tool_call_id=call.id, tool_name=call.name, content=[result]))
    return messages


class Model:
    """A model that answers with what the tools told it: ids in arguments, in text, in thinking, cut in two."""

    def __init__(self, turns: int = 10) -> None:
        self._turns = turns

    async def stream(self, model: Any, context: Context, options: Any = None) -> Any:
        told = tool_texts(context.messages)
        answer: list[Any] = [TextContent(text=f"So far: {told[-1] if told else 'nothing'}")]
        if len(told) < self._turns:
            arguments = {"about": told[-1:], "path": told[-1].rpartition(" ")[2] + "/../new" if told else ""}
            answer.append(tool_call("make", arguments, f"call-{len(told)}"))
        async for event in ScriptedProvider([answer]).stream(model, context, options):
            yield event

    stream_simple = stream


@SLOW
@given(seeds=st.tuples(st.integers(0, 10**9), st.integers(0, 10**9)), match=st.sampled_from(["order", "content"]))
async def test_a_run_whose_tools_mint_replays_over_ten_turns_with_the_new_values(
    tmp_path: Path, seeds: tuple[int, int], match: Any
) -> None:
    path = new_file(tmp_path)
    recording = RecordingProvider(Model(), path, match=match, volatile=VOLATILE)
    before = Tools(seeds[0])
    await converse(recording, before.run)
    recording.close()
    now = Tools(seeds[1])
    with ReplayProvider(path) as provider:
        messages = await converse(provider, now.run)
        provider.assert_consumed()
        verdict = provider.verdict
    assert now.asked == [
        {"about": told, "path": told[0].rpartition(" ")[2] + "/../new" if told else ""}
        for told in [[], *([text] for text in tool_texts(messages)[:-1])]
    ], "the model asks with what this run's tools told it"
    is_same = before.ids == now.ids
    assert (verdict.exact_count, verdict.symbol_bound_count) == ((11, 0) if is_same else (1, 10))
    assert verdict.equality == ("exact" if is_same else "symbol-bound")
    if not is_same:
        ids = [(one.recorded, one.incoming) for one in verdict.bindings if one.rule == "uuid"]
        assert ids == list(zip(before.ids, now.ids, strict=True))
        assert not any(old in json.dumps([m.model_dump(mode="json") for m in messages]) for old in before.ids)


def tool_texts(messages: Sequence[Message]) -> list[str]:
    results = [message for message in messages if isinstance(message, ToolResultMessage)]
    return [block.text for result in results for block in result.content if isinstance(block, TextContent)]


@SLOW
@given(seed=st.integers(0, 10**9), first=st.integers(0, 8), second=st.integers(1, 9))
async def test_a_reused_id_fails_and_shows_both_bindings(tmp_path: Path, seed: int, first: int, second: int) -> None:
    if first >= second:
        return
    path = new_file(tmp_path)
    recording = RecordingProvider(Model(), path, volatile=["uuid"])
    before = Tools(seed)

    def only_ids(tools: Tools) -> Callable[[int, ToolCall], str]:
        def run(turn: int, call: ToolCall) -> str:
            tools.run(turn, call)
            return f"minted {tools.ids[-1]}"

        return run

    await converse(recording, only_ids(before))
    recording.close()
    now = Tools(seed + 1)
    mint = only_ids(now)

    def reuse(turn: int, call: ToolCall) -> str:
        text = mint(turn, call)
        return f"minted {now.ids[first]}" if turn == second else text

    with ReplayProvider(path) as provider:
        with pytest.raises(ReplayMismatch) as failure:
            await converse(provider, reuse)
        bound, here = failure.value.bindings
        assert (bound.recorded, bound.incoming) == (before.ids[first], now.ids[first])
        assert (here.recorded, here.incoming) == (before.ids[second], now.ids[first])
        assert bound.born.call_index == first + 1
        assert here.born.call_index == failure.value.call_index == second + 1
        for one in (bound, here):
            assert str(one) in str(failure.value)
        assert provider.verdict.failed


async def test_a_swapped_id_fails_and_shows_both_bindings(tmp_path: Path) -> None:
    ids = [str(uuid.UUID(int=number)) for number in range(4)]
    path = tmp_path / "run.jsonl"
    await recorded(path, [text_context(f"{ids[0]} {ids[1]}"), text_context(f"pay {ids[0]}")], volatile=["uuid"])
    with ReplayProvider(path) as provider:
        await provider.stream(MODEL, text_context(f"{ids[2]} {ids[3]}"))
        with pytest.raises(ReplayMismatch) as failure:
            await provider.stream(MODEL, text_context(f"pay {ids[3]}"))
        assert str(failure.value).splitlines()[2:5] == [
            f"bound: uuid recorded '{ids[0]}' -> incoming '{ids[2]}', born at call 0, context.messages[0].content",
            f"bound: uuid recorded '{ids[1]}' -> incoming '{ids[3]}', born at call 0, context.messages[0].content",
            f"here: uuid recorded '{ids[0]}' -> incoming '{ids[3]}', born at call 1, context.messages[0].content",
        ]
        assert (await provider.stream(MODEL, text_context(f"pay {ids[2]}"))).text == "answer 1", "a corrected request"
        assert provider.verdict.failed


async def test_a_value_in_the_system_prompt_is_a_symbol_too(tmp_path: Path) -> None:
    ids = [str(uuid.UUID(int=number)) for number in range(2)]
    path = tmp_path / "run.jsonl"
    provider = RecordingProvider(ScriptedProvider([f"you are {ids[0]}"]), path, volatile=["uuid"])
    await provider.stream(MODEL, Context(system_prompt=f"Session {ids[0]}", messages=[user("who?")]))
    provider.close()
    with ReplayProvider(path) as replay:
        context = Context(system_prompt=f"Session {ids[1]}", messages=[user("who?")])
        assert (await replay.stream(MODEL, context)).text == f"you are {ids[1]}"
        assert str(replay.verdict.bindings[0].born) == "call 0, context.system_prompt"
        assert replay.verdict.describe().splitlines()[:3] == [
            "replay matched",
            "call 0: served (symbol-bound)",
            "matching: match order, volatile uuid",
        ]


async def test_of_calls_alike_but_for_their_ids_each_is_found_again(tmp_path: Path) -> None:
    """By content and with symbols: two tasks, each with an id of its own, go on in the other order."""
    ids = [str(uuid.UUID(int=number)) for number in range(4)]
    contexts = [text_context(ids[0]), text_context(ids[1]), text_context(ids[0], "more"), text_context(ids[1], "more")]
    path = await recorded(tmp_path / "run.jsonl", contexts, match="content", volatile=["uuid"])
    with ReplayProvider(path) as provider:
        order = [text_context(ids[2]), text_context(ids[3]), text_context(ids[3], "more"), text_context(ids[2], "more")]
        texts = [(await provider.stream(MODEL, context)).text for context in order]
        assert texts == ["answer 0", "answer 1", "answer 3", "answer 2"]
        provider.assert_consumed()


# ---- with nothing volatile


@SLOW
@given(seed=st.integers(0, 10**9), match=st.sampled_from(["order", "content"]))
async def test_where_no_value_differs_the_replay_is_that_of_exact_replay(tmp_path: Path, seed: int, match: Any) -> None:
    path, exact = new_file(tmp_path), new_file(tmp_path)
    recording = RecordingProvider(Model(), path, match=match, volatile=VOLATILE)
    await converse(recording, Tools(seed).run)
    recording.close()
    header, _, rest = path.read_bytes().partition(b"\n")
    fields = {key: value for key, value in json.loads(header).items() if key not in ("match", "volatile")}
    exact.write_bytes(json.dumps(fields).encode() + b"\n" + rest)
    events = []
    for file in (path, exact):
        with ReplayProvider(file) as provider:
            messages: list[Message] = [UserMessage(content="Begin.")]
            tools, served = Tools(seed), []
            for turn in range(11):
                context = Context(system_prompt="Mint.", messages=list(messages))
                found = await collect(provider.stream(MODEL, context))
                served.append([event.model_dump_json() for event in found])
                answer = found[-1].message  # type: ignore[union-attr]
                messages.append(answer)
                for call in answer.tool_calls:
                    result = TextContent(text=tools.run(turn, call))
                    messages.append(ToolResultMessage(tool_call_id=call.id, tool_name=call.name, content=[result]))
            provider.assert_consumed()
            assert (provider.verdict.equality, provider.verdict.exact_count) == ("exact", 11)
            assert provider.verdict.bindings == []
            events.append(served)
    assert events[0] == events[1]


# ---- the header decides


async def test_the_policy_stands_in_the_header_and_nowhere_without_one(tmp_path: Path) -> None:
    path = await recorded(tmp_path / "a.jsonl", [CONTEXT], match="content", volatile=["uuid"])
    assert {"match": "content", "volatile": ["uuid"]}.items() <= lines(path)[0].items()
    plain = await recorded(tmp_path / "b.jsonl", [CONTEXT])
    assert not {"match", "volatile"} & lines(plain)[0].keys()


async def test_a_file_is_appended_to_under_its_own_policy(tmp_path: Path) -> None:
    path = await recorded(tmp_path / "a.jsonl", [CONTEXT], match="content", volatile=["uuid"])
    for policy in ({}, {"match": "content"}, {"volatile": ["uuid"]}, {"match": "content", "volatile": ["uuid"]}):
        await recorded(path, [CONTEXT], **policy)
    assert lines(path)[0]["match"] == "content"
    with ReplayProvider(path) as provider:
        assert provider.call_count == 5


@pytest.mark.parametrize(
    "policy",
    [{"match": "order"}, {"volatile": []}, {"volatile": ["uuid", "tmp-path"]}, {"match": "order", "volatile": []}],
)
async def test_another_policy_than_the_files_is_refused_and_the_file_stays(tmp_path: Path, policy: Any) -> None:
    path = await recorded(tmp_path / "a.jsonl", [CONTEXT], match="content", volatile=["uuid"])
    before = path.read_bytes()
    with pytest.raises(
        RecordingFileError, match="begun under another policy: match content, volatile uuid; "
    ) as failure:
        RecordingProvider(ScriptedProvider([]), path, **policy)
    assert failure.value.line_number == 1
    assert path.read_bytes() == before
    sink = RecordingSink(path)
    with pytest.raises(RecordingFileError, match="begun under another policy"):
        RecordingProvider(ScriptedProvider([]), sink, **policy)
    sink.close()


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"match": "fuzzy"}, "unknown match 'fuzzy'; this release knows order, content"),
        ({"match": None}, "match is None, not a word"),
        ({"volatile": ["near"]}, "unknown volatile rule 'near'"),
        ({"volatile": ["regex:(a+)+$"]}, "a group can't be repeated"),
        ({"volatile": ["uuid"] * 33}, "33 volatile rules, more than 32"),
        ({"volatile": "uuid"}, "volatile is 'uuid', not a list of rules"),
    ],
)
async def test_a_header_whose_policy_is_not_known_is_refused_by_name(
    tmp_path: Path, fields: dict[str, Any], reason: str
) -> None:
    path = await recorded(tmp_path / "a.jsonl", [CONTEXT])
    changed = lines(path)
    changed[0].update(fields)
    path.write_text("".join(json.dumps(line) + "\n" for line in changed))
    before = path.read_bytes()
    for use in (
        ReplayProvider,
        lambda path: RecordingProvider(ScriptedProvider([]), path),
        lambda path: repair_recording(path, tmp_path / "b.jsonl", AssistantEventCodec().check),
    ):
        with pytest.raises(RecordingFileError) as failure:
            use(path)
        assert reason in failure.value.reason
        assert failure.value.line_number == 1
    assert path.read_bytes() == before
    assert not (tmp_path / "b.jsonl").exists()


@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        ({"match": "fuzzy"}, "unknown match 'fuzzy'"),
        ({"volatile": ["near"]}, "unknown volatile rule 'near'"),
        ({"volatile": ["regex:password=(abcdefgh12345678)"]}, "a volatile rule reads like a secret"),
    ],
)
async def test_a_policy_that_cannot_be_written_leaves_no_file(tmp_path: Path, policy: Any, reason: str) -> None:
    path = tmp_path / "a.jsonl"
    with pytest.raises(RecordingValueError, match=reason):
        RecordingProvider(ScriptedProvider([]), path, **policy)
    with pytest.raises(RecordingValueError, match=reason):
        create_recording(path, policy)
    assert not path.exists()


async def test_a_repaired_file_keeps_its_policy(tmp_path: Path) -> None:
    path = await recorded(tmp_path / "a.jsonl", [CONTEXT, CONTEXT], match="content", volatile=["uuid"])
    path.write_bytes(path.read_bytes()[:-40])
    repair_recording(path, tmp_path / "b.jsonl", AssistantEventCodec().check)
    with ReplayProvider(tmp_path / "b.jsonl") as provider:
        assert provider.verdict.policy == MatchingPolicy("content", ("uuid",))


# ---- the project's own


async def test_the_nearest_pyproject_sets_the_policy_of_a_new_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.openprogram]\nmatch = "content"\nvolatile = ["uuid"]\n')
    below = tmp_path / "tests" / "deep"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    path = await recorded(below / "a.jsonl", [CONTEXT])
    assert {"match": "content", "volatile": ["uuid"]}.items() <= lines(path)[0].items()
    given_one = await recorded(below / "b.jsonl", [CONTEXT], match="order")
    assert (lines(given_one)[0].get("match"), lines(given_one)[0]["volatile"]) == (None, ["uuid"])
    (tmp_path / "pyproject.toml").write_text("[tool.openprogram]\nvolatile = []\n")
    await recorded(path, [CONTEXT])  # a file that is there keeps its own
    (below / "pyproject.toml").write_text("[tool.openprogram")
    await recorded(path, [CONTEXT])  # and doesn't ask what the project says
    (below / "pyproject.toml").write_text("[project]\n")
    nearest = await recorded(below / "c.jsonl", [CONTEXT])
    assert not {"match", "volatile"} & lines(nearest)[0].keys()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ('[tool.openprogram]\nmatch = "fuzzy"\n', "field tool.openprogram: unknown match 'fuzzy'"),
        ("[tool.openprogram]\nvolatile = [1]\n", "volatile is [1], not a list of rules"),
        ("[tool.openprogram]\nvolatil = []\n", "unknown setting 'volatil'; this release knows match, volatile"),
        ("[tool]\nopenprogram = 3\n", "it is no table"),
        ("[tool.openprogram\n", "not valid TOML"),
        ("x = '" + "a" * 1_100_000 + "'", "larger than"),
    ],
)
async def test_a_pyproject_that_cannot_be_used_is_named_and_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, reason: str
) -> None:
    (tmp_path / "pyproject.toml").write_text(content)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError) as failure:
        RecordingProvider(ScriptedProvider([]), tmp_path / "a.jsonl")
    assert str(failure.value).startswith(f"{tmp_path}/pyproject.toml")
    assert reason in str(failure.value)
    assert not (tmp_path / "a.jsonl").exists()
    RecordingProvider(ScriptedProvider([]), tmp_path / "b.jsonl", match="order", volatile=[]).close()


async def test_a_message_of_the_run_is_not_the_recorded_files_to_change(tmp_path: Path) -> None:
    """What was replayed stays the run's: the file is byte for byte what it was."""
    path = tmp_path / "run.jsonl"
    recording = RecordingProvider(Model(2), path, volatile=VOLATILE)
    await converse(recording, Tools(1).run, 2)
    recording.close()
    before = path.read_bytes()
    with ReplayProvider(path) as provider:
        messages = await converse(provider, Tools(2).run, 2)
        assert isinstance(messages[-1], AssistantMessage)
    assert path.read_bytes() == before
