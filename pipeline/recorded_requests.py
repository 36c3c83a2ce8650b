"""The requests of a recording as they are compared: through today's types, and today's redaction where it is older."""

from typing import Any, cast

from openprogram.pipeline.codec import RequestCodec
from openprogram.pipeline.errors import RecordingFileError
from openprogram.pipeline.log.reader import Recording
from openprogram.pipeline.redaction import REDACTION_VERSION, redact

__all__ = ["RecordedRequests"]


class RecordedRequests:
    """Reads them one by one. `always_redact`: also where the file says that it was written under today's rules."""

    def __init__(self, recording: Recording, codec: RequestCodec, *, always_redact: bool = False) -> None:
        self._recording, self._codec = recording, codec
        self._redacts = always_redact or recording.header.get("redaction_version") != REDACTION_VERSION

    def __call__(self, call_index: int) -> dict[str, Any]:
        """`model`, `context` and `options`. Raises RecordingFileError: changed, or no fit for today's types."""
        recorded = self._recording.request(call_index)
        try:
            request: Any = self._codec.read(recorded)
        except ValueError as error:
            raise RecordingFileError(
                path=self._recording.path,
                reason=f"the request does not fit today's types: {error}",
                line_number=self._recording.calls[call_index].line_number,
                call_index=call_index,
            ) from error
        if self._redacts:
            request = redact(request).value
        return cast(dict[str, Any], request)
