"""A server on 127.0.0.1 that streams text, a delta every 5 ms, as two vendors do. In a process of its own.

python -m tests.benchmarks.live_server ANSWERS

Prints its port, and for each answer a line of JSON: when each delta was sent, in seconds of the system's monotonic
clock, which all processes share.
"""

import asyncio
import json
import sys
import time
from typing import Any

__all__ = ["DELTAS"]

_PACE_S = 0.005
DELTAS = 400

_WORDS = "the lamp in the hall stays on until nine and the door to the garden is open ".split(" ")


def _sse(event: dict[str, Any]) -> bytes:
    name = f"event: {event['type']}\n" if "type" in event else ""
    return f"{name}data: {json.dumps(event)}\n\n".encode()


def _anthropic(text: str) -> bytes:
    return _sse({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}})


def _openai(text: str | None, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": {} if text is None else {"content": text}, "finish_reason": finish}
    return _sse({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]})


_MESSAGE: dict[str, Any] = {
    "id": "m",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [],
    "stop_reason": None,
}
_USAGE = {"input_tokens": 1, "output_tokens": 1}
_ANTHROPIC_HEAD = _sse(
    {"type": "message_start", "message": {**_MESSAGE, "stop_sequence": None, "usage": _USAGE}}
) + _sse({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
_ANTHROPIC_TAIL = (
    _sse({"type": "content_block_stop", "index": 0})
    + _sse({"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": _USAGE})
    + _sse({"type": "message_stop"})
)


async def _serve(answers: int) -> None:
    left = asyncio.Semaphore(0)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = next(line for line in head.split("\r\n") if line.startswith("content-length"))
        await reader.readexactly(int(length.split(":")[1]))
        openai = "/chat/completions" in head.split("\r\n")[0]
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        sent = []
        _chunk(writer, b"" if openai else _ANTHROPIC_HEAD)
        for number in range(DELTAS):
            await asyncio.sleep(_PACE_S)
            text = _WORDS[number % len(_WORDS)] + " "
            piece = _openai(text) if openai else _anthropic(text)
            sent.append(time.monotonic())
            _chunk(writer, piece)
            await writer.drain()
        _chunk(writer, _openai(None, "stop") + b"data: [DONE]\n\n" if openai else _ANTHROPIC_TAIL)
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        writer.close()
        print(json.dumps(sent), flush=True)  # noqa: T201
        left.release()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)  # noqa: T201
    for _ in range(answers):
        await left.acquire()
    server.close()


def _chunk(writer: asyncio.StreamWriter, data: bytes) -> None:
    if data:
        writer.write(b"%x\r\n%b\r\n" % (len(data), data))


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1])))
