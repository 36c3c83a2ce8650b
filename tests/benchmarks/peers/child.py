"""One measurement in a process of its own: `python -m tests.benchmarks.peers.child WAY SESSION URL FILE`.

Prints JSON: `seconds` from opening the file to the last event, `first`: to the first event; `cpu`: seconds of this
process; `kib`: by how much the peak of memory grew meanwhile; `deltas`: how many text and argument deltas came out.
Before that the session is made, and one short call of the same kind loads whatever is loaded at the first call. Each
way imports what it needs, and no more.
"""

import gc
import json
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Final, Literal

import anyio

from openprogram.pipeline.log.writer import RecordingSink
from openprogram.providers.api_registry import ApiProvider
from openprogram.providers.recording import RecordingProvider
from openprogram.providers.types import Model
from openprogram.providers.vendors import vendor_providers
from tests.benchmarks.peers.wire import parameters
from tests.benchmarks.workload import SESSIONS, Session, SessionProvider, session

__all__ = ["WAYS"]


#: What carries a piece of an answer: the SDK's word for it, and ours.
_DELTAS: Final = frozenset({"content_block_delta", "text_delta", "toolcall_delta"})


class Watch:
    """When the first event came, and how many deltas there were."""

    def __init__(self) -> None:
        self.deltas = 0
        self.first: float | None = None
        self.begin()

    def begin(self) -> None:
        """Time from here on."""
        self._started, self._cpu_started = time.perf_counter(), time.process_time()

    async def read(self, events: AsyncIterator[Any]) -> None:
        """Read an answer to its end. The same for everybody, and as little beside it as can be."""
        event, deltas = await anext(events), 0
        if self.first is None:
            self.first = self.seconds()
        deltas += event.type in _DELTAS
        async for event in events:
            if event.type in _DELTAS:
                deltas += 1
        self.deltas += deltas

    def seconds(self) -> float:
        return time.perf_counter() - self._started

    def cpu(self) -> float:
        return time.process_time() - self._cpu_started


Way = Callable[[Session, str, Path, Watch], Awaitable[None]]


async def _sdk(played: Session, url: str, cassette: AbstractContextManager[Any], watch: Watch) -> None:
    """The raw events of the SDK: what costs it least. Its client, which loads certificates, is made before."""
    from anthropic import AsyncAnthropic

    async with AsyncAnthropic(api_key="none", base_url=url, max_retries=0) as client:
        watch.begin()
        with cassette:
            for context in played.contexts:
                await watch.read(await client.messages.create(model="bench-1", stream=True, **parameters(context)))


async def sdk_live(played: Session, url: str, path: Path, watch: Watch) -> None:
    await _sdk(played, url, nullcontext(), watch)


def _cassette(path: Path, mode: Literal["all", "none"]) -> AbstractContextManager[Any]:
    import vcr  # type: ignore[import-untyped]

    serializer = path.suffix.removeprefix(".")
    made: AbstractContextManager[Any] = vcr.VCR().use_cassette(
        str(path), record_mode=vcr.mode(mode), serializer=serializer
    )
    return made


async def vcr_record(played: Session, url: str, path: Path, watch: Watch) -> None:
    await _sdk(played, url, _cassette(path, "all"), watch)


async def vcr_replay(played: Session, url: str, path: Path, watch: Watch) -> None:
    await _sdk(played, url, _cassette(path, "none"), watch)


async def _ours(played: Session, url: str, provider: ApiProvider, watch: Watch) -> None:
    model = Model(id="bench-1", api="anthropic-messages", provider="anthropic", base_url=url, max_tokens=4096)
    for context in played.contexts:
        await watch.read(provider.stream_simple(model, context))


async def adapter_live(played: Session, url: str, path: Path, watch: Watch) -> None:
    await _ours(played, url, vendor_providers(environ={"ANTHROPIC_API_KEY": "none"})["anthropic-messages"], watch)


async def our_record(played: Session, url: str, path: Path, watch: Watch) -> None:
    vendor = vendor_providers(environ={"ANTHROPIC_API_KEY": "none"})["anthropic-messages"]
    provider = RecordingProvider(vendor, path)
    await _ours(played, url, provider, watch)
    provider.close()


async def our_replay(played: Session, url: str, path: Path, watch: Watch) -> None:
    from openprogram.providers.replay import ReplayProvider

    with ReplayProvider(path) as provider:
        await _ours(played, url, provider, watch)
        provider.assert_consumed()


WAYS: dict[str, Way] = {
    way.__name__: way for way in (sdk_live, vcr_record, vcr_replay, adapter_live, our_record, our_replay)
}


async def _warm_up(way: str, url: str) -> None:
    short = session(1, 20, 100)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.jsonl"
        match way:
            case "sdk_live" | "vcr_record" | "vcr_replay":
                cassette = _cassette(path.with_suffix(".json"), "all")
                await _sdk(short, f"{url}/warm", cassette, Watch())
            case "our_replay":
                with RecordingSink(path) as sink:
                    await _ours(short, url, RecordingProvider(SessionProvider(short), sink), Watch())
                await our_replay(short, url, path, Watch())
            case _:
                await WAYS[way](short, f"{url}/warm", path, Watch())


def main(way: str, name: str, url: str, path: str) -> None:
    played = session(*SESSIONS[name])
    anyio.run(_warm_up, way, url)
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    before = _kib("VmRSS")

    async def measured() -> Watch:
        watch = Watch()
        await WAYS[way](played, url, Path(path), watch)
        return watch

    watch = anyio.run(measured)
    seconds, cpu, kib = watch.seconds(), watch.cpu(), _kib("VmHWM") - before
    found = {"seconds": seconds, "cpu": cpu, "first": watch.first, "kib": kib, "deltas": watch.deltas}
    print(json.dumps(found))  # noqa: T201 - how it answers


def _kib(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(name)).split()[1])


if __name__ == "__main__":
    main(*sys.argv[1:])
