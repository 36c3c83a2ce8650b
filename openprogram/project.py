"""What a project sets for its recordings: `[tool.openprogram]` in its pyproject.toml.

    [tool.openprogram]
    match = "content"
    volatile = ["uuid", "iso-time", 'regex:order-(\\d+)']

Read when a recording is started, never at import. Source: docs/how-to/volatile-ids.md.
"""

import os
import tomllib
from pathlib import Path
from typing import Any, Final

from openprogram.errors import ConfigError
from openprogram.pipeline.matching.policy import EXACT, POLICY_FIELD_NAMES, MatchingPolicy, PolicyError
from openprogram.state_file import open_regular_file

__all__ = ["find_project_file", "project_policy"]

#: A larger file isn't read.
_MAX_BYTES: Final = 1024 * 1024


def find_project_file(folder: Path) -> Path | None:
    """The pyproject.toml in `folder` or the nearest folder above it, or None."""
    for candidate in (folder, *folder.parents):
        if (candidate / "pyproject.toml").is_file():
            return candidate / "pyproject.toml"
    return None


def project_policy(folder: Path) -> MatchingPolicy:
    """The matching policy that the project around `folder` sets for new recordings; exact where it sets none.

    Raises ConfigError: the nearest pyproject.toml can't be read, or its [tool.openprogram] can't be used.
    """
    path = find_project_file(folder)
    if path is None:
        return EXACT
    settings = _settings(path)
    try:
        return MatchingPolicy.from_header(settings)
    except PolicyError as error:
        raise _unusable(path, str(error)) from None


def _settings(path: Path) -> dict[str, Any]:
    tool = _read(path).get("tool", {})
    settings = tool.get("openprogram", {}) if isinstance(tool, dict) else {}
    if not isinstance(settings, dict):
        raise _unusable(path, "it is no table")
    # Tables are other parts' own; a misspelled setting would record under another policy than was meant.
    unknown = [key for key, value in settings.items() if key not in POLICY_FIELD_NAMES and not isinstance(value, dict)]
    if unknown:
        raise _unusable(path, f"unknown setting {unknown[0]!r}; this release knows {', '.join(POLICY_FIELD_NAMES)}")
    return settings


def _read(path: Path) -> dict[str, Any]:
    try:
        with os.fdopen(open_regular_file(path, os.O_RDONLY), "rb") as stream:
            content = stream.read(_MAX_BYTES + 1)
        if len(content) > _MAX_BYTES:
            raise _unusable(path, f"larger than {_MAX_BYTES} bytes", field=None)
        return tomllib.loads(content.decode())
    except OSError as error:
        raise _unusable(path, f"can't be read: {error.strerror}", field=None) from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise _unusable(path, f"not valid TOML: {error}", field=None) from None


def _unusable(path: Path, reason: str, field: str | None = "tool.openprogram") -> ConfigError:
    return ConfigError(
        path=path,
        field=field,
        reason=reason,
        next_step="It sets how new recordings are matched. Correct it, or give match and volatile where you record.",
    )
