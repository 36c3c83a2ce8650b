"""Replays of one call and of some turns, from a journal."""

import json
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from openprogram.contracts import Contract, Idempotency
from openprogram.fixtures.events import AdapterEvent, Commit, Result
from openprogram.fixtures.fixture import Fixture
from openprogram.fixtures.registry import FixtureRegistry
from openprogram.providers.scripted import ScriptedProvider, tool_call
from openprogram.providers.types import ToolCall
from openprogram.scenarios.history import History, JournalRefused
from openprogram.scenarios.journal import encoded
from openprogram.scenarios.operations import Operation
from openprogram.scenarios.partial_runs import ContractReplay, SegmentReplay, _compared
from openprogram.scenarios.replay_run import ReplayRun
from openprogram.scenarios.scenario import Scenario
from openprogram.scenarios.scopes import CONTRACT
from openprogram.scenarios.settings import Budgets, InjectSettings
from openprogram.world import thaw
from openprogram.world.clock import parse_time
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


async def test_a_journal_cut_off_after_any_line_gives_what_the_whole_one_gives_or_is_refused() -> None:
    lines = (await journal_of()).splitlines(keepends=True)
    served = 0
    for end in range(len(lines)):
        try:
            history = History(SHOP, b"".join(lines[:end]))
        except JournalRefused:
            assert end == 0
            continue
        for call in range(7):
            with suppress(JournalRefused):
                assert (await ContractReplay(SHOP, LOOK, history).run(call)).difference is None
                served += 1
        for first in range(4):
            for last in range(first, 4):
                with suppress(JournalRefused):
                    assert (await SegmentReplay(SHOP, LOOK, history).run(first, last)).difference is None
                    served += 1
    assert served > 100


async def test_turns_beyond_the_last_or_that_are_not_complete_are_refused() -> None:
    journal = await journal_of()
    with pytest.raises(JournalRefused, match="there is no user 9"):
        await SegmentReplay(SHOP, LOOK, History(SHOP, journal)).run(0, 9)
    unended = History(SHOP, b"".join(journal.splitlines(keepends=True)[:-1]))
    with pytest.raises(JournalRefused, match="turn 3 is not complete"):
        await SegmentReplay(SHOP, LOOK, unended).run(0, 3)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("format_version", 2),
        ("mode", "record"),
        ("scope", "segment"),
        ("scenario", None),
        ("branch", None),
        ("type", None),
    ],
)
async def test_a_header_of_another_kind_is_refused(field: str, value: Any) -> None:
    first, _, rest = (await journal_of()).partition(b"\n")
    header = json.loads(first) | {field: value}
    with pytest.raises(JournalRefused, match="line 1 of the journal"):
        History(SHOP, encoded(header) + rest)


async def test_lines_that_no_run_writes_are_refused_whatever_they_lack() -> None:
    lines = [json.loads(line) for line in (await journal_of()).splitlines()]
    for position, line in enumerate(lines[:-1]):
        for field in line.keys() - {"type", "sequence"}:
            without = [*lines[:position], {key: line[key] for key in line if key != field}, *lines[position + 1 :]]
            with suppress(JournalRefused):  # and nothing else is raised
                history = History(SHOP, b"".join(map(encoded, without)))
                for call in range(7):
                    history.before_call(call)
                for turn in range(4):
                    history.before_turn(turn)


async def test_a_line_that_holds_no_number_or_too_many_levels_is_refused_at_its_number() -> None:
    lines = (await journal_of()).splitlines(keepends=True)
    for bad in (b'{"type":"call","sequence":1,"at":NaN}\n', b"[" * 100_000 + b"\n", b"\xff\n", b"null\n"):
        with pytest.raises(JournalRefused, match="line 2 of the journal"):
            History(SHOP, b"".join([lines[0], bad, *lines[2:]]))


async def test_a_call_whose_arguments_could_not_be_read_is_part_of_the_conversation_that_is_restored() -> None:
    unreadable = [ToolCall(id=one, name="pay", arguments_error="not JSON") for one in ("x", "z")]
    readable = tool_call("pay", {"id": "17"}, "y")
    shop = scenario(["One.", "Two."])
    written: list[bytes] = []
    provider = ScriptedProvider([[unreadable[0], readable, unreadable[1]], "Done.", "Bye."])
    await ReplayRun(shop, FixtureRegistry(), provider, write=written.append).run()
    told = list(provider.requests[2].context.messages)[:-1]
    restored = History(shop, b"".join(written)).before_turn(1).messages
    assert [message.model_dump() for message in restored] == [message.model_dump() for message in told]


async def test_messages_that_are_restored_carry_the_time_that_they_had_to_the_millisecond() -> None:
    shop = scenario(["One.", "Two."], start=parse_time("2026-01-05T09:00:00.000900Z"))
    written: list[bytes] = []
    provider = ScriptedProvider([[tool_call("pay", {"id": "17"})], "Done.", "Bye."])
    await ReplayRun(shop, FixtureRegistry(), provider, write=written.append).run()
    restored = History(shop, b"".join(written)).before_turn(1).messages
    assert list(restored) == list(provider.requests[2].context.messages)[:-1]


@pytest.mark.parametrize(("recorded", "replayed"), [(1, 2), (2, 1)])
def test_a_line_more_or_less_is_a_difference(recorded: int, replayed: int) -> None:
    line = {"type": "user", "sequence": 0}
    result = _compared(CONTRACT, [line] * recorded, [line] * replayed)
    assert result.difference == f"{recorded} lines in the journal, {replayed} in the replay"
