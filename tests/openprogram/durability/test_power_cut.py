"""The power is cut after any operation of a recording: what was acknowledged is on the disk, whatever else is not."""

import contextlib
import itertools
import os
import random
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import pytest

from openprogram.pipeline.errors import RecordingFileError
from openprogram.pipeline.log.repair import repair_recording
from openprogram.providers.recording import RecordingProvider
from openprogram.recordings.reading import event_check
from tests.benchmarks.workload import MODEL, SESSIONS, Session, session
from tests.openprogram.durability.power import Disk
from tests.openprogram.durability.sessions import Answers, Call, check_everything, record_anew

Run = Callable[[RecordingProvider, Session, Disk], Awaitable[None]]


@pytest.fixture(scope="module")
def played() -> Session:
    return session(*SESSIONS["small"])


@pytest.fixture(scope="module")
def expected(played: Session, tmp_path_factory: pytest.TempPathFactory) -> dict[int, Call]:
    return record_anew(played, tmp_path_factory.mktemp("expected") / "run.jsonl")


async def one_call(provider: RecordingProvider, played: Session, disk: Disk, number: int) -> None:
    async for event in provider.stream_simple(MODEL, played.contexts[number]):
        if event.type == "done":
            disk.acknowledge(number)


async def one_call_or_its_refusal(provider: RecordingProvider, played: Session, disk: Disk, number: int) -> None:
    with contextlib.suppress(RecordingFileError):
        await one_call(provider, played, disk, number)


async def all_at_once_whatever_fails(provider: RecordingProvider, played: Session, disk: Disk) -> None:
    async with anyio.create_task_group() as group:
        for number in range(len(played.contexts)):
            group.start_soon(one_call_or_its_refusal, provider, played, disk, number)


async def one_after_the_other(provider: RecordingProvider, played: Session, disk: Disk) -> None:
    for number in range(len(played.contexts)):
        await one_call(provider, played, disk, number)


async def all_at_once(provider: RecordingProvider, played: Session, disk: Disk) -> None:
    async with anyio.create_task_group() as group:
        for number in range(len(played.contexts)):
            group.start_soon(one_call, provider, played, disk, number)


def recorded(disk: Disk, path: Path, played: Session, run: Run, pause_every: int | None) -> None:
    async def main() -> None:
        provider = RecordingProvider(Answers(played, pause_every), path)
        await run(provider, played, disk)
        provider.close()

    with disk.watching():
        anyio.run(main)


def check_every_cut(disk: Disk, folder: Path, played: Session, expected: dict[int, Call], at_most: int) -> int:
    """How many different states a cut could leave."""
    seed = 20251 if os.environ.get("CI") else random.randrange(2**32)
    sys.stdout.write(f"seed {seed}\n")
    states = list(disk.after_each_cut(random.Random(seed), at_most))
    for state in states:
        path = folder / "cut" / "run.jsonl"
        path.parent.mkdir(exist_ok=True)
        if state.content is not None:
            path.write_bytes(state.content)
        check_everything(path, expected, [], state.acknowledged, played)
        path.unlink(missing_ok=True)
    return len(states)


@pytest.mark.parametrize(
    ("run", "pause_every", "at_most"),
    [(one_after_the_other, None, 8), (all_at_once, 20, 3)],
    ids=["one call after the other", "calls at once"],
)
def test_what_was_acknowledged_is_there_after_any_power_cut(
    tmp_path: Path, played: Session, expected: dict[int, Call], run: Run, pause_every: int | None, at_most: int
) -> None:
    disk = Disk()
    recorded(disk, tmp_path / "run.jsonl", played, run, pause_every)
    assert check_every_cut(disk, tmp_path, played, expected, at_most) > 100
    assert disk.certain().acknowledged == set(range(8))
    assert disk.certain().content == (tmp_path / "run.jsonl").read_bytes()


def test_no_call_is_acknowledged_whose_lines_a_failed_sync_may_have_lost(
    tmp_path: Path, played: Session, expected: dict[int, Call]
) -> None:
    for failing in itertools.count(1):  # 0 is the header's: without it nothing begins
        disk, path = Disk(failing_sync=failing), tmp_path / f"{failing}.jsonl"
        recorded(disk, path, played, all_at_once_whatever_fails, 20)
        state = disk.certain()
        if disk.sync_count <= failing:
            break  # there is no such sync, and so none failed
        assert len(state.acknowledged) < 8
        assert state.content is not None
        path.write_bytes(state.content)
        check_everything(path, expected, [], state.acknowledged, played)
    assert failing > 1
    assert state.acknowledged == set(range(8))


@pytest.mark.parametrize(
    "left", [b"", b'{"type":"header","format_version":1}\n', b'{"type":"header","format_version":1}\n{"ty']
)
def test_what_is_recorded_into_a_file_whose_creator_was_killed_survives_a_cut(
    tmp_path: Path, played: Session, expected: dict[int, Call], left: bytes
) -> None:
    path, disk = tmp_path / "run.jsonl", Disk(unsynced=left)
    path.write_bytes(left)
    shorter = Session(played.contexts[:2], played.answers[:2])
    recorded(disk, path, shorter, one_after_the_other, None)
    assert check_every_cut(disk, tmp_path, played, expected, 8) > 30
    assert disk.certain().content == path.read_bytes()


def test_a_repaired_recording_is_on_the_disk_when_the_repair_reports_it(tmp_path: Path, played: Session) -> None:
    path, target, disk = tmp_path / "run.jsonl", tmp_path / "repaired.jsonl", Disk()
    record_anew(played, path)
    with path.open("ab") as file:
        file.write(b"torn")
    with disk.watching():
        repair_recording(path, target, event_check())
    assert disk.certain().content == target.read_bytes()
