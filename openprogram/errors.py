"""The errors of configuration, recordings management and commands, in one place.

OpenProgramError
├── ConfigError        the configuration can't be found, read or written, or isn't valid
├── RecordingRefused   a command won't touch this recording: in use, active, a symlink, outside the folder
├── RecordingNotFound  no recording has that id or path, or the name is ambiguous
└── UsageError         an argument is wrong; a command exits with 2 instead of 1

`str()` is the sentence, `next_step` what to do about it; it is the exception's note (PEP 678) too. What goes
wrong inside a recording file is a `RecordingFileError` of `openprogram.pipeline.errors`.
"""

from pathlib import Path
from typing import Any

__all__ = ["ConfigError", "OpenProgramError", "RecordingNotFound", "RecordingRefused", "UsageError"]


class OpenProgramError(Exception):
    """Base of every error here. `next_step`: a sentence on what to do, or None."""

    def __init__(self, message: str, *, next_step: str | None = None) -> None:
        super().__init__(message)
        self.next_step = next_step
        if next_step is not None:
            self.add_note(next_step)

    def __reduce__(self) -> tuple[Any, ...]:
        # The default calls the class with `args`, which subclasses with keyword-only parameters refuse.
        return _rebuild, (type(self), self.args, self.__dict__)


def _rebuild(kind: type[OpenProgramError], arguments: tuple[Any, ...], attributes: dict[str, Any]) -> OpenProgramError:
    error = kind.__new__(kind, *arguments)
    error.__dict__.update(attributes)
    return error


class ConfigError(OpenProgramError):
    """The configuration can't be used. Raised when it is loaded or changed.

    `path`: the file, or the state folder as it was chosen. `reason`: what is wrong. `field`: dotted, such as
    `record_replay.mode`, or None. `line_number`: from 1, or None where no line is at fault.
    """

    def __init__(
        self,
        *,
        path: Path,
        reason: str,
        field: str | None = None,
        line_number: int | None = None,
        next_step: str | None = None,
    ) -> None:
        where = str(path)
        if line_number is not None:
            where += f", line {line_number}"
        if field is not None:
            where += f", field {field}"
        super().__init__(f"{where}: {reason}", next_step=next_step)
        self.path, self.reason, self.field, self.line_number = path, reason, field, line_number


class RecordingRefused(OpenProgramError):
    """A recording exists, but a command won't do that to it. `path`: the file. `reason`: why."""

    def __init__(self, *, path: Path, reason: str, next_step: str | None = None) -> None:
        super().__init__(f"{path}: {reason}", next_step=next_step)
        self.path, self.reason = path, reason


class RecordingNotFound(OpenProgramError):
    """No recording, or more than one, answers to what was given."""


class UsageError(OpenProgramError):
    """An argument of a command is wrong or missing: exit code 2."""
