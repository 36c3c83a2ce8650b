"""The header of a new recording: the policy it is recorded under, the version of redaction, and metadata."""

import os
from collections.abc import Sequence
from pathlib import Path

from openprogram.pipeline.errors import RecordingFileError, RecordingValueError
from openprogram.pipeline.json_value import JsonValue, NotJson
from openprogram.pipeline.log.files import (
    PathLike,
    file_errors,
    let_go,
    open_or_create,
    remove_empty,
    sync_folder,
    write_whole,
)
from openprogram.pipeline.log.lines import encode_header
from openprogram.pipeline.log.locks import LockRange, hold_exclusive
from openprogram.pipeline.log.source import refuse_compressed
from openprogram.pipeline.matching.policy import (
    POLICY_FIELD_NAMES,
    MatchingPolicy,
    PolicyError,
    choose_policy,
)
from openprogram.pipeline.redaction import REDACTION_VERSION, remove_secret_values

__all__ = ["asked_policy", "create_recording", "encode_new_header", "new_header", "write_header"]


def create_recording(path: PathLike, header_fields: dict[str, JsonValue]) -> None:
    """A new recording with only its header, mode 0600, synced. `header_fields`: its policy, and optional metadata.

    Raises RecordingFileError: the file exists, or can't be written; then no file is left.
    RecordingValueError: the metadata isn't strict JSON, or the policy isn't one that can be written.
    """
    path = Path(path)
    refuse_compressed(path)
    header = encode_new_header(header_fields)
    descriptor, is_new = open_or_create(path)
    try:
        if not is_new:
            raise RecordingFileError(path=path, reason="the file exists already")
        try:
            with file_errors(path, "lock"):
                hold_exclusive(descriptor, LockRange.APPEND)
                if os.fstat(descriptor).st_size == 0:  # else a sink has found the new file and begun it
                    write_header(path, descriptor, header)
        except BaseException:
            remove_empty(path, descriptor)
            raise
    finally:
        let_go(descriptor)  # and the lock with it


def new_header(fields: dict[str, JsonValue], match: str | None, volatile: Sequence[str] | None) -> bytes:
    """A new recording's header line. `match`, `volatile`: None leaves each to `fields`. Raises RecordingValueError."""
    policy = asked_policy(match, volatile, _policy_of(fields))
    metadata = {name: value for name, value in fields.items() if name not in POLICY_FIELD_NAMES}
    return encode_new_header({"redaction_version": REDACTION_VERSION, **metadata, **policy.header_fields()})


def encode_new_header(fields: dict[str, JsonValue]) -> bytes:
    """A header line, redacted. `fields`: its policy, and metadata. Raises RecordingValueError."""
    clean = remove_secret_values(fields)
    assert isinstance(clean, dict)
    if any(clean.get(name) != fields.get(name) for name in POLICY_FIELD_NAMES):
        raise RecordingValueError(field_path="the header", reason="a volatile rule reads like a secret: write another")
    _policy_of(fields)
    try:
        return encode_header(clean)
    except NotJson as error:
        raise RecordingValueError(field_path=error.field_path or "the header", reason=error.reason) from None


def write_header(path: Path, descriptor: int, header: bytes) -> None:
    """Write and sync the header of an empty file. Raises RecordingFileError; then the file is empty again."""
    with file_errors(path, "write the header"):
        write_whole(descriptor, [header], 0)
        try:
            os.fsync(descriptor)
            sync_folder(path)
        except BaseException:
            os.ftruncate(descriptor, 0)
            raise


def asked_policy(match: str | None, volatile: Sequence[str] | None, otherwise: MatchingPolicy) -> MatchingPolicy:
    """What was asked for, and `otherwise` what wasn't. Raises RecordingValueError: no such policy."""
    try:
        return choose_policy(match, volatile, otherwise)
    except PolicyError as error:
        raise RecordingValueError(field_path="the header", reason=str(error)) from None


def _policy_of(fields: dict[str, JsonValue]) -> MatchingPolicy:
    try:
        return MatchingPolicy.from_header(fields)
    except PolicyError as error:
        raise RecordingValueError(field_path="the header", reason=str(error)) from None
