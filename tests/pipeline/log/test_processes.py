"""Several real processes, forks and kill -9 on one recording."""

import os
import random
import time
from pathlib import Path
from typing import Any

import pytest

from openprogram.pipeline.errors import RecordingFileError
from openprogram.pipeline.log import locks
from openprogram.pipeline.log.locks import LockRange, exclusive, in_use
from openprogram.pipeline.log.survey import survey_recording
from openprogram.pipeline.log.writer import RecordingSink
from tests.pipeline.log.children import (
    fork_with_open_sink,
    hold_open,
    record_calls_in_forks,
    record_until_killed,
    start,
)
from tests.pipeline.log.samples import Call, begin, call, check_event, delta, read_calls, refusal, surveyed_calls


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


def prompt(found: Call) -> str:
    context: Any = found.request["context"]
    return str(context["messages"][0])


@pytest.mark.parametrize(("processes", "calls", "events", "at_once"), [(4, 15, 20, 1), (8, 50, 200, 10)])
def test_processes_that_record_at_once_leave_one_valid_file(
    path: Path, processes: int, calls: int, events: int, at_once: int
) -> None:
    names = "abcdefgh"[:processes]
    with start(record_calls_in_forks, path, names, calls, events, at_once) as child:
        child.communicate(timeout=120)
    assert child.returncode == 0
    read = read_calls(path)
    assert len(read) == processes * calls
    for found in read:
        assert found.events == [delta(f"{prompt(found)} {index}") for index in range(events)]
    texts = [prompt(found) for found in read]
    for name in names:  # each in its own order
        assert [text for text in texts if text[0] == name] == [f"{name} {number}" for number in range(calls)]


def test_a_process_that_records_is_seen_until_it_closes(path: Path) -> None:
    with start(hold_open, path) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stdout.readline() == "open\n"
        assert in_use(path)
        child.stdin.write("\n")
        child.stdin.flush()
        assert child.stdout.readline() == "closed\n"
        assert not in_use(path)
        child.communicate("\n", timeout=10)


def test_a_process_that_was_killed_does_not_count_as_recording(path: Path) -> None:
    with start(hold_open, path) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert in_use(path)
        child.kill()
        child.wait(10)
    assert not in_use(path)
    assert "no call_end" in refusal(path).reason


def test_a_call_that_another_process_has_open_does_not_block_this_one(path: Path) -> None:
    with start(hold_open, path) as child:
        assert child.stdout is not None
        child.stdout.readline()
        with RecordingSink(path) as sink:
            assert call(sink).call_index == 1
        child.communicate("\n\n", timeout=10)
    assert refusal(path).call_index == 0
    assert len(surveyed_calls(path)) == 1


@pytest.mark.parametrize("seed", range(10))
def test_what_was_synced_before_a_kill_is_whole_and_the_next_sink_appends(path: Path, seed: int) -> None:
    wait = random.Random(seed).uniform(0, 0.15)
    with start(record_until_killed, path, seed) as child:
        assert child.stdout is not None
        reported = child.stdout.readline()
        time.sleep(wait)  # the point of the kill is what is being varied, not what is being waited for
        child.kill()
        reported += child.stdout.read()
        child.wait(10)
    count = reported.count("\n")
    with survey_recording(path, check_event) as survey:
        assert len(survey.complete) >= count
        assert len(survey.left_out) <= 1
        assert survey.damage is None or survey.interrupted
    whole = surveyed_calls(path)
    for number, found in enumerate(whole):
        assert len(found.events) == number % 4
    with RecordingSink(path) as sink:
        writer = begin(sink, "after")
        writer.write([delta("a")])
        writer.end("complete")
    again = surveyed_calls(path)
    assert again[: len(whole)] == whole
    assert again[-1].events == [delta("a")]
    assert path.read_bytes().endswith(b"\n")


def test_a_fork_of_a_process_with_an_open_sink_records_on_its_own(path: Path) -> None:
    with start(fork_with_open_sink, path) as child:
        child.communicate(timeout=30)
        assert child.returncode == 0
    read = read_calls(path)
    assert len(read) == 1 + 20 + 20
    for name in ("parent", "child"):
        numbers = [found.events[1]["delta"] for found in read if found.events and found.events[0] == delta(name)]
        assert numbers == [str(number) for number in range(20)]


def test_a_forked_child_waits_for_the_lock_of_its_parent(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with RecordingSink(path) as sink:
        with exclusive(sink._descriptor, LockRange.APPEND):
            child = os.fork()
            if not child:
                monkeypatch.setattr(locks, "_PATIENCE_S", 0.05)
                try:
                    begin(sink)
                except RecordingFileError as failure:
                    os._exit(0 if "another process" in failure.reason else 2)
                finally:
                    os._exit(1)  # a forked child must not run the tests that follow
            _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        call(sink)
    assert len(read_calls(path)) == 1


def test_a_child_that_only_inherits_a_sink_and_exits_does_not_disturb_the_parent(path: Path) -> None:
    with RecordingSink(path) as sink:
        child = os.fork()
        if not child:
            sink.close()
            os._exit(0)
        os.waitpid(child, 0)
        assert in_use(path)
        call(sink)
    assert len(read_calls(path)) == 1


def test_a_call_begun_before_a_fork_is_the_parent_s_alone(path: Path) -> None:
    with RecordingSink(path) as sink:
        writer = begin(sink)
        writer.write([delta("parent")])
        child = os.fork()
        if not child:
            try:
                with pytest.raises(RecordingFileError, match="a fork"):
                    writer.write([delta("child")])
                with pytest.raises(RecordingFileError, match="a fork"):
                    writer.end("abandoned")
                call(sink)  # of its own
                os._exit(0)
            finally:
                os._exit(1)  # a forked child must not run the tests that follow
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        writer.write([delta("late")])
        writer.end("complete")
    read = read_calls(path)
    assert read[0].events == [delta("parent"), delta("late")]
    assert len(read) == 2
