"""Where the recording of a test stands: the same name on every system, whichever tests were selected.

    tests/test_weather.py::TestRain::test_coat[lisbon]
 ─▶ tests/recordings/test_weather/TestRain.test_coat-lisbon.jsonl

A name that could not be told from another one, on a file system that ignores case or because a character had to be
replaced, ends in a digest of the test's full name. So does one of whose parameters a secret was left out.
"""

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from openprogram.errors import UsageError
from openprogram.recordings.names import MAX_NAME_LENGTH, SUFFIX, check_name

__all__ = ["default_path", "file_stem", "recording_path"]

_REPLACED: Final = re.compile(r"[^A-Za-z0-9._-]+")
_DIGEST_LENGTH: Final = 10
_LIKE_A_DIGEST: Final = re.compile(rf"-[0-9a-f]{{{_DIGEST_LENGTH}}}\Z")


def recording_path(item: pytest.Item, given: str | None, folder: str) -> Path:
    """The recording of a test. `given`: the marker's path, relative to the test file's folder, or None."""
    return default_path(item, folder) if given is None else item.path.parent / given


def default_path(item: pytest.Item, folder: str) -> Path:
    """`<folder>/<module>/<test>.jsonl` beside the test file."""
    chain = item.listchain()
    below_file = next((index for index, node in enumerate(chain, 1) if isinstance(node, pytest.File)), -1)
    names = [node.name for node in chain[below_file:]]
    module = item.path.stem if item.path.suffix == ".py" else item.path.name
    stem = file_stem(names, distinct=_is_distinct(item))
    return item.path.parent / folder / file_stem([module], distinct=True) / f"{stem}{SUFFIX}"


def file_stem(names: Sequence[str], *, distinct: bool) -> str:
    """A file's name, without suffix, for the classes, the function and the parameters of a test.

    `distinct`: no class or function beside it has the same name in other letters. At most 100 characters.
    """
    identifiers, bracket, parameters = ".".join(names).partition("[")
    parameters = _without_secrets(parameters.removesuffix("]")) if bracket else ""
    stem = f"{identifiers}-{parameters}" if bracket else identifiers
    if distinct and parameters == parameters.lower() and not _LIKE_A_DIGEST.search(stem) and _is_legal(stem):
        return stem
    digest = hashlib.sha256("::".join(names).encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_LENGTH]
    named = f"{_REPLACED.sub('_', stem)[: MAX_NAME_LENGTH - _DIGEST_LENGTH - 2]}-{digest}"
    return named if _is_legal(named) else f"_{named}"  # a device, or a first character that looks like an option


def _without_secrets(parameters: str) -> str:
    from openprogram.pipeline.redaction import remove_secret_values  # few tests have parameters

    return str(remove_secret_values(parameters))


def _is_legal(stem: str) -> bool:
    try:
        check_name(stem)
    except UsageError:
        return False
    return True


def _is_distinct(item: pytest.Item) -> bool:
    """By the source alone: the answer may not depend on which tests were selected."""
    for node in item.listchain():
        owner: Any = getattr(node.parent, "obj", None)
        name = getattr(node, "originalname", None) or node.name
        if owner is not None and sum(other.lower() == name.lower() for other in dir(owner)) > 1:
            return False
    return True
