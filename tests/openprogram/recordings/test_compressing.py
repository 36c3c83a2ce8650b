"""When a recording may be compressed or expanded, and which file stays."""

import os
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from openprogram.config import Record, load_config, set_record_replay, update_config
from openprogram.errors import RecordingNotFound, RecordingRefused, UsageError
from openprogram.home import Home
from openprogram.pipeline.errors import RecordingFileError
from openprogram.pipeline.log.lines import CheckEvent
from openprogram.pipeline.log.locks import hold_shared
from openprogram.recordings import compressing
from openprogram.recordings.activation import read_status, start_recording, start_replaying
from openprogram.recordings.compressing import compress, expand
from openprogram.recordings.description import describe, read_content
from openprogram.recordings.listing import list_recordings
from openprogram.recordings.names import check_name, find_managed, find_recording, managed_path, managed_paths
from openprogram.recordings.reading import event_check
from openprogram.recordings.removal import execute, plan_delete, plan_prune
from openprogram.recordings.repairing import AlreadyWhole, repair_beside
from tests.openprogram.recording_files import call_lines, header_line, write_lines, write_recording
from tests.pipeline.log.frames import frame_of_blocks

NOW = datetime(2025, 6, 1, tzinfo=UTC)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "state", "OPENPROGRAM_HOME")


@pytest.fixture
def plain(home: Home) -> Path:
    return write_recording(managed_path(home, "first"), calls=3)


def names(path: Path) -> list[str]:
    return sorted(os.listdir(path.parent))


def test_in_the_managed_folder_the_new_file_takes_the_place_of_the_old_one(home: Home, plain: Path) -> None:
    content = plain.read_bytes()

    done = compress(home, "first", keep=False)

    assert (done.source, done.target, done.removed, done.call_count) == (
        plain,
        plain.with_name("first.jsonl.zst"),
        True,
        3,
    )
    assert (done.plain_bytes, done.compressed_bytes) == (len(content), done.target.stat().st_size)
    assert names(plain) == ["first.jsonl.zst"]
    back = expand(home, "first", keep=False)
    assert (back.target, back.plain_bytes, back.compressed_bytes) == (plain, done.plain_bytes, done.compressed_bytes)
    assert names(plain) == ["first.jsonl"]
    assert plain.read_bytes() == content


def test_keep_leaves_both_and_then_the_id_alone_is_ambiguous(home: Home, plain: Path) -> None:
    done = compress(home, "first", keep=True)

    assert not done.removed
    assert names(plain) == ["first.jsonl", "first.jsonl.zst"]
    for find in (find_recording, find_managed):
        with pytest.raises(RecordingNotFound, match="ambiguous") as failure:
            find(home, "first")
        assert failure.value.next_step == "Write first.jsonl or first.jsonl.zst."
        assert find(home, "first.jsonl") == plain
        assert find(home, "first.jsonl.zst") == done.target
    assert [(listed.id, listed.compressed) for listed in list_recordings(home, load_config(home))] == [
        ("first", False),
        ("first", True),
    ]


def test_elsewhere_both_stay(home: Home, tmp_path: Path) -> None:
    path = write_recording(tmp_path / "fixtures" / "first.jsonl")

    assert not compress(home, str(path), keep=False).removed
    assert names(path) == ["first.jsonl", "first.jsonl.zst"]
    content = path.read_bytes()
    path.unlink()
    assert not expand(home, f"{path}.zst", keep=False).removed
    assert names(path) == ["first.jsonl", "first.jsonl.zst"]
    assert path.read_bytes() == content


def test_a_path_into_the_managed_folder_is_managed(home: Home, plain: Path) -> None:
    assert compress(home, str(plain), keep=False).removed


def test_a_managed_folder_that_is_a_symlink_is_not_deleted_from(home: Home, tmp_path: Path) -> None:
    path = write_recording(tmp_path / "other" / "first.jsonl")
    home.folder.mkdir()
    home.recordings_folder.symlink_to(path.parent)

    assert not compress(home, "first", keep=False).removed
    assert path.exists()


# ---- refused, and nothing changes


@pytest.mark.parametrize("keep", [True, False])
def test_a_file_in_use_is_refused(home: Home, plain: Path, keep: bool) -> None:
    descriptor = os.open(plain, os.O_RDWR)
    try:
        hold_shared(descriptor)
        with pytest.raises(RecordingRefused) as failure:
            compress(home, "first", keep=keep)
    finally:
        os.close(descriptor)
    assert failure.value.reason == "is in use by a running process"
    assert names(plain) == ["first.jsonl"]


@pytest.mark.parametrize("keep", [True, False])
def test_the_recording_that_is_recorded_into_is_refused(home: Home, keep: bool) -> None:
    path = start_recording(home, "first", NOW)
    with pytest.raises(RecordingRefused) as failure:
        compress(home, "first", keep=keep)
    assert failure.value.reason == "is the active recording (mode record)"
    assert failure.value.next_step == "Turn it off first: openprogram recordings off"
    assert names(path) == ["first.jsonl"]


def test_the_recording_that_is_replayed_keeps_its_file(home: Home, plain: Path) -> None:
    start_replaying(home, plain)
    with pytest.raises(RecordingRefused) as failure:
        compress(home, "first", keep=False)
    assert "--keep" in (failure.value.next_step or "")
    assert names(plain) == ["first.jsonl"]
    compress(home, "first", keep=True)
    assert read_status(home).usable


def test_a_symlink_a_folder_and_the_wrong_form_are_refused(home: Home, plain: Path, tmp_path: Path) -> None:
    managed_path(home, "link").symlink_to(plain)
    managed_path(home, "folder").mkdir()
    reasons = {
        ("link", compress): "is a symbolic link",
        ("folder", compress): "is not a regular file",
        ("first", expand): "is not compressed: its name does not end in .zst",
    }
    for (given, do), reason in reasons.items():
        with pytest.raises(RecordingRefused) as failure:
            do(home, given, keep=False)
        assert failure.value.reason == reason
    compress(home, "first", keep=False)
    with pytest.raises(RecordingRefused) as failure:
        compress(home, "first", keep=False)
    assert failure.value.reason == "is compressed already"
    assert names(plain) == ["first.jsonl.zst", "folder.jsonl", "link.jsonl"]


def test_a_target_that_exists_is_refused(home: Home, plain: Path) -> None:
    target = managed_paths(home, "first")[1]
    target.symlink_to("nowhere")
    with pytest.raises(RecordingRefused) as failure:
        compress(home, "first.jsonl", keep=False)
    assert failure.value.path == target
    assert names(plain) == ["first.jsonl", "first.jsonl.zst"]


def test_a_damaged_recording_is_refused_with_repair_as_the_next_step(home: Home, plain: Path) -> None:
    write_lines(plain, [header_line(), *call_lines(0), *call_lines(1)[:-1]])
    with pytest.raises(RecordingFileError) as failure:
        compress(home, "first", keep=False)
    assert "recordings repair" in (failure.value.next_step or "")
    target = managed_paths(home, "first")[1]
    target.write_bytes(frame_of_blocks(plain.read_bytes())[:-3])
    plain.unlink()
    with pytest.raises(RecordingFileError) as failure:
        expand(home, "first", keep=False)
    assert failure.value.reason == "cannot read: the compressed data is cut off"
    assert "recordings repair" in (failure.value.next_step or "")
    assert names(plain) == ["first.jsonl.zst"]


def test_a_file_that_came_in_place_of_the_one_that_was_read_is_kept(
    home: Home, plain: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def check_and_replace() -> CheckEvent:
        plain.with_name("new").write_bytes(plain.read_bytes())
        plain.with_name("new").rename(plain)
        return event_check()

    monkeypatch.setattr(compressing, "event_check", check_and_replace)
    with pytest.raises(RecordingRefused):
        compress(home, "first", keep=False)
    assert plain.exists()


def test_without_the_library_the_error_says_what_to_install(
    home: Home, plain: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "openprogram.pipeline.log.convert", None)
    with pytest.raises(RecordingFileError) as failure:
        compress(home, "first", keep=False)
    assert failure.value.next_step == 'Install it: pip install "openprogram[zstd]"'


# ---- everything else takes a compressed recording


def test_a_compressed_recording_is_found_listed_described_replayed_and_deleted(home: Home, plain: Path) -> None:
    described, content = describe(plain), list(read_content(plain))
    target = compress(home, "first", keep=False).target

    assert find_recording(home, "first") == find_managed(home, "first") == target
    (listed,) = list_recordings(home, load_config(home))
    assert (listed.id, listed.compressed, listed.call_count, listed.reason) == ("first", True, 3, None)
    assert listed.size_bytes == target.stat().st_size
    found = describe(target)
    assert (found.calls[1].model, found.line_count) == (described.calls[1].model, described.line_count)
    assert (found.compressed, found.content_bytes, described.compressed) == (True, described.size_bytes, False)
    assert list(read_content(target)) == content
    assert repair_beside(target) == AlreadyWhole(target, 3)
    assert start_replaying(home, target) == (3, [])
    assert (read_status(home).usable, read_status(home).call_count) == (True, 3)
    update_config(home, lambda raw: set_record_replay(raw, Record(target)))
    status = read_status(home)
    assert (status.usable, status.reason) == (False, f"{target}: cannot record into a compressed recording")
    update_config(home, lambda raw: set_record_replay(raw, Record(plain)))
    execute(plan_delete(home, "first"), home)
    assert names(target) == []


def test_repair_of_a_damaged_compressed_recording_writes_a_plain_one(home: Home, plain: Path) -> None:
    target = managed_paths(home, "first")[1]
    target.write_bytes(frame_of_blocks(plain.read_bytes())[:-3])
    plain.unlink()

    repair_beside(target)

    assert names(target) == ["first.jsonl.zst", "first.repaired.jsonl"]


def test_pruning_goes_by_when_it_was_recorded(home: Home, plain: Path) -> None:
    seconds = (NOW - timedelta(days=9)).timestamp()
    os.utime(plain, (seconds, seconds))
    target = compress(home, "first", keep=False).target
    assert [removal.path for removal in plan_prune(home, timedelta(days=8), NOW).removals] == [target]


def test_the_name_of_a_compressed_recording_is_taken(home: Home, plain: Path) -> None:
    compress(home, "first", keep=False)
    with pytest.raises(RecordingRefused) as failure:
        start_recording(home, "first", NOW)
    assert failure.value.reason == "a recording of that name exists"
    assert not plain.exists()
    with pytest.raises(UsageError):
        check_name("first.jsonl.zst")
