"""Replay: what differs is named, what is served is counted, and a mismatch stays in the verdict."""

import copy
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from openprogram.pipeline import errors
from openprogram.pipeline.errors import PipelineError, RecordingValueError, StreamIncomplete
from openprogram.pipeline.json_value import ABSENT
from openprogram.pipeline.log.convert import compress_recording
from openprogram.pipeline.log.lines import RECORDING_FORMAT_VERSION, accept_any_event
from openprogram.pipeline.stages import compare
from openprogram.providers import recording as recording_module
from openprogram.providers import replay as replay_module
from openprogram.providers.recording import RecordingProvider
from openprogram.providers.replay import (
    COMPARISON_RULES,
    RecordedCallError,
    RecordingFileError,
    ReplayMismatch,
    ReplayProvider,
    UnconsumedCalls,
    find_first_difference,
    read_recording_file,
)
from openprogram.providers.scripted import ScriptedProvider, tool_call
from openprogram.providers.types import (
    AssistantMessage,
    Context,
    Model,
    ModelCost,
    SimpleStreamOptions,
    StreamOptions,
    TextContent,
    Tool,
    ToolResultMessage,
    UserMessage,
)
from tests.openprogram.providers.calls import CONTEXT, DONE, MODEL, TEXT, Source, collect, lines, text_context, user
from tests.shared_data import shared

pytestmark = pytest.mark.anyio


async def _recorded(path: Path, *contexts: Context, options: StreamOptions | None = None) -> Path:
    """A recording of one call per context."""
    provider = RecordingProvider(ScriptedProvider([f"answer {index}" for index in range(len(contexts))]), path)
    for context in contexts:
        await provider.stream(MODEL, context, options)
    provider.close()
    return path


def _edit(path: Path, change: Callable[[list[dict[str, Any]]], object]) -> Path:
    """Rewrite the file's lines, as another release or a person would have written them."""
    found = lines(path)
    change(found)
    path.write_text("".join(json.dumps(line) + "\n" for line in found))
    return path


# ---- the message


async def test_a_mismatch_names_the_call_the_field_and_both_values(tmp_path: Path) -> None:
    def turn(text: str) -> Context:
        result = ToolResultMessage(tool_call_id="call-1", tool_name="echo", content=[TextContent(text=text)])
        return Context(messages=[user("use echo"), AssistantMessage(content=[tool_call("echo", {})]), result])

    path = await _recorded(tmp_path / "run.jsonl", text_context("use echo"), turn("echo:hi"))
    with ReplayProvider(path) as provider:
        await provider.stream(MODEL, text_context("use echo"))
        with pytest.raises(ReplayMismatch) as failure:
            await provider.stream(MODEL, turn("echo:bye"))
    mismatch = failure.value
    assert (mismatch.call_index, mismatch.field_path) == (1, "context.messages[2].content[0].text")
    assert (mismatch.recorded, mismatch.incoming, mismatch.event_index) == ("echo:hi", "echo:bye", None)
    assert str(mismatch).startswith(
        "replay mismatch at call 1, field context.messages[2].content[0].text:\n"
        "recorded 'echo:hi', incoming 'echo:bye'\ncause: "
    )
    assert any("into a new file" in note and "recordings show" in note for note in mismatch.__notes__)


async def test_long_values_are_shown_around_their_difference(tmp_path: Path) -> None:
    before, after = "a" * 5_000, "z" * 5_000
    path = await _recorded(tmp_path / "run.jsonl", text_context(f"{before} left {after}"))
    with ReplayProvider(path) as provider, pytest.raises(ReplayMismatch) as failure:
        await provider.stream(MODEL, text_context(f"{before} right {after}"))
    shown = str(failure.value).splitlines()[1]
    assert "a left z" in shown
    assert "a right z" in shown
    assert len(shown) < 500
    assert failure.value.incoming == f"{before} right {after}"


async def test_a_difference_far_into_a_value_is_in_what_is_shown(tmp_path: Path) -> None:
    path = await _recorded(tmp_path / "run.jsonl", text_context("x" * 1_000))
    with ReplayProvider(path) as provider, pytest.raises(ReplayMismatch) as failure:
        await provider.stream(MODEL, text_context("x" * 1_000 + "!"))
    assert "x!'" in str(failure.value)


@pytest.mark.parametrize("text", ["tab\tbell\a", "esc\x1b[31mred", "two\nlines", "lone \ud800", "bidi \u202e"])
async def test_what_is_shown_is_printable_on_one_line(tmp_path: Path, text: str) -> None:
    path = await _recorded(tmp_path / "run.jsonl", text_context("plain"))
    with ReplayProvider(path) as provider, pytest.raises(ReplayMismatch) as failure:
        await provider.stream(MODEL, text_context(text))
    _, shown, *_ = str(failure.value).split("\n")
    assert shown.isprintable()
    assert shown == f"recorded 'plain', incoming {text!r}"


async def test_a_field_path_is_printable_too(tmp_path: Path) -> None:
    path = await _recorded(tmp_path / "run.jsonl", CONTEXT, options=StreamOptions(metadata={"a\nb": 1}))
    with ReplayProvider(path) as provider, pytest.raises(ReplayMismatch) as failure:
        await provider.stream(MODEL, CONTEXT, StreamOptions(metadata={"a\nb": 2}))
    assert failure.value.field_path == r'options.metadata["a\nb"]'


# ---- what is compared


async def test_null_and_absent_differ_in_metadata_and_not_in_our_own_fields(tmp_path: Path) -> None:
    options = StreamOptions(temperature=None, metadata={"team": None})
    path = await _recorded(tmp_path / "run.jsonl", CONTEXT, options=options)
    with ReplayProvider(path) as provider:
        with pytest.raises(ReplayMismatch) as failure:
            await provider.stream(MODEL, CONTEXT, StreamOptions(metadata={}))
        assert (failure.value.field_path, failure.value.recorded, failure.value.incoming) == (
            "options.metadata.team",
            None,
            ABSENT,
        )
        assert "recorded None, incoming absent" in str(failure.value)
        await provider.stream(MODEL, CONTEXT, StreamOptions(metadata={"team": None}))


async def test_numbers_of_another_kind_differ(tmp_path: Path) -> None:
    path = await _recorded(tmp_path / "run.jsonl", CONTEXT, options=StreamOptions(metadata={"n": 1}))
    with ReplayProvider(path) as provider:
        for other in (1.0, True, "1"):
            with pytest.raises(ReplayMismatch) as failure:
                await provider.stream(MODEL, CONTEXT, StreamOptions(metadata={"n": other}))
            assert failure.value.field_path == "options.metadata.n"


async def test_a_messages_timestamp_is_not_compared_and_one_in_arguments_is(tmp_path: Path) -> None:
    def context(at: int, argument: int) -> Context:
        asked = AssistantMessage(content=[tool_call("at", {"timestamp": argument})], timestamp=at)
        return Context(messages=[UserMessage(content="hi", timestamp=at), asked])

    path = await _recorded(tmp_path / "run.jsonl", context(1, 1), context(1, 1))
    with ReplayProvider(path) as provider:
        await provider.stream(MODEL, context(2, 1))
        with pytest.raises(ReplayMismatch) as failure:
            await provider.stream(MODEL, context(1, 2))
    assert failure.value.field_path == "context.messages[1].content[0].arguments.timestamp"


@pytest.mark.parametrize("field", sorted(COMPARISON_RULES.ignored_paths))
async def test_catalogue_data_that_never_reaches_a_provider_is_not_compared(tmp_path: Path, field: str) -> None:
    changes: dict[str, dict[str, Any]] = {
        "model.name": {"name": "Another Name"},
        "model.cost": {"cost": ModelCost(input=3.0)},
        "model.context_window": {"context_window": 9_999},
    }
    path = await _recorded(tmp_path / "run.jsonl", CONTEXT)
    with ReplayProvider(path) as provider:
        await provider.stream(MODEL.model_copy(update=changes[field]), CONTEXT)
        provider.assert_consumed()
    assert COMPARISON_RULES.ignored_paths[field]


@pytest.mark.parametrize(
    ("field", "value"), [("id", "x"), ("base_url", "http://127.0.0.1:9"), ("max_tokens", 5), ("reasoning", True)]
)
async def test_what_reaches_a_provider_of_a_model_is_compared(tmp_path: Path, field: str, value: Any) -> None:
    path = await _recorded(tmp_path / "run.jsonl", CONTEXT)
    with ReplayProvider(path) as provider, pytest.raises(ReplayMismatch) as failure:
        await provider.stream(MODEL.model_copy(update={field: value}), CONTEXT)
    assert failure.value.field_path == f"model.{field}"


def _with_extra(where: str, value: int) -> tuple[Model, Context, StreamOptions]:
    extra = {"new_field": value}
    model: dict[str, Any] = {**MODEL.model_dump(), **(extra if where == "model" else {})}
    message: dict[str, Any] = {"role": "user", "content": "hi", **(extra if where == "message" else {})}
    tool: dict[str, Any] = {"name": "look", **(extra if where == "tool" else {})}
    context: dict[str, Any] = {"messages": [message], "tools": [tool], **(extra if where == "context" else {})}
    options = extra if where == "options" else {}
    return Model.model_validate(model), Context.model_validate(context), StreamOptions.model_validate(options)


@pytest.mark.parametrize("where", ["model", "message", "tool", "context", "options"])
async def test_a_field_that_todays_types_do_not_know_is_recorded_and_compared(tmp_path: Path, where: str) -> None:
    path = tmp_path / "run.jsonl"
    await RecordingProvider(ScriptedProvider(["a"]), path).stream(*_with_extra(where, 1))
    assert "new_field" in json.dumps(lines(path)[1])
    with ReplayProvider(path) as provider:
        with pytest.raises(ReplayMismatch) as failure:
            await provider.stream(*_with_extra(where, 2))
        assert failure.value.field_path.endswith(".new_field")
        assert (failure.value.recorded, failure.value.incoming) == (1, 2)
        await provider.stream(*_with_extra(where, 1))


async def test_a_recorded_request_that_lacks_a_field_of_today_has_its_default(tmp_path: Path) -> None:
    path = await _recorded(tmp_path / "run.jsonl", CONTEXT, options=StreamOptions(temperature=0.5))

    def older(found: list[dict[str, Any]]) -> None:
        del found[1]["options"]["max_retry_delay_ms"], found[1]["options"]["cache_retention"]
        del found[1]["model"]["reasoning"], found[1]["model"]["input"]
        del found[1]["context"]["messages"][0]["timestamp"]

    with ReplayProvider(_edit(path, older)) as provider:
        with pytest.raises(ReplayMismatch) as failure:
            await provider.stream(MODEL, CONTEXT, StreamOptions(temperature=0.5, cache_retention="long"))
        assert (failure.value.field_path, failure.value.recorded) == ("options.cache_retention", "short")
        await provider.stream(MODEL, CONTEXT, StreamOptions(temperature=0.5))


async def test_a_call_recorded_by_one_method_replays_by_the_other(tmp_path: Path) -> None:
    path = await _recorded(tmp_path / "run.jsonl", CONTEXT, options=StreamOptions(temperature=0.5))
    with ReplayProvider(path) as provider:
        await provider.stream_simple(MODEL, CONTEXT, SimpleStreamOptions(temperature=0.5))
        provider.assert_consumed()


async def test_a_file_of_older_redaction_rules_is_redacted_by_todays_before_it_is_compared(tmp_path: Path) -> None:
    path = await _recorded(tmp_path / "run.jsonl", CONTEXT, options=StreamOptions(api_key="today-a-secret"))

    def older(found: list[dict[str, Any]]) -> None:
        found[0]["redaction_version"] = 0
        found[1]["options"]["api_key"] = "once-no-secret"

    with ReplayProvider(_edit(path, older)) as provider:
        await provider.stream(MODEL, CONTEXT, StreamOptions(api_key="today-a-secret"))
        provider.assert_consumed()


# ---- what is used up, and the verdict


async def test_a_mismatch_uses_up_nothing_and_the_verdict_stays_failed(tmp_path: Path) -> None:
    path = await _recorded(tmp_path / "run.jsonl", text_context("one"), text_context("two"))
    with ReplayProvider(path) as provider:
        with pytest.raises(ReplayMismatch) as first:
            await provider.stream(MODEL, text_context("uno"))
        assert (await provider.stream(MODEL, text_context("one"))).text == "answer 0"
        assert (await provider.stream(MODEL, text_context("two"))).text == "answer 1"
        assert [(call.call_index, call.result) for call in provider.verdict.calls] == [
            (0, "mismatch"),
            (0, "served"),
            (1, "served"),
        ]
        assert provider.verdict.failed
        assert provider.verdict.consumed == 2
        with pytest.raises(ReplayMismatch) as latched:
            provider.assert_consumed()
    assert str(latched.value) == str(first.value)
    assert latched.value is not first.value
    assert latched.value.__notes__ == first.value.__notes__


async def test_code_that_swallows_every_exception_does_not_clear_the_verdict(tmp_path: Path) -> None:
    async def an_agent_that_retries(provider: ReplayProvider) -> str:
        for prompt in ("uno", "un", "one"):
            try:
                return (await provider.stream(MODEL, text_context(prompt))).text
            except Exception as failure:  # noqa: BLE001 - as agents do
                text = str(failure)
        return text

    path = await _recorded(tmp_path / "run.jsonl", text_context("one"))
    with ReplayProvider(path) as provider:
        assert await an_agent_that_retries(provider) == "answer 0"
        for _ in range(2):
            with pytest.raises(ReplayMismatch, match="incoming 'uno'"):
                provider.assert_consumed()
        assert provider.verdict.describe().splitlines()[:5] == [
            "replay failed",
            "call 0: mismatch",
            "call 0: mismatch",
            "call 0: served",
            "replay mismatch at call 0, field context.messages[0].content:",
        ]


async def test_a_call_past_the_end_names_how_many_were_recorded(tmp_path: Path) -> None:
    path = await _recorded(tmp_path / "run.jsonl", CONTEXT, CONTEXT)
    with ReplayProvider(path) as provider:
        for _ in range(2):
            await provider.stream(MODEL, CONTEXT)
        provider.assert_consumed()
        with pytest.raises(ReplayMismatch) as failure:
            await provider.stream(MODEL, CONTEXT)
        assert (failure.value.call_index, failure.value.field_path, failure.value.recorded) == (2, "call_index", 2)
        assert failure.value.incoming == 2
        assert str(failure.value) == (
            "replay mismatch at call 2, field call_index:\n"
            "recorded 2 calls, incoming call 2, counted from 0\n"
            "cause: 2 calls were recorded, and this run makes another one"
        )
        assert [call.result for call in provider.verdict.calls] == ["served", "served", "past_end"]
        with pytest.raises(ReplayMismatch, match="field call_index"):
            provider.assert_consumed()


async def test_a_call_too_many_for_a_recording_of_one_call_says_so_in_the_singular(tmp_path: Path) -> None:
    with ReplayProvider(await _recorded(tmp_path / "run.jsonl", CONTEXT)) as provider:
        await provider.stream(MODEL, CONTEXT)
        with pytest.raises(ReplayMismatch) as failure:
            await provider.stream(MODEL, CONTEXT)
    assert "recorded 1 call, incoming call 1, counted from 0" in str(failure.value)
    assert failure.value.cause == "1 call was recorded, and this run makes another one"


async def test_calls_that_are_left_over_are_reported(tmp_path: Path) -> None:
    path = await _recorded(tmp_path / "run.jsonl", CONTEXT, text_context("more"), text_context("and more"))
    with ReplayProvider(path) as provider:
        await provider.stream(MODEL, CONTEXT)
        assert not provider.verdict.failed
        with pytest.raises(UnconsumedCalls) as failure:
            provider.assert_consumed()
        assert (failure.value.call_count, failure.value.consumed) == (3, 1)
        assert str(failure.value) == "replay incomplete: 3 calls were recorded, 1 was asked for"
        assert provider.verdict.describe().splitlines() == [
            "replay incomplete",
            "call 0: served",
            "recorded calls not used: 2 of 3",
        ]
        await provider.stream(MODEL, text_context("more"))
        await provider.stream(MODEL, text_context("and more"))
        provider.assert_consumed()
        assert provider.verdict.describe().startswith("replay matched\n")


async def test_a_recording_without_calls_is_consumed_at_once(tmp_path: Path) -> None:
    path = await _recorded(tmp_path / "run.jsonl")
    with ReplayProvider(path) as provider:
        provider.assert_consumed()
        with pytest.raises(ReplayMismatch, match="0 calls were recorded"):
            await provider.stream(MODEL, CONTEXT)


async def test_a_stream_that_was_never_begun_uses_up_nothing(tmp_path: Path) -> None:
    path = await _recorded(tmp_path / "run.jsonl", CONTEXT)
    with ReplayProvider(path) as provider:
        await provider.stream(MODEL, text_context("never sent")).aclose()
        assert provider.verdict.calls == []
        with pytest.raises(UnconsumedCalls):
            provider.assert_consumed()


async def test_verdicts_of_two_providers_have_nothing_to_do_with_each_other(tmp_path: Path) -> None:
    path = await _recorded(tmp_path / "run.jsonl", CONTEXT)
    with ReplayProvider(path) as one, ReplayProvider(path) as other:
        with pytest.raises(ReplayMismatch):
            await one.stream(MODEL, text_context("another"))
        await other.stream(MODEL, CONTEXT)
        other.assert_consumed()
        assert one.verdict.failed


async def test_a_call_that_is_under_way_ends_although_another_one_mismatches(tmp_path: Path) -> None:
    path = await _recorded(tmp_path / "run.jsonl", CONTEXT, CONTEXT)
    with ReplayProvider(path) as provider:
        stream = provider.stream(MODEL, CONTEXT)
        first = await anext(stream)
        with pytest.raises(ReplayMismatch):
            await provider.stream(MODEL, text_context("another"))
        assert [first, *(await collect(stream))][-1].type == "done"


# ---- a file that can no longer answer


async def test_a_file_that_changes_under_a_replay_fails_the_call_and_the_verdict(tmp_path: Path) -> None:
    path = await _recorded(tmp_path / "run.jsonl", CONTEXT, CONTEXT)
    with ReplayProvider(path) as provider:
        await provider.stream(MODEL, CONTEXT)
        with path.open("r+b") as stream:
            stream.truncate(path.stat().st_size // 2)
        with pytest.raises(RecordingFileError, match="changed after it was opened"):
            await provider.stream(MODEL, CONTEXT)
        assert provider.verdict.failed
        with pytest.raises(RecordingFileError):
            provider.assert_consumed()


async def test_a_recorded_request_that_does_not_fit_todays_types_fails_the_call_and_the_verdict(
    tmp_path: Path,
) -> None:
    path = await _recorded(tmp_path / "run.jsonl", CONTEXT)

    def bend(found: list[dict[str, Any]]) -> None:
        found[1]["context"]["messages"][0]["role"] = "developer"

    with ReplayProvider(_edit(path, bend)) as provider:
        with pytest.raises(RecordingFileError) as failure:
            await provider.stream(MODEL, CONTEXT)
        assert (failure.value.line_number, failure.value.call_index) == (2, 0)
        assert provider.verdict.failed


async def test_a_closed_replay_answers_nothing(tmp_path: Path) -> None:
    provider = ReplayProvider(await _recorded(tmp_path / "run.jsonl", CONTEXT))
    provider.close()
    provider.close()
    with pytest.raises(RecordingFileError):
        await provider.stream(MODEL, CONTEXT)


@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.zst"])
async def test_a_closed_replay_answers_nothing_from_the_file_that_gets_its_descriptor(
    tmp_path: Path, ending: str
) -> None:
    # The longer one begins alike: a file that was appended to since is read on.
    paths = [await _recorded(tmp_path / f"{count}.jsonl", *[CONTEXT] * count) for count in (2, 4)]
    if ending.endswith(".zst"):
        for path in paths:
            compress_recording(path, path.with_name(f"{path.name}.zst"), accept_any_event)
        paths = [path.with_name(f"{path.name}.zst") for path in paths]
    provider = ReplayProvider(paths[0])
    await provider.stream(MODEL, CONTEXT)
    provider.close()
    with paths[1].open("rb"), pytest.raises(RecordingFileError):
        await provider.stream(MODEL, CONTEXT)


@pytest.mark.parametrize(
    "content", [b"", b"{}\n", b'{"type":"header","format_version":2}\n', b"not json\n", b'{"type":"header"']
)
def test_a_file_that_is_no_recording_is_refused_before_any_call(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(content)
    with pytest.raises(RecordingFileError) as failure:
        ReplayProvider(path)
    assert failure.value.path == path
    assert path.read_bytes() == content


async def test_an_unfinished_call_is_refused_before_any_event_is_served(tmp_path: Path) -> None:
    path = await _recorded(tmp_path / "run.jsonl", CONTEXT, CONTEXT)
    _edit(path, lambda found: found.pop())
    with pytest.raises(RecordingFileError) as failure:
        ReplayProvider(path)
    assert failure.value.call_index == 1
    assert "call_end" in failure.value.reason


async def test_an_unknown_event_type_is_refused_before_any_event_is_served(tmp_path: Path) -> None:
    path = await _recorded(tmp_path / "run.jsonl", CONTEXT)
    _edit(path, lambda found: found[3]["event"].update(type="text_wave"))
    with pytest.raises(RecordingFileError, match="unknown event type 'text_wave'"):
        ReplayProvider(path)


# ---- calls left over


async def _left_over(path: Path, *contexts: Context) -> tuple[str | None, str]:
    """Replay these and no more: the cause that `assert_consumed` names, and what the verdict says."""
    with ReplayProvider(path) as provider:
        for context in contexts:
            await provider.stream(MODEL, context)
        with pytest.raises(UnconsumedCalls) as failure:
            provider.assert_consumed()
        assert str(failure.value).count("cause: ") == provider.verdict.describe().count("cause: ")
        return failure.value.cause, str(failure.value)


@pytest.mark.parametrize("policy", [{}, {"match": "content"}, {"volatile": ["uuid"]}], ids=str)
async def test_a_second_run_that_was_recorded_into_the_same_file_is_named(
    tmp_path: Path, policy: dict[str, Any]
) -> None:
    """Values that differ in every run, and timestamps, are no reason to miss it."""
    path, ids = tmp_path / "run.jsonl", ["0b6dbb64-7a2b-4d1f-8f2f-0d6c1c2f8a11", "5f0c7a54-95a1-4be1-a8ab-0c9e8d1e7b22"]
    questions = [f"look up {ids[number] if 'volatile' in policy else 'it'}" for number in range(2)]
    for question in questions:
        recorder = RecordingProvider(ScriptedProvider(["one", "two"]), path, **policy)
        await recorder.stream(MODEL, text_context(question))
        await recorder.stream(MODEL, text_context("more"))
        recorder.close()
    cause, told = await _left_over(path, text_context(questions[0]), text_context("more"))
    assert cause is not None
    assert "call 2 asks what call 0 asked" in cause
    assert told == f"replay incomplete: 4 calls were recorded, 2 were asked for\ncause: {cause}"


async def test_calls_left_over_of_one_run_have_no_such_cause(tmp_path: Path) -> None:
    """One that goes on, one that asks the same again and again, one of which nothing was asked for."""
    words = {
        "goes on": (["a", "b", "c"], 2),
        "asks the same again": (["a", "a", "a"], 2),
        "ends in a question of its middle": (["a", "b", "b"], 2),
        "was not begun": (["a", "a"], 0),
    }
    for name, (questions, asked) in words.items():
        contexts = [text_context(question) for question in questions]
        path = await _recorded(tmp_path / f"{name}.jsonl", *contexts)
        assert (name, (await _left_over(path, *contexts[:asked]))[0]) == (name, None)


async def test_of_a_closed_recording_it_is_told_without_a_cause(tmp_path: Path) -> None:
    path = await _recorded(tmp_path / "run.jsonl", CONTEXT, CONTEXT)
    with ReplayProvider(path) as provider:
        await provider.stream(MODEL, CONTEXT)
    with pytest.raises(UnconsumedCalls) as failure:
        provider.assert_consumed()
    assert failure.value.cause is None


# ---- errors as values

ERRORS: list[PipelineError] = [
    ReplayMismatch(
        call_index=1, field_path="a", recorded=ABSENT, incoming=[1], event_index=2, cause="c", next_step="next"
    ),
    UnconsumedCalls(call_count=3, consumed=1, cause="c"),
    RecordedCallError(call_index=0, outcome="error", error_type="ValueError", error_message="m"),
    RecordingFileError(path=Path("a"), reason="r", line_number=1, call_index=0, next_step="next"),
    RecordingValueError(field_path="a", reason="NaN"),
    StreamIncomplete(event_count=4),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("again", [lambda error: pickle.loads(pickle.dumps(error)), copy.copy, copy.deepcopy])
def test_errors_survive_pickling_and_copying_with_their_data_and_notes(error: PipelineError, again: Any) -> None:
    error.add_note("added on the way")
    same = again(error)
    assert type(same) is type(error)
    assert (str(same), same.args, same.__notes__) == (str(error), error.args, error.__notes__)
    public = {name: value for name, value in vars(error).items() if not name.startswith("_")}
    assert {name: getattr(same, name) for name in public} == public


def test_an_absent_value_stays_the_one_absent_value() -> None:
    assert pickle.loads(pickle.dumps(ABSENT)) is ABSENT
    assert copy.deepcopy(ABSENT) is ABSENT


def test_promised_names_are_the_pipelines_own_objects() -> None:
    assert recording_module.RECORDING_FORMAT_VERSION is RECORDING_FORMAT_VERSION
    assert replay_module.find_first_difference is compare.find_first_difference
    assert replay_module.NON_DETERMINISTIC_FIELD_NAMES is compare.NON_DETERMINISTIC_FIELD_NAMES
    assert replay_module.FREE_FORM_FIELD_NAMES is compare.FREE_FORM_FIELD_NAMES
    assert replay_module.ReplayMismatch is errors.ReplayMismatch
    assert replay_module.RecordedCallError is errors.RecordedCallError


# ---- recordings of the existing system

V1 = ["error-then-retry.jsonl", "one-text-call.jsonl", "secrets-in-headers.jsonl", "tool-loop.jsonl"]


@pytest.mark.parametrize("name", V1)
async def test_a_recording_of_the_existing_system_replays_its_own_requests(tmp_path: Path, name: str) -> None:
    original = shared("openprogram-v1", name)
    path = tmp_path / name
    path.write_bytes(original.read_bytes())
    path.chmod(0o644)
    requests = [line for line in lines(path) if line["type"] == "request"]
    with ReplayProvider(path) as provider:
        for request in requests:
            options = request["options"]
            events = await collect(
                provider.stream_simple(
                    Model.model_validate(request["model"]),
                    Context.model_validate(request["context"]),
                    None if options is None else SimpleStreamOptions.model_validate(options),
                )
            )
            recorded = [
                line["event"]
                for line in lines(path)
                if line["type"] == "event" and line["call_index"] == request["call_index"]
            ]
            assert [event.type for event in events] == [event["type"] for event in recorded]
            for event, dump in zip(events, recorded, strict=True):
                dump.pop("partial", None)  # not in `done` and `error`
                assert find_first_difference(dump, event.model_dump(mode="json")) is None
        provider.assert_consumed()
    assert path.read_bytes() == original.read_bytes()
    assert path.stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("name", V1)
def test_a_recording_of_the_existing_system_is_read_where_it_stands(name: str) -> None:
    path = shared("openprogram-v1", name)
    with read_recording_file(path) as recording:
        assert recording.call_count >= 1
        assert {call.outcome for call in recording.calls} == {"complete"}


async def test_a_changed_field_that_only_the_existing_system_knows_is_a_mismatch() -> None:
    path = shared("openprogram-v1", "one-text-call.jsonl")
    request = lines(path)[1]
    model = Model.model_validate(request["model"] | {"thinking_levels": ["high"]})
    with ReplayProvider(path) as provider, pytest.raises(ReplayMismatch) as failure:
        await provider.stream(model, Context.model_validate(request["context"]))
    assert failure.value.field_path == "model.thinking_levels[0]"


# ---- what a tool list may be


async def test_no_tools_and_an_empty_list_of_tools_are_told_apart(tmp_path: Path) -> None:
    path = await _recorded(tmp_path / "run.jsonl", Context(messages=[user("hi")], tools=[]))
    with ReplayProvider(path) as provider:
        with pytest.raises(ReplayMismatch) as failure:
            await provider.stream(MODEL, Context(messages=[user("hi")], tools=[Tool(name="look")]))
        assert failure.value.field_path == "context.tools[0]"


async def test_an_empty_stream_of_events_replays(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    await collect(RecordingProvider(Source([]), path).stream(MODEL, CONTEXT))
    with ReplayProvider(path) as provider, pytest.raises(RecordedCallError):
        await provider.stream(MODEL, CONTEXT)


async def test_many_events_replay_in_order(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    events = [*(TEXT[2:4] * 500), DONE]
    await RecordingProvider(Source(events), path).stream(MODEL, CONTEXT)
    with ReplayProvider(path) as provider:
        assert await collect(provider.stream(MODEL, CONTEXT)) == events


# ---- the page


def test_the_page_on_comparison_lists_what_the_rules_say() -> None:
    page = (Path(__file__).parents[3] / "docs" / "comparison.md").read_text(encoding="utf-8")
    (listed,) = [part for part in page.split("\n\n") if part.startswith("Free-form keys: ")]
    assert set(listed.split("`")[1::2]) == replay_module.FREE_FORM_FIELD_NAMES
    for field, reason in COMPARISON_RULES.ignored_paths.items():
        assert f"| `{field}` | {reason} |" in page
    for name in replay_module.NON_DETERMINISTIC_FIELD_NAMES:
        assert f"| `{name}`," in page
