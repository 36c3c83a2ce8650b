"""Options in a replay: none are options at their defaults, a credential decides nothing, all else is named."""

import json
from pathlib import Path
from typing import Any, Literal

import pytest

from openprogram.providers.recording import RecordingProvider
from openprogram.providers.replay import ReplayMismatch, ReplayProvider, read_recording_file
from openprogram.providers.scripted import ScriptedProvider
from openprogram.providers.types import SimpleStreamOptions, StreamOptions
from openprogram.recordings.comparing import Comparison
from tests.openprogram.providers.calls import CONTEXT, MODEL, lines

pytestmark = pytest.mark.anyio

Policy = dict[str, Any]
POLICIES: dict[str, Policy] = {"in order": {}, "by content": {"match": "content"}, "volatile": {"volatile": ["uuid"]}}

SAME: dict[str, SimpleStreamOptions | StreamOptions | None] = {
    "none": None,
    "all defaults": StreamOptions(),
    "all defaults of the simple ones": SimpleStreamOptions(),
    "a key alone": StreamOptions(api_key="key-of-today"),
    "what serves the running program": StreamOptions(on_payload=print, signal=object()),
}

#: A value that isn't the default, of every option that is compared.
OTHERWISE: dict[str, Any] = {
    "temperature": 0.0,
    "max_tokens": 7,
    "headers": {"X-Team": "blue"},
    "tool_choice": "auto",
    "parallel_tool_calls": False,
    "response_format": {"type": "object"},
    "response_mode": "tool",
    "service_tier": "flex",
    "metadata": {"user": "u-1"},
    "session_id": "s-1",
    "cache_retention": "none",
    "max_retry_delay_ms": 1,
    "timeout_s": 3.0,
    "reasoning": "low",
    "thinking_budgets": {"low": 10},
    "an_option_of_another_release": {"a": 1},
}


async def _record(path: Path, options: StreamOptions | None, policy: Policy) -> None:
    await RecordingProvider(ScriptedProvider(["a"]), path, **policy).stream(MODEL, CONTEXT, options)


async def _replay(path: Path, options: StreamOptions | None) -> None:
    with ReplayProvider(path) as provider:
        await provider.stream(MODEL, CONTEXT, options)
        assert provider.verdict.equality == "exact"


async def _mismatch(path: Path, options: StreamOptions | None) -> ReplayMismatch:
    with pytest.raises(ReplayMismatch) as failure:
        await _replay(path, options)
    return failure.value


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
@pytest.mark.parametrize("incoming", SAME.values(), ids=SAME)
@pytest.mark.parametrize("recorded", SAME.values(), ids=SAME)
async def test_options_that_say_nothing_are_the_same_as_none(
    tmp_path: Path, recorded: StreamOptions | None, incoming: StreamOptions | None, policy: Policy
) -> None:
    await _record(tmp_path / "run.jsonl", recorded, policy)
    await _replay(tmp_path / "run.jsonl", incoming)


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
@pytest.mark.parametrize("none", SAME.values(), ids=SAME)
@pytest.mark.parametrize("side", ["recorded", "incoming"])
@pytest.mark.parametrize("name", OTHERWISE)
async def test_every_other_option_is_named_at_its_own_path(
    tmp_path: Path, name: str, side: Literal["recorded", "incoming"], none: StreamOptions | None, policy: Policy
) -> None:
    given = SimpleStreamOptions.model_validate({name: OTHERWISE[name], "api_key": "key-of-today"})
    recorded, incoming = (given, none) if side == "recorded" else (none, given)
    await _record(tmp_path / "run.jsonl", recorded, policy)
    mismatch = await _mismatch(tmp_path / "run.jsonl", incoming)
    assert mismatch.field_path == f"options.{name}"
    assert getattr(mismatch, side) == OTHERWISE[name]
    assert mismatch.cause == f"an option is set otherwise: {name}"


def test_no_option_of_today_is_missing_above() -> None:
    run_time_only = {name for name, field in SimpleStreamOptions.model_fields.items() if field.exclude}
    assert OTHERWISE.keys() >= SimpleStreamOptions.model_fields.keys() - run_time_only - {"api_key"}


async def test_a_header_that_holds_a_credential_is_a_header_that_is_sent_or_not(tmp_path: Path) -> None:
    await _record(tmp_path / "run.jsonl", StreamOptions(headers={"Authorization": "Bearer of-yesterday"}), {})
    await _replay(tmp_path / "run.jsonl", StreamOptions(headers={"Authorization": "Bearer of-today"}))
    assert (await _mismatch(tmp_path / "run.jsonl", None)).field_path == "options.headers"


async def test_an_option_that_is_null_below_metadata_is_not_the_same_as_none(tmp_path: Path) -> None:
    await _record(tmp_path / "run.jsonl", StreamOptions(metadata={"user": None}), {})
    assert (await _mismatch(tmp_path / "run.jsonl", None)).field_path == "options.metadata"


@pytest.mark.parametrize("written", [None, {}, {"temperature": None}, {"api_key": "[secret removed]"}])
@pytest.mark.parametrize("incoming", SAME.values(), ids=SAME)
async def test_a_file_that_says_nothing_of_options_replays_in_whatever_way_it_says_so(
    tmp_path: Path, written: Any, incoming: StreamOptions | None
) -> None:
    path = tmp_path / "run.jsonl"
    await _record(path, None, {})
    recorded = lines(path)
    recorded[1]["options"] = written
    path.write_text("".join(json.dumps(line) + "\n" for line in recorded))
    await _replay(path, incoming)


async def test_what_is_written_of_options_is_what_was_given(tmp_path: Path) -> None:
    await _record(tmp_path / "none.jsonl", None, {})
    await _record(tmp_path / "given.jsonl", StreamOptions(), {})
    assert lines(tmp_path / "none.jsonl")[1]["options"] is None
    assert lines(tmp_path / "given.jsonl")[1]["options"]["max_retry_delay_ms"] == 60_000


async def test_two_recordings_are_compared_by_the_same_rule(tmp_path: Path) -> None:
    for name, options in (("none", None), ("key", StreamOptions(api_key="k")), ("warm", StreamOptions(temperature=1))):
        await _record(tmp_path / f"{name}.jsonl", options, {})
    assert [call.result for call in _compared(tmp_path / "none.jsonl", tmp_path / "key.jsonl")] == ["equal"]
    [call] = _compared(tmp_path / "none.jsonl", tmp_path / "warm.jsonl")
    assert call.request is not None
    assert call.request.difference.field_path == "options.temperature"


def _compared(one: Path, other: Path) -> list[Any]:
    with read_recording_file(one) as recorded, read_recording_file(other) as incoming:
        return list(Comparison(recorded, incoming).calls())
