"""The HTTP side of a call: its client, and a watch over what comes back.

The SDKs hide three things that decide how a call ended. They stop without a word when a body ends early, they
skip lines that are no field of an event stream (GPUStack reports errors in one), and they take a plain JSON answer
for an empty stream. So the watch sees the raw lines as they pass, before the SDK does. It hangs on httpx2's
response hook: the body stream is replaced by one that looks at each piece and hands it on unchanged. A transport
of our own would do the same, but would switch off the proxy settings of the environment.
"""

import ssl
from collections.abc import AsyncIterator
from functools import cache

import httpx2

__all__ = ["WireWatch", "http_client", "tls_context"]


#: The content type of AWS's binary event streams.
_FRAMES = "vnd.amazon.eventstream"


#: Lines that say that an answer has come to its end, without the space that may follow the colon.
_TERMINAL = frozenset({b"event:message_stop", b"data:[DONE]"})

#: Names of last events with something to say: the end is the end of the event.
_LAST_EVENTS = frozenset({b"event:response.completed", b"event:response.incomplete", b"event:response.failed"})


class WireWatch:
    """What is known of the answer to one request.

    `status`: None until a response has begun. `ended`: its body has been read to the end, `torn`: in the middle of a
    line. `terminal`: the stream's own last event has come, `message_stop` (Anthropic), `[DONE]` or
    `response.completed` and its like (OpenAI).
    `stray_error`: the rest of a line that begins with `error:`. `readable`: whether there are lines to see, which there
    are not in a compressed body, nor in AWS's binary frames.
    """

    def __init__(self) -> None:
        self.status: int | None = None
        self.content_type = ""
        self.readable = True
        self.ended = False
        self.torn = False
        self.terminal = False
        self.stray_error: str | None = None
        self._in_last_event = False
        self._line = bytearray()

    async def on_response(self, response: httpx2.Response) -> None:
        """httpx2's response hook: the head has come, the body has not been read."""
        self.status = response.status_code
        self.content_type = response.headers.get("content-type", "")
        plain = response.headers.get("content-encoding", "identity") == "identity"
        self.readable = plain and _FRAMES not in self.content_type
        if self.readable and isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _WatchedStream(response.stream, self)

    @property
    def is_stream(self) -> bool:
        """Whether the answer says that it is a stream of events."""
        return "event-stream" in self.content_type or _FRAMES in self.content_type

    def see(self, piece: bytes) -> None:
        """Look at the next bytes of the body, however they are cut."""
        continued, *others = piece.split(b"\n")
        self._line += continued
        for other in others:
            self._line_is_over()
            self._line += other

    def see_end(self) -> None:
        """The body is over, and with it its last line, with or without a line end."""
        self.ended, self.torn = True, bool(self._line)
        if self.torn:
            self._line_is_over()

    def _line_is_over(self) -> None:
        line = bytes(self._line.rstrip(b"\r"))
        self._line.clear()
        # JSON keeps its line ends escaped, so a line that begins like this is never part of the model's text.
        field = line.replace(b": ", b":", 1)
        if field in _TERMINAL or (self._in_last_event and not line):
            self.terminal = True
        elif field in _LAST_EVENTS:
            self._in_last_event = True
        elif line.startswith(b"error:"):
            self.stray_error = line.removeprefix(b"error:").decode(errors="replace").strip()


class _WatchedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, watch: WireWatch) -> None:
        self._stream, self._watch = stream, watch

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._stream:
            self._watch.see(piece)
            yield piece
        self._watch.see_end()

    async def aclose(self) -> None:
        await self._stream.aclose()


@cache
def tls_context() -> ssl.SSLContext:
    """Which servers are trusted, for every client."""
    # Reading the certificate store takes tens of milliseconds, and each client would do it anew. A context is not
    # bound to an event loop.
    return httpx2.create_ssl_context()


def http_client(watch: WireWatch, timeout: httpx2.Timeout) -> httpx2.AsyncClient:
    """A client for one call, watched. To be closed by the caller.

    One per call: a pooled client would belong to one event loop, and what it saves is small beside an answer.
    """
    return httpx2.AsyncClient(
        timeout=timeout,
        verify=tls_context(),
        # Compressed, the lines could not be watched; events are too small to gain from it.
        headers={"accept-encoding": "identity"},
        event_hooks={"response": [watch.on_response]},
    )
