"""Where openprogram keeps its state. Finding it reads the environment and nothing else.

`OPENPROGRAM_HOME`, or the platform's state folder, holds:

    config.json              what `openprogram config` and `openprogram recordings` change
    credentials.json         API keys, 0600; what `openprogram config set-key` stores
    recordings/<id>.jsonl    the managed recordings, or .jsonl.zst; the folder is 0700, files are 0600
    logs/openprogram.jsonl   structured logs, and one older file beside it
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from openprogram.errors import ConfigError

__all__ = ["HOME_VARIABLE", "Home", "find_home", "make_private_folder"]

HOME_VARIABLE = "OPENPROGRAM_HOME"


@dataclass(frozen=True)
class Home:
    """The state folder and the paths in it. None of them need exist.

    `folder`: absolute. `source`: where the choice came from, `OPENPROGRAM_HOME` or `default`.
    """

    folder: Path
    source: str

    @property
    def config_file(self) -> Path:
        """The configuration: JSON, see `openprogram.config`."""
        return self.folder / "config.json"

    @property
    def credentials_file(self) -> Path:
        """API keys by provider: JSON, see `openprogram.credentials`."""
        return self.folder / "credentials.json"

    @property
    def recordings_folder(self) -> Path:
        """The managed folder: the only place where commands delete."""
        return self.folder / "recordings"

    @property
    def log_file(self) -> Path:
        """The structured log, one JSON object a line."""
        return self.folder / "logs" / "openprogram.jsonl"


def find_home(environ: Mapping[str, str]) -> Home:
    """The state folder that `environ` chooses; an empty variable counts as unset.

    `~` is expanded, since a variable set in a file reaches us as written, and a relative path is taken from the
    current folder. Without the variable, platformdirs asks the system (on Linux, `XDG_STATE_HOME` included).
    Raises ConfigError: there is no such user, current folder, or home folder to start from.
    """
    chosen = environ.get(HOME_VARIABLE)
    if chosen:
        return Home(_absolute(Path(chosen)), HOME_VARIABLE)
    folder = platformdirs.user_state_path("openprogram", appauthor=False)
    if not folder.is_absolute():  # then it would be another one in every current folder
        raise _not_found(folder, "this user has no home folder")
    return Home(folder, "default")


def _absolute(chosen: Path) -> Path:
    try:
        return chosen.expanduser().absolute()
    except RuntimeError as error:
        raise _not_found(chosen, f"{HOME_VARIABLE} names a user without a home folder") from error
    except OSError as error:
        reason = f"{HOME_VARIABLE} is relative, and there is no current folder: {error.strerror}"
        raise _not_found(chosen, reason) from error


def _not_found(folder: Path, reason: str) -> ConfigError:
    return ConfigError(path=folder, reason=reason, next_step=f"Set {HOME_VARIABLE} to the absolute path of a folder.")


def make_private_folder(folder: Path) -> None:
    """Create `folder`, 0700, and the folders above it, where they are missing. Called only before a write.

    A folder that exists keeps its mode: it may be one that the user chose.
    Raises OSError: it can't be created, or something else stands there.
    """
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
