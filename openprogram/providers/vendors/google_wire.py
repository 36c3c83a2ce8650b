"""The event stream of Gemini before google-genai reads it.

google-genai drops the fields of an answer that it does not know, takes a plain JSON answer for a stream, and fails on a
comment or on any field of an event but `data: `. So the bytes are seen first: each event's JSON is kept until the SDK
has come to it, and lines that it cannot read do not reach it.
"""

from collections import deque
from collections.abc import AsyncIterator

import httpx2

__all__ = ["RawEvents"]

#: Fields and comments of an event stream that are no data.
_NOT_DATA = (b":", b"event:", b"id:", b"retry:")


class RawEvents:
    """The events of one answer, in order, each as the bytes of its JSON. `is_stream`: whether it is one at all."""

    def __init__(self) -> None:
        self.waiting: deque[bytes] = deque()
        self.is_stream = True
        self._data: list[bytes] = []

    async def on_response(self, response: httpx2.Response) -> None:
        """httpx2's response hook: the head has come, the body has not been read."""
        if response.status_code >= 400:
            return
        self.is_stream = "event-stream" in response.headers.get("content-type", "")
        if isinstance(response.stream, httpx2.AsyncByteStream) and "content-encoding" not in response.headers:
            response.stream = _ReadableLines(response.stream, self)

    def see(self, line: bytes) -> bytes:
        """The line as the SDK can read it, with its end; nothing where it says nothing."""
        content = line.rstrip(b"\r\n")
        if content.startswith(b"data:"):
            self._data.append(content[5:].lstrip())
            return b"data: " + self._data[-1] + b"\n"
        if not content:
            self.see_end()
        return b"" if content.startswith(_NOT_DATA) else line

    def see_end(self) -> None:
        """An event is over."""
        if self._data:
            self.waiting.append(b"\n".join(self._data))
            self._data = []


class _ReadableLines(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, events: RawEvents) -> None:
        self._stream, self._events = stream, events

    async def __aiter__(self) -> AsyncIterator[bytes]:
        begun: list[bytes] = []
        async for piece in self._stream:
            end = piece.rfind(b"\n") + 1
            if not end:
                begun.append(piece)
                continue
            whole = b"".join([*begun, piece[:end]])
            begun = [piece[end:]]
            if readable := b"".join(map(self._events.see, whole.splitlines(keepends=True))):
                yield readable
        yield self._events.see(b"".join(begun))
        self._events.see_end()

    async def aclose(self) -> None:
        await self._stream.aclose()
