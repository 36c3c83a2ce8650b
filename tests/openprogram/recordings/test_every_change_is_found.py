"""Every change of a rich request is found where it was made, by replay and `recordings diff`, or its reason is listed.

The list is the one that `recordings show --json` has: `COMPARISON_RULES.not_compared()`.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from openprogram.pipeline.errors import RecordingFileError
from openprogram.providers.recording import RecordingProvider, remove_secret_values
from openprogram.providers.replay import (
    COMPARISON_RULES,
    FREE_FORM_FIELD_NAMES,
    NON_DETERMINISTIC_FIELD_NAMES,
    Recording,
    ReplayMismatch,
    ReplayProvider,
    read_recording_file,
)
from openprogram.providers.scripted import ScriptedProvider
from openprogram.recordings.comparing import CallDifference, Comparison
from tests.openprogram.every_change import Change, Request, all_changes, dump, rich_request

ALL = list(all_changes())
LISTED = COMPARISON_RULES.not_compared()

#: No single change makes the rich request's options say nothing: test_replay_options.py has those that do.
NO_OPTIONS = "no options"


def why_ignored(change: Change, before: dict[str, Any], after: dict[str, Any]) -> str | None:
    """The entry of the list that lets this change through, or None: then it has to be found."""
    if change.kind == "keys in another order":
        return "the order of keys"
    if not change.free_form and change.own_key in NON_DETERMINISTIC_FIELD_NAMES:
        return change.own_key
    for path in COMPARISON_RULES.ignored_paths:
        if change.path == path or change.path.startswith((f"{path}.", f"{path}[")):
            return path
    if json.dumps(before, sort_keys=True) == json.dumps(after, sort_keys=True):
        return "null or no field"
    if json.dumps(remove_secret_values(before)) == json.dumps(remove_secret_values(after)):
        return "secrets"
    return None


async def _recorded(path: Path) -> Path:
    provider = RecordingProvider(ScriptedProvider(["fine"]), path)
    request = rich_request()
    await provider.stream_simple(request["model"], request["context"], request["options"])
    provider.close()
    return path


def _made(change: Change) -> Request:
    request = rich_request()
    change.make(request)
    return request


def _is_named(change: Change, field_path: str) -> bool:
    if change.exactly:
        return field_path == change.path
    return field_path == change.path or field_path.startswith((f"{change.path}.", f"{change.path}["))


def test_changes_are_made_at_every_value_of_the_request() -> None:
    kinds = Counter(change.kind.rpartition(": ")[2] for change in ALL)
    assert {"other", "kind", "null", "key dropped", "item dropped", "items swapped", "keys in another order"} <= set(
        kinds
    )
    assert len(ALL) > 800
    changed = {change.path for change in ALL}
    for wanted in (
        "model.id",
        "options.temperature",
        "context.tools[1]",
        "context.messages[1].content[2].arguments.timestamp",
        "context.messages[2].details.deep[0].when.timestamp",
        "context.tools[0].parameters.properties.city.default",
        'options.metadata["a.b"][1]',
        "context.origin",
    ):
        assert wanted in changed
    assert {name for name in FREE_FORM_FIELD_NAMES if any(f".{name}" in path for path in changed)} >= {
        "arguments",
        "cache_control",
        "citations",
        "compat",
        "data",
        "details",
        "headers",
        "metadata",
        "parameters",
        "parsed",
        "response_format",
        "tool_choice",
    }


@pytest.mark.anyio
async def test_replay_names_every_change_where_it_was_made_or_its_reason_is_listed(tmp_path: Path) -> None:
    path = await _recorded(tmp_path / "a.jsonl")
    recorded = dump(rich_request())
    ignored: dict[str, int] = {}
    provider = ReplayProvider(path)
    for change in ALL:
        request = _made(change)
        reason = why_ignored(change, recorded, dump(request))
        arguments = request["model"], request["context"], request["options"]
        if reason is not None:
            assert reason in LISTED
            ignored[reason] = ignored.get(reason, 0) + 1
            with ReplayProvider(path) as fresh:
                await fresh.stream_simple(*arguments)
                fresh.assert_consumed()
            continue
        with pytest.raises(ReplayMismatch) as failure:  # which uses up nothing: the next change meets the same call
            await provider.stream_simple(*arguments)
        assert _is_named(change, failure.value.field_path), f"{change}: named {failure.value.field_path}"
    provider.close()
    # A change of the rules that lets more through has to be written down here.
    assert set(ignored) == set(LISTED) - {"1, 1.0, true, '1'", NO_OPTIONS}


def _compared(first: Recording, other: Path) -> CallDifference | RecordingFileError:
    """The one call of both files, or why the other can't be compared."""
    try:
        with read_recording_file(other) as second:
            (call,) = Comparison(first, second).calls()
    except RecordingFileError as error:
        return error
    return call


@pytest.mark.anyio
async def test_diff_names_every_change_where_it_was_made_or_its_reason_is_listed(tmp_path: Path) -> None:
    path = await _recorded(tmp_path / "a.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    recorded = dump(rich_request())
    other = tmp_path / "b.jsonl"
    refused, ignored = Counter[str](), set[str]()
    with read_recording_file(path) as first:
        for change in ALL:
            incoming = dump(_made(change))
            line = {"type": "request", "call_index": 0, **incoming}
            other.write_bytes(b"".join([lines[0], json.dumps(line).encode() + b"\n", *lines[2:]]))
            reason = why_ignored(change, recorded, incoming)
            call = _compared(first, other)
            if isinstance(call, RecordingFileError):
                # No value of that field's type: no program can send it, and a replay of such a file says so.
                assert "does not fit today's types" in call.reason, change
                refused[change.kind.rpartition(": ")[2]] += 1
                continue
            if call.request is None and reason is None:
                assert not change.free_form, change
                assert ": kind" in change.kind, change
                reason = "1, 1.0, true, '1'"
            if reason is not None:
                ignored.add(reason)
                assert call.result == "equal", f"{change}: {reason}"
                continue
            assert call.result == "changed", change
            assert call.request is not None
            found = call.request.difference.field_path
            assert _is_named(change, found), f"{change}: named {found}"
    assert ignored == set(LISTED) - {NO_OPTIONS}
    assert 0 < sum(refused.values()) < len(ALL) / 3  # as a file; as what a program sends, all of them were found above


def test_what_is_ignored_is_documented(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "comparison.md").read_text("utf-8")
    for name, reason in LISTED.items():
        assert name in page, name
        assert reason
