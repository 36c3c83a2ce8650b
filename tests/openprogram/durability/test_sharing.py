"""One file, many who record into it, read, compress and kill: forks, threads with loops of their own, processes."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from openprogram.errors import RecordingRefused
from openprogram.home import Home
from openprogram.pipeline import call
from openprogram.pipeline.errors import RecordingFileError
from openprogram.pipeline.log.locks import in_use
from openprogram.pipeline.log.repair import RepairReport
from openprogram.providers.recording import RecordingProvider
from openprogram.providers.replay import ReplayProvider
from openprogram.recordings.compressing import compress, expand
from openprogram.recordings.reading import read_strictly
from openprogram.recordings.repairing import repair_beside
from tests.benchmarks.workload import MODEL, Session, session
from tests.openprogram.durability.sessions import Progress, number_of, record, strict_calls, whole_calls
from tests.openprogram.durability.sharing import (
    ANSWER,
    Paced,
    asked,
    calls,
    fork_in_the_middle_of_a_call,
    record_in_forks,
)

ROOT = Path(__file__).resolve().parents[3]


def run(job: Callable[[str], None], path: Path) -> None:
    command = [sys.executable, "-m", "tests.openprogram.durability.sharing", job.__name__, str(path)]
    subprocess.run(command, cwd=ROOT, check=True, timeout=120)


def prompts(path: Path) -> list[str]:
    """Of every complete call of a file that the strict reader takes, in file order."""
    with read_strictly(path) as recording:
        found = strict_calls(recording)
    complete = [one for one in found if one.outcome == "complete"]
    assert all(len(one.events) == len(ANSWER) for one in complete)
    return [one.request["context"]["messages"][0]["content"] for one in complete]


def test_a_loop_and_the_processes_that_it_forks_record_into_one_file(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    run(record_in_forks, path)
    found = prompts(path)
    assert len(found) == 10 + 10 + 2 + 3 * 8
    for name, count in [("a", 10), ("b", 10), ("c", 2), ("child 0", 8), ("child 1", 8), ("child 2", 8)]:
        assert [prompt for prompt in found if prompt.startswith(f"{name} ")] == [f"{name} {n}" for n in range(count)]


def test_a_forked_child_that_ends_does_not_end_its_parent_s_call(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    run(fork_in_the_middle_of_a_call, path)
    types = [json.loads(line)["type"] for line in path.read_text().splitlines()]
    assert types[:3] == ["header", "request", "event"]
    assert "call_end" not in types


def test_threads_with_loops_of_their_own_record_into_one_file_while_other_loops_end(tmp_path: Path) -> None:
    path, acknowledged = tmp_path / "run.jsonl", Counter[str]()
    provider = RecordingProvider(Paced(), path)
    counting = threading.Lock()

    async def agent(name: str) -> None:
        for number in range(50):
            async for event in provider.stream_simple(MODEL, asked(f"{name} {number}")):
                if event.type == "done":
                    with counting:
                        acknowledged[f"{name} {number}"] += 1

    async def whole(name: str) -> None:
        await asyncio.gather(calls(provider, f"{name}a", 2), calls(provider, f"{name}b", 2))

    async def cancelled(name: str) -> None:
        with anyio.move_on_after(0.02):
            await agent(name)

    async def left_behind(name: str) -> None:
        task = asyncio.ensure_future(agent(name))
        await asyncio.wait([task], timeout=0.02)

    def thread(number: int) -> None:
        for turn, run_loop in enumerate((whole, cancelled, left_behind, whole)):
            asyncio.run(run_loop(f"{number}.{turn}"))

    threads = [threading.Thread(target=thread, args=(number,)) for number in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(60)
        assert not each.is_alive()
    assert not call._running
    provider.close()
    found = Counter(prompts(path))
    assert not acknowledged - found
    assert sum(count for prompt, count in found.items() if prompt.split()[0][-1] in "ab") == 4 * 2 * 4


# ---- compressing while others read, and kill -9


@pytest.fixture(scope="module")
def played() -> Session:
    return session(12, 100, 800)


@pytest.fixture
def home(tmp_path: Path, played: Session) -> Home:
    home = Home(tmp_path, "test")
    home.recordings_folder.mkdir()
    anyio.run(record, played, home.recordings_folder / "run.jsonl", Progress(12))
    return home


def in_a_fork(job: Callable[[], object]) -> int:
    child = os.fork()
    if not child:
        try:
            job()
            os._exit(0)
        finally:
            os._exit(1)
    return child


def test_a_replay_goes_on_while_its_file_is_compressed_and_expanded_and_killed(home: Home, played: Session) -> None:
    path = home.recordings_folder / "run.jsonl"
    before = path.read_bytes()

    async def replay(name: Path) -> None:
        with ReplayProvider(name) as provider:
            for number, (context, answer) in enumerate(zip(played.contexts, played.answers, strict=True)):
                assert [event async for event in provider.stream_simple(MODEL, context)] == answer
                if number % 3 == 0:
                    (expand if name.suffix == ".zst" else compress)(home, "run", keep=False)
                    (compress if name.suffix == ".zst" else expand)(home, "run", keep=False)
            provider.assert_consumed()

    anyio.run(replay, path)
    assert path.read_bytes() == before
    compress(home, "run", keep=False)
    anyio.run(replay, path.with_name("run.jsonl.zst"))
    assert os.listdir(home.recordings_folder) == ["run.jsonl.zst"]
    expand(home, "run", keep=False)
    assert path.read_bytes() == before


def test_a_replay_that_is_killed_leaves_the_file_as_it_was_and_in_nobody_s_use(home: Home, played: Session) -> None:
    path = home.recordings_folder / "run.jsonl"
    before = path.read_bytes()

    def replay_until_killed() -> None:
        async def first() -> None:
            provider = ReplayProvider(path)
            async for _ in provider.stream_simple(MODEL, played.contexts[0]):
                os.kill(os.getpid(), signal.SIGKILL)

        anyio.run(first)

    _, status = os.waitpid(in_a_fork(replay_until_killed), 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL
    assert path.read_bytes() == before
    assert not in_use(path)
    with read_strictly(path) as recording:
        assert recording.call_count == 12


@pytest.mark.parametrize("turn", range(4))
def test_whoever_opens_a_file_that_is_being_compressed_by_one_who_is_killed_reads_all_of_it_or_hears_that_it_is_gone(
    home: Home, played: Session, turn: int
) -> None:
    path = home.recordings_folder / "run.jsonl"
    packed = path.with_name("run.jsonl.zst")
    compressing = in_a_fork(lambda: compress(home, "run", keep=False))
    opened = 0
    deadline = time.monotonic() + 0.02 * turn
    while not opened or time.monotonic() < deadline:
        for name in (path, packed):
            try:
                with read_strictly(name) as recording:
                    assert recording.call_count == 12
                opened += 1
            except RecordingFileError as error:
                assert error.reason == "cannot open: no such file"  # noqa: PT017 - it may as well not be raised
    os.kill(compressing, signal.SIGKILL)
    os.waitpid(compressing, 0)
    there = [name for name in (path, packed) if name.exists()]
    assert there
    for name in there:
        assert [number_of(one.request) for one in whole_calls(name)] == list(range(12))


def test_of_several_that_write_the_same_file_at_once_one_does_and_the_others_are_refused(
    home: Home, tmp_path: Path
) -> None:
    path = home.recordings_folder / "run.jsonl"
    with path.open("ab") as file:
        file.write(b"torn")

    def repair() -> None:
        try:
            assert isinstance(repair_beside(path), RepairReport)
            (tmp_path / f"{os.getpid()}.done").touch()
        except (RecordingFileError, RecordingRefused) as refusal:
            assert "exists already" in refusal.reason or "another process" in refusal.reason  # noqa: PT017

    children = [in_a_fork(repair) for _ in range(4)]
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * 4
    assert len(list(tmp_path.glob("*.done"))) == 1
    assert sorted(os.listdir(home.recordings_folder)) == ["run.jsonl", "run.repaired.jsonl"]
    with read_strictly(path.with_name("run.repaired.jsonl")) as recording:
        assert recording.call_count == 12
