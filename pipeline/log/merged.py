"""Two recordings that became one file: what git leaves of a merge, and lines that stand twice.

Neither side can be told from the other in such a file, so nothing of it is to be believed: the way back is to take one
side whole.
"""

import shlex
from pathlib import Path
from typing import Final

from openprogram.pipeline.log.strict_json import LineDefect

__all__ = ["MergedRecordings", "StandsTwice", "is_conflict_marker", "take_one_side", "told"]

#: How git marks a conflict, at the start of a line, where no JSON object can begin.
_MARKERS: Final = (b"<<<<<<<", b"|||||||", b"=======", b">>>>>>>")

_TAKE_ONE_SIDE: Final = (
    "Take one side whole (git checkout --ours {path}, or --theirs), or record again. "
    "With `*.jsonl -merge` in .gitattributes git merges no recordings."
)


class MergedRecordings(LineDefect):
    """A conflict marker: git has put two recordings into one file."""

    def __init__(self, line_number: int) -> None:
        super().__init__(f"two recordings were merged into this file: conflict markers from git at line {line_number}")


class StandsTwice(LineDefect):
    """A line where another of its place was before. One writer can't do that; two recordings in one file do."""


def is_conflict_marker(line: bytes) -> bool:
    """Whether git wrote this line, and no recorder."""
    return line.startswith(_MARKERS)


def take_one_side(path: Path) -> str:
    """What to do about a file that git merged."""
    return _TAKE_ONE_SIDE.format(path=shlex.quote(str(path)))


def told(defect: LineDefect) -> str:
    """The defect's reason, and what it says of the file."""
    if isinstance(defect, StandsTwice):
        return f"{defect.reason}, as where two recordings were merged into one file"
    return defect.reason
