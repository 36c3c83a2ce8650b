"""Replays of one call and of some turns, from a journal."""

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from openprogram.contracts import Contract, Idempotency
from openprogram.fixtures.events import AdapterEvent, Commit, Result
from openprogram.fixtures.fixture import Fixture
from openprogram.fixtures.registry import FixtureRegistry
from openprogram.providers.scripted import ScriptedProvider, tool_call
from openprogram.scenarios.history import History, JournalRefused
from openprogram.scenarios.operations import Operation
from openprogram.scenarios.partial_runs import ContractReplay, SegmentReplay
from openprogram.scenarios.replay_run import ReplayRun
from openprogram.scenarios.scenario import Scenario
from openprogram.scenarios.settings import Budgets, InjectSettings
from openprogram.world import thaw
from tests.openprogram.scenarios.stage import CONTRACTS, Script, pay, scenario

pytestmark = pytest.mark.anyio


def ship(resources: Any, arguments: dict[str, Any], clock: Any, random: Any) -> Iterable[AdapterEvent]:
    """Ships an order a minute from now."""
    order = thaw(resources[f"orders/{arguments['id']}"])
    yield Commit(resource=f"orders/{arguments['id']}", value={**order, "shipped": True}, after_s=60, name="ships")
    yield Result(value=random.text(4))


LOOK = FixtureRegistry(
    Fixture(
        id=f"look-{occurrence}",
        scenario_version="1",
        tool="look",
        contract_revision="1",
        arguments={"id": "17"},
        occurrence=occurrence,
        events=(Result(value=occurrence),),
    )
    for occurrence in range(3)
)

SHOP = scenario(
    ["Pay.", "Ship.", "Look.", "Thanks."],
    contracts={
        "pay": CONTRACTS["pay"].model_copy(update={"idempotency": Idempotency(key="{id}")}),
        "ship": Contract(name="ship", effect="write", writes=("orders/{id}",)),
        "look": Contract(name="look", effect="external", ordered=True),
    },
    operations={"pay": Operation("pay", "1", pay), "ship": Operation("ship", "1", ship)},
    injections=(
        InjectSettings(fault="lost_ack", tool="pay"),
        InjectSettings(fault="cut", provider=True, call=4, after=1),
    ),
)

SCRIPT: Script = [
    [tool_call("pay", {"id": "17"}, "a"), tool_call("look", {"id": "17"}, "b")],
    "Hm.",
    [tool_call("ship", {"id": "18"}, "c"), tool_call("pay", {"id": "17"}, "d")],
    "Shipped.",
    [tool_call("look", {"id": "17"}, "e"), tool_call("ship", {"id": "17"}, "f"), tool_call("look", {"id": "17"}, "g")],
    "Seen.",
    "You are welcome.",
]


async def journal_of(shop: Scenario = SHOP) -> bytes:
    written: list[bytes] = []
    await ReplayRun(shop, LOOK, ScriptedProvider(SCRIPT), write=written.append).run()
    return b"".join(written)


async def test_every_single_call_comes_out_as_in_the_whole_run() -> None:
    history = History(SHOP, await journal_of())
    assert history.calls == 7
    for call in range(history.calls):
        result = await ContractReplay(SHOP, LOOK, history).run(call)
        assert (result.difference, result.scope.name) == (None, "contract")
        assert result.lines >= 3


async def test_every_stretch_of_turns_comes_out_as_in_the_whole_run() -> None:
    history = History(SHOP, await journal_of())
    for first in range(history.turns):
        for last in range(first, history.turns):
            result = await SegmentReplay(SHOP, LOOK, history).run(first, last)
            assert (first, last, result.difference) == (first, last, None)
            assert result.lines > 0


async def test_an_operation_that_answers_otherwise_now_is_found_at_its_line_and_field() -> None:
    def pays_less(resources: Any, arguments: dict[str, Any], clock: Any, random: Any) -> Iterable[AdapterEvent]:
        for event in pay(resources, arguments, clock, random):
            yield Result(value="less") if isinstance(event, Result) else event

    shop = scenario()
    written: list[bytes] = []
    answers: Script = [[tool_call("pay", {"id": "17"})], "Done."]
    await ReplayRun(shop, FixtureRegistry(), ScriptedProvider(answers), write=written.append).run()
    changed = replace(shop, operations={"pay": Operation("pay", "1", pays_less)})
    history = History(changed, b"".join(written))
    for result in (
        await ContractReplay(changed, FixtureRegistry(), history).run(0),
        await SegmentReplay(changed, FixtureRegistry(), history).run(0, 0),
    ):
        assert result.difference is not None
        assert "(adapter), event.value: journal {'status': 'paid', 'amount': 30}, replay 'less'" in result.difference


async def test_the_journal_of_another_scenario_is_refused_with_what_differs() -> None:
    journal = await journal_of()
    with pytest.raises(JournalRefused, match="seed, version differ"):
        History(replace(SHOP, seed="8", version="2"), journal)


async def test_a_journal_that_was_touched_is_refused_at_its_line() -> None:
    lines = (await journal_of()).splitlines(keepends=True)
    spaced = json.dumps(json.loads(lines[4])).encode() + b"\n"
    for damaged, says in [
        (lines[:3] + lines[4:], "line 4 of the journal: its sequence is 4, not 3"),
        ([*lines[:4], spaced, *lines[5:]], "line 5 of the journal: not as a run writes it"),
        ([*lines[:4], b"{\n"], "line 5 of the journal: not JSON"),
        ([*lines, b"{"], "its last line is cut off"),
        ([], "it is empty"),
        (lines[1:], "line 1 of the journal: its sequence is 1, not 0"),
    ]:
        with pytest.raises(JournalRefused, match=says):
            History(SHOP, b"".join(damaged))


async def test_a_call_or_turn_that_is_not_there_is_named() -> None:
    history = History(SHOP, await journal_of())
    with pytest.raises(JournalRefused, match="no call 7"):
        await ContractReplay(SHOP, LOOK, history).run(7)
    with pytest.raises(JournalRefused, match="no user 4"):
        await SegmentReplay(SHOP, LOOK, history).run(4, 4)


async def test_a_budget_of_model_calls_holds_over_turns() -> None:
    written: list[bytes] = []
    shop = scenario(["One.", "Two.", "Three."], budgets=Budgets(model_calls=2))
    result = await ReplayRun(shop, FixtureRegistry(), ScriptedProvider(["1", "2", "3"]), write=written.append).run()
    assert (result.model_calls, result.reason) == (2, "call_limit")
