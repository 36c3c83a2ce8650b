"""A server on 127.0.0.1 that answers as it is told, in the event loop of the test. For faults and small cases."""

import asyncio
import json
import socket
import struct
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal
from zlib import crc32

__all__ = [
    "Loopback",
    "Response",
    "Wire",
    "anthropic_stream",
    "aws_frame",
    "aws_stream",
    "event_stream",
    "loopback",
    "openai_stream",
    "unused_url",
]

#: What follows the last piece: the proper end of the body, a closed or a reset connection, one that is reset in the
#: middle of the last piece, or silence.
Ending = Literal["end", "close", "reset", "torn", "silence"]


@dataclass(frozen=True)
class Response:
    """One answer. `pieces`: the body, one write each. `begins`: with a head; otherwise nothing comes at all."""

    pieces: Sequence[bytes] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"content-type": "text/event-stream"})
    ending: Ending = "end"
    begins: bool = True

    @classmethod
    def json(cls, status: int, body: Any, **headers: str) -> "Response":
        head = {"content-type": "application/json"} | {name.replace("_", "-"): text for name, text in headers.items()}
        return cls([json.dumps(body).encode()], status, head)


@dataclass(frozen=True)
class Wire:
    """A request as it came. `target`: path and query; `headers`: names in lower case."""

    target: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Loopback:
    """The running server. `requests`: those that came, as (headers in lower case, body); `wire`: as they were sent.

    `dropped`: a client left an answer.
    """

    url: str
    responses: list[Response]
    requests: list[tuple[dict[str, str], Any]] = field(default_factory=list)
    wire: list[Wire] = field(default_factory=list)
    dropped: asyncio.Event = field(default_factory=asyncio.Event)
    _arrived: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def asked(self, times: int = 1) -> None:
        """Return once that many requests have come."""
        async with self._arrived:
            await self._arrived.wait_for(lambda: len(self.requests) >= times)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = await _read_request(reader)
            self.wire.append(request)
            lower = {name: text.lower() for name, text in request.headers.items()}
            self.requests.append((lower, json.loads(request.body)))
            async with self._arrived:
                self._arrived.notify_all()
            await self._answer(reader, writer, self.responses.pop(0))
        except ConnectionError:
            self.dropped.set()
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, response: Response) -> None:
        if not response.begins:
            await reader.read()  # ends when the client closes the connection
            self.dropped.set()
            return
        head = {**response.headers, "transfer-encoding": "chunked"}
        lines = [f"HTTP/1.1 {response.status} Status", *(f"{name}: {text}" for name, text in head.items())]
        writer.write("\r\n".join([*lines, "", ""]).encode())
        *whole, torn = response.pieces if response.ending == "torn" else (*response.pieces, b"")
        for piece in whole:
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            await writer.drain()
        if response.ending == "end":
            writer.write(b"0\r\n\r\n")
            await writer.drain()
        elif response.ending in ("reset", "torn"):
            if torn:
                writer.write(b"%x\r\n%b" % (len(torn), torn[: len(torn) // 2]))
                await writer.drain()
            linger = struct.pack("ii", 1, 0)  # on, 0 seconds: closing sends RST
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            writer.transport.abort()
        elif response.ending == "silence":
            await reader.read()  # ends when the client closes the connection
            self.dropped.set()


async def _read_request(reader: asyncio.StreamReader) -> Wire:
    first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    headers = {name.lower(): text for name, text in (line.split(": ", 1) for line in lines if line)}
    return Wire(first.split(" ")[1], headers, await reader.readexactly(int(headers["content-length"])))


@asynccontextmanager
async def loopback(*responses: Response) -> AsyncIterator[Loopback]:
    """A server that gives these answers, one per connection, and then none."""
    told = Loopback("", list(responses))
    server = await asyncio.start_server(told.serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    told.url = f"http://{host}:{port}"
    try:
        yield told
    finally:
        server.close()
        await server.wait_closed()


def unused_url() -> str:
    """Where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        host, port = taken.getsockname()
    return f"http://{host}:{port}"


def event_stream(*events: Mapping[str, Any]) -> list[bytes]:
    """Server-sent events as Anthropic's Messages API and OpenAI's Responses API send them, one piece each."""
    return [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events]


anthropic_stream = event_stream


def openai_stream(*chunks: Mapping[str, Any], done: bool = True) -> list[bytes]:
    """Server-sent events as Chat Completions sends them, one piece each; `done`: with the `[DONE]` at the end."""
    lines = [f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks]
    return [*lines, b"data: [DONE]\n\n"] if done else lines


def aws_stream(*events: tuple[str, Mapping[str, Any]]) -> list[bytes]:
    """Frames of AWS's event streams, as (event type, payload), one piece each."""
    return [aws_frame({":message-type": "event", ":event-type": kind}, payload) for kind, payload in events]


def aws_frame(headers: Mapping[str, str], payload: Mapping[str, Any] | bytes) -> bytes:
    """One frame; bytes as payload are sent as they are. Source: https://smithy.io/2.0/aws/amazon-eventstream.html"""
    body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    named = b"".join(
        b"%c%b\x07%b%b" % (len(name), name.encode(), len(text).to_bytes(2), text.encode())
        for name, text in headers.items()
    )
    prelude = (16 + len(named) + len(body)).to_bytes(4) + len(named).to_bytes(4)
    frame = prelude + crc32(prelude).to_bytes(4) + named + body
    return frame + crc32(frame).to_bytes(4)
