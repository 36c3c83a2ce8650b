"""What is set for a test, and by whom: the marker, the command line, the nearest conftest.py, the ini file.

The first that says something counts. What none of them says of matching is the project's, in its pyproject.toml, which
is read when a test is recorded. docs/how-to/pytest.md has the table.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from openprogram.pytest_plugin.names import recording_path

__all__ = ["ItemSettings", "item_settings"]

_MARKER_SETTINGS: Final = ("path", "loopback", "match", "volatile")
_CONFTEST_SETTINGS: Final = ("folder", "loopback", "match", "volatile")


@dataclass(frozen=True)
class ItemSettings:
    """`path`: the recording. `folder`: the name of the folder for recordings without a path of their own.

    `loopback`: a replay may connect to this machine.
    `match`, `volatile`: how a new recording is matched, as in `RecordingProvider`; None is the project's.
    """

    path: Path
    folder: str
    loopback: bool
    match: str | None = None
    volatile: tuple[str, ...] | None = None


def item_settings(item: pytest.Item) -> ItemSettings:
    """What is set for that test. Raises pytest.UsageError: an unknown setting, or a value of the wrong kind."""
    marked, conftest = _marked(item), _conftest(item)
    command_line = {"loopback": True} if item.config.getoption("recording_loopback") else {}
    ini = {"folder": item.config.getini("recording_folder"), "loopback": item.config.getini("recording_loopback")}
    chosen: dict[str, Any] = {**ini, **conftest, **command_line, **marked}
    given = None if (path := chosen.get("path")) is None else _path("path", path)
    folder = _folder(chosen["folder"])
    return ItemSettings(
        path=recording_path(item, given, folder),
        folder=folder,
        loopback=_yes_or_no("loopback", chosen["loopback"]),
        match=chosen.get("match"),
        volatile=_texts("volatile", chosen.get("volatile")),
    )


def _marked(item: pytest.Item) -> Mapping[str, Any]:
    found: dict[str, Any] = {}
    for marker in item.iter_markers("recording"):  # the nearest first: the function's, its class's, its module's
        if len(marker.args) > 1:
            raise pytest.UsageError(f"{item.nodeid}: @pytest.mark.recording takes one path, not {len(marker.args)}")
        given = {**dict(zip(("path",), marker.args, strict=False)), **marker.kwargs}
        found = {**_known(given, _MARKER_SETTINGS, f"{item.nodeid}: @pytest.mark.recording"), **found}
    return found


def _conftest(item: pytest.Item) -> Mapping[str, Any]:
    given = item.ihook.pytest_openprogram_settings(item=item)
    return _known(given or {}, _CONFTEST_SETTINGS, "pytest_openprogram_settings")


def _known(given: Mapping[str, Any], names: tuple[str, ...], where: str) -> Mapping[str, Any]:
    for name in given:
        if name not in names:
            raise pytest.UsageError(f"{where}: unknown setting {name!r}; there are {', '.join(names)}")
    return given


def _path(name: str, value: object) -> str:
    if isinstance(value, str | Path):
        return str(value)
    raise pytest.UsageError(f"recording: {name} is {value!r}: it must be a path")


def _folder(value: object) -> str:
    folder = _path("folder", value)
    if Path(folder).is_absolute() or ".." in Path(folder).parts:  # two modules of one name would share it
        raise pytest.UsageError(f"recording: folder is {folder!r}: it must be a name for a folder beside the test file")
    return folder


def _texts(name: str, value: object) -> tuple[str, ...] | None:
    if value is None:
        return None
    if isinstance(value, list | tuple) and all(isinstance(one, str) for one in value):
        return tuple(value)
    raise pytest.UsageError(f"recording: {name} is {value!r}: it must be a list of rules, such as ['uuid']")


def _yes_or_no(name: str, value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise pytest.UsageError(f"recording: {name} is {value!r}: it must be True or False")
