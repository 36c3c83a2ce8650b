"""A replay from a compressed recording is the replay from the plain one."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from openprogram.pipeline.errors import ReplayMismatch
from openprogram.pipeline.log.convert import compress_recording
from openprogram.providers.codec import AssistantEventCodec
from openprogram.providers.recording import RecordingProvider
from openprogram.providers.replay import ReplayProvider
from openprogram.providers.types import AssistantMessageEvent, Context, UserMessage
from tests.benchmarks.workload import MODEL, SESSIONS, Session, SessionProvider, session


async def together(provider: RecordingProvider | ReplayProvider, played: Session) -> list[list[AssistantMessageEvent]]:
    """Every call begun, then one event of each in turn, until all are over."""
    streams: list[AsyncIterator[AssistantMessageEvent]] = []
    answers: list[list[AssistantMessageEvent]] = []
    for context in played.contexts:
        stream = aiter(provider.stream_simple(MODEL, context))
        streams.append(stream)
        answers.append([await anext(stream)])
    running = set(range(len(streams)))
    while running:
        for index in sorted(running):
            try:
                answers[index].append(await anext(streams[index]))
            except StopAsyncIteration:
                running.remove(index)
    return answers


async def in_turn(provider: ReplayProvider, played: Session) -> list[list[AssistantMessageEvent]]:
    return [[event async for event in provider.stream_simple(MODEL, context)] for context in played.contexts]


def test_interleaved_calls_replay_the_same_together_and_in_turn(tmp_path: Path) -> None:
    played = session(12, 150, 800)
    plain, compressed = tmp_path / "a.jsonl", tmp_path / "a.jsonl.zst"

    async def record_and_replay() -> None:
        recorder = RecordingProvider(SessionProvider(played), plain)
        assert await together(recorder, played) == played.answers
        recorder.close()
        compress_recording(plain, compressed, AssistantEventCodec().check)
        for path in (plain, compressed):
            for replay in (together, in_turn):
                with ReplayProvider(path) as provider:
                    assert await replay(provider, played) == played.answers
                    provider.assert_consumed()

    asyncio.run(record_and_replay())


def test_a_mismatch_names_the_same_field(tmp_path: Path) -> None:
    played = session(3, 20, 100)
    plain, compressed = tmp_path / "a.jsonl", tmp_path / "a.jsonl.zst"

    async def record() -> None:
        recorder = RecordingProvider(SessionProvider(played), plain)
        await together(recorder, played)
        recorder.close()

    async def mismatch(path: Path) -> str:
        with ReplayProvider(path) as provider:
            await in_turn(provider, Session(played.contexts[:2], []))
            other = Context(messages=[*played.contexts[2].messages[:-1], UserMessage(content="Stop.", timestamp=1)])
            with pytest.raises(ReplayMismatch) as failure:
                await in_turn(provider, Session([other], []))
            return str(failure.value)

    asyncio.run(record())
    compress_recording(plain, compressed, AssistantEventCodec().check)
    assert asyncio.run(mismatch(compressed)) == asyncio.run(mismatch(plain))


def test_a_session_whose_requests_repeat_shrinks_to_a_fraction(tmp_path: Path) -> None:
    """The goal is 25 for a large session; the longer a session, the more of it repeats."""
    played = session(*SESSIONS["medium"])
    plain, compressed = tmp_path / "a.jsonl", tmp_path / "a.jsonl.zst"

    async def record() -> None:
        recorder = RecordingProvider(SessionProvider(played), plain)
        for context in played.contexts:
            async for _ in recorder.stream_simple(MODEL, context):
                pass
        recorder.close()

    asyncio.run(record())
    made = compress_recording(plain, compressed, AssistantEventCodec().check)
    assert made.plain_bytes > 50 * made.compressed_bytes
