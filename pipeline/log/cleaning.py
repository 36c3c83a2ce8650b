"""A recording written anew under today's redaction. The old file stays as it is; the new header has its digest."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

from openprogram.pipeline.errors import RecordingFileError
from openprogram.pipeline.json_value import JsonValue, NotJson
from openprogram.pipeline.log.files import file_errors
from openprogram.pipeline.log.header import encode_new_header
from openprogram.pipeline.log.lines import (
    CallEndLine,
    CheckEvent,
    CleanEvent,
    CleanRequest,
    EventLine,
    HeaderLine,
    RequestLine,
    encode_call_end,
    encode_event,
    encode_request,
    encode_request_body,
)
from openprogram.pipeline.log.new_file import new_file, write_lines
from openprogram.pipeline.log.reader import index_lines, parse_raw
from openprogram.pipeline.log.scan import LineScan, RawLine
from openprogram.pipeline.log.secrets import scan_source
from openprogram.pipeline.log.source import ByteSource, PlainSource, open_source, recording_name
from openprogram.pipeline.log.strict_json import LineDefect
from openprogram.pipeline.redaction import REDACTION_VERSION, StreamRedactor, redact

__all__ = ["TOMBSTONES", "Cleaned", "clean_recording"]

#: The header's field that says which files this one was cleaned from, the oldest first.
TOMBSTONES: Final = "redacted_from"

_CHANGED: Final = "the file changed while it was read"


class Cleaned(NamedTuple):
    """What was written. `places`: how many were redacted; `digest`: SHA-256 of the old file's lines, in hex."""

    call_count: int
    places: int
    digest: str


def clean_recording(path: Path, target: Path, check_event: CheckEvent) -> Cleaned:
    """Write the recording `path`, redacted as it would be today, to the new file `target`: plain, mode 0600.

    It is checked before it has its name: the strict reader takes it, and a scan finds nothing in it.
    Raises RecordingFileError: `path` isn't what the strict reader takes, or changes meanwhile; `target` exists or
    can't be written; the header's own fields can't be redacted. Then no file is left.
    """
    with closing(open_source(path)) as source:
        with file_errors(path, "read"):
            before = source.state()
        header, calls = index_lines(path, source, check_event)
        digest = _digest(path, source)
        cleaner = _Cleaner(path, _new_header(path, target, header, digest), check_event)
        with new_file(target, like=path) as descriptor:
            write_lines(descriptor, cleaner.lines(source))
            with file_errors(path, "read"):
                if source.state() != before:
                    raise RecordingFileError(path=path, reason=_CHANGED)
            _check(target, descriptor, check_event)
    return Cleaned(len(calls), cleaner.places, digest)


def _new_header(path: Path, target: Path, header: dict[str, Any], digest: str) -> dict[str, JsonValue]:
    earlier = header.get(TOMBSTONES)
    tombstone: dict[str, JsonValue] = {"sha256": digest}
    for name in ("recording_id", "redaction_version"):
        if name in header:
            tombstone[name] = header[name]
    fields = {key: value for key, value in header.items() if key not in ("type", "format_version")}
    if "recording_id" in fields:
        fields["recording_id"] = recording_name(target)
    return {
        **fields,
        "redaction_version": REDACTION_VERSION,
        TOMBSTONES: [*(earlier if isinstance(earlier, list) else []), tombstone],
    }


def _digest(path: Path, source: ByteSource) -> str:
    digest = hashlib.sha256()
    with file_errors(path, "read"):
        for line in LineScan(source.reader()):
            digest.update(line.raw)
    return digest.hexdigest()


def _check(target: Path, descriptor: int, check_event: CheckEvent) -> None:
    with closing(PlainSource(os.dup(descriptor))) as written:
        index_lines(target, written, check_event)
        for left in scan_source(written):
            raise RecordingFileError(
                path=target,
                reason=f"redaction left something that it would remove, at {left.field_path} ({left.rule})",
                line_number=left.line_number,
                call_index=left.call_index,
                next_step="This is a defect of openprogram, please report it. Nothing was written.",
            )


class _Cleaner:
    """Makes the new lines of the old ones, in their order. `places`: redacted so far."""

    def __init__(self, path: Path, header: dict[str, JsonValue], check_event: CheckEvent) -> None:
        self._path, self._header, self._check_event = path, header, check_event
        self._calls: dict[int, _CleanCall] = {}
        self.places = 0

    def lines(self, source: ByteSource) -> Iterator[bytes]:
        """The lines to write. Raises RecordingFileError: the file changed, or a line can't be written."""
        with file_errors(self._path, "read"):
            for raw in LineScan(source.reader()):
                try:
                    new = list(self._clean(raw))
                except LineDefect as defect:
                    raise RecordingFileError(path=self._path, reason=f"{_CHANGED}: {defect}") from None
                except NotJson as error:  # a placeholder is longer than a short secret, and a line has a limit
                    raise RecordingFileError(
                        path=self._path, reason=f"redacted, it can't be written: {error}", line_number=raw.number
                    ) from None
                yield from new

    def _clean(self, raw: RawLine) -> Iterator[bytes]:
        line = parse_raw(raw, self._check_event)
        if isinstance(line, HeaderLine):
            self.places += redact(line.fields).count
            yield encode_new_header(self._header)
        elif isinstance(line, RequestLine):
            clean = redact(line.request)
            self.places += clean.count
            self._calls[line.call_index] = _CleanCall(line.call_index)
            request = CleanRequest(cast(dict[str, JsonValue], clean.value))
            yield encode_request(line.call_index, encode_request_body(request))
        elif isinstance(line, EventLine):
            yield from self._open(line.call_index).event(line)
        else:
            yield from self._end(line)

    def _end(self, line: CallEndLine) -> Iterator[bytes]:
        call = self._open(line.call_index)
        yield from call.close()
        del self._calls[line.call_index]
        clean = redact(line.error)
        self.places += call.places + clean.count
        error = clean.value if isinstance(clean.value, dict) else None
        yield encode_call_end(line.call_index, line.event_count, line.outcome, error)

    def _open(self, call_index: int) -> "_CleanCall":
        call = self._calls.get(call_index)
        if call is None:
            raise LineDefect("the call is not open", call_index)
        return call


class _CleanCall:
    """The events of one call: they wait, as they did when they were recorded, while a secret may begin in them."""

    def __init__(self, call_index: int) -> None:
        self._call_index, self._written = call_index, 0
        self._redactor = StreamRedactor()

    @property
    def places(self) -> int:
        return self._redactor.count

    def event(self, line: EventLine) -> Iterator[bytes]:
        return self._encoded(self._redactor.feed(line.event))

    def close(self) -> Iterator[bytes]:
        return self._encoded(self._redactor.close())

    def _encoded(self, events: list[dict[str, JsonValue]]) -> Iterator[bytes]:
        for event in events:
            yield encode_event(self._call_index, self._written, CleanEvent(event))
            self._written += 1
