from pathlib import Path

import platformdirs
import pytest

from openprogram.errors import ConfigError
from openprogram.home import find_home, make_private_folder


def test_the_variable_chooses_the_folder() -> None:
    home = find_home({"OPENPROGRAM_HOME": "/somewhere"})

    assert (home.folder, home.source) == (Path("/somewhere"), "OPENPROGRAM_HOME")
    assert home.config_file == Path("/somewhere/config.json")
    assert home.recordings_folder == Path("/somewhere/recordings")
    assert home.log_file == Path("/somewhere/logs/openprogram.jsonl")


@pytest.mark.parametrize("environ", [{}, {"OPENPROGRAM_HOME": ""}], ids=["unset", "empty"])
def test_without_the_variable_it_is_the_platforms_state_folder(environ: dict[str, str]) -> None:
    home = find_home(environ)

    assert (home.folder, home.source) == (platformdirs.user_state_path("openprogram", appauthor=False), "default")


def test_a_tilde_and_a_relative_path_become_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/someone")

    assert find_home({"OPENPROGRAM_HOME": "~/state"}).folder == Path("/home/someone/state")
    assert find_home({"OPENPROGRAM_HOME": "state"}).folder == tmp_path / "state"


def test_finding_a_home_creates_nothing(tmp_path: Path) -> None:
    find_home({"OPENPROGRAM_HOME": str(tmp_path / "state")})

    assert list(tmp_path.iterdir()) == []


def test_a_private_folder_is_0700_and_one_that_exists_keeps_its_mode(tmp_path: Path) -> None:
    make_private_folder(tmp_path / "a" / "b")
    (tmp_path / "open").mkdir(mode=0o755)
    make_private_folder(tmp_path / "open")

    assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "open").stat().st_mode & 0o777 == 0o755


def test_a_user_who_does_not_exist_is_an_error_that_names_the_variable() -> None:
    with pytest.raises(ConfigError, match="OPENPROGRAM_HOME names a user") as failure:
        find_home({"OPENPROGRAM_HOME": "~no-such-user/state"})

    assert failure.value.path == Path("~no-such-user/state")
    assert failure.value.next_step


def test_a_relative_path_without_a_current_folder_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()

    with pytest.raises(ConfigError, match="there is no current folder") as failure:
        find_home({"OPENPROGRAM_HOME": "state"})

    assert failure.value.next_step


def test_a_default_that_would_depend_on_the_current_folder_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platformdirs, "user_state_path", lambda *_, **__: Path("~/.local/state/openprogram"))

    with pytest.raises(ConfigError, match="no home folder"):
        find_home({})
