"""What `openprogram scenarios replay` says of a run that stopped or failed: by what, first, and why."""

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

from tests.openprogram.cli.command import Command, Finished
from tests.openprogram.cli.test_cli_scenarios import changed, command, first, orders

__all__ = ["command", "first", "orders"]  # fixtures


def script(folder: Path, *answers: Any) -> None:
    (folder / "script.json").write_text(json.dumps(answers))


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"tool": tool, "arguments": arguments}


def failed(command: Command, folder: Path, *options: str) -> Finished:
    finished = command("scenarios", "replay", str(folder), *options)
    assert finished.code == 1, finished.err
    return finished


def verdicts(report: dict[str, Any]) -> dict[str, str]:
    return {one["name"]: one["status"] for one in report["expectations"]}


# ---- a run that was stopped says so first


def test_a_run_that_its_budget_stopped_says_so_first_and_the_budget_has_failed(command: Command, first: Path) -> None:
    changed(first, "model_calls = 5", "model_calls = 2")
    shown = failed(command, first).out.splitlines()
    assert shown[0].startswith("stopped: budget.model_calls: the budget of model calls was used up after 2")
    (budget,) = [line for line in shown if "model_calls within 2" in line]
    assert budget.startswith("failed  budgets")
    assert "the run was stopped after 2 of at most 2, and the agent was not done" in budget


def test_in_json_a_run_that_its_budget_stopped_is_stopped_and_judged(command: Command, first: Path) -> None:
    changed(first, "model_calls = 5", "model_calls = 2")
    report = json.loads(failed(command, first, "--json").out)
    assert next(iter(report)) == "stopped"
    assert report["stopped"]["code"] == "budget.model_calls"
    assert (report["reason"], report["passed"]) == ("call_limit", False)
    assert verdicts(report)["model_calls within 2"] == "failed"


def test_a_budget_that_was_just_enough_has_held(command: Command, first: Path) -> None:
    changed(first, "model_calls = 5", "model_calls = 3")
    report = json.loads(command.done("scenarios", "replay", str(first), "--json").out)
    assert (report["stopped"], report["passed"]) == (None, True)
    assert verdicts(report)["model_calls within 3"] == "passed"


def test_a_budget_that_is_used_up_between_two_turns_has_failed(command: Command, first: Path) -> None:
    changed(first, 'turns = ["Please cancel my order 17."]', 'turns = ["Please cancel my order 17.", "Thanks."]')
    changed(first, "model_calls = 5", "model_calls = 3")
    assert failed(command, first).out.startswith("stopped: budget.model_calls")


@pytest.mark.parametrize(
    ("answers", "code"),
    [
        ([call("get_order", id="18"), "Done."], "fixture.missing"),
        ([call("fly")], "tool.unknown"),
        ([call("get_order", id="17")], "model.unanswered"),
        ([call("cancel_order", id="99"), "Done."], "world.refused"),
    ],
)
def test_the_first_line_of_a_run_that_stopped_is_its_code(
    command: Command, first: Path, answers: list[Any], code: str
) -> None:
    script(first, *answers)
    finished = command("scenarios", "replay", str(first))
    assert finished.code == 3
    assert finished.out.splitlines()[0] == f"stopped: {code}"
    assert json.loads(command("scenarios", "replay", str(first), "--json").out)["stopped"]["code"] == code


def test_a_part_of_a_run_that_stopped_says_its_code_too(command: Command, first: Path, tmp_path: Path) -> None:
    command.done("scenarios", "replay", str(first), "--out", str(tmp_path / "run"))
    (first / "fixtures/order-17-open.json").unlink()
    part = ("--scope", "contract", "--journal", str(tmp_path / "run/journal.jsonl"), "--call", "0")
    stopped = command("scenarios", "replay", str(first), *part)
    assert (stopped.code, stopped.out) == (3, "stopped: fixture.missing\n")


def test_an_answer_that_was_cut_off_is_no_end_like_any_other(command: Command, first: Path) -> None:
    cut_off = {
        "role": "assistant",
        "content": [{"type": "text", "text": "Your refund of 30"}],
        "api": "scripted",
        "provider": "scripted",
        "model": "my-model",
        "stop_reason": "length",
    }
    script(first, call("cancel_order", id="17"), cut_off)
    shown = command.done("scenarios", "replay", str(first)).out
    assert shown.startswith("ended: length: the model's answer was cut off at its length\n")


def test_a_report_for_ci_has_a_case_with_the_stop(command: Command, first: Path, tmp_path: Path) -> None:
    script(first, call("get_order", id="18"), "Done.")
    report = tmp_path / "junit.xml"
    assert command("scenarios", "replay", str(first), "--junit", str(report)).code == 3
    suite = ElementTree.parse(report).getroot()[0]
    assert (suite.get("tests"), suite.get("errors"), suite.get("failures")) == ("1", "1", "0")
    (error,) = suite.iter("error")
    assert error.get("type") == "fixture.missing"
    assert "no fixture for get_order" in str(error.get("message"))


def test_a_resource_that_is_not_there_is_named_with_its_call_and_the_file_it_belongs_into(
    command: Command, first: Path
) -> None:
    script(first, call("get_order", id="17"), call("cancel_order", id="99"), "Done.")
    said = command("scenarios", "replay", str(first))
    assert said.code == 3
    assert "call 1 (cancel_order): resource 'orders/99': there is none of that name in the world" in said.err
    assert "Add it to resources/orders.json, or let the tool fail" in said.err


def test_an_answer_of_the_model_that_failed_is_told_with_its_reason(command: Command, first: Path) -> None:
    with (first / "scenario.toml").open("a") as file:
        file.write('\n[[inject]]\nprovider = true\nfault = "cancel"\n')
    said = failed(command, first).out
    assert said.startswith("ended: provider_error: the model's answer failed: the answer was cancelled\n")


# ---- all of what a scenario describes takes part


def test_an_answer_of_the_script_that_nobody_asked_for_fails(command: Command, first: Path) -> None:
    answers = json.loads((first / "script.json").read_text())
    script(first, *answers, "And a nice day.")
    said = failed(command, first).out
    assert "failed  trace       the script is used up: it has 4 answers, and 3 were asked for" in said


def test_an_approval_that_nobody_asked_for_fails_with_its_arguments(command: Command, orders: Path) -> None:
    changed(orders, "amount = 400", "amount = 40")
    changed(orders, '"amount": 400', '"amount": 40', "script.json")
    command.done("scenarios", "replay", str(orders))
    with (orders / "scenario.toml").open("a") as file:
        file.write(
            '\n[[approvals]]\ntool = "refund"\narguments = { order_id = "17", amount = 1 }\ndecision = "denied"\n'
        )
    said = failed(command, orders).out
    assert (
        'failed  trace       approval of refund {"order_id": "17", "amount": 1} is asked for: '
        "no call with these arguments was made; other calls of refund that asked: 1" in said
    )


def test_an_approvals_sensitive_arguments_stand_in_no_report(command: Command, orders: Path) -> None:
    changed(orders, 'name = "refund"', 'name = "refund"\nsensitive = ["amount"]', "contracts/refund.toml")
    (orders / "contracts/pins.json").unlink()
    report = json.loads(command.done("scenarios", "replay", str(orders), "--json").out)
    assert 'approval of refund {"order_id": "18", "amount": "[sensitive]"} is asked for' in verdicts(report)
    refunds = [action["arguments"] for action in report["actions"] if action["tool"] == "refund"]
    assert refunds == [{"order_id": "18", "amount": "[sensitive]"}]


def test_a_refusal_that_would_quote_a_sensitive_argument_does_not(command: Command, first: Path) -> None:
    changed(first, 'effect = "write"', 'effect = "write"\nsensitive = ["id"]', "contracts/cancel_order.toml")
    script(first, call("cancel_order", id=[4711]), "Your order 17 is cancelled.")
    said = failed(command, first).out
    assert '0  cancel_order {"id": "[sensitive]"}: refused by its schema: [sensitive]' in said
    assert "4711" not in said


def test_a_reason_of_several_lines_is_shown_as_lines(command: Command, first: Path) -> None:
    (first / "expectations.py").write_text(
        "from openprogram.evaluation import Evidence, expectation\n\n\n"
        '@expectation(about="trace")\ndef is_whole(evidence: Evidence) -> None:\n'
        '    raise AssertionError("two were asked for\\ncause: \\x1b a second run")\n'
    )
    said = failed(command, first).out
    assert "is whole: two were asked for\n  cause: \\x1b a second run\n" in said


def test_where_every_call_was_refused_no_tool_ran(command: Command, first: Path) -> None:
    script(first, call("cancel_order", order="17"), "Your order 17 is cancelled.")
    assert "claims: no tool ran\n1 tool call\n" in failed(command, first).out


# ---- a failure shows what the agent did


@pytest.mark.parametrize(
    ("answers", "shows"),
    [
        (
            [call("cancel_order", id="18"), "Your order 17 is cancelled."],
            '0  cancel_order {"id": "18"}: error shipped: Error: the order has been shipped\n',
        ),
        (
            [call("cancel_order", order="17"), "Your order 17 is cancelled."],
            '0  cancel_order {"order": "17"}: refused by its schema: Error: invalid arguments: ',
        ),
        (
            [call("get_order", id="17"), "Your order 17 is cancelled."],
            '0  get_order {"id": "17"}: ok\nnever called: cancel_order\n',
        ),
        (["Your order 17 is cancelled."], "0 tool calls\nnever called: cancel_order, get_order\n"),
    ],
)
def test_why_the_end_state_is_wrong_can_be_told_from_the_output(
    command: Command, first: Path, answers: list[Any], shows: str
) -> None:
    script(first, *answers)
    finished = failed(command, first)
    assert "$.orders['17'].status is 'open', not 'cancelled'" in finished.out
    assert shows in finished.out
    assert "add --out DIR, and read DIR/journal.jsonl" in finished.err


def test_a_run_that_is_written_names_its_journal(command: Command, first: Path, tmp_path: Path) -> None:
    script(first, "Your order 17 is cancelled.")
    journal = tmp_path / "run/journal.jsonl"
    assert f"every step of it: {journal}" in failed(command, first, "--out", str(tmp_path / "run")).err
    assert journal.is_file()


def test_a_run_that_passes_is_as_short_as_before(command: Command, first: Path) -> None:
    finished = command.done("scenarios", "replay", str(first))
    assert "tool call" not in finished.out
    assert finished.err == ""


def test_actions_in_json_have_call_tool_arguments_and_what_came_of_them(command: Command, first: Path) -> None:
    script(
        first,
        [call("cancel_order", order="17"), call("cancel_order", id="18")],
        [call("get_order", id="17"), call("get_order", id="18")],
    )
    report = json.loads(command("scenarios", "replay", str(first), "--json").out)
    assert list(report) == ["stopped", "passed", "actions"]
    assert [(one["call"], one["tool"], one["outcome"], one["category"]) for one in report["actions"]] == [
        (0, "cancel_order", "refused", "invalid_arguments"),
        (1, "cancel_order", "error", "shipped"),
        (2, "get_order", "result", None),
        (3, "get_order", "stopped", None),
    ]
    assert report["actions"][1]["message"] == "Error: the order has been shipped"


def test_of_a_long_run_the_calls_that_came_to_no_result_are_shown(command: Command, first: Path) -> None:
    changed(first, "model_calls = 5", "model_calls = 50")
    script(first, *[call("get_order", id="17")] * 30, call("cancel_order", id="18"), "Sorry.")
    said = failed(command, first).out
    assert "31 tool calls, of which 1 that came to no result\n  30  cancel_order" in said
    assert "get_order" not in said


def test_a_call_whose_arguments_could_not_be_read_is_an_action_too(command: Command, first: Path) -> None:
    unreadable = {
        "role": "assistant",
        "content": [
            {"type": "toolCall", "id": "1", "name": "cancel_order", "arguments": {}, "arguments_error": "no JSON"}
        ],
        "api": "scripted",
        "provider": "scripted",
        "model": "my-model",
        "stop_reason": "toolUse",
    }
    script(first, unreadable, "Your order 17 is cancelled.")
    assert "-  cancel_order: refused, its arguments could not be read: no JSON" in failed(command, first).out
