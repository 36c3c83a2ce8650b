"""Redacting a recording beside itself, replaying what came of it, and which files scanning means."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from openprogram.errors import RecordingNotFound, RecordingRefused
from openprogram.home import Home
from openprogram.pipeline.errors import RecordingFileError
from openprogram.providers.recording import RecordingProvider
from openprogram.providers.replay import ReplayProvider
from openprogram.providers.scripted import ScriptedProvider, tool_call
from openprogram.providers.types import (
    AssistantContent,
    AssistantMessage,
    AssistantMessageEvent,
    Context,
    EventToolCallDelta,
    Model,
    TextContent,
    ToolResultMessage,
    UserMessage,
)
from openprogram.recordings.finding import find_all, recordings_below
from openprogram.recordings.names import managed_path
from openprogram.recordings.secrets import AlreadyClean, Redaction, find_secrets, redact_beside
from tests.openprogram.recording_files import call_lines, header_line, write_lines, write_recording
from tests.shared_data import shared

MODEL = Model(id="small-1", api="scripted", provider="example")
#: Looks like nothing, so that recording takes it; afterwards it becomes what redaction didn't know then.
MARK = "mark-of-a-secret"
TOKEN = "ghp_" + "Zx4Qm81LwT7vBn2KdP9s"


async def _session(provider: Any, secret: str) -> list[AssistantMessage]:
    """Two turns: the answer to the first goes back in the second, with what the tool returned."""
    messages: list[Any] = [UserMessage(content=f"log in with {secret}")]
    first = await provider.stream(MODEL, Context(messages=messages))
    (asked,) = first.tool_calls
    result = ToolResultMessage(
        tool_call_id=asked.id,
        tool_name=asked.name,
        content=[TextContent(text=f"used {secret}")],
    )
    second = await provider.stream(MODEL, Context(messages=[*messages, first, result]))
    return [first, second]


@pytest.mark.anyio
async def test_what_redaction_leaves_replays_the_session_that_was_recorded(tmp_path: Path) -> None:
    path = tmp_path / "old.jsonl"
    asks: list[AssistantContent] = [TextContent(text=f"I use {MARK}"), tool_call("login", {"note": MARK})]
    model = ScriptedProvider([asks, f"You are in with {MARK}."])
    with_marks = RecordingProvider(model, path)
    await _session(with_marks, MARK)
    with_marks.close()
    path.write_text(path.read_text().replace(MARK, TOKEN))
    before = path.read_bytes()

    done = redact_beside(path)

    assert isinstance(done, Redaction)
    assert done.target == tmp_path / "old.redacted.jsonl"
    assert path.read_bytes() == before
    assert list(find_secrets(done.target)) == []
    with ReplayProvider(done.target) as provider:
        first, second = await _session(provider, TOKEN)  # the program has the secret still
        provider.assert_consumed()
    assert second.text == "You are in with [secret removed]."
    assert first.tool_calls[0].arguments == {"note": "[secret removed]"}
    with ReplayProvider(done.target) as provider:
        events: list[AssistantMessageEvent] = [
            event
            async for event in provider.stream(MODEL, Context(messages=[UserMessage(content=f"log in with {TOKEN}")]))
        ]
    arguments = "".join(event.delta for event in events if isinstance(event, EventToolCallDelta))
    assert json.loads(arguments) == {"note": "[secret removed]"}


def test_of_a_clean_recording_nothing_is_written(tmp_path: Path) -> None:
    path = write_recording(tmp_path / "a.jsonl")
    assert redact_beside(path) == AlreadyClean(path)
    assert os.listdir(tmp_path) == ["a.jsonl"]


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    path = write_recording(tmp_path / "a.jsonl", answer=TOKEN)
    redact_beside(path)
    clean = (tmp_path / "a.redacted.jsonl").read_bytes()
    with pytest.raises(RecordingRefused, match="exists already"):
        redact_beside(path)
    assert (tmp_path / "a.redacted.jsonl").read_bytes() == clean


def test_a_damaged_recording_is_to_be_repaired_first(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", [header_line(), *call_lines(0, answer=TOKEN), *call_lines(1)[:-1]])
    with pytest.raises(RecordingFileError) as failure:
        redact_beside(path)
    assert failure.value.next_step is not None
    assert "recordings repair" in failure.value.next_step
    assert os.listdir(tmp_path) == ["a.jsonl"]


@pytest.mark.parametrize(
    "name", ["error-then-retry.jsonl", "one-text-call.jsonl", "secrets-in-headers.jsonl", "tool-loop.jsonl"]
)
def test_recordings_of_the_existing_system_are_scanned_and_what_is_put_in_is_found(tmp_path: Path, name: str) -> None:
    original = shared("openprogram-v1", name)
    assert list(find_secrets(original)) == []
    lines = [json.loads(line) for line in original.read_text("utf-8").splitlines()]
    at = next(index for index, line in enumerate(lines) if line.get("event", {}).get("type") == "text_delta")
    lines[at]["event"]["delta"] = f"see {TOKEN} "
    lines[at]["event"]["partial"]["content"] = [{"type": "text", "text": f"see {TOKEN} "}]
    path = write_lines(tmp_path / name, lines)
    assert [(found.line_number, found.field_path, found.rule) for found in find_secrets(path)] == [
        (at + 1, "event.partial.content[0].text", "github-token"),
        (at + 1, "event.delta", "github-token"),
    ]
    done = redact_beside(path)
    assert isinstance(done, Redaction)
    assert list(find_secrets(done.target)) == []


# ---- which files


def test_ids_paths_and_folders_mean_each_file_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = Home(tmp_path / "state", "OPENPROGRAM_HOME")
    kept = write_recording(managed_path(home, "kept"))
    one = write_recording(tmp_path / "work" / "b" / "one.jsonl")
    two = write_recording(tmp_path / "work" / "two.jsonl")
    monkeypatch.chdir(tmp_path / "work")
    assert find_all(home, ["kept", "b/one.jsonl", "."]) == ([kept, one, two], [])
    assert find_all(home, []) == ([kept], [])
    (tmp_path / "link").symlink_to(tmp_path / "work" / "b", target_is_directory=True)
    assert find_all(home, [".", "..", "../work/b", "../link"]).files == [two, one, kept]
    Path("data.jsonl").write_text("{}\n")
    assert find_all(home, [".", ".."]) == ([two, one, kept], [Path.cwd() / "data.jsonl"])
    assert find_all(home, [".", "data.jsonl"]) == ([two, one, Path.cwd() / "data.jsonl"], [])
    with pytest.raises(RecordingNotFound):
        find_all(home, ["nothing"])


def test_below_a_folder_only_what_is_named_as_a_recording_is_taken(tmp_path: Path) -> None:
    wanted = [write_recording(tmp_path / name) for name in ("a.jsonl", "b/c.jsonl")]
    for name in (".git/a.jsonl", ".venv/x/a.jsonl", "node_modules/a.jsonl", "b/notes.txt", "a.jsonl.failed"):
        write_recording(tmp_path / name)
    (tmp_path / "link").symlink_to(tmp_path / "b", target_is_directory=True)
    assert list(recordings_below(tmp_path)) == wanted
    with pytest.raises(RecordingNotFound, match="no such folder"):
        list(recordings_below(tmp_path / "none"))
