"""A new recording from the whole calls of a damaged one; the damaged one stays."""

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from openprogram.pipeline.errors import RecordingFileError
from openprogram.pipeline.log.repair import repair_recording
from openprogram.pipeline.log.survey import LeftOut
from tests.pipeline.log.samples import (
    HEADER,
    Call,
    call_lines,
    check_event,
    delta,
    end_line,
    event_line,
    read_calls,
    request,
    request_line,
    write_file,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "repaired.jsonl"


def damaged(path: Path) -> Path:
    """Calls 0 and 2 are whole, with noise between, call 1 lacks an event, call 3 its end."""
    return write_file(
        path,
        [
            {**HEADER, "recording_id": "x"},
            *call_lines(0),
            "noise\n",
            *call_lines(1)[:2],
            *call_lines(1)[3:],
            b"\xff\xfe\n",
            *call_lines(2),
            *call_lines(3)[:-1],
            '{"type":"call_e',
        ],
    )


def test_the_whole_calls_are_kept_renumbered_and_what_is_left_out_is_named(path: Path, target: Path) -> None:
    report = repair_recording(damaged(path), target, check_event)
    assert (report.target, report.kept) == (target, [0, 2])
    assert report.left_out == [
        LeftOut(1, 7, "line 9: event_count is 2, but 1 events are whole"),
        LeftOut(3, 15, "it has no call_end: its recording was interrupted"),
    ]
    assert report.damage is not None
    assert (report.damage.line_number, report.damage.reason) == (6, "not a JSON object")
    assert read_calls(target) == [
        Call(request("call 0"), [delta("0.0"), delta("0.1")], "complete", None),
        Call(request("call 2"), [delta("2.0"), delta("2.1")], "complete", None),
    ]


def test_the_damaged_file_stays_byte_for_byte(path: Path, target: Path) -> None:
    before = damaged(path).read_bytes()
    repair_recording(path, target, check_event)
    assert path.read_bytes() == before


def test_the_header_metadata_is_kept_and_the_new_file_is_private(path: Path, target: Path) -> None:
    repair_recording(damaged(path), target, check_event)
    assert target.read_bytes().startswith(b'{"type":"header","format_version":1,"recording_id":"x"}\n')
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_a_healthy_file_is_repaired_to_equal_content(path: Path, target: Path) -> None:
    write_file(
        path,
        [
            HEADER,
            {**request_line(0, "\ud800"), "later": {"b": 1.0, "a": [None, True, -0.0, 10**30]}},
            request_line(1, "b"),
            request_line(2, "c"),
            event_line(1, 0, type="start", **{"\udfff": "\u2028", "": 1}),
            end_line(2, 0, outcome="cancelled"),
            event_line(0, 0),
            end_line(1, 1, outcome="error", error={"type": "E", "message": "\udc00"}),
            event_line(0, 1),
            end_line(0, 2),
        ],
    )
    report = repair_recording(path, target, check_event)
    assert (report.kept, report.left_out, report.damage) == ([0, 1, 2], [], None)
    assert read_calls(target) == read_calls(path)
    assert [list(call.request) for call in read_calls(target)] == [list(call.request) for call in read_calls(path)]


def test_repairing_a_repaired_file_changes_nothing(path: Path, target: Path, tmp_path: Path) -> None:
    repair_recording(damaged(path), target, check_event)
    repair_recording(target, tmp_path / "again.jsonl", check_event)
    assert (tmp_path / "again.jsonl").read_bytes() == target.read_bytes()


@pytest.mark.parametrize("first", [[], ["noise\n"], [b"\xff\n"]])
def test_calls_are_saved_where_only_the_header_is_gone(path: Path, target: Path, first: list[Any]) -> None:
    write_file(path, [*first, *call_lines(0)])
    repair_recording(path, target, check_event)
    assert len(read_calls(target)) == 1


@pytest.mark.parametrize(
    "lines",
    [
        [],
        ["hello\n"],
        [b"\xff\xfe\n"],
        ['{"type":"header"'],
        [{"type": "header", "format_version": 2}, *call_lines(0)],
        [{"type": "header"}, *call_lines(0)],
    ],
)
def test_what_is_no_recording_of_this_version_is_not_repaired(path: Path, target: Path, lines: list[Any]) -> None:
    write_file(path, lines)
    with pytest.raises(RecordingFileError) as failure:
        repair_recording(path, target, check_event)
    assert failure.value.path == path
    assert "Nothing can be saved" in (failure.value.next_step or "")
    assert not target.exists()


def test_a_file_with_no_whole_call_is_repaired_to_an_empty_recording(path: Path, target: Path) -> None:
    write_file(path, [HEADER, request_line(0)])
    report = repair_recording(path, target, check_event)
    assert (report.kept, read_calls(target)) == ([], [])


@pytest.mark.parametrize("kind", ["file", "itself", "symlink", "dangling symlink", "folder"])
def test_nothing_is_ever_overwritten(path: Path, target: Path, tmp_path: Path, kind: str) -> None:
    before = damaged(path).read_bytes()
    other = tmp_path / "other"
    other.write_text("mine")
    match kind:
        case "file":
            target.write_text("mine")
        case "itself":
            target = path
        case "symlink":
            target.symlink_to(other)
        case "dangling symlink":
            target.symlink_to(tmp_path / "nothing")
        case _:
            target.mkdir()
    with pytest.raises(RecordingFileError) as failure:
        repair_recording(path, target, check_event)
    assert failure.value.path == target
    assert path.read_bytes() == before
    assert other.read_text() == "mine"
    assert not (tmp_path / "nothing").exists()
    assert target.exists() or target.is_symlink()


def test_a_repair_that_fails_half_way_leaves_no_file(path: Path, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(KeyboardInterrupt):
        repair_recording(damaged(path), target, check_event)
    assert os.listdir(path.parent) == [path.name]
