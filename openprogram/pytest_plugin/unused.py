"""Recordings that no test uses. Only the whole suite can say so, so anything that leaves tests out is refused."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from openprogram.pipeline.log.beginning import looks_recorded
from openprogram.pipeline.log.source import COMPRESSED_SUFFIX
from openprogram.pytest_plugin.names import file_stem
from openprogram.pytest_plugin.plugin import has_recording
from openprogram.pytest_plugin.settings import item_settings
from openprogram.recordings.names import SUFFIX

__all__ = ["Unused", "list_unused"]

_NEVER_SEARCHED: Final = {"__pycache__", "node_modules", ".git", ".venv", ".tox", ".nox"}


@dataclass(frozen=True)
class Unused:
    """`files`: recordings that no test uses, relative to the root folder. `skipped`: modules that could not be asked.

    `used`: how many are used.
    """

    files: tuple[str, ...]
    skipped: tuple[str, ...]
    used: int

    def lines(self) -> Iterator[str]:
        """One file a line, then what was not looked at, then the count."""
        yield from (f"unused recording: {file}" for file in self.files)
        yield from (f"not judged, as the module is skipped here: {module}" for module in self.skipped)
        yield f"recordings: {self.used} used, {len(self.files)} unused"

    def write(self, file: str) -> None:
        """As JSON: `used`, a count; `unused` and `skipped_modules`, lists of paths relative to the root folder."""
        answer = {"used": self.used, "unused": self.files, "skipped_modules": self.skipped}
        Path(file).write_text(json.dumps(answer, indent=2) + "\n", encoding="utf-8")


def list_unused(session: pytest.Session, *, deselected: bool) -> Unused:
    """Compare the recordings in the collected folders with the tests. `deselected`: tests were left out.

    Raises pytest.UsageError: not the whole suite was collected, and what others use would be called unused.
    """
    if reason := _is_partial(session, deselected=deselected):
        raise pytest.UsageError(f"--recordings-unused needs the whole suite, and {reason}")
    settings = [item_settings(item) for item in session.items if has_recording(item)]
    claimed = {_plain(os.path.realpath(one.path)) for one in settings}
    ini = str(session.config.getini("recording_folder"))
    names = {ini, *(item_settings(item).folder for item in session.items)}
    skipped = _skipped_modules(session)
    files = [file for file in _recordings(session, names) if not _belongs_to(file, skipped)]
    orphans = [file for file in files if _plain(os.path.realpath(file)) not in claimed]
    root = session.config.rootpath
    return Unused(
        tuple(os.path.relpath(file, root) for file in orphans),
        tuple(os.path.relpath(module, root) for module in skipped),
        len(files) - len(orphans),
    )


def _is_partial(session: pytest.Session, *, deselected: bool) -> str | None:
    if deselected:
        return "tests were deselected (-k, -m, --deselect or a plugin)"
    if session.testsfailed:
        return "modules could not be collected"
    for argument in session.config.args:
        if not Path(session.config.invocation_params.dir, argument).is_dir():
            return f"{argument} is only a part of it: name folders, or nothing"
    return None


def _recordings(session: pytest.Session, names: set[str]) -> list[Path]:
    """Recordings, and no other JSON lines, in folders of one of these names, in the folders that were collected."""
    found: set[Path] = set()
    for argument in session.config.args:
        for folder, below, _ in os.walk(Path(session.config.invocation_params.dir, argument)):
            below[:] = [name for name in below if name not in _NEVER_SEARCHED]
            for name in names:
                for pattern in (f"**/*{SUFFIX}", f"**/*{SUFFIX}{COMPRESSED_SUFFIX}"):
                    found.update(Path(folder, name).glob(pattern))
    return sorted(file for file in found if looks_recorded(file))


def _skipped_modules(session: pytest.Session) -> list[Path]:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    reports = reporter.stats.get("skipped", []) if reporter is not None else []
    nodes = {report.nodeid for report in reports if isinstance(report, pytest.CollectReport)}
    return sorted(session.config.rootpath / node.partition("::")[0] for node in nodes)


def _belongs_to(file: Path, modules: list[Path]) -> bool:
    return any(
        file.parent.name == file_stem([module.stem], distinct=True) and file.is_relative_to(module.parent)
        for module in modules
    )


def _plain(path: str) -> str:
    return path.removesuffix(COMPRESSED_SUFFIX)
