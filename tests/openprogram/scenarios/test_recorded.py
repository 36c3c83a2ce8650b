"""A recording that answers for a scenario's model: the order of the tools, and where the scenario has what differs."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openprogram.pipeline.errors import ReplayMismatch
from openprogram.providers.recording import RecordingProvider
from openprogram.providers.replay import ReplayProvider
from openprogram.providers.scripted import ScriptedProvider
from openprogram.providers.types import Context, Tool, UserMessage
from openprogram.scenarios.recorded import in_recorded_order, where_it_is_set
from tests.openprogram.scenarios.stage import CONTRACTS, MODEL

pytestmark = pytest.mark.anyio


@given(st.lists(st.sampled_from([*CONTRACTS, "fly"]), unique=True))
def test_the_recorded_tools_come_first_in_their_order_and_none_is_added_or_lost(recorded: list[str]) -> None:
    ordered = in_recorded_order(CONTRACTS, recorded)
    assert ordered == CONTRACTS  # whatever the order
    known = [name for name in recorded if name in CONTRACTS]
    assert list(ordered) == known + [name for name in CONTRACTS if name not in known]


@pytest.mark.parametrize("tools", [None, [Tool(name="b", description=""), Tool(name="a", description="")]])
async def test_a_recording_tells_the_tools_of_its_first_request(tmp_path: Path, tools: list[Tool] | None) -> None:
    context = Context(messages=[UserMessage(content="Go.")], tools=tools)
    await RecordingProvider(ScriptedProvider(["Done."]), tmp_path / "r.jsonl").stream_simple(MODEL, context)
    with ReplayProvider(tmp_path / "r.jsonl") as replay:
        assert replay.first_tools() == (() if tools is None else ("b", "a"))


@pytest.mark.parametrize(
    ("field_path", "place"),
    [
        ("model.base_url", "[model]"),
        ("context.system_prompt", "system_prompt"),
        ("context.tools", "contracts"),
        ("context.tools[1].parameters.properties.id", "contracts"),
        ("context.messages[2].content[0].text", "fixtures and operations"),
        ("options", "without them"),
        ("options.temperature", "without them"),
        ("call_index", "turns"),
    ],
)
def test_a_field_that_differs_is_told_by_its_place_in_the_scenario(field_path: str, place: str) -> None:
    mismatch = ReplayMismatch(call_index=0, field_path=field_path, recorded=1, incoming=2)
    assert place in str(where_it_is_set(mismatch))


def test_of_another_field_no_place_is_made_up() -> None:
    assert where_it_is_set(ReplayMismatch(call_index=0, field_path="modelled", recorded=1, incoming=2)) is None
