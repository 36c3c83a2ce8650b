"""Every recorded conversation with a vendor, recorded through our provider and replayed with the server gone."""

from pathlib import Path

import pytest

from openprogram.pipeline.redaction import remove_secret_values
from openprogram.providers.codec import AssistantEventCodec
from openprogram.providers.recording import RecordingProvider
from openprogram.providers.replay import ReplayProvider
from openprogram.providers.types import AssistantMessageEvent
from tests.openprogram.providers.vendors.wire_cases import APIS, case_names, final, provider, serve_case
from tests.openprogram.providers.vendors.wire_requests import WireRequest, wire_request

pytestmark = [
    pytest.mark.anyio,
    # the recordings are older than some models' end of life, which Anthropic's SDK warns of
    pytest.mark.filterwarnings("ignore:The model .* is deprecated:DeprecationWarning"),
]

#: Their model hands a `password` to a tool: the recording has the placeholder there, the live run had the password.
WITH_SECRETS = {"anthropic-messages/tools-parallel", "anthropic-messages/derived-truncated"}

CASES = case_names()


async def record(name: str, path: Path) -> tuple[list[WireRequest], list[list[AssistantMessageEvent]]]:
    """All exchanges of the case, over HTTP, and what the consumer saw."""
    api = APIS[name.split("/")[0]]
    requests, seen = [], []
    recording = RecordingProvider(provider(api), path)
    with serve_case(name) as url:
        for exchange in url.server.exchanges:
            vendor = "openrouter" if "openrouter" in name else ""
            request = wire_request(exchange["request"]["body"], api, url.base_url, vendor)
            requests.append(request)
            seen.append([event async for event in recording.stream_simple(*request)])
    recording.close()
    return requests, seen


@pytest.mark.parametrize("name", CASES)
async def test_a_conversation_replays_from_the_file_alone(name: str, tmp_path: Path) -> None:
    path = tmp_path / "case.jsonl"
    requests, seen = await record(name, path)
    with ReplayProvider(path) as replay:
        replayed = [[event async for event in replay.stream_simple(*request)] for request in requests]
        replay.assert_consumed()
    assert (replayed == seen) is (name not in WITH_SECRETS)
    codec = AssistantEventCodec()
    assert [codec.dump(events[-1]) for events in replayed] == [
        remove_secret_values(codec.dump(events[-1])) for events in seen
    ]
    assert [final(events).usage for events in replayed] == [final(events).usage for events in seen]
