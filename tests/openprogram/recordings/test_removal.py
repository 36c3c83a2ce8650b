import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from openprogram.config import Off, Record, set_record_replay, update_config
from openprogram.errors import ConfigError, RecordingNotFound, RecordingRefused
from openprogram.home import Home
from openprogram.pipeline.log.locks import hold_shared
from openprogram.recordings.activation import start_replaying
from openprogram.recordings.names import managed_path
from openprogram.recordings.removal import RemovalPlan, execute, plan_delete, plan_prune
from tests.openprogram.recording_files import write_recording

NOW = datetime(2025, 6, 1, tzinfo=UTC)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "state", "OPENPROGRAM_HOME")


def recording_of_age(home: Home, name: str, days: float) -> Path:
    path = write_recording(managed_path(home, name))
    seconds = (NOW - timedelta(days=days)).timestamp()
    os.utime(path, (seconds, seconds), follow_symlinks=False)
    return path


@contextmanager
def recorded_into(path: Path) -> Iterator[None]:
    descriptor = os.open(path, os.O_RDWR)
    try:
        hold_shared(descriptor)
        yield
    finally:
        os.close(descriptor)


def names(plan: RemovalPlan) -> tuple[list[str], list[str]]:
    return [removal.path.stem for removal in plan.removals], [kept.path.stem for kept in plan.kept]


def test_a_plan_deletes_nothing_and_executing_it_does(home: Home) -> None:
    path = write_recording(managed_path(home, "first"))
    other = write_recording(managed_path(home, "second"))

    plan = plan_delete(home, "first")
    assert path.exists()
    assert plan.size_bytes == path.stat().st_size
    assert execute(plan, home) == plan
    assert (path.exists(), other.exists()) == (False, True)


def test_a_missing_recording_is_not_found(home: Home) -> None:
    with pytest.raises(RecordingNotFound):
        plan_delete(home, "first")


def test_a_damaged_recording_can_be_deleted(home: Home) -> None:
    path = write_recording(managed_path(home, "first"))
    path.write_text("damaged")

    execute(plan_delete(home, "first"), home)

    assert not path.exists()


def test_the_active_recording_is_refused_until_it_is_off(home: Home) -> None:
    path = write_recording(managed_path(home, "first"))
    start_replaying(home, path)

    with pytest.raises(RecordingRefused, match="active") as failure:
        plan_delete(home, "first")

    assert "recordings off" in (failure.value.next_step or "")
    update_config(home, lambda raw: set_record_replay(raw, Off()))
    assert names(plan_delete(home, "first")) == (["first"], [])


def test_a_file_that_a_process_records_into_is_refused(home: Home) -> None:
    path = write_recording(managed_path(home, "first"))

    with recorded_into(path), pytest.raises(RecordingRefused, match="in use"):
        plan_delete(home, "first")


def test_a_symlink_is_refused_and_its_target_stays(home: Home, tmp_path: Path) -> None:
    target = write_recording(tmp_path / "precious.jsonl")
    managed_path(home, "link").parent.mkdir(parents=True)
    managed_path(home, "link").symlink_to(target)

    with pytest.raises(RecordingRefused, match="symbolic link"):
        plan_delete(home, "link")

    assert target.exists()


def test_a_recordings_folder_that_is_a_symlink_is_refused(home: Home, tmp_path: Path) -> None:
    target = write_recording(tmp_path / "elsewhere" / "first.jsonl")
    home.folder.mkdir()
    home.recordings_folder.symlink_to(target.parent)

    with pytest.raises(RecordingRefused, match="symbolic link"):
        plan_delete(home, "first")


def test_a_folder_is_refused(home: Home) -> None:
    managed_path(home, "first").mkdir(parents=True)

    with pytest.raises(RecordingRefused, match="not a regular file"):
        plan_delete(home, "first")


def test_with_a_damaged_configuration_nothing_is_deleted(home: Home) -> None:
    path = write_recording(managed_path(home, "first"))
    plan = plan_delete(home, "first")
    home.config_file.write_text("{ damaged")

    with pytest.raises(ConfigError):
        execute(plan, home)
    with pytest.raises(ConfigError):
        plan_delete(home, "first")

    assert path.exists()


def test_what_became_active_after_planning_is_kept(home: Home) -> None:
    path = write_recording(managed_path(home, "first"))
    plan = plan_delete(home, "first")
    update_config(home, lambda raw: set_record_replay(raw, Record(path)))

    assert names(execute(plan, home)) == ([], ["first"])
    assert path.exists()


def test_what_vanished_after_planning_is_reported(home: Home) -> None:
    plan = plan_delete(home, write_recording(managed_path(home, "first")).stem)
    managed_path(home, "first").unlink()

    assert execute(plan, home).kept[0].reason == "no such file"


def test_prune_takes_old_recordings_and_says_why_it_keeps_others(home: Home, tmp_path: Path) -> None:
    recording_of_age(home, "new", days=1)
    recording_of_age(home, "old", days=31)
    active = recording_of_age(home, "old-active", days=31)
    in_use = recording_of_age(home, "old-in-use", days=31)
    managed_path(home, "link").symlink_to(write_recording(tmp_path / "precious.jsonl"))
    os.utime(managed_path(home, "link"), (0, 0), follow_symlinks=False)
    (home.recordings_folder / "notes.txt").write_text("not a recording")
    os.utime(home.recordings_folder / "notes.txt", (0, 0))
    update_config(home, lambda raw: set_record_replay(raw, Record(active)))

    with recorded_into(in_use):
        plan = plan_prune(home, timedelta(days=30), NOW)

    assert names(plan) == (["old"], ["link", "old-active", "old-in-use"])
    assert names(execute(plan, home))[0] == ["old"]
    assert sorted(path.name for path in home.recordings_folder.iterdir()) == [
        "link.jsonl",
        "new.jsonl",
        "notes.txt",
        "old-active.jsonl",
        "old-in-use.jsonl",
    ]


def test_exactly_that_old_is_not_older(home: Home) -> None:
    recording_of_age(home, "edge", days=30)

    assert names(plan_prune(home, timedelta(days=30), NOW)) == ([], [])


def test_prune_without_a_folder_creates_none(home: Home) -> None:
    assert plan_prune(home, timedelta(days=0), NOW) == RemovalPlan((), ())
    assert not home.folder.exists()
