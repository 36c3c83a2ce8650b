"""A loopback server that speaks a provider's wire format: server-sent events of the Anthropic Messages API.

It answers POST /v1/messages with the exchanges it is given, in order, and everything else with an error of that
API's shape. It binds 127.0.0.1 only. Source of the format: the Anthropic API reference, "Streaming messages".
"""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, TypeAlias

__all__ = ["Exchange", "serve"]

#: The events of one answer, in order.
Exchange: TypeAlias = Sequence[dict[str, Any]]

_PATH: Final = "/v1/messages"


@asynccontextmanager
async def serve(exchanges: Sequence[Exchange]) -> AsyncIterator[str]:
    """Run the server; gives its base URL. It is gone when the block is left."""
    left = iter(exchanges)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request_line = await _read_request(reader)
            exchange = next(left, None) if request_line == ["POST", _PATH] else None
            await _send(writer, exchange)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client has gone
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def _read_request(reader: asyncio.StreamReader) -> list[str]:
    """Method and path; the headers and the body are read and left alone."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in head[1:] if ": " in line)
    await reader.readexactly(int(headers.get("content-length", "0")))
    method, target, _version = head[0].split(" ")
    return [method, target.partition("?")[0]]


async def _send(writer: asyncio.StreamWriter, exchange: Exchange | None) -> None:
    if exchange is None:
        error = {"type": "error", "error": {"type": "not_found_error", "message": "nothing is left to answer"}}
        body = json.dumps(error).encode()
        writer.write(_head("404 Not Found", "application/json") + body)
        return await writer.drain()
    writer.write(_head("200 OK", "text/event-stream"))
    for event in exchange:
        writer.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        await writer.drain()
    return None


def _head(status: str, content_type: str) -> bytes:
    return f"HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\nconnection: close\r\n\r\n".encode()
