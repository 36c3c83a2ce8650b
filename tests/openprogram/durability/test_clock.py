"""A clock that is set back changes nothing: calls are ordered by where they stand, recordings by name."""

import itertools
import json
import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import pytest

from openprogram.pipeline.log.writer import RecordingSink
from openprogram.pipeline.record import Recorder
from openprogram.providers.codec import AssistantEventCodec, ProviderRequestCodec
from openprogram.providers.replay import ReplayProvider
from openprogram.recordings.activation import start_recording, turn_off
from tests.benchmarks.workload import MODEL, SESSIONS, session
from tests.openprogram.cli.command import Command
from tests.openprogram.durability.sessions import Answers, number_of, whole_calls


def test_a_clock_that_runs_backwards_between_and_within_calls_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = Command(tmp_path / "state", monkeypatch, capsys)
    played, now = session(*SESSIONS["small"]), datetime(2030, 1, 1, tzinfo=UTC)
    backwards = itertools.count(1_900_000_000, -3600)
    monkeypatch.setattr(time, "time", lambda: float(next(backwards)))
    monkeypatch.setattr(time, "time_ns", lambda: next(backwards) * 1_000_000_000)

    async def call(path: Path, number: int) -> None:
        with RecordingSink(path) as sink:  # a sink each, as if each were another process
            recorder = Recorder(sink, ProviderRequestCodec(), AssistantEventCodec(), clock=lambda: next(backwards))
            request = (MODEL, played.contexts[number], None)
            async for _ in recorder.call(request, lambda: Answers(played).stream(*request)):
                pass

    names = ["b", "a", "c"]
    for index, name in enumerate(names):
        path = start_recording(command.home, name, now - timedelta(days=index))
        for number in range(len(played.contexts)):
            anyio.run(call, path, number)
        os.utime(path, (1000 - index, 1000 - index))
        turn_off(command.home)
        assert [number_of(found.request) for found in whole_calls(path)] == list(range(8))

        async def replay(path: Path = path) -> None:
            with ReplayProvider(path) as provider:
                for context, answer in zip(played.contexts, played.answers, strict=True):
                    assert [event async for event in provider.stream_simple(MODEL, context)] == answer
                provider.assert_consumed()

        anyio.run(replay)
    listed = json.loads(command.done("recordings", "list", "--json").out)
    assert [(recording["id"], recording["call_count"]) for recording in listed] == [(name, 8) for name in sorted(names)]
