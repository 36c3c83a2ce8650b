"""The two locks of a recording: between descriptors, not between processes only, and gone with them."""

import errno
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from openprogram.pipeline.errors import RecordingFileError
from openprogram.pipeline.log import locks
from openprogram.pipeline.log.locks import LockRange, exclusive, hold_shared, in_use
from openprogram.pipeline.log.writer import RecordingSink
from tests.pipeline.log.samples import begin, call, read_calls


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "run.jsonl"
    path.touch()
    return path


@pytest.fixture
def descriptors(path: Path) -> Iterator[tuple[int, int]]:
    pair = os.open(path, os.O_RDWR), os.open(path, os.O_RDWR)
    yield pair
    for descriptor in pair:
        os.close(descriptor)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "_PATIENCE_S", 0.01)


def test_the_locked_bytes_lie_beyond_any_content() -> None:
    assert min(LockRange) > 2**60
    assert len(set(LockRange)) == 2


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("what", LockRange)
def test_one_holds_a_lock_alone_within_one_process_too(descriptors: tuple[int, int], what: LockRange) -> None:
    one, other = descriptors
    with exclusive(one, what):
        with pytest.raises(OSError) as failure, exclusive(other, what):
            pass
        assert failure.value.errno in (errno.EAGAIN, errno.EACCES)
    with exclusive(other, what):
        pass


def test_the_lock_for_writing_does_not_touch_the_lock_for_recording(descriptors: tuple[int, int]) -> None:
    one, other = descriptors
    hold_shared(one)
    with exclusive(other, LockRange.APPEND), exclusive(one, LockRange.IN_USE):
        pass


@pytest.mark.usefixtures("impatient")
def test_several_may_record_and_then_nobody_is_alone(path: Path, descriptors: tuple[int, int]) -> None:
    one, other = descriptors
    assert not in_use(path)
    hold_shared(one)
    hold_shared(other)
    assert in_use(path)
    with pytest.raises(OSError), exclusive(one, LockRange.IN_USE):
        pass


def test_closing_another_descriptor_of_the_file_does_not_give_the_lock_up(path: Path) -> None:
    # With the older kind of byte-range lock it would.
    with RecordingSink(path):
        os.close(os.open(path, os.O_RDWR))
        assert in_use(path)
    assert not in_use(path)


def test_asking_whether_a_file_is_in_use_takes_no_lock(path: Path) -> None:
    assert not in_use(path)
    assert not in_use(path)
    with RecordingSink(path) as sink:
        assert in_use(path)
        call(sink)


def test_asking_about_a_file_that_is_not_there_or_is_a_symlink_is_an_error(path: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(path)
    for wrong in (tmp_path / "nothing", link):
        with pytest.raises(OSError):
            in_use(wrong)


@pytest.mark.usefixtures("impatient")
def test_a_lock_that_another_does_not_give_back_fails_the_append_with_a_reason(
    path: Path, descriptors: tuple[int, int]
) -> None:
    with RecordingSink(path) as sink:
        writer = begin(sink)
        before = path.read_bytes()
        with exclusive(descriptors[0], LockRange.APPEND):
            with pytest.raises(RecordingFileError) as failure:
                writer.end("complete")
            assert (
                failure.value.reason
                == "cannot write the call's end: another process has held the file's lock for too long"
            )
        assert path.read_bytes() == before
        writer.end("complete")
    assert len(read_calls(path)) == 1


@pytest.mark.usefixtures("impatient")
def test_a_file_that_management_holds_alone_is_not_recorded_into(tmp_path: Path, descriptors: tuple[int, int]) -> None:
    path = tmp_path / "run.jsonl"
    with exclusive(descriptors[0], LockRange.IN_USE):
        with pytest.raises(RecordingFileError) as failure:
            RecordingSink(path)
        assert failure.value.reason.startswith("cannot lock")
        assert path.read_bytes() == b""
    with RecordingSink(path) as sink:
        call(sink)


def test_a_new_file_that_can_not_be_locked_is_not_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported(*_: object) -> None:
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(locks, "_set", unsupported)
    with pytest.raises(RecordingFileError):
        RecordingSink(tmp_path / "new.jsonl")
    assert not (tmp_path / "new.jsonl").exists()


def test_who_waits_for_a_lock_gets_it_when_it_is_given_back(path: Path, descriptors: tuple[int, int]) -> None:
    with RecordingSink(path) as sink:
        done = threading.Event()

        def append() -> None:
            call(sink)
            done.set()

        thread = threading.Thread(target=append)
        with exclusive(descriptors[0], LockRange.APPEND):
            thread.start()
            assert not done.wait(0.05)
        assert done.wait(5)
        thread.join()
    assert len(read_calls(path)) == 1


def test_no_file_stands_beside_the_recording(path: Path) -> None:
    with RecordingSink(path) as sink:
        call(sink)
        assert os.listdir(path.parent) == [path.name]
