"""Golden recordings with policies: the calls of a run, and what each of them gets."""

import json
from pathlib import Path
from typing import Any

import pytest

from openprogram.providers.replay import ReplayMismatch, ReplayProvider
from openprogram.providers.types import Context, EventDone, EventTextDelta, EventToolCallDelta
from tests.openprogram.providers.calls import MODEL, collect, user

pytestmark = pytest.mark.anyio

FOLDER = Path(__file__).parent / "matching_cases"
CASES: list[dict[str, Any]] = json.loads((FOLDER / "cases.json").read_text("utf-8"))


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
async def test_each_call_gets_what_the_case_says(case: dict[str, Any]) -> None:
    with ReplayProvider(FOLDER / case["recording"]) as provider:
        for call in case["calls"]:
            context = Context(system_prompt=call.get("system"), messages=[user(text) for text in call["messages"]])
            if "mismatch" in call:
                await _is_refused(provider, context, call)
            else:
                await _is_answered(provider, context, call)
        verdict = provider.verdict
    assert verdict.failed == any("mismatch" in call for call in case["calls"])
    assert verdict.equality == case["equality"]
    assert [[one.rule, one.recorded, one.incoming] for one in verdict.bindings] == case["bindings"]


async def _is_answered(provider: ReplayProvider, context: Context, call: dict[str, Any]) -> None:
    events = await collect(provider.stream(MODEL, context))
    done = events[-1]
    assert isinstance(done, EventDone)
    if "arguments" in call:
        deltas = "".join(event.delta for event in events if isinstance(event, EventToolCallDelta))
        assert json.loads(deltas) == done.message.tool_calls[0].arguments == call["arguments"]
    else:
        deltas = "".join(event.delta for event in events if isinstance(event, EventTextDelta))
        assert deltas == done.message.text == call["text"]


async def _is_refused(provider: ReplayProvider, context: Context, call: dict[str, Any]) -> None:
    with pytest.raises(ReplayMismatch) as failure:
        await provider.stream(MODEL, context)
    mismatch = failure.value
    assert [mismatch.field_path, mismatch.recorded, mismatch.incoming] == call["mismatch"]
    assert mismatch.call_index == call["call_index"]
    assert call.get("says", "") in str(mismatch)
