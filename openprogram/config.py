"""The configuration: one JSON file, validated when read, changed atomically.

    {"record_replay": {"mode": "record", "file": "/…/recordings/20250102-030405-ab12cd.jsonl"}}

It is read once when the runtime starts and applies from the next start on. No environment variable turns
recording on. Loading never creates anything. Keys that this release doesn't know are kept and reported.
"""

import json
import math
import os
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from openprogram.errors import ConfigError, UsageError
from openprogram.home import Home
from openprogram.state_file import exclusive_writer, open_regular_file, replace_content

__all__ = [
    "KEYS",
    "MAX_CONFIG_BYTES",
    "MODES",
    "Config",
    "LoadedConfig",
    "Mode",
    "Off",
    "Record",
    "RecordReplay",
    "RecordReplayConfig",
    "Replay",
    "load_config",
    "set_record_replay",
    "set_value",
    "update_config",
]

Mode: TypeAlias = Literal["off", "record", "replay"]
MODES: Final[tuple[Mode, ...]] = get_args(Mode)

#: What `openprogram config` gets and sets, dotted.
KEYS: Final = ("record_replay.mode", "record_replay.file")

#: A larger file isn't read, nor written. One with every key has a few hundred bytes.
MAX_CONFIG_BYTES: Final = 1024 * 1024


@dataclass(frozen=True)
class Off:
    """Provider calls are live and nothing is recorded."""


@dataclass(frozen=True)
class Record:
    """Provider calls are live and appended to `file`."""

    file: Path


@dataclass(frozen=True)
class Replay:
    """Provider calls are answered from `file`; nothing is live."""

    file: Path


#: What the runtime does with provider calls. Closed: a `match` over the three ends in `assert_never`.
RecordReplay: TypeAlias = Off | Record | Replay


class RecordReplayConfig(BaseModel):
    """`file`: which recording; kept while the mode is `off`, so that turning it on again is one word."""

    model_config = ConfigDict(frozen=True, extra="allow")

    mode: Mode = "off"
    file: str | None = Field(default=None, min_length=1)

    @field_validator("file")
    @classmethod
    def _has_no_nul(cls, file: str | None) -> str | None:
        if file is not None and "\0" in file:
            raise ValueError("a path can't hold a NUL character")
        return file

    @model_validator(mode="after")
    def _has_a_file_where_it_needs_one(self) -> "RecordReplayConfig":
        if self.mode != "off" and self.file is None:
            raise ValueError(f"mode {self.mode!r} needs a file")
        return self


class Config(BaseModel):
    """Everything that can be configured, with defaults for what the file leaves out."""

    model_config = ConfigDict(frozen=True, extra="allow")

    record_replay: RecordReplayConfig = Field(default_factory=RecordReplayConfig)


@dataclass(frozen=True)
class LoadedConfig:
    """A valid configuration and where it came from.

    `path`: the file, which may be missing. `raw`: its content as it stands, `{}` for a missing file.
    """

    path: Path
    config: Config
    raw: dict[str, Any]

    @property
    def file(self) -> Path | None:
        """The configured recording, whatever the mode; a relative path starts at the config file's folder."""
        file = self.config.record_replay.file
        return None if file is None else self.path.parent / file

    @property
    def record_replay(self) -> RecordReplay:
        """The mode as a value to `match` on."""
        if self.file is None or self.config.record_replay.mode == "off":
            return Off()
        return Record(self.file) if self.config.record_replay.mode == "record" else Replay(self.file)

    def value(self, key: str) -> str | None:
        """The value of one of KEYS as it is in the file, or its default."""
        section, name = key.split(".")
        value: str | None = getattr(getattr(self.config, section), name)
        return value

    def source(self, key: str) -> str:
        """Where the value of one of KEYS comes from: `config file` or `default`."""
        section, name = key.split(".")
        return "config file" if name in self.raw.get(section, {}) else "default"

    @property
    def unknown_keys(self) -> list[str]:
        """Dotted names of keys that this release doesn't know, sorted. They are kept and have no effect."""
        nested = self.config.record_replay.model_extra or {}
        return sorted([*(self.config.model_extra or {}), *(f"record_replay.{key}" for key in nested)])


def load_config(home: Home) -> LoadedConfig:
    """The configuration in `home`; a missing file means defaults. Creates nothing.

    Raises ConfigError: the file can't be read, is too large, isn't JSON, or a field isn't valid.
    """
    path = home.config_file
    raw = _read(path)
    return LoadedConfig(path, _validate(path, raw), raw)


def update_config(home: Home, change: Callable[[dict[str, Any]], None]) -> LoadedConfig:
    """Read, let `change` edit the raw content, validate and write, with no other writer in between.

    Where `change` raises, or what it makes isn't valid, the file stays as it was.
    Raises ConfigError: as `load_config`, or the file can't be locked or written.
    """
    path = home.config_file
    try:
        with exclusive_writer(path):
            raw = _read(path)
            _validate(path, raw)  # a damaged file isn't overwritten: it may hold what the user wants back
            change(raw)
            config = _validate(path, raw)
            replace_content(path, _dump(path, raw))
    except RecursionError as error:  # deeper than Python follows, though the C reader took it
        raise _damaged(path, "nested too deeply to be changed") from error
    except OSError as error:
        raise ConfigError(
            path=path,
            reason=f"can't be written: {error.strerror}",
            next_step="Check the folder's permissions and free space, or choose another with OPENPROGRAM_HOME.",
        ) from error
    return LoadedConfig(path, config, raw)


def set_value(raw: dict[str, Any], key: str, value: str) -> None:
    """Edit raw content for `update_config`: one of KEYS, with its value as text.

    Raises UsageError: no such key, or a value that isn't valid there; `raw` is as it was.
    """
    if key not in KEYS:
        raise UsageError(f"{key!r} is not a setting", next_step=f"One of: {', '.join(KEYS)}.")
    section, name = key.split(".")
    changed = deepcopy(raw)
    changed.setdefault(section, {})[name] = value
    try:
        Config.model_validate(changed)
    except ValidationError as error:
        raise UsageError(f"{key} can't be {value!r}: {_first_defect(error)[1]}") from error
    raw.update(changed)


def set_record_replay(raw: dict[str, Any], value: RecordReplay) -> None:
    """Edit raw content for `update_config`. `Off` leaves the file's name in it."""
    section = raw.setdefault("record_replay", {})
    match value:
        case Off():
            section["mode"] = "off"
        case Record(file):
            section.update(mode="record", file=str(file))
        case Replay(file):
            section.update(mode="replay", file=str(file))


# ---- reading and writing


def _dump(path: Path, raw: dict[str, Any]) -> bytes:
    content = json.dumps(raw, indent=2).encode() + b"\n"
    if len(content) > MAX_CONFIG_BYTES:  # indented, it can be several times what was read
        raise _too_large(path)
    return content


def _read(path: Path) -> dict[str, Any]:
    try:
        content = _read_content(path)
        raw = json.loads(content, parse_constant=_refuse_constant, parse_float=_parse_float)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConfigError(
            path=path, reason=f"can't be read: {error.strerror}", next_step="Check what stands there, or move it away."
        ) from error
    except json.JSONDecodeError as error:
        raise _damaged(path, f"not valid JSON: {error.msg}, column {error.colno}", error.lineno) from error
    except UnicodeDecodeError as error:
        raise _damaged(path, "not UTF-8") from error
    except (ValueError, RecursionError) as error:
        raise _damaged(path, f"not valid JSON: {error}") from error
    if not isinstance(raw, dict):
        raise _damaged(path, "not a JSON object")
    return raw


def _read_content(path: Path) -> bytes:
    # A symlink is followed, here as when the file is replaced.
    with os.fdopen(open_regular_file(path, os.O_RDONLY), "rb") as stream:
        content = stream.read(MAX_CONFIG_BYTES + 1)
    if len(content) > MAX_CONFIG_BYTES:
        raise _too_large(path)
    return content


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _parse_float(text: str) -> float:
    number = float(text)
    if math.isinf(number):  # written back it would be `Infinity`, and the file unreadable
        raise ValueError(f"{text[:40]} is too large a number")
    return number


def _too_large(path: Path) -> ConfigError:
    return _damaged(path, f"larger than {MAX_CONFIG_BYTES} bytes")


def _damaged(path: Path, reason: str, line_number: int | None = None) -> ConfigError:
    return ConfigError(
        path=path,
        reason=reason,
        line_number=line_number,
        next_step=f"Correct the file, or delete it to start with defaults (recording off): {path}",
    )


def _validate(path: Path, raw: dict[str, Any]) -> Config:
    try:
        return Config.model_validate(raw)
    except ValidationError as error:
        field, reason = _first_defect(error)
        raise ConfigError(
            path=path, reason=reason, field=field, next_step="Correct that field in the file, or delete the file."
        ) from error


def _first_defect(error: ValidationError) -> tuple[str, str]:
    """The field, dotted, and what is wrong with it."""
    first = error.errors(include_url=False)[0]
    return ".".join(str(part) for part in first["loc"]), first["msg"].removeprefix("Value error, ")
