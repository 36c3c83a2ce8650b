"""Values that a run mints anew: the report names the rule that helps, and the session recorded under it replays."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openprogram.pipeline.matching.rules import MAX_RULES
from openprogram.pipeline.matching.spelling import in_python, in_toml
from openprogram.providers.recording import RecordingProvider
from openprogram.providers.replay import ReplayMismatch, ReplayProvider
from openprogram.providers.scripted import ScriptedProvider, tool_call
from openprogram.providers.types import (
    AssistantMessage,
    Context,
    StreamOptions,
    TextContent,
    ThinkingContent,
    Tool,
    ToolResultMessage,
)
from tests.openprogram.providers.calls import MODEL, text_context, user

pytestmark = pytest.mark.anyio

UUIDS = "1b4e28ba-2fa1-41d2-883f-0016d3cca427", "6fa459ea-ee8a-4ca4-894e-db77e160355e"
HEX = UUIDS[0].replace("-", ""), UUIDS[1].replace("-", "")
JOB = r"regex:job \(#([0-9a-f]{8})\b"
WORDS = "which looks as if it were made anew in every run"

#: Two runs' texts, what the cause says of them, and the rules.
CASES: dict[str, tuple[str, str, str, list[str]]] = {
    "a UUID": (f"ticket {UUIDS[0]} open", f"ticket {UUIDS[1]} open", "a UUID", ["uuid"]),
    "uuid4().hex": (f"ticket {HEX[0]}", f"ticket {HEX[1]}", "a UUID without dashes", ["uuid-hex"]),
    "an ISO time": ("at 2025-01-02T03:04:05Z", "at 2026-11-30T18:00:00Z", "a time", ["iso-time"]),
    "a time in seconds": ("at 1735787045", "at 1764525600", "a Unix time", ["unix-time"]),
    "a time in milliseconds": ("at=1735787045123", "at=1764525600999", "a Unix time", ["unix-time"]),
    "time.time()": ("at 1735787045.123", "at 1764525600.9", "a Unix time", ["unix-time"]),
    "a temporary path": ("see /tmp/tmpab12/out", "see /tmp/tmpzz99/out", "a temporary path", ["tmp-path"]),
    "the address of an object": (
        "<Order object at 0x7f8a2c1d3e50>",
        "<Order object at 0x7f11aa22bb30>",
        "a memory address",
        [r"regex:\b0x[0-9a-f]{6,16}\b"],
    ),
    "a short id behind its name": ("made TKT-85f0767f", "made TKT-1b2c3d4e", "an id", [r"regex:TKT-([0-9a-f]{8})\b"]),
    "an id after an underscore": ("order_8f3a2c", "order_1b2c3d", "an id", [r"regex:order_([0-9a-f]{6})\b"]),
    "an id in capitals": ("RUN:8F3A2C1D", "RUN:1B2C3D4E", "an id", [r"regex:RUN:([0-9A-F]{8})\b"]),
    "an id that grows into its name": ("req7f3Ka92xQ", "req1m9Zb83yR", "an id", [r"regex:req([0-9A-Za-z]{9})\b"]),
    "an id of letters of every kind": ("pay_x8Kq2LmZ01", "pay_b7Rt9WnY34", "an id", [r"regex:pay_([0-9A-Za-z]{10})\b"]),
    "a number of an order": ("made INV-104958", "made INV-771203", "an id", [r"regex:INV-(\d{6})\b"]),
    "an id in JSON": (
        '{"id": "85f0767f", "of": [1]}',
        '{"id": "1b2c3d4e", "of": [1]}',
        "an id",
        [r'regex:id": "([0-9a-f]{8})\b'],
    ),
    "an id before an underscore": ("run-85f0767f_a", "run-1b2c3d4e_a", "an id", ["regex:run-([0-9a-f]{8})"]),
    "nothing but an id": ("85f0767f", "1b2c3d4e", "an id", ["regex:^([0-9a-f]{8})$"]),
    "characters that a pattern escapes": ("job (#85f0767f)", "job (#1b2c3d4e)", "an id", [JOB]),
    "several of them": (
        f"TKT-85f0767f by {UUIDS[0]} in /tmp/a1",
        f"TKT-1b2c3d4e by {UUIDS[1]} in /tmp/b2",
        "a UUID and a temporary path and an id",
        ["uuid", "tmp-path", r"regex:TKT-([0-9a-f]{8})\b"],
    ),
    "one beside a time that stays": (
        f"{UUIDS[0]} since 2025-01-02T03:04:05Z",
        f"{UUIDS[1]} since 2025-01-02T03:04:05Z",
        "a UUID",
        ["uuid"],
    ),
}


def _told(text: str) -> Context:
    """A conversation in which a tool has answered."""
    asked = AssistantMessage(content=[tool_call("make", {}, id="call-1")])
    result = ToolResultMessage(tool_call_id="call-1", tool_name="make", content=[TextContent(text=text)])
    return Context(messages=[user("go on"), asked, result], tools=[Tool(name="make")])


async def _record(path: Path, context: Context, options: Any = None, **policy: Any) -> None:
    await RecordingProvider(ScriptedProvider(["fine"]), path, **policy).stream(MODEL, context, options)


async def _mismatch(path: Path, context: Context, options: Any = None) -> ReplayMismatch:
    with ReplayProvider(path) as provider, pytest.raises(ReplayMismatch) as failure:
        await provider.stream(MODEL, context, options)
    return failure.value


@pytest.mark.parametrize(("recorded", "incoming", "words", "rules"), CASES.values(), ids=CASES)
@pytest.mark.parametrize("build", [_told, text_context], ids=["a tool result", "a user message"])
async def test_the_next_step_names_the_rules_and_the_session_recorded_under_them_replays(
    tmp_path: Path, recorded: str, incoming: str, words: str, rules: list[str], build: Any
) -> None:
    await _record(tmp_path / "exact.jsonl", build(recorded))
    mismatch = await _mismatch(tmp_path / "exact.jsonl", build(incoming))
    assert list(mismatch.suggested_volatile) == rules
    assert mismatch.cause is not None
    how = f", {WORDS})" if "an id" in words else ": made anew in every run)"
    assert mismatch.cause.endswith(f"(they differ in {words} alone{how}")
    (next_step,) = mismatch.__notes__
    assert "record again under it" in next_step
    assert f"RecordingProvider(provider, path, {in_python(rules)})" in next_step
    assert f"@pytest.mark.recording({in_python(rules)})" in next_step
    assert in_toml(rules) in next_step
    await _record(tmp_path / "again.jsonl", build(recorded), volatile=rules)
    with ReplayProvider(tmp_path / "again.jsonl") as provider:
        await provider.stream(MODEL, build(incoming))
        assert provider.verdict.equality == "symbol-bound"


ANOTHER: dict[str, tuple[str, str]] = {
    "another word": ("the order is open", "the order is done"),
    "another word as long as an id": ("order received", "order rejected"),
    "another amount": ("total 104250 EUR", "total 998877 EUR"),
    "another amount in JSON": ('{"total": 104250}', '{"total": 998877}'),
    "another date": ("due 2025-01-02", "due 2025-03-04"),
    "another digest of content": ("digest: " + "0a" * 32, "digest: " + "1b" * 32),
    "another commit": ("commit " + "0a" * 20, "commit " + "1b" * 20),
    "another name with a number": ("in chapter02", "in appendix1"),
    "a word beside a UUID": (f"open {UUIDS[0]}", f"close {UUIDS[1]}"),
    "an id that is longer": ("TKT-85f0767f", "TKT-85f0767f00"),
    "another kind of value": (f"at {UUIDS[0]}", "at 2025-01-02T03:04:05Z"),
    "a path in another place": ("see /tmp/a", "see /tmp/a/b"),
    "seconds that are milliseconds now": ("at 1735787045", "at 1735787045123"),
    "an id that nothing names": ("5 x 85f0767f", "5 x 85f0767f1"),
}


@pytest.mark.parametrize(("recorded", "incoming"), ANOTHER.values(), ids=ANOTHER)
async def test_a_difference_in_anything_else_is_not_excused(tmp_path: Path, recorded: str, incoming: str) -> None:
    await _record(tmp_path / "run.jsonl", _told(recorded))
    mismatch = await _mismatch(tmp_path / "run.jsonl", _told(incoming))
    assert mismatch.suggested_volatile == ()
    assert mismatch.cause is not None
    assert "anew" not in mismatch.cause
    assert "record the session again" in mismatch.__notes__[0]


async def test_a_rule_that_is_declared_and_does_not_apply_is_followed_by_the_one_that_does(tmp_path: Path) -> None:
    await _record(tmp_path / "run.jsonl", _told(f"ticket {HEX[0]}"), volatile=["uuid"])
    mismatch = await _mismatch(tmp_path / "run.jsonl", _told(f"ticket {HEX[1]}"))
    assert mismatch.cause is not None
    assert mismatch.cause.endswith("(they differ in a UUID without dashes alone: made anew in every run)")
    assert mismatch.suggested_volatile == ("uuid", "uuid-hex")


async def test_a_value_whose_rule_is_declared_differs_by_its_binding_and_no_rule_is_suggested(tmp_path: Path) -> None:
    await _record(tmp_path / "run.jsonl", text_context(*UUIDS), volatile=["uuid"])
    mismatch = await _mismatch(tmp_path / "run.jsonl", text_context(UUIDS[0], UUIDS[0]))
    assert mismatch.cause == "user message 1 reads otherwise than when it was recorded"
    assert mismatch.suggested_volatile == ()
    assert mismatch.bindings


async def test_all_values_of_a_request_are_named_at_once(tmp_path: Path) -> None:
    await _record(tmp_path / "run.jsonl", text_context(f"run {HEX[0]}", "by TKT-85f0767f", "at 1735787045"))
    mismatch = await _mismatch(
        tmp_path / "run.jsonl", text_context(f"run {HEX[1]}", "by TKT-1b2c3d4e", "at 1764525600")
    )
    assert mismatch.field_path == "context.messages[0].content"
    assert mismatch.suggested_volatile == ("uuid-hex", r"regex:TKT-([0-9a-f]{8})\b", "unix-time")


OPTIONS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "a number of seconds": ({"at": 1735787045}, {"at": 1764525600}, "field:options.metadata.at"),
    "a number of seconds and a fraction": ({"at": 1735787045.5}, {"at": 1764525600.25}, "field:options.metadata.at"),
    "a key that is quoted": ({"a.b": 1735787045123}, {"a.b": 1764525600123}, 'field:options.metadata["a.b"]'),
    "an id": ({"run": "x8Kq2LmZ01"}, {"run": "b7Rt9WnY34"}, "field:options.metadata.run"),
    "a UUID": ({"run": UUIDS[0]}, {"run": UUIDS[1]}, "uuid"),
}


@pytest.mark.parametrize(("recorded", "incoming", "rule"), OPTIONS.values(), ids=OPTIONS)
async def test_a_whole_value_is_named_by_its_field(
    tmp_path: Path, recorded: dict[str, Any], incoming: dict[str, Any], rule: str
) -> None:
    context = text_context("go on")
    await _record(tmp_path / "run.jsonl", context, StreamOptions(metadata=recorded))
    mismatch = await _mismatch(tmp_path / "run.jsonl", context, StreamOptions(metadata=incoming))
    assert mismatch.suggested_volatile == (rule,)
    await _record(tmp_path / "again.jsonl", context, StreamOptions(metadata=recorded), volatile=[rule])
    with ReplayProvider(tmp_path / "again.jsonl") as provider:
        await provider.stream(MODEL, context, StreamOptions(metadata=incoming))


async def test_a_field_of_a_message_is_named_in_all_messages(tmp_path: Path) -> None:
    contexts = []
    for at in (1735787045, 1764525600):
        context = _told("done")
        result = context.messages[-1].model_copy(update={"details": {"at": at}})
        contexts.append(context.model_copy(update={"messages": [*context.messages[:-1], result]}))
    await _record(tmp_path / "run.jsonl", contexts[0])
    mismatch = await _mismatch(tmp_path / "run.jsonl", contexts[1])
    assert mismatch.suggested_volatile == ("field:context.messages[*].details.at",)


async def test_where_no_rule_applies_none_is_suggested(tmp_path: Path) -> None:
    """A signature goes back to the vendor as it came: a rule would not be looked for in it."""
    contexts = [
        Context(
            messages=[AssistantMessage(content=[ThinkingContent(thinking="a", thinking_signature=value)]), user("b")]
        )
        for value in UUIDS
    ]
    await _record(tmp_path / "run.jsonl", contexts[0])
    assert (await _mismatch(tmp_path / "run.jsonl", contexts[1])).suggested_volatile == ()


async def test_times_of_a_recording_may_fall_together_in_a_replay_that_is_over_sooner(tmp_path: Path) -> None:
    await _record(tmp_path / "run.jsonl", text_context("at 1735787045", "at 1735787049"), volatile=["unix-time"])
    with ReplayProvider(tmp_path / "run.jsonl") as provider:
        await provider.stream(MODEL, text_context("at 1764525600", "at 1764525600"))


async def test_a_recording_that_has_as_many_rules_as_it_may_is_told_of_no_other(tmp_path: Path) -> None:
    rules = [f"regex:never-{number}" for number in range(MAX_RULES)]
    await _record(tmp_path / "run.jsonl", _told(UUIDS[0]), volatile=rules)
    assert (await _mismatch(tmp_path / "run.jsonl", _told(UUIDS[1]))).suggested_volatile == ()


async def test_a_tool_that_failed_on_one_side_only_did_not_mint_a_value(tmp_path: Path) -> None:
    context = _told(f"no ticket {UUIDS[1]}")
    failed = context.messages[-1].model_copy(update={"is_error": True})
    await _record(tmp_path / "run.jsonl", _told(f"no ticket {UUIDS[0]}"))
    mismatch = await _mismatch(
        tmp_path / "run.jsonl", context.model_copy(update={"messages": [*context.messages[:-1], failed]})
    )
    assert mismatch.suggested_volatile == ()


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=12) | st.sampled_from([r"regex:\d", "a'b\"\\", "\\"])))
def test_rules_are_spelled_as_python_and_toml_read_them(rules: list[str]) -> None:
    assert eval(f"dict({in_python(rules)})") == {"volatile": rules}
    assert tomllib.loads(in_toml(rules)) == {"volatile": rules}
