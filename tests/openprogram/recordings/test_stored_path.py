"""A path that names a recording of which the compressed form alone is there: every door opens that, and only that."""

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from openprogram.config import Record, Replay, load_config, set_record_replay, update_config
from openprogram.errors import RecordingNotFound, RecordingRefused
from openprogram.home import Home
from openprogram.pipeline.errors import RecordingFileError
from openprogram.pipeline.log.convert import compress_recording
from openprogram.pipeline.log.source import stored_path
from openprogram.pipeline.log.writer import RecordingSink
from openprogram.providers.recording import RecordingProvider
from openprogram.providers.replay import ReplayProvider, read_recording_file
from openprogram.providers.scripted import ScriptedProvider
from openprogram.providers.types import Context, Model, UserMessage
from openprogram.recordings.activation import read_status
from openprogram.recordings.listing import list_recordings
from openprogram.recordings.names import find_managed
from openprogram.recordings.reading import event_check
from openprogram.recordings.removal import plan_delete
from tests.openprogram.cli.command import Command
from tests.openprogram.recording_files import write_recording

MODEL = Model(id="small-1", api="scripted", provider="example")


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return Command(tmp_path / "state", monkeypatch, capsys)


def packed(plain: Path, *, keep: bool = False, calls: int = 2) -> Path:
    """A recording, compressed; the plain file is gone, but for `keep`."""
    write_recording(plain, calls=calls)
    target = plain.with_name(plain.name + ".zst")
    compress_recording(plain, target, event_check())
    if not keep:
        plain.unlink()
    return target


def test_of_two_names_the_plain_file_counts_and_no_third_name_is_ever_tried(tmp_path: Path) -> None:
    plain = tmp_path / "a.jsonl"
    compressed = packed(plain, keep=True)
    for other in ("a.zst", "a", "a.jsonl.zst.zst", "b.jsonl.zst"):
        (tmp_path / other).write_bytes(compressed.read_bytes())
    assert stored_path(plain) == plain
    plain.unlink()
    assert stored_path(plain) == compressed
    compressed.unlink()
    assert stored_path(plain) == plain
    assert stored_path(compressed) == compressed  # not `a.jsonl.zst.zst`
    write_recording(plain)
    assert stored_path(compressed) == compressed  # whoever names the compressed file means it


@pytest.mark.parametrize("odd", ["", ".", "..", "/", "a\0b", "x" * 254, "none/a.jsonl", "\udc80"])
def test_a_path_that_can_name_no_recording_is_the_same_error_as_ever(odd: str) -> None:
    with pytest.raises(RecordingFileError) as failure:
        ReplayProvider(odd)
    assert failure.value.path == Path(odd)


def test_a_plain_file_that_cannot_be_read_is_not_passed_over(tmp_path: Path) -> None:
    """A damaged one, an empty one, a link to nothing: it is there, and its error is told."""
    compressed = packed(tmp_path / "a.jsonl")
    plain = tmp_path / "a.jsonl"
    for make in (plain.touch, lambda: plain.write_text("{"), lambda: plain.symlink_to("gone"), plain.mkdir):
        make()
        with pytest.raises(RecordingFileError) as failure:
            ReplayProvider(plain)
        assert failure.value.path == plain
        if plain.is_dir() and not plain.is_symlink():
            plain.rmdir()
        else:
            plain.unlink()
    compressed.write_bytes(compressed.read_bytes()[:-3])
    with pytest.raises(RecordingFileError) as failure:
        ReplayProvider(plain)
    assert failure.value.path == compressed  # what is told is which file is damaged


def test_replay_answers_from_the_compressed_form_and_says_which_file_it_reads(tmp_path: Path) -> None:
    compressed = packed(tmp_path / "a.jsonl")
    with read_recording_file(tmp_path / "a.jsonl") as recording:
        assert (recording.path, recording.call_count) == (compressed, 2)

    async def replay(provider: ReplayProvider) -> list[str]:
        return [
            (await provider.stream(MODEL, Context(messages=[UserMessage(content="hi")]))).text
            for _ in range(provider.call_count)
        ]

    with ReplayProvider(str(tmp_path / "a.jsonl")) as provider:
        assert asyncio.run(replay(provider)) == ["hello", "hello"]
        provider.assert_consumed()


def test_recording_into_it_is_refused_and_no_second_recording_begins_beside_it(tmp_path: Path) -> None:
    compressed = packed(tmp_path / "a.jsonl")
    with pytest.raises(RecordingFileError, match="cannot record into a compressed recording") as failure:
        RecordingProvider(ScriptedProvider([]), tmp_path / "a.jsonl")
    assert (failure.value.path, list(tmp_path.iterdir())) == (compressed, [compressed])
    assert f"recordings expand {compressed}" in (failure.value.next_step or "")


READ: dict[str, Callable[[str], tuple[str, ...]]] = {
    "show": lambda given: ("show", given, "--json"),
    "show content": lambda given: ("show", given, "--call", "1", "--content"),
    "replay": lambda given: ("replay", given),
    "check": lambda given: ("check", given if given.startswith(".") else f"../state/recordings/{given}"),
    "repair": lambda given: ("repair", given),
    "scan": lambda given: ("scan", given),
    "redact": lambda given: ("redact", given),
    "diff": lambda given: ("diff", given, given),
    "expand": lambda given: ("expand", given),
}


@pytest.mark.parametrize("name", READ)
@pytest.mark.parametrize("given", ["./a.jsonl", "a.jsonl"], ids=["a path", "a managed name"])
def test_every_command_that_reads_takes_the_plain_name(command: Command, name: str, given: str) -> None:
    folder = Path.cwd() if given.startswith(".") else command.home.recordings_folder
    compressed = packed(folder / "a.jsonl")
    done = command.done("recordings", *READ[name](given))
    if name == "show":
        assert json.loads(done.out)["path"] == str(compressed)


class OtherFormMeanwhile:
    """Another program's turn: just before this process opens `path`, `aside` becomes `other`, and `path` goes away."""

    def __init__(self, path: Path, aside: Path, other: Path) -> None:
        self.path, self.aside, self.other = path, aside, other
        self.done = False
        sys.addaudithook(self._noticed)  # for as long as the process lives: it acts once

    def _noticed(self, event: str, arguments: tuple[object, ...]) -> None:
        if event == "open" and not self.done and str(arguments[0]) == str(self.path):
            self.done = True
            self.aside.rename(self.other)
            self.path.unlink()


def test_a_recording_that_is_compressed_as_it_is_opened_to_append_is_not_begun_anew_beside_it(tmp_path: Path) -> None:
    plain = tmp_path / "a.jsonl"
    compressed, aside = packed(plain, keep=True), tmp_path / "aside"
    compressed.rename(aside)
    turn = OtherFormMeanwhile(plain, aside, compressed)
    with pytest.raises(RecordingFileError, match="cannot record into a compressed recording"):
        RecordingSink(plain)
    assert turn.done
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl.zst"]


@pytest.mark.parametrize("begins_as", ["plain", "compressed"])
def test_a_recording_that_changes_its_form_as_it_is_opened_is_read(tmp_path: Path, begins_as: str) -> None:
    plain, aside = tmp_path / "a.jsonl", tmp_path / "aside"
    compressed = packed(plain, keep=True)
    first, second = (plain, compressed) if begins_as == "plain" else (compressed, plain)
    second.rename(aside)
    turn = OtherFormMeanwhile(first, aside, second)
    assert len(read_recording_file(plain).calls) == 2
    assert turn.done


def test_what_is_compressed_is_not_compressed_again(command: Command) -> None:
    packed(Path("a.jsonl"))
    assert "a.jsonl.zst: is compressed already" in command("recordings", "compress", "./a.jsonl").err
    assert [path.name for path in Path.cwd().iterdir()] == ["a.jsonl.zst"]


def test_an_id_is_not_taken_for_another_file_of_the_current_folder(command: Command) -> None:
    managed = write_recording(command.home.recordings_folder / "a.jsonl")
    Path("a.zst").write_bytes(b"not ours")
    assert json.loads(command.done("recordings", "show", "a", "--json").out)["path"] == str(managed)


def test_the_name_of_the_plain_file_deletes_no_compressed_one(command: Command) -> None:
    compressed = packed(command.home.recordings_folder / "a.jsonl")
    for given in ("a.jsonl", str(command.home.recordings_folder / "a.jsonl")):
        with pytest.raises(RecordingNotFound) as failure:
            find_managed(command.home, given)
        assert "Did you mean a?" in (failure.value.next_step or "")
    assert find_managed(command.home, "a") == compressed


def test_what_the_configuration_replays_is_the_compressed_form_and_is_active(command: Command) -> None:
    home: Home = command.home
    plain = home.recordings_folder / "a.jsonl"
    packed(plain)
    update_config(home, lambda raw: set_record_replay(raw, Replay(plain)))
    assert (read_status(home).usable, read_status(home).call_count) == (True, 2)
    assert [listed.active for listed in list_recordings(home, load_config(home))] == [True]
    with pytest.raises(RecordingRefused, match="is the active recording"):
        plan_delete(home, "a")
    update_config(home, lambda raw: set_record_replay(raw, Record(plain)))
    status = read_status(home)
    assert (status.usable, "cannot record into a compressed" in (status.reason or "")) == (False, True)


def test_a_scenario_takes_the_plain_name_of_its_recording(command: Command) -> None:
    command.done("scenarios", "new", "first")
    settings = Path("first/scenario.toml")
    settings.write_text(settings.read_text().replace('script = "script.json"', 'recording = "session.jsonl"'))
    assert "session.jsonl is not there" in command("scenarios", "check", "first").out
    packed(Path("first/session.jsonl"))
    assert "is not there" not in command("scenarios", "check", "first").out
    assert "replay mismatch at call 0" in command("scenarios", "replay", "first").err  # it was opened
