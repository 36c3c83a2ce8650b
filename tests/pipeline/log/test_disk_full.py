"""A real disk that is full, at every position of a recording: no partial line, nothing lost, and then it goes on."""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from openprogram.pipeline.errors import RecordingFileError
from openprogram.pipeline.log.header import create_recording
from openprogram.pipeline.log.lines import CleanEvent
from openprogram.pipeline.log.repair import repair_recording
from openprogram.pipeline.log.survey import survey_recording
from openprogram.pipeline.log.writer import CallWriter, RecordingSink
from tests.pipeline.log.samples import HEADER, begin, call, call_lines, check_event, delta, read_calls, write_file

PAGE = 4096
NO_SPACE = "no space is left on the device"


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A file system of 64 KiB."""
    folder = tmp_path_factory.mktemp("disk")
    try:
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], capture_output=True, text=True, check=False
        )
        problem = mounted.stderr if mounted.returncode else None
    except FileNotFoundError as error:
        problem = str(error)
    if problem is not None:
        if os.environ.get("CI"):
            pytest.fail(f"a small file system can't be mounted: {problem}")
        pytest.skip(f"a small file system can't be mounted here (it takes root): {problem}")
    yield folder
    subprocess.run(["umount", folder], check=True)


@pytest.fixture
def leave(disk: Path) -> Iterator[Callable[[int], None]]:
    """`leave(n)`: n pages are free from now on. The disk is empty before and after each test."""
    filler = disk / "filler"

    def leave_free(pages: int) -> None:
        filler.write_bytes(b"")
        free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize // PAGE
        filler.write_bytes(b"x" * PAGE * max(0, free - pages))

    yield leave_free
    for path in disk.iterdir():
        path.unlink()


def test_a_new_recording_that_has_no_room_for_its_header_leaves_no_file(
    disk: Path, leave: Callable[[int], None]
) -> None:
    leave(0)
    path = disk / "run.jsonl"
    for create in (RecordingSink, lambda path: create_recording(path, {})):
        with pytest.raises(RecordingFileError) as failure:
            create(path)
        assert failure.value.reason == f"cannot write the header: {NO_SPACE}"
        assert not path.exists()


def test_a_header_that_is_cut_short_leaves_no_file_or_the_empty_one_that_was(
    disk: Path, leave: Callable[[int], None]
) -> None:
    leave(1)
    path = disk / "run.jsonl"
    long_header = {"note": "x" * 2 * PAGE}
    with pytest.raises(RecordingFileError):
        RecordingSink(path, dict(long_header))
    assert not path.exists()
    path.touch()
    with pytest.raises(RecordingFileError):
        RecordingSink(path, dict(long_header))
    assert path.read_bytes() == b""


class Progress:
    """What was recorded. `whole`: the events of every call whose end was written; `events`: those of the last call."""

    def __init__(self) -> None:
        self.whole: list[list[CleanEvent]] = []
        self.writer: CallWriter | None = None
        self.events: list[CleanEvent] = []


def record_until_full(sink: RecordingSink, shift: int, progress: Progress) -> None:
    while True:
        progress.writer = begin(sink, "x" * shift)
        while len(progress.events) < 6:
            batch = [delta("y" * (300 * (len(progress.events) + 1))), delta("z")]
            progress.writer.write(batch)
            progress.events += batch
        progress.writer.end("complete", None, [delta("last")])
        progress.whole.append([*progress.events, delta("last")])
        progress.writer, progress.events, shift = None, [], 50


@pytest.mark.parametrize("pages", range(1, 6))
@pytest.mark.parametrize("shift", range(0, PAGE, 173))
def test_wherever_the_disk_gets_full_what_was_written_stays_whole(
    disk: Path, leave: Callable[[int], None], pages: int, shift: int
) -> None:
    path = disk / "run.jsonl"
    progress = Progress()
    leave(pages)
    with RecordingSink(path) as sink:
        with pytest.raises(RecordingFileError) as failure:
            record_until_full(sink, shift, progress)
        assert failure.value.reason.startswith("cannot write")
        assert failure.value.reason.endswith(NO_SPACE)
        assert path.read_bytes().endswith(b"\n")
        with survey_recording(path, check_event) as survey:
            assert [list(survey.events(found)) for found in survey.complete] == progress.whole
            assert survey.interrupted == (progress.writer is not None)
            assert (survey.damage is None) == (progress.writer is None)
        leave(8)
        if progress.writer is not None:
            progress.writer.write([delta("there is room again")])
            progress.writer.end("complete")
            progress.whole.append([*progress.events, delta("there is room again")])
        call(sink, "and another call", events=[])
        assert [found.events for found in read_calls(path)] == [*progress.whole, []]


def test_a_repair_without_room_leaves_no_file(disk: Path, leave: Callable[[int], None], tmp_path: Path) -> None:
    source = write_file(tmp_path / "run.jsonl", [HEADER, *call_lines(0, events=200), "torn"])
    for pages in (0, 1, 2):
        leave(pages)
        with pytest.raises(RecordingFileError) as failure:
            repair_recording(source, disk / "repaired.jsonl", check_event)
        assert failure.value.reason.endswith(NO_SPACE)
        assert not (disk / "repaired.jsonl").exists()
