import json
import multiprocessing
import os
from pathlib import Path
from typing import Any

import pytest

from openprogram.config import (
    MAX_CONFIG_BYTES,
    Off,
    Record,
    Replay,
    load_config,
    set_record_replay,
    set_value,
    update_config,
)
from openprogram.errors import ConfigError, UsageError
from openprogram.home import Home
from tests.openprogram.not_regular import NOT_REGULAR


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "state", "OPENPROGRAM_HOME")


def write_config(home: Home, content: str) -> Path:
    home.folder.mkdir(exist_ok=True)
    home.config_file.write_text(content, encoding="utf-8")
    return home.config_file


def test_a_missing_file_means_off_and_loading_creates_nothing(home: Home) -> None:
    config = load_config(home)

    assert config.record_replay == Off()
    assert config.source("record_replay.mode") == "default"
    assert not home.folder.exists()


@pytest.mark.parametrize(("mode", "value"), [("record", Record), ("replay", Replay)])
def test_the_mode_is_a_value_to_match_on(home: Home, mode: str, value: type) -> None:
    write_config(home, json.dumps({"record_replay": {"mode": mode, "file": "/r/x.jsonl"}}))

    assert load_config(home).record_replay == value(Path("/r/x.jsonl"))


def test_off_keeps_the_files_name(home: Home) -> None:
    update_config(home, lambda raw: set_record_replay(raw, Record(Path("/r/x.jsonl"))))
    config = update_config(home, lambda raw: set_record_replay(raw, Off()))

    assert config.record_replay == Off()
    assert config.file == load_config(home).file == Path("/r/x.jsonl")


def test_a_relative_file_starts_at_the_config_files_folder(home: Home) -> None:
    write_config(home, '{"record_replay": {"mode": "replay", "file": "recordings/x.jsonl"}}')

    assert load_config(home).record_replay == Replay(home.folder / "recordings" / "x.jsonl")


@pytest.mark.parametrize(
    ("content", "line_number", "field", "reason"),
    [
        ('{\n"record_replay": }', 2, None, "not valid JSON"),
        ("", 1, None, "not valid JSON"),
        ("[]", None, None, "not a JSON object"),
        ('{"x": NaN}', None, None, "NaN is not JSON"),
        ("[" * 100_000, None, None, "not valid JSON"),
        ('{"record_replay": []}', None, "record_replay", ""),
        ('{"record_replay": {"mode": "on"}}', None, "record_replay.mode", "'off', 'record' or 'replay'"),
        ('{"record_replay": {"file": 5}}', None, "record_replay.file", "string"),
        ('{"record_replay": {"file": ""}}', None, "record_replay.file", "at least 1 character"),
        ('{"record_replay": {"file": "a\\u0000b"}}', None, "record_replay.file", "NUL"),
        ('{"record_replay": {"mode": "record"}}', None, "record_replay", "mode 'record' needs a file"),
    ],
)
def test_a_damaged_file_is_an_error_that_names_the_place_and_the_next_step(
    home: Home, content: str, line_number: int | None, field: str | None, reason: str
) -> None:
    path = write_config(home, content)

    with pytest.raises(ConfigError) as failure:
        load_config(home)

    assert (failure.value.path, failure.value.line_number, failure.value.field) == (path, line_number, field)
    assert reason in failure.value.reason
    assert failure.value.next_step


def test_bytes_that_are_not_utf_8_are_an_error(home: Home) -> None:
    write_config(home, "").write_bytes(b'{"x": "\xff\xfe\xfd"}')

    with pytest.raises(ConfigError, match="not UTF-8"):
        load_config(home)


def test_a_folder_where_the_file_should_be_is_an_error(home: Home) -> None:
    home.config_file.mkdir(parents=True)

    with pytest.raises(ConfigError, match="can't be read: Is a directory"):
        load_config(home)


def test_a_damaged_file_is_never_overwritten(home: Home) -> None:
    path = write_config(home, "{ damaged")

    with pytest.raises(ConfigError):
        update_config(home, lambda raw: set_record_replay(raw, Off()))

    assert path.read_text() == "{ damaged"


def test_unknown_keys_are_reported_and_survive_a_change(home: Home) -> None:
    write_config(home, '{"later": {"a": [1, null]}, "record_replay": {"color": "red"}}')

    config = update_config(home, lambda raw: set_record_replay(raw, Record(Path("/r/x.jsonl"))))

    assert config.unknown_keys == ["later", "record_replay.color"]
    assert json.loads(home.config_file.read_text()) == {
        "later": {"a": [1, None]},
        "record_replay": {"color": "red", "mode": "record", "file": "/r/x.jsonl"},
    }


def test_the_file_is_private_and_nothing_else_is_left_beside_it(home: Home) -> None:
    update_config(home, lambda raw: set_record_replay(raw, Record(Path("/r/x.jsonl"))))

    assert home.config_file.stat().st_mode & 0o777 == 0o600
    assert home.folder.stat().st_mode & 0o777 == 0o700
    assert sorted(path.name for path in home.folder.iterdir()) == ["config.json", "config.json.lock"]


def test_a_change_that_raises_leaves_the_file_as_it_was(home: Home) -> None:
    path = write_config(home, '{"record_replay": {"mode": "off"}}')

    def change(raw: dict[str, Any]) -> None:
        raw["record_replay"]["mode"] = "record"
        raise RuntimeError("changed my mind")

    with pytest.raises(RuntimeError):
        update_config(home, change)

    assert path.read_text() == '{"record_replay": {"mode": "off"}}'


def test_a_file_that_cannot_be_replaced_is_an_error_and_leaves_no_temporary(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_config(home, "{}")

    def refuse(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(ConfigError, match="can't be written: No space left on device"):
        update_config(home, lambda raw: set_record_replay(raw, Off()))

    assert path.read_text() == "{}"
    assert sorted(found.name for found in home.folder.iterdir()) == ["config.json", "config.json.lock"]


def test_a_state_folder_that_cannot_be_created_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(ConfigError, match="can't be written"):
        update_config(Home(tmp_path / "file" / "state", "default"), lambda raw: set_record_replay(raw, Off()))


def test_a_symlinked_config_file_stays_a_symlink(home: Home, tmp_path: Path) -> None:
    elsewhere = tmp_path / "dotfiles.json"
    elsewhere.write_text("{}")
    home.folder.mkdir()
    home.config_file.symlink_to(elsewhere)

    update_config(home, lambda raw: set_record_replay(raw, Off()))

    assert home.config_file.is_symlink()
    assert json.loads(elsewhere.read_text()) == {"record_replay": {"mode": "off"}}


def _count_up(folder: Path, name: str, times: int) -> None:
    def add_one(raw: dict[str, Any]) -> None:
        raw[name] = raw.get(name, 0) + 1
        raw["all"] = raw.get("all", 0) + 1

    for _ in range(times):
        update_config(Home(folder, "default"), add_one)


def test_processes_that_write_at_once_lose_no_change(home: Home) -> None:
    spawn = multiprocessing.get_context("spawn")
    writers = [spawn.Process(target=_count_up, args=(home.folder, f"writer{n}", 20)) for n in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)

    raw = json.loads(home.config_file.read_text())
    assert [writer.exitcode for writer in writers] == [0, 0, 0, 0]
    assert raw == {"all": 80, **{f"writer{n}": 20 for n in range(4)}}


def test_a_lock_that_is_never_released_ends_in_an_error(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openprogram.state_file.LOCK_PATIENCE_S", 0.05)

    def change_again(raw: dict[str, Any]) -> None:
        update_config(home, lambda raw: None)

    with pytest.raises(ConfigError, match="another process has been changing it"):
        update_config(home, change_again)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("record_replay.mode", "on"),
        ("record_replay.mode", "record"),
        ("record_replay.file", ""),
        ("record_replay", "off"),
        ("other.key", "x"),
        ("mode", "off"),
    ],
)
def test_setting_what_is_not_valid_changes_nothing(key: str, value: str) -> None:
    raw: dict[str, Any] = {"record_replay": {"mode": "off"}}

    with pytest.raises(UsageError):
        set_value(raw, key, value)

    assert raw == {"record_replay": {"mode": "off"}}


def test_setting_a_value_keeps_its_neighbours() -> None:
    raw: dict[str, Any] = {"record_replay": {"mode": "off", "file": "/r/x.jsonl", "color": "red"}}

    set_value(raw, "record_replay.mode", "replay")

    assert raw == {"record_replay": {"mode": "replay", "file": "/r/x.jsonl", "color": "red"}}


@pytest.mark.parametrize("stands", NOT_REGULAR)
def test_what_is_no_file_is_an_error_at_once_and_is_left_alone(home: Home, stands: str) -> None:
    home.folder.mkdir()
    NOT_REGULAR[stands](home.config_file)
    before = home.config_file.lstat()

    with pytest.raises(ConfigError, match="can't be read") as failure:
        load_config(home)
    with pytest.raises(ConfigError):
        update_config(home, lambda raw: set_record_replay(raw, Off()))

    assert failure.value.next_step
    assert home.config_file.lstat().st_ino == before.st_ino


@pytest.mark.parametrize("stands", NOT_REGULAR)
def test_what_stands_where_the_lock_should_be_is_an_error_and_changes_nothing(home: Home, stands: str) -> None:
    path = write_config(home, "{}")
    NOT_REGULAR[stands](path.with_name("config.json.lock"))

    with pytest.raises(ConfigError, match="can't be written"):
        update_config(home, lambda raw: set_record_replay(raw, Off()))

    assert path.read_text() == "{}"


def test_a_file_that_is_too_large_is_an_error_and_not_read_whole(home: Home) -> None:
    path = write_config(home, "")
    os.truncate(path, 1 << 40)  # sparse

    with pytest.raises(ConfigError, match=f"larger than {MAX_CONFIG_BYTES} bytes"):
        load_config(home)


HARD_TO_WRITE_BACK = {
    "too large with indents": '{"a": [' + ", ".join(["[0]"] * 150_000) + "]}",
    "infinite": '{"a": 1e999}',
    "deep": '{"a": ' + "[" * 950 + "]" * 950 + "}",
    "long number": '{"a": ' + "9" * 5000 + "}",
    "lone surrogate": '{"a": "\\ud800"}',
}


@pytest.mark.parametrize("content", HARD_TO_WRITE_BACK.values(), ids=HARD_TO_WRITE_BACK)
def test_a_change_leaves_a_file_that_can_be_read_or_the_old_one(home: Home, content: str) -> None:
    path = write_config(home, content)
    try:
        update_config(home, lambda raw: set_value(raw, "record_replay.file", "/r/x.jsonl"))
    except ConfigError:
        assert path.read_text() == content
    else:
        assert load_config(home).file == Path("/r/x.jsonl")
