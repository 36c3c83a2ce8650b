"""A recording written anew under today's redaction: what is in it, what it says of the old file, what it refuses."""

import errno
import hashlib
import json
import os
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from openprogram.pipeline.errors import RecordingFileError
from openprogram.pipeline.log import cleaning
from openprogram.pipeline.log.cleaning import clean_recording
from openprogram.pipeline.log.secrets import scan_source
from openprogram.pipeline.log.source import open_source
from openprogram.pipeline.redaction import REDACTION_VERSION, SECRET_PLACEHOLDER, remove_secret_values
from tests.pipeline.log.frames import write_compressed
from tests.pipeline.log.samples import (
    HEADER,
    call_lines,
    check_event,
    end_line,
    event_line,
    read_calls,
    refusal,
    request_line,
    write_file,
)
from tests.pipeline.redaction.test_stream import calls, fold

TOKEN = "ghp_" + "Zx4Qm81LwT7vBn2KdP9s"


def found_in(path: Path) -> list[Any]:
    with closing(open_source(path)) as source:
        return list(scan_source(source))


def header(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        found: dict[str, Any] = json.loads(file.readline())
    return found


def text_call(call_index: int, *pieces: str) -> list[dict[str, Any]]:
    text = "".join(pieces)
    events: list[dict[str, Any]] = [
        {"type": "start"},
        *({"type": "text_delta", "content_index": 0, "delta": piece} for piece in pieces),
        {"type": "text_end", "content_index": 0, "content": text},
        {"type": "done", "message": {"content": [{"type": "text", "text": text}]}},
    ]
    lines = [event_line(call_index, index, **event) for index, event in enumerate(events)]
    return [request_line(call_index, f"is it {text}?"), *lines, end_line(call_index, len(events), outcome="complete")]


def accept(_event: dict[str, Any]) -> None:
    """Any event; the vocabulary is not what is tested here."""


def test_the_new_file_holds_the_same_calls_without_what_is_found(tmp_path: Path) -> None:
    lines = [HEADER, *text_call(0, "it is ", TOKEN[:7], TOKEN[7:], " indeed"), *call_lines(1)]
    path = write_file(tmp_path / "a.jsonl", lines)
    before = path.read_bytes()

    done = clean_recording(path, tmp_path / "b.jsonl", accept)

    clean = (tmp_path / "b.jsonl").read_bytes()
    assert (done.call_count, done.places) == (2, 4)
    assert TOKEN[7:].encode() not in clean
    assert found_in(tmp_path / "b.jsonl") == []
    assert path.read_bytes() == before
    events = [json.loads(line)["event"] for line in clean.splitlines() if b'"event":' in line]
    assert [event.get("delta") for event in events[1:5]] == ["it is ", SECRET_PLACEHOLDER, "", " indeed"]
    assert events[5]["content"] == f"it is {SECRET_PLACEHOLDER} indeed"
    assert clean.splitlines()[-4:] == before.splitlines()[-4:]


def test_the_header_says_which_file_it_was_and_what_that_said_of_itself(tmp_path: Path) -> None:
    old = {**HEADER, "recording_id": "a", "created_at": "2025-01-02", "redaction_version": 0, "match": "content"}
    path = write_file(tmp_path / "a.jsonl", [old, *text_call(0, TOKEN)])
    digest = hashlib.sha256(path.read_bytes()).hexdigest()

    done = clean_recording(path, tmp_path / "b.jsonl", accept)

    assert done.digest == digest
    assert header(tmp_path / "b.jsonl") == {
        **old,
        "recording_id": "b",
        "redaction_version": REDACTION_VERSION,
        "redacted_from": [{"sha256": digest, "recording_id": "a", "redaction_version": 0}],
    }


def test_a_file_that_is_cleaned_again_remembers_all_it_came_from(tmp_path: Path) -> None:
    path = write_file(tmp_path / "a.jsonl", [HEADER, *text_call(0, TOKEN)])
    first = clean_recording(path, tmp_path / "b.jsonl", accept)
    second = clean_recording(tmp_path / "b.jsonl", tmp_path / "c.jsonl", accept)
    assert second.places == 0
    assert [stone["sha256"] for stone in header(tmp_path / "c.jsonl")["redacted_from"]] == [first.digest, second.digest]


def test_the_new_file_is_private_and_as_old_as_the_recording(tmp_path: Path) -> None:
    path = write_file(tmp_path / "a.jsonl", [HEADER, *text_call(0, TOKEN)])
    path.chmod(0o644)
    os.utime(path, (1_700_000_000, 1_700_000_000))
    clean_recording(path, tmp_path / "b.jsonl", accept)
    found = (tmp_path / "b.jsonl").stat()
    assert (found.st_mode & 0o777, found.st_mtime) == (0o600, 1_700_000_000)


def test_interleaved_calls_keep_their_places(tmp_path: Path) -> None:
    one, two = text_call(0, "a ", TOKEN), text_call(1, "b ", TOKEN)
    lines = [HEADER, one[0], two[0], *(line for pair in zip(one[1:-1], two[1:-1], strict=True) for line in pair)]
    path = write_file(tmp_path / "a.jsonl", [*lines, two[-1], one[-1]])
    clean_recording(path, tmp_path / "b.jsonl", accept)
    # Events that wait for the end of a secret come later than those of the other call, as when they are recorded.
    new = [json.loads(line) for line in (tmp_path / "b.jsonl").read_bytes().splitlines()]
    assert [(line["type"], line.get("call_index")) for line in new[:5]] == [
        ("header", None),
        ("request", 0),
        ("request", 1),
        ("event", 0),
        ("event", 1),
    ]
    assert (new[-1]["type"], new[-1]["call_index"]) == ("call_end", 0)
    assert len(new) == len(path.read_bytes().splitlines())


def test_a_compressed_recording_becomes_a_plain_one_with_the_digest_of_its_lines(tmp_path: Path) -> None:
    plain = write_file(tmp_path / "p.jsonl", [HEADER, *text_call(0, TOKEN)]).read_bytes()
    path = write_compressed(tmp_path / "a.jsonl.zst", plain)
    done = clean_recording(path, tmp_path / "b.jsonl", accept)
    assert done.digest == hashlib.sha256(plain).hexdigest()
    assert found_in(tmp_path / "b.jsonl") == []


@settings(max_examples=60, deadline=None)
@given(calls())
def test_what_is_written_folds_to_the_redacted_message_and_scans_clean(
    tmp_path_factory: pytest.TempPathFactory, live: list[dict[str, Any]]
) -> None:
    folder = tmp_path_factory.mktemp("clean")
    lines = [event_line(0, index, **event) for index, event in enumerate(live)]
    path = write_file(folder / "a.jsonl", [HEADER, request_line(0), *lines, end_line(0, len(live))])
    clean_recording(path, folder / "b.jsonl", accept)
    (before,), (after,) = _events(path), _events(folder / "b.jsonl")
    assert [event["type"] for event in after] == [event["type"] for event in before]
    assert fold(after)["message"] == remove_secret_values(fold(before)["message"])
    assert found_in(folder / "b.jsonl") == []


def _events(path: Path) -> list[list[dict[str, Any]]]:
    from openprogram.pipeline.log.reader import open_recording

    with open_recording(path, accept) as recording:
        return [list(recording.events(index)) for index in range(recording.call_count)]


# ---- refused, and no file is left


def test_a_damaged_recording_is_refused_where_it_is_damaged(tmp_path: Path) -> None:
    path = write_file(tmp_path / "a.jsonl", [HEADER, *call_lines(0)[:-1]])
    with pytest.raises(RecordingFileError) as failure:
        clean_recording(path, tmp_path / "b.jsonl", check_event)
    assert str(failure.value) == str(refusal(path))
    assert os.listdir(tmp_path) == ["a.jsonl"]


def test_a_file_that_is_there_is_not_overwritten(tmp_path: Path) -> None:
    path = write_file(tmp_path / "a.jsonl", [HEADER, *call_lines(0)])
    (tmp_path / "b.jsonl").write_text("mine")
    with pytest.raises(RecordingFileError, match="exists already"):
        clean_recording(path, tmp_path / "b.jsonl", check_event)
    assert (tmp_path / "b.jsonl").read_text() == "mine"


def test_a_recording_that_goes_on_meanwhile_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_file(tmp_path / "a.jsonl", [HEADER, *call_lines(0)])
    digest = cleaning._digest

    def digest_and_go_on(*arguments: Any) -> str:
        with path.open("ab") as file:
            write_file(tmp_path / "more", call_lines(1))
            file.write((tmp_path / "more").read_bytes())
        return digest(*arguments)

    monkeypatch.setattr(cleaning, "_digest", digest_and_go_on)
    with pytest.raises(RecordingFileError, match="changed while it was read"):
        clean_recording(path, tmp_path / "b.jsonl", check_event)
    assert not (tmp_path / "b.jsonl").exists()
    assert len(read_calls(path)) == 2


def test_a_full_disk_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_file(tmp_path / "a.jsonl", [HEADER, *call_lines(0)])

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr(os, "writev", full)
    with pytest.raises(RecordingFileError, match="no space is left"):
        clean_recording(path, tmp_path / "b.jsonl", check_event)
    assert os.listdir(tmp_path) == ["a.jsonl"]
