"""What the structured log says of calls: counts, indexes, durations; never a word of what was said."""

import logging
from pathlib import Path
from typing import Any

import pytest

from openprogram.providers.recording import RecordingProvider
from openprogram.providers.replay import ReplayMismatch, ReplayProvider
from openprogram.providers.scripted import ScriptedProvider
from openprogram.providers.types import Context, Model, StreamOptions, UserMessage

pytestmark = pytest.mark.anyio

MODEL = Model(id="m", api="scripted", provider="p")
SECRET = "sk-ant-api03-" + "Qz7Xw2Lm9Rt4Vb6N" * 3


def asking(text: str) -> Context:
    return Context(messages=[UserMessage(content=text)])


def events(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    return [{"event": record.message.split(" ")[0], **vars(record)["openprogram"]} for record in caplog.records]


async def test_a_recorded_and_a_replayed_call_say_the_same_of_themselves(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="openprogram")
    path = tmp_path / "lamp.jsonl"
    recording = RecordingProvider(ScriptedProvider(["a private answer"]), path)
    await recording.stream(MODEL, asking(f"a private question, {SECRET}"), StreamOptions(api_key=SECRET))
    recording.close()
    with ReplayProvider(path) as replay:
        await replay.stream(MODEL, asking(f"a private question, {SECRET}"), StreamOptions(api_key=SECRET))
    recorded, replayed = events(caplog)
    assert list(recorded) == list(replayed)  # they are read side by side
    for logged in (recorded, replayed):
        assert logged.pop("duration_ms") >= 0
    same = {"recording_id": "lamp", "call_index": 0, "event_count": 7, "outcome": "complete", "redactions": 2}
    assert recorded == {"event": "recording.call_end", "mode": "record", **same}
    assert replayed == {"event": "replay.call_end", "mode": "replay", **same}
    assert "private" not in caplog.text
    assert SECRET not in caplog.text


async def test_a_mismatch_is_logged_by_its_field_alone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "lamp.jsonl"
    recording = RecordingProvider(ScriptedProvider(["yes"]), path)
    await recording.stream(MODEL, asking("a private question"))
    recording.close()
    with ReplayProvider(path) as replay, pytest.raises(ReplayMismatch):
        await replay.stream(MODEL, asking("another private question"))
    (logged,) = events(caplog)
    assert (logged["event"], logged["field_path"]) == ("replay.mismatch", "context.messages[0].content")
    assert "private" not in caplog.text
