"""Expectations, and the verdict that they add up to."""

import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import ValidationError

from openprogram.evaluation import ClaimsLedger, Evidence, Expectation, Spent, expectation, judge
from openprogram.evaluation.expectations import (
    budget_expectations,
    declared_expectations,
    fault_expectations,
    found_at,
    python_expectations,
)
from openprogram.evaluation.junit import junit_xml
from openprogram.providers.types import AssistantMessage, Cost, Usage, UserMessage
from openprogram.scenarios.replay_run import RunResult
from openprogram.scenarios.scopes import CONTRACT, SCENARIO, SEGMENT
from openprogram.scenarios.settings import Budgets, ExpectSettings, InjectSettings
from openprogram.world import ScenarioClock, World
from tests.openprogram.evaluation import expectations_module
from tests.openprogram.scenarios.stage import scenario

EVIDENCE = Evidence(
    resources={"orders": {"17": {"status": "paid", "amount": 30, "rate": 1.0}, "18": {"status": "open", "amount": 5}}},
    trace=[
        {"type": "call", "call": 0, "tool": "pay"},
        {"type": "observation", "call": 0, "outcome": "result"},
        {"type": "call", "call": 1, "tool": "pay"},
    ],
    account="Order 17 is paid. You were charged 30 euros.",
    budgets=Spent(model_calls=3, tool_calls=2, tokens=500, cost_usd=0.25, scenario_seconds=12.5),
    artifacts={"report.txt": "paid"},
)


def verdict_of(**settings: Any) -> tuple[str, str]:
    (declared,) = declared_expectations([ExpectSettings.model_validate(settings)])
    (judged,) = judge(EVIDENCE, [declared], SCENARIO, ClaimsLedger()).judged
    return judged.status, judged.why


@pytest.mark.parametrize(
    "settings",
    [
        {"path": "$.orders['17'].status", "equals": "paid"},
        {"path": "$.orders['17']", "equals": {"amount": 30, "rate": 1.0, "status": "paid"}},
        {"path": "$.orders[*].amount", "schema": {"type": "integer", "minimum": 1}},
        {"path": "$.orders['99']", "exists": False},
        {"path": "$.orders.*", "count": 2},
        {"about": "trace", "path": "$[?@.tool == 'pay']", "count": 2},
        {"about": "observation", "path": "$[*].outcome", "equals": "result"},
        {"about": "artifacts", "path": "$['report.txt']", "equals": "paid"},
        {"about": "budgets", "path": "$.tokens", "schema": {"maximum": 500}},
        {"about": "account", "path": "$.text", "schema": {"pattern": "paid"}},
        {"about": "account", "claim": r"charged (\d+)", "path": "$.orders['17'].amount"},
        {"about": "account", "claim": r"refunded (\d+)", "path": "$.orders['17'].amount"},
    ],
)
def test_what_holds_passes(settings: dict[str, Any]) -> None:
    assert verdict_of(**settings) == ("passed", "")


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"path": "$.orders['17'].status", "equals": "open"}, "$.orders['17'].status is 'paid', not 'open'"),
        ({"path": "$.orders['17'].rate", "equals": 1}, "is 1.0, not 1"),
        ({"path": "$.orders['17'].amount", "equals": True}, "is 30, not True"),
        ({"path": "$.orders[*].status", "equals": "paid"}, "is 'open', not 'paid'"),
        ({"path": "$.orders['99'].status", "equals": "paid"}, "finds nothing"),
        ({"path": "$.orders['99'].status", "schema": {}}, "finds nothing"),
        ({"path": "$.orders.*", "count": 3}, "finds 2, not 3"),
        ({"path": "$.orders.*", "exists": False}, "finds 2 values"),
        ({"path": "$.orders['17'].amount", "schema": {"maximum": 1}}, "30 is greater than the maximum of 1"),
        (
            {"about": "account", "claim": r"charged (\d+)", "path": "$.orders['18'].amount"},
            "the last message says '30', but $.orders['18'].amount is 5",
        ),
        (
            {"about": "account", "claim": r"refunded (\d+)", "path": "$.orders['17'].amount", "exists": True},
            "the last message does not say so",
        ),
    ],
)
def test_what_does_not_hold_fails_with_both_sides(settings: dict[str, Any], why: str) -> None:
    status, said = verdict_of(**settings)
    assert status == "failed"
    assert why in said


@pytest.mark.parametrize(
    "settings",
    [
        {"path": "$"},
        {"path": "$", "equals": 1, "count": 1},
        {"claim": "x", "path": "$"},
        {"about": "account", "claim": "x", "equals": 1},
        {"about": "weather", "exists": True},
    ],
)
def test_an_expectation_that_says_nothing_or_two_things_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ExpectSettings.model_validate(settings)


@pytest.mark.parametrize(
    ("budgets", "status"),
    [
        ({"model_calls": 3, "tool_calls": 2, "tokens": 500, "cost_usd": 0.25, "scenario_seconds": 12.5}, "passed"),
        ({"model_calls": 2}, "failed"),
        ({"tool_calls": 1}, "failed"),
        ({"tokens": 499}, "failed"),
        ({"cost_usd": 0.24}, "failed"),
        ({"scenario_seconds": 12.4}, "failed"),
    ],
)
def test_every_bound_is_judged_by_itself(budgets: dict[str, Any], status: str) -> None:
    bounds = budget_expectations(Budgets(**budgets))
    assert len(bounds) == len(budgets)
    assert {judged.status for judged in judge(EVIDENCE, bounds, SCENARIO, ClaimsLedger()).judged} == {status}


def test_expectations_in_python_are_found_by_their_names_and_fail_by_assertion_or_false() -> None:
    declared = python_expectations(expectations_module)
    judged = judge(EVIDENCE, declared, SCENARIO, ClaimsLedger()).judged
    assert [(one.name, one.status, one.why) for one in judged] == [
        ("it breaks", "failed", "KeyError: 'nothing'"),
        ("order 17 is paid", "passed", ""),
        ("order 18 is paid", "failed", "order 18 is open"),
        ("something false", "failed", "it does not hold"),
    ]


def about(aspect: Any, **fields: Any) -> Expectation:
    return Expectation("it holds", aspect, lambda evidence: None, **fields)


@pytest.mark.parametrize("aspect", ["trace", "resources", "artifacts", "budgets", "account"])
def test_a_scope_refuses_by_name_what_it_supports_no_conclusion_about(aspect: str) -> None:
    (judged,) = judge(EVIDENCE, [about(aspect)], CONTRACT, ClaimsLedger()).judged
    assert (judged.status, judged.why) == (
        "refused",
        f"a replay of scope contract supports no conclusion about {aspect}",
    )
    assert judge(EVIDENCE, [about(aspect)], SCENARIO, ClaimsLedger()).judged[0].status == "passed"


def test_each_scope_supports_all_that_a_smaller_one_does() -> None:
    assert CONTRACT.supports < SEGMENT.supports < SCENARIO.supports


LEDGER = ClaimsLedger(simulated=("a",), unknown=("b",), truncated=("c",))


@pytest.mark.parametrize(("needs", "lacking"), [("captured", "a"), ("known_effects", "b"), ("full_content", "c")])
def test_an_evaluator_is_off_where_the_ledger_lacks_what_it_needs(needs: Any, lacking: str) -> None:
    verdict = judge(EVIDENCE, [about("trace", needs=(needs,))], SCENARIO, LEDGER)
    assert (verdict.judged[0].status, verdict.judged[0].why) == ("off", f"it needs {needs}, but {lacking}")
    assert judge(EVIDENCE, [about("trace", needs=(needs,))], SCENARIO, ClaimsLedger()).judged[0].status == "passed"


def test_substituted_content_is_not_full_content() -> None:
    assert ClaimsLedger(substituted=("d",)).lacks("full_content") == "d"


def test_a_verdict_fails_with_any_expectation_and_not_for_those_that_could_not_be_judged() -> None:
    fails = Expectation("no", "trace", lambda evidence: "why")
    assert not judge(EVIDENCE, [about("trace"), fails], SCENARIO, ClaimsLedger()).passed
    assert judge(EVIDENCE, [about("account")], CONTRACT, ClaimsLedger()).passed
    assert judge(EVIDENCE, [], SCENARIO, ClaimsLedger()).passed


def test_junit_shows_failures_and_skips_with_their_reasons_in_any_characters() -> None:
    expectations = [
        about("trace"),
        Expectation("<b>&\x00", "trace", lambda evidence: "is \x1b[31m ünwell"),
        about("trace", needs=("captured",)),
    ]
    suite = ElementTree.fromstring(junit_xml("shop", judge(EVIDENCE, expectations, SCENARIO, LEDGER)))[0]
    assert [suite.get(name) for name in ("tests", "failures", "skipped", "errors")] == ["3", "1", "1", "0"]
    failure, skipped = suite[1].find("failure"), suite[2].find("skipped")
    assert failure is not None
    assert skipped is not None
    assert failure.get("message") == "is \ufffd[31m ünwell"
    assert skipped.get("message") == "off: it needs captured, but a"
    assert suite[1].get("name") == "<b>&\ufffd"


def test_a_path_finds_nothing_in_a_plain_value() -> None:
    assert found_at("$.a.b", {"a": 1}) == []


def test_the_decorator_leaves_the_function_as_it_was() -> None:
    @expectation(about="trace")
    def it_is_one(evidence: Any) -> int:
        return 1

    assert it_is_one(EVIDENCE) == 1


@pytest.mark.parametrize(("equals", "holds"), [([1], True), ([True], False), ([1.0], False), ([1, 1], False)])
def test_json_tells_its_types_apart_at_any_depth(equals: Any, *, holds: bool) -> None:
    (declared,) = declared_expectations([ExpectSettings(path="$.a.b", equals={"list": equals})])
    evidence = replace(EVIDENCE, resources={"a": {"b": {"list": [1]}}})
    assert (declared.check(evidence) is None) == holds


def test_what_the_agent_says_is_held_against_values_as_json_writes_them() -> None:
    claim = {"about": "account", "claim": r"it is (\w+)", "path": "$.a.b", "exists": True}
    (declared,) = declared_expectations([ExpectSettings.model_validate(claim)])
    evidence = replace(EVIDENCE, resources={"a": {"b": True}}, account="it is true")
    assert declared.check(evidence) is None


def test_an_expectation_that_would_never_run_or_never_be_judged_is_refused_where_it_is_declared() -> None:
    async def later(evidence: Evidence) -> None:
        raise AssertionError

    def lazily(evidence: Evidence) -> Any:
        yield

    for function in (later, lazily):
        with pytest.raises(TypeError, match="plain function"):
            expectation(about="resources")(function)
    with pytest.raises(ValueError, match="'resource' is none of"):
        expectation(about="resource")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'known' is none of"):
        expectation(about="resources", needs=["known"])  # type: ignore[list-item]


def test_an_expectation_that_returns_something_else_than_whether_it_holds_has_failed() -> None:
    @expectation(about="account")
    def says_nothing(evidence: Evidence) -> str:
        return "it should say so"

    @expectation(about="account")
    def says_so(evidence: Evidence) -> bool:
        return "paid" in evidence.account

    declared = python_expectations(SimpleNamespace(a=says_nothing, b=says_so))  # type: ignore[arg-type]
    failed, passed = judge(EVIDENCE, declared, SCENARIO, ClaimsLedger()).judged
    assert (failed.status, failed.why) == ("failed", "it returned 'it should say so': assert what must hold")
    assert passed.status == "passed"


def test_a_fault_whose_call_was_never_made_is_named() -> None:
    trace = [*EVIDENCE.trace, {"type": "answered", "call": 0}, {"type": "model"}, {"type": "model"}]
    evidence = replace(EVIDENCE, trace=trace)
    faults = [
        InjectSettings(fault="cut", tool="pay", call=0),
        InjectSettings(fault="cut", tool="pay", call=1),
        InjectSettings(fault="cut", tool="refund"),
        InjectSettings(fault="delay", provider=True, call=1),
        InjectSettings(fault="delay", provider=True, call=2),
    ]
    judged = judge(evidence, fault_expectations(faults), SCENARIO, ClaimsLedger()).judged
    assert [(one.name, one.status) for one in judged] == [
        ("cut strikes call 0 of pay", "passed"),
        ("cut strikes call 1 of pay", "failed"),
        ("cut strikes call 0 of refund", "failed"),
        ("delay strikes call 1 of the model", "passed"),
        ("delay strikes call 2 of the model", "failed"),
    ]
    assert judged[1].why == "that call was never made, or never answered: there were 1"


def test_tokens_and_costs_are_those_of_all_answers() -> None:
    usage = Usage(input=1, output=2, total_tokens=3, cost=Cost(total=0.5))
    answers = [AssistantMessage(api="a", provider="p", model="m", usage=usage)] * 2
    shop = scenario()
    world = World(shop.resources, ScenarioClock(shop.start))
    result = RunResult((UserMessage(content="Go."), *answers), "stop", world, 2, 0, "")
    spent = Evidence.of(shop, result, b"").budgets
    assert (spent.tokens, spent.cost_usd, spent.model_calls) == (6, 1.0, 2)
