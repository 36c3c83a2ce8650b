"""What must be right of recordings that are checked in: each can be replayed, holds no secret, has a name for all."""

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from openprogram.errors import RecordingNotFound, UsageError
from openprogram.pipeline.errors import RecordingFileError
from openprogram.pipeline.log.files import is_there
from openprogram.pipeline.log.source import stored_path
from openprogram.recordings.endings import failed_calls, tell_failed
from openprogram.recordings.finding import Found, each_once
from openprogram.recordings.names import advice_beside, check_name, recording_id
from openprogram.recordings.repairing import read_or_advise
from openprogram.recordings.secrets import find_secrets

if TYPE_CHECKING:
    from openprogram.pipeline.log.reader import Recording

__all__ = ["Finding", "FindingKind", "check_file", "check_names", "files_to_check"]

#: `name`: can't be a recording's on every system, or two of one folder are the same name on some; `unreadable`: a
#: replay would refuse it, unfinished calls and another format version included; `secret`: redaction would remove it;
#: `failed_calls`: calls failed when they were recorded, for want of a key perhaps, and do so in every replay.
FindingKind: TypeAlias = Literal["name", "unreadable", "secret", "failed_calls"]


class Finding(NamedTuple):
    """One thing that is wrong. `message`: a sentence, without the file's content. `next_step`: what to do, or None."""

    path: Path
    kind: FindingKind
    message: str
    line_number: int | None = None
    call_index: int | None = None
    field_path: str | None = None
    next_step: str | None = None

    @property
    def is_note(self) -> bool:
        """Whether it may be meant, and is told without failing the check: a failure may be recorded on purpose."""
        return self.kind == "failed_calls"


def files_to_check(given: Sequence[Path]) -> Found:
    """Every recording below the folders, and the files as they are given.

    Raises RecordingNotFound: one names nothing, or there is no recording at all: a check of nothing must not pass.
    """
    found = each_once(map(str, given), _named)
    if not found.files:
        others = f" {len(found.skipped)} of that name begin otherwise." if found.skipped else ""
        raise RecordingNotFound(
            f"no recording in {', '.join(map(str, given))}",
            next_step="Recordings are files whose names end in .jsonl or .jsonl.zst and whose first line is a header."
            + others,
        )
    return found


def _named(given: str) -> Path:
    path = stored_path(Path(given).absolute())
    if not is_there(path):
        raise RecordingNotFound(f"{path}: no such file or folder", next_step=advice_beside(given))
    return path


def check_names(paths: Sequence[Path]) -> Iterator[Finding]:
    """Names that aren't allowed, and those that can't stand beside each other on every system."""
    seen: dict[tuple[Path, str], Path] = {}
    for path in paths:
        name = recording_id(path)
        if name is None:
            yield Finding(path, "name", "the name does not end in .jsonl or .jsonl.zst")
            continue
        try:
            check_name(name)
        except UsageError as error:
            yield Finding(path, "name", str(error), next_step=error.next_step)
        # Some file systems take a capital letter for the small one; a plain and a compressed file have one id.
        other = seen.setdefault((path.parent, name.lower()), path)
        if other is not path:
            yield _same_id(path, other)


def _same_id(path: Path, other: Path) -> Finding:
    if path.name.removesuffix(".zst") == other.name.removesuffix(".zst"):
        text = f"stands beside {other.name}: a recording is in one of the two forms"
        return Finding(path, "name", text, next_step="Delete one of them.")
    return Finding(path, "name", f"has the same id as {other.name} where case doesn't count")


def check_file(path: Path) -> Iterator[Finding]:
    """What is wrong with one file: its first defect, and every place with a secret in it, by path and rule.

    Then, of a file that is whole, one note on the calls that failed when they were recorded.
    """
    told, failed = None, None
    try:
        with read_or_advise(path) as recording:
            failed = _failed_calls(recording)
    except RecordingFileError as error:
        told = error.reason
        yield _unreadable(path, error)
    try:
        for secret in find_secrets(path):
            places = f"{secret.places} places" if secret.places > 1 else "1 place"
            yield Finding(
                path,
                "secret",
                f"redaction would remove {places} ({secret.rule})",
                secret.line_number,
                secret.call_index,
                secret.field_path,
                f"openprogram recordings redact {shlex.quote(str(path))} writes a cleaned file. Revoke what was found.",
            )
    except RecordingFileError as error:
        if error.reason != told:  # what wasn't looked at must not pass, nor be told twice
            yield _unreadable(path, error)
    if failed is not None:
        yield failed


def _failed_calls(recording: "Recording") -> Finding | None:
    failed = failed_calls(recording)
    if not failed:
        return None
    return Finding(
        recording.path,
        "failed_calls",
        f"{tell_failed(failed, recording.call_count)}; every replay repeats that",
        failed[0].line_number,
        failed[0].call_index,
        next_step="Record it again, unless it is meant: openprogram recordings show "
        f"{shlex.quote(str(recording.path))} --call {failed[0].call_index} --content",
    )


def _unreadable(path: Path, error: RecordingFileError) -> Finding:
    return Finding(path, "unreadable", error.reason, error.line_number, error.call_index, next_step=error.next_step)
