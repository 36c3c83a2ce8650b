"""What we add to an event of a live stream, recording on: through the real SDKs, against what the bare SDK takes.

From the moment at which a server in another process sends a delta to the moment at which the consumer has it.
"""

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI

from openprogram.providers.recording import RecordingProvider
from openprogram.providers.types import Context, EventTextDelta, Model, SimpleStreamOptions, UserMessage
from openprogram.providers.vendors import vendor_providers
from tests.benchmarks.live_server import DELTAS

__all__ = ["live_rows"]

#: Bare and ours in turns, so that a busy moment of the machine hits both.
_ROUNDS = 5

#: Reads one answer; when each text delta came, on the monotonic clock.
Reader = Callable[[str], Awaitable[list[float]]]


@dataclass
class _Measured:
    """Of all rounds but the first: how long each delta took, and the process's CPU time, both in seconds."""

    delays: list[float] = field(default_factory=list)
    cpu_s: float = 0.0


def live_rows(folder: Path) -> list[tuple[str, str, str]]:
    """Name, measured, goal."""
    rows = []
    for api, bare in (("anthropic-messages", _bare_anthropic), ("openai-completions", _bare_openai)):
        with _server() as server:
            floor, ours = _rounds(server, bare, _recording_reader(api, folder))
        base = statistics.median(floor.delays)
        added = sorted(delay - base for delay in ours.delays)
        median, p99 = statistics.median(added), added[int(len(added) * 0.99)]
        cpu = (ours.cpu_s - floor.cpu_s) / len(added)
        name = f"live, {api}: added"
        rows += [
            (f"{name} at the median", f"{median * 1000:.3f} ms (bare SDK: {base * 1000:.3f} ms)", "< 1 ms"),
            (f"{name} at p99", f"{p99 * 1000:.2f} ms", ""),
            (f"{name} CPU an event", f"{cpu * 1000:.3f} ms", ""),
        ]
    return rows


def _server() -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "tests.benchmarks.live_server", str(2 * (_ROUNDS + 1))]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def _rounds(server: "subprocess.Popen[str]", bare: Reader, ours: Reader) -> tuple[_Measured, _Measured]:
    """The first round warms up: the SDKs are imported."""
    assert server.stdout is not None
    measured = {bare: _Measured(), ours: _Measured()}
    url = f"http://127.0.0.1:{server.stdout.readline().strip()}"
    for number in range(_ROUNDS + 1):
        for reader in (bare, ours):
            started = time.process_time()
            came = anyio.run(reader, url)
            cpu_s = time.process_time() - started
            sent = json.loads(server.stdout.readline())
            assert len(came) == len(sent) == DELTAS
            if number > 0:
                measured[reader].cpu_s += cpu_s
                measured[reader].delays += [at - before for at, before in zip(came, sent, strict=True)]
    return measured[bare], measured[ours]


def _recording_reader(api: str, folder: Path) -> Reader:
    async def read(url: str) -> list[float]:
        path = folder / f"live-{api}.jsonl"
        provider = RecordingProvider(vendor_providers(environ={})[api], path)
        model = Model(id="m", api=api, provider="test", base_url=url)
        context = Context(messages=[UserMessage(content="hi")])
        stream = provider.stream_simple(model, context, SimpleStreamOptions(api_key="k", max_tokens=100))
        came = [time.monotonic() async for event in stream if isinstance(event, EventTextDelta)]
        provider.close()
        path.unlink()
        return came

    return read


async def _bare_anthropic(url: str) -> list[float]:
    async with AsyncAnthropic(api_key="k", base_url=url, max_retries=0) as client:
        stream = await client.messages.create(
            model="m", max_tokens=100, messages=[{"role": "user", "content": "hi"}], stream=True
        )
        return [time.monotonic() async for event in stream if event.type == "content_block_delta"]


async def _bare_openai(url: str) -> list[float]:
    async with AsyncOpenAI(api_key="k", base_url=url, max_retries=0) as client:
        stream = await client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "hi"}], stream=True
        )
        return [time.monotonic() async for chunk in stream if chunk.choices and chunk.choices[0].delta.content]
