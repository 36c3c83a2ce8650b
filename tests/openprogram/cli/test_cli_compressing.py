import json
from pathlib import Path

import pytest

from openprogram.recordings.names import managed_path
from tests.openprogram.cli.command import Command, run_process
from tests.openprogram.recording_files import write_recording


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return Command(tmp_path / "state", monkeypatch, capsys)


def test_a_recording_is_compressed_replayed_and_expanded(command: Command) -> None:
    path = write_recording(managed_path(command.home, "first"), calls=2)
    content = path.read_bytes()

    done = command.done("recordings", "compress", "first")

    assert done.out.splitlines()[1] == f"removed {path}"
    size = Path(f"{path}.zst").stat().st_size
    assert (
        done.out.splitlines()[0]
        == f"wrote {path}.zst: 2 calls, {len(content) / 1000:.1f} KB plain, {size} B compressed"
    )
    assert command.done("recordings", "replay", "first").out == f"replaying {path}.zst: 2 calls\n"
    command.done("recordings", "off")
    command.done("recordings", "expand", "first.jsonl.zst")
    assert path.read_bytes() == content
    assert not Path(f"{path}.zst").exists()


def test_lists_show_what_is_compressed(command: Command) -> None:
    path = write_recording(managed_path(command.home, "first"), calls=2)
    size = path.stat().st_size
    write_recording(managed_path(command.home, "second"))
    command.done("recordings", "compress", "first")

    first, second = json.loads(command.done("recordings", "list", "--json").out)

    assert (first["id"], first["path"], first["compressed"], first["valid"]) == ("first", f"{path}.zst", True, True)
    assert first["size_bytes"] == Path(f"{path}.zst").stat().st_size
    assert (second["id"], second["compressed"]) == ("second", False)
    shown = json.loads(command.done("recordings", "show", "first", "--json", "--content").out)
    assert (shown["compressed"], shown["size_bytes"], shown["content_bytes"]) == (True, first["size_bytes"], size)
    assert [content["call_index"] for content in shown["content"]] == [0, 1]
    listed = command.done("recordings", "list").out.splitlines()
    assert listed[1].rstrip().endswith("compressed")
    assert not listed[2].rstrip().endswith("compressed")
    assert " compressed, " in command.done("recordings", "show", "first").out.splitlines()[1]


def test_a_path_elsewhere_keeps_its_file_and_the_note_says_why(command: Command) -> None:
    path = write_recording(Path.cwd() / "local.jsonl")

    done = command.done("recordings", "compress", "local.jsonl")

    why, advice = done.err.splitlines()
    assert why == f"The old file stays as it is, for it is not in the recordings folder: {path}"
    assert (path.exists(), "its name then means the compressed file" in advice) == (True, True)
    path.unlink()
    assert "local.jsonl.zst" in command.done("recordings", "show", "local.jsonl").out
    assert command.done("recordings", "expand", "local.jsonl").err.count("\n") == 1
    kept = write_recording(managed_path(command.home, "first"))
    assert command.done("recordings", "compress", "first", "--keep").err == f"The old file stays as it is: {kept}\n"


def test_what_is_refused_exits_with_1_and_what_to_do(command: Command) -> None:
    path = write_recording(managed_path(command.home, "first"))
    command.done("recordings", "replay", "first")
    finished = command("recordings", "compress", "first")
    assert (finished.code, finished.out) == (1, "")
    assert finished.err.splitlines()[0] == f"error: {path}: is the active recording (mode replay)"
    assert command("recordings", "expand", "first").code == 1
    assert command("recordings", "compress", "nothing").code == 1
    assert command("recordings", "compress").code == 2


def test_the_commands_work_in_a_fresh_process(tmp_path: Path) -> None:
    path = write_recording(tmp_path / "recordings" / "first.jsonl")
    assert run_process(tmp_path, "recordings", "compress", "first").code == 0
    assert run_process(tmp_path, "recordings", "show", "first").code == 0
    assert run_process(tmp_path, "recordings", "expand", "first").code == 0
    assert path.exists()
