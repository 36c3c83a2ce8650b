"""A whole run in the controlled world: what it takes, what stops it, and that it comes out the same."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from openprogram.contracts import ResultLimits
from openprogram.fixtures.errors import FixtureAmbiguous, FixtureMissing, RunStopped
from openprogram.fixtures.events import Commit, Delay, Result
from openprogram.fixtures.fixture import Fixture
from openprogram.fixtures.registry import FixtureRegistry
from openprogram.pipeline.canonical import digest
from openprogram.pipeline.errors import PipelineError
from openprogram.providers.event_stream import as_event_stream
from openprogram.providers.recording import RecordingProvider
from openprogram.providers.replay import ReplayMismatch, ReplayProvider
from openprogram.providers.scripted import ScriptedProvider, tool_call
from openprogram.providers.types import AssistantMessage, Context, ToolResultMessage, UserMessage
from openprogram.scenarios.approvals import ApprovalRequired, Receipt, ReceiptRefused
from openprogram.scenarios.errors import InjectionFailed, NoAnswer, OperationFailed, UnknownTool
from openprogram.scenarios.journal import Journal
from openprogram.scenarios.model_calls import ModelCalls
from openprogram.scenarios.operations import Operation, PureTool, ToolError
from openprogram.scenarios.replay_run import ReplayRun, RunResult
from openprogram.scenarios.scenario import Scenario
from openprogram.scenarios.settings import ApprovalSettings, Budgets, InjectSettings
from openprogram.world import ScenarioClock, World
from openprogram.world.clock import parse_time
from tests.openprogram.scenarios.stage import CONTRACTS, MODEL, ORDERS, Script, scenario

pytestmark = pytest.mark.anyio

PAY_THEN_SAY: Script = [[tool_call("pay", {"id": "17"})], "Paid."]


class Ran:
    """One run with its journal."""

    def __init__(self, scenario: Scenario, answers: Script, fixtures: FixtureRegistry | None = None) -> None:
        self.journal: list[bytes] = []
        self.provider = ScriptedProvider(answers)
        self._run = ReplayRun(scenario, fixtures or FixtureRegistry(), self.provider, write=self.journal.append)
        self.id = self._run.id

    @property
    def checkpoint(self) -> dict[str, Any] | None:
        return self._run.checkpoint

    async def result(self) -> RunResult:
        return await self._run.run()

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.journal]

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line["type"] == kind]


def observed(result: RunResult) -> list[tuple[str, bool]]:
    return [
        ("".join(block.text for block in message.content if block.type == "text"), message.is_error)
        for message in result.messages
        if isinstance(message, ToolResultMessage)
    ]


async def test_a_tool_call_changes_the_world_and_the_agent_reads_its_result() -> None:
    result = await Ran(scenario(), PAY_THEN_SAY).result()
    assert observed(result) == [('{"status": "paid", "amount": 30}', False)]
    assert result.world["orders/17"]["status"] == "paid"
    assert (result.reason, result.model_calls, result.tool_calls) == ("stop", 2, 1)
    assert result.world.clock.now == parse_time("2026-01-05T09:00:02Z")


async def test_messages_carry_scenario_time() -> None:
    result = await Ran(scenario(), PAY_THEN_SAY).result()
    start = scenario().start.timestamp() * 1000
    times = [message.timestamp for message in result.messages if not isinstance(message, AssistantMessage)]
    assert times == [start, start + 2000]


async def test_the_next_thing_the_user_says_follows_the_agents_answer() -> None:
    ran = Ran(scenario(["One.", "Two."]), ["First.", "Second."])
    result = await ran.result()
    assert [message.role for message in result.messages] == ["user", "assistant", "user", "assistant"]
    assert len(ran.provider.requests[1].context.messages) == 3


async def test_a_tool_that_ends_the_conversation_and_a_budget_of_model_calls_end_the_run() -> None:
    ended = await Ran(scenario(["One.", "Two."], ends_after=frozenset({"pay"})), PAY_THEN_SAY).result()
    assert (ended.reason, ended.model_calls) == ("ended_by_tool", 1)
    limited = await Ran(scenario(budgets=Budgets(model_calls=1)), PAY_THEN_SAY).result()
    assert (limited.reason, limited.model_calls) == ("call_limit", 1)


async def test_two_runs_write_the_same_bytes() -> None:
    one, other = Ran(scenario(), PAY_THEN_SAY), Ran(scenario(), PAY_THEN_SAY)
    first, second = await one.result(), await other.result()
    assert one.journal == other.journal
    assert first.journal_digest == second.journal_digest
    assert len(one.of("draw")) == 1


async def test_another_seed_or_branch_draws_otherwise_and_is_another_run() -> None:
    one, other = Ran(scenario(), PAY_THEN_SAY), Ran(scenario(seed="8"), PAY_THEN_SAY)
    await one.result()
    await other.result()
    assert one.of("draw")[0]["value"] != other.of("draw")[0]["value"]
    assert one.id != other.id


def test_the_bytes_do_not_depend_on_the_process_or_its_hash_seed(tmp_path: Path) -> None:
    program = (
        "import asyncio, sys\n"
        "from openprogram.fixtures.registry import FixtureRegistry\n"
        "from openprogram.providers.scripted import ScriptedProvider, tool_call\n"
        "from openprogram.scenarios.replay_run import ReplayRun\n"
        "from tests.openprogram.scenarios.stage import scenario\n"
        "calls = [tool_call('pay', {'id': '17'}), tool_call('pay', {'id': '18'}, 'b')]\n"
        "provider = ScriptedProvider([calls, 'Paid.'])\n"
        "asyncio.run(ReplayRun(scenario(), FixtureRegistry(), provider, write=sys.stdout.buffer.write).run())\n"
    )
    root = Path(__file__).parents[3]
    outputs = set()
    for seed in ("0", "1", "99"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(root), "TZ": f"UTC-{seed}"}
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, cwd=tmp_path, capture_output=True, check=True
        )
        outputs.add(done.stdout)
    (journal,) = outputs
    assert journal.count(b"\n") > 10
    assert os.fsencode(tmp_path) not in journal


# ---- what stops a run


async def stops(scenario: Scenario, answers: Script, fixtures: FixtureRegistry | None = None) -> tuple[RunStopped, Ran]:
    ran = Ran(scenario, answers, fixtures)
    with pytest.raises(RunStopped) as stopped:
        await ran.result()
    assert ran.lines[-1]["type"] == "stopped"
    assert ran.lines[-1]["code"] == stopped.value.code
    assert ran.checkpoint is not None
    return stopped.value, ran


async def test_a_missing_fixture_stops_with_request_namespace_revision_and_a_checkpoint() -> None:
    script: Script = [[tool_call("pay", {"id": "17"})], [tool_call("get_order", {"id": "17"})], "Done."]
    old = Fixture(
        id="orders/before",
        scenario_version="1",
        tool="get_order",
        contract_revision="1",
        arguments={"id": "17"},
        reads={"orders/17": 1},
        events=(Result(value="open"),),
    )
    stopped, ran = await stops(scenario(), script, FixtureRegistry([old]))
    assert isinstance(stopped, FixtureMissing)
    assert (stopped.code, stopped.tool, stopped.namespace, stopped.revision) == (
        "fixture.missing",
        "get_order",
        "default",
        "1",
    )
    assert stopped.request == {"id": "17"}
    assert stopped.call == 1
    assert "resource orders/17 is at revision 2, the fixture wants 1" in str(stopped)
    checkpoint = ran.checkpoint
    assert checkpoint is not None
    assert (checkpoint["world_revision"], checkpoint["clock"]) == (1, "2026-01-05T09:00:02Z")
    assert checkpoint["streams"] == {"tool:pay": 1}
    assert [message["role"] for message in checkpoint["context"]["messages"]] == ["user", "assistant", "toolResult"]


async def test_a_fixture_answers_and_two_that_could_do_not() -> None:
    def fixture(name: str) -> Fixture:
        return Fixture(
            id=name,
            scenario_version="1",
            tool="get_order",
            contract_revision="1",
            arguments={"id": "17"},
            reads={"orders/17": 1},
            events=(Result(value=name),),
        )

    script: Script = [[tool_call("get_order", {"id": "17"})], "Done."]
    answered = await Ran(scenario(), script, FixtureRegistry([fixture("a")])).result()
    assert observed(answered) == [("a", False)]
    stopped, _ = await stops(scenario(), script, FixtureRegistry([fixture("a"), fixture("b")]))
    assert isinstance(stopped, FixtureAmbiguous)
    assert stopped.fixtures == ("a", "b")


async def test_a_tool_without_a_contract_stops_before_the_agent_hears_of_it() -> None:
    stopped, ran = await stops(scenario(), [[tool_call("fly", {})], "Done."])
    assert isinstance(stopped, UnknownTool)
    assert (stopped.tool, stopped.known) == ("fly", tuple(CONTRACTS))
    assert len(ran.provider.requests) == 1


async def test_an_operation_for_another_revision_does_not_answer() -> None:
    stale = {"pay": Operation("pay", "0", lambda *_: [])}
    stopped, _ = await stops(scenario(operations=stale), PAY_THEN_SAY)
    assert isinstance(stopped, NoAnswer)
    assert (stopped.revision, stopped.found) == ("1", "0")


async def test_an_operation_that_raises_stops_and_is_no_result_for_the_model() -> None:
    def broken(resources: Any, arguments: Any, clock: Any, random: Any) -> Any:
        raise KeyError("status")

    stopped, _ = await stops(scenario(operations={"pay": Operation("pay", "1", broken)}), PAY_THEN_SAY)
    assert isinstance(stopped, OperationFailed)
    assert stopped.failure == "KeyError: 'status'"


def endless() -> Any:
    while True:
        yield Delay(seconds=0)


@pytest.mark.parametrize(
    ("answer", "failure"),
    [
        ([Result(value=float("nan"))], "NotJson"),
        ([Commit(resource="orders/17", value={"a": float("nan")}), Result()], "ValueError"),
        ([Result(value=object())], "PydanticSerializationError"),
        ([Commit(resource="orders/17", value=object()), Result()], "PydanticSerializationError"),
        ("no events", "AttributeError"),
        (None, "TypeError"),
        (endless(), "ValueError: more than 10000 events in one answer"),
    ],
)
async def test_an_answer_that_is_none_stops_the_run_and_is_no_result_for_the_model(answer: Any, failure: str) -> None:
    def odd(resources: Any, arguments: dict[str, Any], clock: Any, random: Any) -> Any:
        return answer

    stopped, _ = await stops(scenario(operations={"pay": Operation("pay", "1", odd)}), PAY_THEN_SAY)
    assert isinstance(stopped, OperationFailed)
    assert stopped.failure.startswith(failure)


async def test_what_goes_beyond_a_contract_or_the_world_stops_with_a_code_and_a_checkpoint() -> None:
    def other(resources: Any, arguments: dict[str, Any], clock: Any, random: Any) -> Any:
        return [Commit(resource="orders/18", value={}), Result()]

    def unfit(resources: Any, arguments: dict[str, Any], clock: Any, random: Any) -> Any:
        return [Commit(resource="orders/17", patch=[{"op": "remove", "path": "/nothing"}]), Result()]

    for function, code in ((other, "contract.violated"), (unfit, "world.refused")):
        ran = Ran(scenario(operations={"pay": Operation("pay", "1", function)}), PAY_THEN_SAY)
        with pytest.raises(PipelineError):
            await ran.result()
        assert ran.of("stopped")[0]["code"] == code
        assert ran.checkpoint is not None


async def test_an_operation_may_fail_as_its_contract_says() -> None:
    def refuses(resources: Any, arguments: Any, clock: Any, random: Any) -> Any:
        raise ToolError("refused", "Error: no money")

    result = await Ran(scenario(operations={"pay": Operation("pay", "1", refuses)}), PAY_THEN_SAY).result()
    assert observed(result) == [("Error: no money", True)]


async def test_arguments_that_do_not_fit_are_told_to_the_model_and_reach_no_operation() -> None:
    result = await Ran(scenario(), [[tool_call("pay", {"id": 17})], "Sorry."]).result()
    assert observed(result) == [("Error: invalid arguments: id: 17 is not of type 'string'", True)]
    assert result.world.revision == 0


async def test_a_pure_tool_really_runs() -> None:
    contracts = {"add": CONTRACTS["get_order"].model_copy(update={"name": "add", "effect": "pure", "reads": ()})}
    pure = {"add": PureTool("add", "1", "3", lambda arguments: arguments["id"] * 2)}
    ran = Ran(scenario(contracts=contracts, pure=pure, operations={}), [[tool_call("add", {"id": "a"})], "Done."])
    assert observed(await ran.result()) == [("aa", False)]
    assert ran.of("answer")[0]["source"] == "pure:add@1#3"


async def test_a_pure_tool_that_returns_something_else_for_the_same_key_stops_the_run() -> None:
    contracts = {"add": CONTRACTS["get_order"].model_copy(update={"name": "add", "effect": "pure", "reads": ()})}
    returned = iter(range(9))
    pure = {"add": PureTool("add", "1", "1", lambda arguments: next(returned))}
    twice: Script = [[tool_call("add", {"id": "a"}, "1"), tool_call("add", {"id": "a"}, "2")], "Done."]
    stopped, _ = await stops(scenario(contracts=contracts, pure=pure, operations={}), twice)
    assert stopped.code == "pure.changed"


async def test_a_fixture_of_a_pure_tool_says_what_it_must_return() -> None:
    contracts = {"add": CONTRACTS["get_order"].model_copy(update={"name": "add", "effect": "pure", "reads": ()})}
    pure = {"add": PureTool("add", "1", "1", lambda arguments: arguments["id"] * 2)}
    once: Script = [[tool_call("add", {"id": "a"})], "Done."]

    def says(value: str) -> FixtureRegistry:
        fields: dict[str, Any] = {"scenario_version": "1", "tool": "add", "contract_revision": "1"}
        return FixtureRegistry([Fixture(id="f", arguments={"id": "a"}, events=(Result(value=value),), **fields)])

    shop = scenario(contracts=contracts, pure=pure, operations={})
    assert observed(await Ran(shop, once, says("aa")).result()) == [("aa", False)]
    stopped, _ = await stops(shop, once, says("ab"))
    assert stopped.code == "pure.changed"


async def test_a_pure_tool_written_for_another_interpreter_does_not_run() -> None:
    contracts = {"add": CONTRACTS["get_order"].model_copy(update={"name": "add", "effect": "pure", "reads": ()})}
    pure = {"add": PureTool("add", "1", "1", lambda arguments: 1, environment="python-2.7")}
    stopped, _ = await stops(
        scenario(contracts=contracts, pure=pure, operations={}), [[tool_call("add", {"id": "a"})], "Done."]
    )
    assert "written for python-2.7" in str(stopped)


async def test_the_model_sees_the_projection_under_the_limit_and_never_the_raw_payload() -> None:
    limited = CONTRACTS["get_order"].model_copy(update={"limits": ResultLimits(visible_bytes=6)})
    fixture = Fixture(
        id="f",
        scenario_version="1",
        tool="get_order",
        contract_revision="1",
        arguments={"id": "17"},
        reads={"orders/17": 1},
        events=(Result(value="öffentlich"),),
        raw={"internal": "geheim"},
    )
    ran = Ran(scenario(contracts={"get_order": limited}), [[tool_call("get_order", {"id": "17"})], "Done."],
              FixtureRegistry([fixture]))  # fmt: skip
    assert observed(await ran.result()) == [("öffen\n[cut: 5 of 11 bytes are not shown]", False)]
    assert b"geheim" not in b"".join(ran.journal)
    (line,) = ran.of("observation")
    assert (line["visible_bytes"], line["truncated"]) == (11, True)
    (result,) = [line["event"] for line in ran.of("adapter")]
    assert result["value"] == "öffentlich"


# ---- approvals

REFUND: Script = [[tool_call("refund", {"id": "17"})], "Done."]


def decision(**fields: Any) -> ApprovalSettings:
    return ApprovalSettings(**{"tool": "refund", "arguments": {"id": "17"}, "decision": "approved", **fields})


async def test_without_a_configured_outcome_an_approval_pauses_the_run() -> None:
    stopped, _ = await stops(scenario(), REFUND)
    assert isinstance(stopped, ApprovalRequired)
    assert (stopped.code, stopped.arguments) == ("approval.required", {"id": "17"})


async def test_other_arguments_need_an_approval_of_their_own() -> None:
    stopped, _ = await stops(scenario(approvals=(decision(arguments={"id": "18"}),)), REFUND)
    assert isinstance(stopped, ApprovalRequired)


async def test_an_approved_call_acts_after_the_decision_came() -> None:
    ran = Ran(scenario(approvals=(decision(after_s=30),)), REFUND)
    result = await ran.result()
    assert result.world["orders/17"]["status"] == "paid"
    assert result.world.clock.now == parse_time("2026-01-05T09:00:32Z")
    (line,) = ran.of("approval.decision")
    assert (line["decision"], line["receipt"]["run"], line["receipt"]["mode"]) == ("approved", ran.id, "replay")


@pytest.mark.parametrize(
    ("configured", "text", "waited"),
    [
        (decision(decision="denied", reason="too much"), "Error: the approval of this call was denied: too much", 0),
        (decision(after_s=61), "Error: the approval of this call expired before a decision came", 60),
    ],
)
async def test_a_denied_or_expired_approval_reaches_the_model_and_nothing_happens(
    configured: ApprovalSettings, text: str, waited: int
) -> None:
    result = await Ran(scenario(approvals=(configured,)), REFUND).result()
    assert observed(result) == [(text, True)]
    assert result.world.revision == 0
    assert (result.world.clock.now - scenario().start).total_seconds() == waited


def test_a_receipt_counts_for_its_own_run_mode_tool_and_arguments_until_it_expires() -> None:
    receipt = Receipt("run", "replay", "refund", digest({"id": "17"}), "2026-01-05T10:00:00Z")
    here: dict[str, Any] = {
        "run": "run",
        "mode": "replay",
        "tool": "refund",
        "arguments": {"id": "17"},
        "now": parse_time("2026-01-05T10:00:00Z"),
    }
    receipt.check(**here)
    for field, value in {
        "run": "other",
        "mode": "record",
        "tool": "pay",
        "arguments": {"id": "18"},
        "now": parse_time("2026-01-05T10:00:01Z"),
    }.items():
        with pytest.raises(ReceiptRefused):
            receipt.check(**here | {field: value})


# ---- faults


async def test_an_injected_lost_acknowledgement_pays_and_looks_like_a_failure() -> None:
    injected = (InjectSettings(fault="lost_ack", tool="pay"),)
    result = await Ran(scenario(injections=injected), PAY_THEN_SAY).result()
    assert result.world["orders/17"]["status"] == "paid"
    assert observed(result)[0][1]


async def test_a_fault_strikes_the_call_that_it_names_and_no_other() -> None:
    injected = (InjectSettings(fault="cut", tool="pay", call=1, after=0),)
    script: Script = [[tool_call("pay", {"id": "17"}), tool_call("pay", {"id": "18"}, "b")], "Done."]
    result = await Ran(scenario(injections=injected), script).result()
    assert [is_error for _, is_error in observed(result)] == [False, True]
    assert result.world["orders/18"]["status"] == "open"


async def test_a_fault_without_a_place_stops_the_run() -> None:
    injected = (InjectSettings(fault="cut", tool="pay", after=99),)
    stopped, _ = await stops(scenario(injections=injected), PAY_THEN_SAY)
    assert isinstance(stopped, InjectionFailed)


async def test_a_cut_model_call_is_made_again_after_a_wait_on_scenario_time() -> None:
    injected = (InjectSettings(fault="cut", provider=True, after=3),)
    ran = Ran(scenario(injections=injected), ["One two three."])
    result = await ran.result()
    first, second = (line["message"] for line in ran.of("model"))
    assert (first["stop_reason"], first["error_reason"], first["error_retryable"]) == ("error", "network", True)
    assert first["content"][0]["text"] == "One"
    assert second["content"][0]["text"] == "One two three."
    assert [message.role for message in result.messages] == ["user", "assistant"]
    (draw,) = ran.of("draw")
    assert draw["stream"] == "agent:retries"
    waited = (result.world.clock.now - scenario().start).total_seconds()
    assert waited == pytest.approx(0.5 + draw["value"] / 2)


async def test_a_cancelled_model_call_is_not_made_again() -> None:
    injected = (InjectSettings(fault="cancel", provider=True, after=3),)
    result = await Ran(scenario(injections=injected), ["One two three."]).result()
    assert (result.reason, result.model_calls) == ("provider_error", 1)


async def test_two_faults_in_one_model_call_cost_one_answer_of_the_script() -> None:
    injected = (
        InjectSettings(fault="cut", provider=True, after=3),
        InjectSettings(fault="cut", provider=True, after=1),
    )
    result = await Ran(scenario(["One.", "Two."], injections=injected), ["First.", "Second."]).result()
    texts = [message.text for message in result.messages if isinstance(message, AssistantMessage)]
    assert texts == ["First.", "Second."]


async def test_an_attempt_more_than_the_budget_of_model_calls_still_ends_the_run() -> None:
    injected = (InjectSettings(fault="cut", provider=True, call=1, after=1),)
    shop = scenario(["One.", "Two.", "Three."], injections=injected, budgets=Budgets(model_calls=2))
    result = await Ran(shop, ["1", "2", "3"]).result()
    assert (result.reason, result.model_calls) == ("call_limit", 3)


async def test_a_delayed_model_call_lets_scenario_time_pass() -> None:
    injected = (InjectSettings(fault="delay", provider=True, seconds=90),)
    result = await Ran(scenario(injections=injected), ["Done."]).result()
    assert result.world.clock.now == parse_time("2026-01-05T09:01:30Z")


# ---- the provider's side


async def test_a_recording_answers_for_the_model_and_a_changed_prompt_is_a_mismatch(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    provider = RecordingProvider(ScriptedProvider(PAY_THEN_SAY), path)
    live = Ran(scenario(), PAY_THEN_SAY)
    result = await live.result()
    for request in live.provider.requests:
        await provider.stream_simple(*request)  # type: ignore[arg-type]
    with ReplayProvider(path) as replay:
        again = await ReplayRun(scenario(), FixtureRegistry(), replay).run()
        replay.assert_consumed()
    assert again.messages == result.messages
    assert again.journal_digest == result.journal_digest
    with ReplayProvider(path) as replay:
        with pytest.raises(ReplayMismatch) as mismatch:
            await ReplayRun(scenario(["Stop."]), FixtureRegistry(), replay).run()
        assert mismatch.value.field_path == "context.messages[0].content"


def test_nothing_but_a_recording_or_a_script_can_be_its_provider(tmp_path: Path) -> None:
    class Live(ScriptedProvider):
        """Looks the part."""

    for provider in (RecordingProvider(ScriptedProvider([]), tmp_path / "r.jsonl"), Live([]), object()):
        with pytest.raises(TypeError, match="ReplayProvider or a ScriptedProvider"):
            ReplayRun(scenario(), FixtureRegistry(), provider)  # type: ignore[arg-type]


# ---- bounds


async def test_a_decision_that_comes_in_the_last_moment_counts() -> None:
    result = await Ran(scenario(approvals=(decision(after_s=60),)), REFUND).result()
    assert not observed(result)[0][1]


async def test_a_text_of_just_the_visible_size_is_not_cut() -> None:
    limited = CONTRACTS["pay"].model_copy(update={"limits": ResultLimits(visible_bytes=32)})
    ran = Ran(scenario(contracts={"pay": limited}), PAY_THEN_SAY)
    await ran.result()
    (line,) = ran.of("observation")
    assert (line["visible_bytes"], line["truncated"]) == (32, False)


async def test_a_checkpoint_holds_the_last_messages_and_the_number_of_those_before() -> None:
    turns = [f"Turn {number}." for number in range(25)]
    ran = Ran(scenario(turns), [str(number) for number in range(24)])
    with pytest.raises(RunStopped):
        await ran.result()
    assert ran.checkpoint is not None
    context = ran.checkpoint["context"]
    assert [len(context["messages"]), context["earlier"]["count"]] == [40, 9]
    assert context["messages"][-1]["content"] == "Turn 24."
    dumped = [message.model_dump(mode="json") for message in ran.provider.requests[-1].context.messages]
    assert context["earlier"]["digest"] == digest(dumped[:9])


async def test_an_answer_that_was_held_back_is_for_the_same_question_only() -> None:
    clock = ScenarioClock(scenario().start)
    world, journal = World(ORDERS, clock), Journal(clock, lambda line: None)
    cut = InjectSettings(fault="cut", provider=True, after=1)
    calls = ModelCalls(ScriptedProvider(["First.", "Second."]), [cut], world, journal)

    async def ask(question: str) -> AssistantMessage:
        context = Context(messages=[UserMessage(content=question)])
        return await as_event_stream(calls.stream(MODEL, context, None), MODEL)

    assert (await ask("One?")).stop_reason == "error"
    assert (await ask("Another?")).text == "Second."
