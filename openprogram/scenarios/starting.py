"""A new scenario's folder: a small one that works, to be changed piece by piece."""

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from openprogram.scenarios.folder import SCENARIO_FILE

__all__ = ["new_scenario"]


def new_scenario(path: Path, name: str) -> list[Path]:
    """Write the folder and return its files. Raises FileExistsError: `path` is there."""
    path.mkdir(parents=True)
    written = _copy(files("openprogram.scenarios") / "template", path)
    settings = path / SCENARIO_FILE
    settings.write_text(settings.read_text().replace('id = "first-scenario"', f'id = "{name}"'), encoding="utf-8")
    return written


def _copy(source: Traversable, target: Path) -> list[Path]:
    written: list[Path] = []
    for entry in sorted(source.iterdir(), key=lambda entry: entry.name):
        if entry.name == "__pycache__":
            continue
        if entry.is_dir():
            (target / entry.name).mkdir()
            written += _copy(entry, target / entry.name)
        else:
            (target / entry.name).write_bytes(entry.read_bytes())
            written.append(target / entry.name)
    return written
