"""The loopback server, a process of its own: request n is answered with answer n of the session, and then from 0 again.

`python -m tests.benchmarks.peers.server SESSION` prints its base URL and runs until its standard input is closed. Below
`/warm`, it answers with a short answer of no session.
"""

import asyncio
import itertools
import sys

from tests.benchmarks.peers.wire import answer_body
from tests.benchmarks.workload import SESSIONS, session

__all__: list[str] = []


async def main(name: str) -> None:
    short = answer_body(session(1, 20, 100).answers[0])
    bodies = itertools.cycle([answer_body(answer) for answer in session(*SESSIONS[name]).answers])

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        (length,) = (line[15:] for line in head.split(b"\r\n") if line.startswith(b"content-length:"))
        await reader.readexactly(int(length))
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
        writer.write(short if head.startswith(b"post /warm") else next(bodies))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, limit=1 << 26)
    async with server:
        print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)  # noqa: T201 - how it answers
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
