"""Requests under an idempotency key: they converge, or fail hard."""

from collections.abc import Iterable
from typing import Any

import pytest

from openprogram.contracts import Contract, Idempotency
from openprogram.fixtures.events import Ack, AdapterEvent, Commit, Delay, Result
from openprogram.fixtures.registry import FixtureRegistry
from openprogram.providers.scripted import ScriptedProvider, tool_call
from openprogram.providers.types import TextContent, ToolResultMessage
from openprogram.scenarios.operations import Operation
from openprogram.scenarios.replay_run import ReplayRun, RunResult
from openprogram.scenarios.settings import InjectSettings
from openprogram.world import thaw
from tests.openprogram.scenarios.stage import scenario

pytestmark = pytest.mark.anyio


def charge(resources: Any, arguments: dict[str, Any], clock: Any, random: Any) -> Iterable[AdapterEvent]:
    order = thaw(resources["orders/17"])
    order["charged"] = order.get("charged", 0) + arguments["amount"]
    yield Delay(seconds=3)
    yield Commit(resource="orders/17", value=order)
    yield Ack()
    yield Result(value={"charged": order["charged"], "receipt": random.text(4)})


def contract(on_repeat: Any = "converge") -> Contract:
    return Contract(
        name="charge",
        effect="write",
        writes=("orders/17",),
        idempotency=Idempotency(key="{request}", on_repeat=on_repeat),
    )


async def run(*arguments: dict[str, Any], on_repeat: str = "converge", inject: Any = ()) -> RunResult:
    calls = [[tool_call("charge", given, str(number))] for number, given in enumerate(arguments)]
    shop = scenario(
        contracts={"charge": contract(on_repeat)},
        operations={"charge": Operation("charge", "1", charge)},
        injections=tuple(inject),
    )
    return await ReplayRun(shop, FixtureRegistry(), ScriptedProvider([*calls, "Done."])).run()


def seen(result: RunResult) -> list[tuple[str, bool]]:
    return [
        (block.text, message.is_error)
        for message in result.messages
        if isinstance(message, ToolResultMessage)
        for block in message.content
        if isinstance(block, TextContent)
    ]


ONCE = {"request": "r1", "amount": 30}


async def test_the_same_request_again_gets_the_first_answer_and_has_no_further_effect() -> None:
    result = await run(ONCE, ONCE)
    assert result.world["orders/17"]["charged"] == 30
    (first, _), (second, is_error) = seen(result)
    assert (second, is_error) == (first, False)


async def test_without_a_key_or_under_another_one_it_is_a_request_of_its_own() -> None:
    assert (await run(ONCE, {**ONCE, "request": "r2"})).world["orders/17"]["charged"] == 60
    assert (await run({"amount": 30}, {"amount": 30})).world["orders/17"]["charged"] == 60


async def test_the_same_key_with_other_arguments_fails_and_changes_nothing() -> None:
    result = await run(ONCE, {**ONCE, "amount": 31})
    assert result.world["orders/17"]["charged"] == 30
    assert seen(result)[1] == ("Error: a request with this key was made before, with other arguments", True)


async def test_where_the_contract_says_so_any_repeat_fails() -> None:
    result = await run(ONCE, ONCE, on_repeat="fail")
    assert result.world["orders/17"]["charged"] == 30
    assert seen(result)[1] == ("Error: a request with this key was made before", True)


@pytest.mark.parametrize("after", [0, 1, 2, 3])
async def test_cut_anywhere_and_tried_again_it_has_taken_effect_once_and_the_agent_learns_of_it(after: int) -> None:
    result = await run(ONCE, ONCE, inject=[InjectSettings(fault="cut", tool="charge", after=after)])
    (_, failed), (text, is_error) = seen(result)
    assert (failed, is_error) == (True, False)
    assert text.startswith('{"charged": 30')
    assert result.world["orders/17"]["charged"] == 30
    assert result.world.revision == 1


async def test_a_lost_acknowledgement_and_a_retry_charge_once() -> None:
    result = await run(ONCE, ONCE, inject=[InjectSettings(fault="lost_ack", tool="charge")])
    assert [is_error for _, is_error in seen(result)] == [True, False]
    assert result.world["orders/17"]["charged"] == 30


async def test_a_retry_that_is_cut_as_well_still_converges() -> None:
    faults = [
        InjectSettings(fault="lost_ack", tool="charge"),
        InjectSettings(fault="cut", tool="charge", call=1, after=0),
    ]
    result = await run(ONCE, ONCE, ONCE, inject=faults)
    assert [is_error for _, is_error in seen(result)] == [True, True, False]
    assert result.world["orders/17"]["charged"] == 30


@pytest.mark.parametrize("amount", [True, 1.0, -0.0])
async def test_arguments_are_the_same_only_where_json_says_so(amount: Any) -> None:
    first = {"request": "r1", "amount": 0 if amount == 0 else 1}
    result = await run(first, {**first, "amount": amount})
    assert seen(result)[1] == ("Error: a request with this key was made before, with other arguments", True)


async def test_a_commit_that_comes_twice_in_the_answer_has_no_effect_in_the_repeat_either() -> None:
    def answered_twice(resources: Any, arguments: Any, clock: Any, random: Any) -> Any:
        more = Commit(resource="orders/17", patch=[{"op": "add", "path": "/log/-", "value": 1}], sequence=1)
        yield Commit(resource="orders/17", value={"log": []}, sequence=0)
        yield from (more, more)
        yield Result(value="done", sequence=2)

    shop = scenario(
        contracts={"charge": contract()},
        operations={"charge": Operation("charge", "1", answered_twice)},
        injections=(InjectSettings(fault="cut", tool="charge", after=3),),
    )
    calls = [[tool_call("charge", ONCE, str(number))] for number in range(2)]
    result = await ReplayRun(shop, FixtureRegistry(), ScriptedProvider([*calls, "Done."])).run()
    assert [is_error for _, is_error in seen(result)] == [True, False]
    assert result.world["orders/17"] == {"log": [1]}


async def test_the_same_key_for_two_tools_is_two_requests() -> None:
    names = ("charge", "charge_again")
    shop = scenario(
        contracts={name: contract().model_copy(update={"name": name}) for name in names},
        operations={name: Operation(name, "1", charge) for name in names},
    )
    calls = [[tool_call(name, ONCE, name) for name in names]]
    result = await ReplayRun(shop, FixtureRegistry(), ScriptedProvider([*calls, "Done."])).run()
    assert result.world["orders/17"]["charged"] == 60


async def test_an_answer_without_any_effect_is_the_same_again_and_what_the_repeat_waits_for_is_only_what_was_left() -> (
    None
):
    def receipt(resources: Any, arguments: Any, clock: Any, random: Any) -> Iterable[AdapterEvent]:
        yield Result(value=random.text(8))

    shop = scenario(contracts={"charge": contract()}, operations={"charge": Operation("charge", "1", receipt)})
    calls = [[tool_call("charge", ONCE, str(number))] for number in range(2)]
    first, second = seen(await ReplayRun(shop, FixtureRegistry(), ScriptedProvider([*calls, "Done."])).run())
    assert first == second
    again = await run(ONCE, ONCE)
    assert (again.world.clock.now - scenario().start).total_seconds() == 3
