"""Every provider of ours gives the same kind of stream: to await, to enter, to iterate."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from openprogram.providers.event_stream import EventStream
from openprogram.providers.recording import RecordingProvider
from openprogram.providers.replay import ReplayProvider
from openprogram.providers.scripted import ScriptedProvider
from openprogram.providers.types import Context, Model, UserMessage
from openprogram.providers.vendors import VENDOR_APIS, vendor_providers

pytestmark = pytest.mark.anyio

CONTEXT = Context(messages=[UserMessage(content="hi")])
APIS = [row.api for row in VENDOR_APIS if not row.finds_credentials]


@pytest.mark.parametrize("method", ["stream", "stream_simple"])
@pytest.mark.parametrize("kind", ["scripted", "recording", "replay", *APIS])
async def test_a_providers_stream_is_awaited_entered_and_iterated(tmp_path: Path, kind: str, method: str) -> None:
    path = tmp_path / "run.jsonl"
    model = Model(id="m", api=kind, provider="a-provider", base_url="https://localhost:9")

    def providers() -> Iterator[object]:
        for use in range(3):
            match kind:
                case "scripted":
                    yield ScriptedProvider(["hello"])
                case "recording":
                    yield RecordingProvider(ScriptedProvider(["hello"]), tmp_path / f"{use}.jsonl")
                case "replay":
                    yield ReplayProvider(path.with_name(f"{use}.jsonl"))
                case _:  # without a key: an answer too, and one for which nothing is sent
                    yield vendor_providers(environ={})[kind]

    if kind == "replay":
        for use in range(3):
            recording = RecordingProvider(ScriptedProvider(["hello"]), tmp_path / f"{use}.jsonl")
            await recording.stream(model, CONTEXT)
            recording.close()
    if kind in APIS:
        model = model.model_copy(update={"provider": kind.partition("-")[0], "base_url": ""})
    streams = [getattr(provider, method)(model, CONTEXT) for provider in providers()]
    assert {type(stream) for stream in streams} == {EventStream}
    awaited, entered, iterated = streams

    message = await awaited
    async with entered as inside:
        assert [event.type async for event in inside][-1] in ("done", "error")
    assert [event.type async for event in iterated][-1] in ("done", "error")
    for answer in (message, entered.partial, iterated.partial):
        assert (answer.text, answer.error_reason) == (("", "auth") if kind in APIS else ("hello", None))
