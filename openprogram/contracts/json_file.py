"""JSON files that people write: strict, and with nothing in them that one reading would hide from another."""

import json
from pathlib import Path
from typing import Any

from openprogram.pipeline.json_value import to_json_value

__all__ = ["NotReadable", "parse_json", "read_text"]

_BYTE_ORDER_MARK = "\ufeff"


class NotReadable(ValueError):
    """`str()`: why a file is no text, or its text no JSON."""


def read_text(path: Path) -> str:
    """The file's text, lines ending at `\\n`. Raises NotReadable: it can't be read, or isn't UTF-8."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise NotReadable(error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise NotReadable("not UTF-8") from error
    if text.startswith(_BYTE_ORDER_MARK):
        raise NotReadable("begins with a byte order mark: save it as UTF-8 without one")
    return text


def parse_json(text: str) -> Any:
    """The value of a JSON text.

    Raises NotReadable: it is no JSON, holds NaN or a number beyond what a float can hold, nests deeper than
    MAX_DEPTH, or has a key twice, of which one would be lost.
    """
    try:
        return to_json_value(json.loads(text, object_pairs_hook=_without_repeats))
    except (ValueError, RecursionError) as error:
        raise NotReadable(f"not JSON: {error}") from error


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for key, value in pairs:
        if key in members:
            raise ValueError(f"the key {key!r} stands twice in one object")
        members[key] = value
    return members
