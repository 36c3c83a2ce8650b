"""`openprogram scenarios` and `openprogram fixtures`, as somebody at a terminal or a CI uses them."""

import json
import re
import resource
import shlex
import shutil
import signal
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from tests.openprogram.cli.command import Command, run_process

ORDERS = Path(__file__).parents[3] / "docs/examples/orders"
RECORDING = Path(__file__).parents[1] / "providers/matching_cases/both.jsonl"


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(tmp_path / "home", monkeypatch, capsys)


@pytest.fixture
def first(command: Command, tmp_path: Path) -> Path:
    """A new scenario, as `scenarios new` makes it."""
    folder = tmp_path / "first"
    command.done("scenarios", "new", str(folder))
    return folder


@pytest.fixture
def orders(tmp_path: Path) -> Path:
    """A copy of the example, to be changed."""
    return Path(shutil.copytree(ORDERS, tmp_path / "orders"))


def changed(folder: Path, before: str, after: str, file: str = "scenario.toml") -> None:
    text = (folder / file).read_text()
    assert before in text
    (folder / file).write_text(text.replace(before, after))


# ---- from nothing


def test_a_new_scenario_is_sound_and_passes(command: Command, first: Path) -> None:
    command.done("scenarios", "check", str(first), "--pin")
    assert command.done("scenarios", "check", str(first)).out == ""
    shown = command.done("scenarios", "replay", str(first)).out
    assert "passed  resources   the order is cancelled" in shown
    assert "scope scenario: the whole run" in shown


def test_a_new_scenario_works_in_a_process_of_its_own_with_warnings_as_errors(tmp_path: Path) -> None:
    folder = tmp_path / "fresh"
    assert run_process(tmp_path / "home", "scenarios", "new", str(folder)).code == 0
    finished = run_process(tmp_path / "home", "scenarios", "replay", str(folder))
    assert (finished.code, finished.err) == (0, "")
    assert not (tmp_path / "home").exists()  # nothing of the user's state is touched
    assert not list(folder.rglob("__pycache__"))


def test_new_writes_over_nothing_and_refuses_a_name_that_is_no_id(command: Command, first: Path) -> None:
    assert command("scenarios", "new", str(first)).code == 1
    assert command("scenarios", "new", str(first.parent / "No Id")).code == 2


def test_list_shows_scenarios_and_those_that_cannot_be_used(command: Command, first: Path) -> None:
    broken = first.parent / "broken"
    broken.mkdir()
    (broken / "scenario.toml").write_text("id = ")
    listed = json.loads(command.done("scenarios", "list", str(first.parent), "--json").out)
    assert [one["id"] for one in listed] == [None, "first"]
    assert "not TOML" in listed[0]["problem"]
    assert listed[1] == {
        "id": "first",
        "version": "1",
        "tools": 2,
        "fixtures": 1,
        "path": str(first),
        "problem": None,
    }


def test_show_names_tools_and_what_answers_them(command: Command, first: Path) -> None:
    shown = json.loads(command.done("scenarios", "show", str(first), "--json").out)
    assert [(tool["name"], tool["answered_by"]) for tool in shown["tools"]] == [
        ("cancel_order", "operation"),
        ("get_order", "1 fixture"),
    ]
    assert "cancel_order" in command.done("scenarios", "show", str(first)).out


@pytest.mark.parametrize("name", ["scenario", "contract", "fixture"])
def test_the_schemas_for_editors_are_those_in_the_documentation(command: Command, name: str) -> None:
    written = ORDERS.parents[1] / "schemas" / f"{name}.json"
    assert json.loads(command.done("scenarios", "schema", name).out) == json.loads(written.read_text())


# ---- exit codes


def test_an_expectation_that_fails_is_named_with_both_sides_and_exits_1(command: Command, first: Path) -> None:
    changed(first, 'equals = "cancelled"', 'equals = "open"')
    finished = command("scenarios", "replay", str(first))
    assert finished.code == 1
    assert (
        "failed  resources   the order is cancelled: $.orders['17'].status is 'cancelled', not 'open'" in finished.out
    )


def test_a_claim_that_is_not_true_fails(command: Command, first: Path) -> None:
    changed(first, "refund of 30", "refund of 40", "script.json")
    finished = command("scenarios", "replay", str(first))
    assert finished.code == 1
    assert "the last message says '40', but $.orders['17'].refund is 30" in finished.out


def test_a_missing_fixture_exits_3_and_leaves_a_checkpoint(command: Command, first: Path, tmp_path: Path) -> None:
    changed(first, '"id": "17"', '"id": "18"', "script.json")
    finished = command("scenarios", "replay", str(first), "--out", str(tmp_path / "run"))
    assert finished.code == 3
    assert "no fixture for get_order" in finished.err
    assert "arguments.id of the call is '18', the fixture wants '17'" in finished.err
    checkpoint = json.loads((tmp_path / "run/checkpoint.json").read_text())
    assert checkpoint["clock"] == "2026-01-05T09:00:00Z"
    verdict = json.loads((tmp_path / "run/verdict.json").read_text())
    assert verdict["stopped"]["code"] == "fixture.missing"
    last = (tmp_path / "run/journal.jsonl").read_text().splitlines()[-1]
    assert json.loads(last)["type"] == "stopped"


@pytest.mark.parametrize(
    "arguments",
    [
        ("--call", "1"),
        ("--scope", "contract", "--call", "1"),
        ("--scope", "nothing"),
        ("--scope", "segment", "--journal", "{journal}"),
        ("--scope", "segment", "--journal", "{journal}", "--first-turn", "1", "--last-turn", "0"),
        ("--scope", "contract", "--journal", "{journal}", "--call", "1", "--first-turn", "0"),
        ("--scope", "contract", "--journal", "{journal}", "--call", "1", "--junit", "x.xml"),
    ],
)
def test_what_is_asked_wrongly_exits_2(
    command: Command, first: Path, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    journal = tmp_path / "journal.jsonl"
    journal.touch()
    given = [argument.format(journal=journal) for argument in arguments]
    assert command("scenarios", "replay", str(first), *given).code == 2


def test_a_file_that_cannot_be_used_is_named_with_its_field_and_exits_1(command: Command, first: Path) -> None:
    changed(first, "model_calls = 5", "model_calls = 0")
    finished = command("scenarios", "replay", str(first))
    assert finished.code == 1
    assert "scenario.toml, field budgets.model_calls" in finished.err


@pytest.mark.parametrize(
    ("file", "before", "after", "says"),
    [
        ("scenario.toml", "seed =", "sed =", "field sed: there is no such key; there is 'seed'"),
        (
            "scenario.toml",
            "model_calls =",
            "model_call =",
            "field budgets.model_call: there is no such key; there is 'mo",
        ),
        ("scenario.toml", "path =", "pth =", "field expect[0].pth: there is no such key; there is 'path'"),
        (
            "scenario.toml",
            "script =",
            "answers =",
            "field provider.answers: there is no such key; there are: recording,",
        ),
        ("scenario.toml", 'id = "my-model"', "", "field model.id: it is missing"),
        ("contracts/get_order.toml", "reads =", "read =", "field read: there is no such key; there is 'reads'"),
        (
            "contracts/cancel_order.toml",
            'description = "it',
            'descripton = "it',
            "field errors[0].descripton: there is no",
        ),
        ("fixtures/order-17-open.json", '"seconds"', '"second"', "there is no such key; there is 'seconds'"),
        ("fixtures/order-17-open.json", '"assumptions"', '"assumption"', "field manifest.assumption: there is no such"),
    ],
)
def test_a_misspelt_key_is_refused_with_its_file_and_the_nearest_key(
    command: Command, first: Path, file: str, before: str, after: str, says: str
) -> None:
    changed(first, before, after, file)
    finished = command("scenarios", "replay", str(first))
    assert (finished.code, finished.out) == (1, "")
    assert f"{first / file}, field " in finished.err
    assert says in finished.err


def test_a_contract_that_is_declared_in_python_is_refused_in_the_same_words(command: Command, first: Path) -> None:
    with (first / "operations.py").open("a") as file:
        file.write(
            "\n\nfrom openprogram.contracts import tool\n\n\n"
            '@tool(effect="read", read=("orders/{id}",))\ndef look(id: str) -> str:\n    "Looks."\n    return id\n'
        )
    said = command("scenarios", "replay", str(first)).err
    assert f"{first / 'operations.py'}, field read: there is no such key; there is 'reads'" in said


def test_a_message_of_the_script_that_is_none_is_named_with_its_field(command: Command, first: Path) -> None:
    (first / "script.json").write_text('["a", {"role": "assistant", "content": [{"type": "text"}]}]')
    said = command("scenarios", "replay", str(first)).err
    assert f"{first / 'script.json'}, field [1].content[0].text.text: it is missing" in said


# ---- runs on disk


def test_a_run_is_written_whole_and_never_over_another(command: Command, first: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    command.done("scenarios", "replay", str(first), "--out", str(run))
    assert sorted(file.name for file in run.iterdir()) == ["journal.jsonl", "run.json", "verdict.json", "world.jsonl"]
    (event,) = (run / "world.jsonl").read_text().splitlines()
    assert json.loads(event)["resource"] == "orders/17"
    refused = command("scenarios", "replay", str(first), "--out", str(run))
    assert refused.code == 1
    assert "never written over" in refused.err


def test_two_runs_on_disk_are_the_same_but_for_their_diagnostics(
    command: Command, orders: Path, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        command.done("scenarios", "replay", str(orders), "--out", str(tmp_path / name))
    for file in ("journal.jsonl", "world.jsonl", "verdict.json"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()
    journal = (tmp_path / "one/journal.jsonl").read_text()
    assert str(tmp_path) not in journal
    assert json.loads((tmp_path / "one/run.json").read_text()).keys() == {"started_at", "seconds", "python", "platform"}


def test_a_run_that_cannot_be_written_leaves_nothing_and_the_verdict_is_shown(
    command: Command, first: Path, tmp_path: Path
) -> None:
    """A file can't grow, as on a full disk."""
    (tmp_path / "runs").mkdir()
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        finished = command("scenarios", "replay", str(first), "--out", str(tmp_path / "runs/one"))
    finally:
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert finished.code == 1
    assert "passed  resources   the order is cancelled" in finished.out
    assert "runs/one can't be written: File too large" in finished.err
    assert "make room" in finished.err
    assert list((tmp_path / "runs").iterdir()) == []


def test_a_report_that_cannot_be_written_is_named_after_the_verdict(
    command: Command, first: Path, tmp_path: Path
) -> None:
    finished = command("scenarios", "replay", str(first), "--junit", str(tmp_path / "nowhere/junit.xml"))
    assert finished.code == 1
    assert "passed  resources   the order is cancelled" in finished.out
    assert "nowhere/junit.xml can't be written: No such file or directory" in finished.err


def test_junit_has_a_case_for_each_expectation(command: Command, orders: Path, tmp_path: Path) -> None:
    changed(orders, 'status = "completed" }', 'status = "lost" }')
    report = tmp_path / "junit.xml"
    assert command("scenarios", "replay", str(orders), "--junit", str(report)).code == 1
    suite = ElementTree.parse(report).getroot()[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("12", "1", "1")
    (failed,) = [case for case in suite if case.find("failure") is not None]
    assert failed.get("name") == "order 17 is paid once, and settled"


# ---- the shop example, which shows faults


def test_the_shop_pays_once_settles_by_itself_and_lets_an_approval_expire(command: Command, orders: Path) -> None:
    verdict = json.loads(command.done("scenarios", "replay", str(orders), "--json").out)
    assert verdict["passed"] is True
    statuses = {one["name"]: one["status"] for one in verdict["expectations"]}
    assert statuses.pop("every effect is known") == "off"
    assert set(statuses.values()) == {"passed"}
    assert verdict["claims"]["unknown"] == ["call 0 (pay) ended as dropped"]
    assert verdict["claims"]["denied"] == ["call 6 (refund): approval_expired"]
    assert verdict["scope"]["name"] == "scenario"


def test_without_the_fault_every_effect_is_known(command: Command, orders: Path) -> None:
    changed(orders, '[[inject]]\ntool = "pay"\nfault = "lost_ack"\n', "")
    verdict = json.loads(command("scenarios", "replay", str(orders), "--json").out)
    assert {one["name"]: one["status"] for one in verdict["expectations"]}["every effect is known"] == "passed"


def test_parts_of_a_run_come_out_again_and_say_what_they_support(
    command: Command, orders: Path, tmp_path: Path
) -> None:
    command.done("scenarios", "replay", str(orders), "--out", str(tmp_path / "run"))
    journal = str(tmp_path / "run/journal.jsonl")
    for call in range(7):
        contract = ("--scope", "contract", "--journal", journal, "--call", str(call), "--json")
        found = json.loads(command.done("scenarios", "replay", str(orders), *contract).out)
        assert (found["equal"], found["scope"]["supports"]) == (True, ["observation"])
    segment = ("--scope", "segment", "--journal", journal, "--first-turn", "1", "--last-turn", "2")
    assert "came out again" in command.done("scenarios", "replay", str(orders), *segment).out
    changed(orders, "seconds have passed", "seconds went by", "operations.py")
    differs = command("scenarios", "replay", str(orders), *segment)
    assert differs.code == 1
    assert "journal '60 seconds have passed', replay '60 seconds went by'" in differs.out


def test_a_journal_of_another_version_is_refused_with_exit_code_3(
    command: Command, orders: Path, tmp_path: Path
) -> None:
    command.done("scenarios", "replay", str(orders), "--out", str(tmp_path / "run"))
    changed(orders, 'version = "1"', 'version = "2"')
    journal = str(tmp_path / "run/journal.jsonl")
    refused = command("scenarios", "replay", str(orders), "--scope", "contract", "--journal", journal, "--call", "0")
    assert refused.code == 3
    assert "it is of another scenario: version differ" in refused.err


# ---- check and explain


@pytest.mark.parametrize(
    ("file", "before", "after", "says"),
    [
        ("contracts/wait.toml", 'description = "Wait', 'description = "Sleep', "give it a new revision"),
        (
            "contracts/pay.toml",
            'revision = "1"',
            'revision = "2"',
            "pay is written for revision 1, its contract is at 2",
        ),
        ("operations.py", '@operation("wait")', '@operation("sleep")', "nothing answers wait"),
        ("scenario.toml", 'tool = "pay"\nfault', 'tool = "fly"\nfault', "a fault is meant for fly"),
        ("scenario.toml", 'tool = "refund"\n', 'tool = "pay"\n', "an approval is configured for pay, which needs none"),
        (
            "scenario.toml",
            'script = "script.json"',
            'script = "none.json"',
            "the provider's file none.json is not there",
        ),
    ],
)
def test_check_finds_what_does_not_fit_together(
    command: Command, orders: Path, file: str, before: str, after: str, says: str
) -> None:
    changed(orders, before, after, file)
    finished = command("scenarios", "check", str(orders))
    assert finished.code == 1
    assert says in finished.out + finished.err


def told_in_check(command: Command, folder: Path) -> tuple[int, list[str]]:
    """Exit code and lines of a check, with the contracts pinned."""
    finished = command("scenarios", "check", str(folder), "--pin")
    return finished.code, finished.out.splitlines()


@pytest.mark.parametrize(
    "script",
    [
        "[",
        '{"a": 1}',
        "[1]",
        '["a", {"tool": "get_order", "arguments": 5}]',
        '["a", {"role": "assistant", "content": [{"type": "text"}]}]',
        "\ufeff[]",
        '[[{"tool": "get_order", "id": "1"}, {"tool": "get_order", "id": "1"}]]',
    ],
)
def test_check_says_of_a_script_what_replay_would_say(command: Command, first: Path, script: str) -> None:
    (first / "script.json").write_text(script, encoding="utf-8")
    code, lines = told_in_check(command, first)
    (told,) = lines
    assert (code, told.partition(": ")[0]) == (1, "script.json")
    assert told.partition(": ")[2] in command("scenarios", "replay", str(first)).err


def test_check_says_of_a_recording_what_replay_would_say(command: Command, first: Path) -> None:
    changed(first, 'script = "script.json"', 'recording = "session.jsonl"')
    shutil.copy(RECORDING, first / "session.jsonl")
    assert told_in_check(command, first) == (0, [])
    whole = (first / "session.jsonl").read_bytes()
    for damaged in (whole[: len(whole) // 2], b"", whole.replace(b'"request"', b'"reqest"', 1), b"\xff" + whole):
        (first / "session.jsonl").write_bytes(damaged)
        code, lines = told_in_check(command, first)
        (told,) = lines
        replayed = command("scenarios", "replay", str(first)).err
        assert (code, told.partition(": ")[0]) == (1, "session.jsonl")
        assert replayed.startswith(f"error: {first / 'session.jsonl'}")
        reason, _, advice = re.sub(r"^session\.jsonl: (line \d+: )?", "", told).partition(". ")
        assert f": {reason}\n{advice}" in replayed


def test_check_has_a_note_where_the_script_makes_a_call_that_no_tool_would_answer(
    command: Command, first: Path
) -> None:
    unreadable = {"type": "toolCall", "id": "1", "name": "get_order", "arguments": {}, "arguments_error": "no JSON"}
    message = {"role": "assistant", "api": "a", "provider": "p", "model": "m", "stop_reason": "toolUse"}
    answers = [
        ["I look.", {"tool": "fly", "arguments": {}}],
        {**message, "content": [{"type": "toolCall", "id": "2", "name": "get_order", "arguments": {"order": "17"}}]},
        {**message, "content": [unreadable]},
        {"tool": "get_order", "arguments": {"id": "17"}},
        {"tool": "get_order", "arguments": {"id": ["ghp_Zx4Qm81LwT7vBn2KdP9s"]}},
    ]
    (first / "script.json").write_text(json.dumps(answers))
    code, lines = told_in_check(command, first)
    own = [line for line in lines if "reads like a secret" not in line]
    refused = "calls get_order with arguments that its contract refuses"
    assert code == 0
    assert own[0] == "script.json: [0] calls fly, which the scenario has no contract for (a note)"
    assert own[1].startswith(f"script.json: [1] {refused}: value: ")
    assert "'id' is a required property" in own[1]
    assert own[2].startswith(f"script.json: [4] {refused}: id: ")
    assert len(own) == 3
    assert "ghp_" not in "".join(lines)


def test_check_quotes_no_sensitive_argument(command: Command, first: Path) -> None:
    contract = (first / "contracts/get_order.toml").read_text()
    (first / "contracts/get_order.toml").write_text(f'sensitive = ["id"]\n{contract}')
    (first / "script.json").write_text('[{"tool": "get_order", "arguments": {"id": 4711}}]')
    _, lines = told_in_check(command, first)
    assert "script.json: [0] calls get_order with arguments that its contract refuses: [sensitive] (a note)" in lines


def test_check_has_a_note_where_a_fixture_says_otherwise_than_the_world(command: Command, first: Path) -> None:
    command.done("scenarios", "check", str(first), "--pin")
    changed(first, '"price": 30', '"price": 35', "resources/orders.json")
    shown = command.done("scenarios", "check", str(first)).out
    note = "fixtures/order-17-open.json: its result says price is 30, but orders/17 begins as 35 (a note)\n"
    assert shown == note
    assert json.loads(command.done("scenarios", "check", str(first), "--json").out)[0]["serious"] is False
    changed(first, '"teapot"', '"ghp_Zx4Qm81LwT7vBn2KdP9s"', "resources/orders.json")
    assert "but orders/17 begins as '[secret removed]' (a note)\n" in command.done("scenarios", "check", str(first)).out


def test_check_has_a_note_where_something_reads_like_a_secret(command: Command, first: Path) -> None:
    token = "ghp_" + "Zx4Qm81LwT" * 3 + "abcdef"
    command.done("scenarios", "check", str(first), "--pin")
    (first / "notes").mkdir()
    (first / "notes/old.json").write_text(json.dumps({"items": [{"api_key": "Zx4Qm81Lw"}, f"see {token}"]}))
    (first / "notes/broken.json").write_text("{")
    (first / "notes/new.toml").write_text(f"# {token}\n")
    (first / "notes/old.toml").write_text(f"about = {token!r}\n")
    (first / "expectations.py").write_text(f"# {token}, {token}\n")
    assert command.done("scenarios", "check", str(first)).out.splitlines() == [
        f"{where} reads like a secret ({rule}), and a scenario is not redacted; is it made up? (a note)"
        for where, rule in (
            ("expectations.py: its text", "github-token"),
            ("notes/new.toml: its text", "github-token"),
            ("notes/old.json: items[0].api_key", "field api_key"),
            ("notes/old.json: items[1]", "github-token"),
            ("notes/old.toml: about", "github-token"),
        )
    ]


def test_what_is_declared_as_a_synthetic_credential_is_no_secret_wherever_it_stands(
    command: Command, first: Path
) -> None:
    token = "ghp_" + "Zx4Qm81LwT" * 3 + "abcdef"
    command.done("scenarios", "check", str(first), "--pin")
    with (first / "scenario.toml").open("a") as file:
        file.write(f'\n[credentials]\ntoken = "{token}"\n')
    (first / "fixtures/more.txt").write_text(f"Authorization: Bearer {token}")
    (first / "resources/logins.json").write_text(json.dumps({"ann": {"password": token}}))
    assert command.done("scenarios", "check", str(first)).out == ""


def test_explain_says_which_fixture_answers_or_why_none_does(command: Command, first: Path) -> None:
    found = json.loads(command.done("fixtures", "explain", str(first), "get_order", '{"id": "17"}', "--json").out)
    assert (found["outcome"], found["fixtures"]) == ("found", ["order-17-open"])
    missing = command("fixtures", "explain", str(first), "get_order", '{"id": "18"}')
    assert missing.code == 1
    assert "arguments.id of the call is '18', the fixture wants '17'" in missing.out


@pytest.mark.parametrize(
    ("tool", "says"),
    [
        ("get_order", 'found: order-17-open answers get_order {"id": "17"}\n  order-17-open: everything is equal\n'),
        (
            "cancel_order",
            'missing: no fixture answers cancel_order {"id": "17"}\n'
            "  the scenario has no fixture of cancel_order; an operation answers it\n",
        ),
    ],
)
def test_explain_is_a_sentence_and_the_parts_of_the_key(command: Command, first: Path, tool: str, says: str) -> None:
    key = 'scenario_version "1", namespace "default", contract_revision "1", reads {"orders/17": 1}\n'
    shown = command("fixtures", "explain", str(first), tool, '{"id": "17"}').out
    assert shown == f'{says}a fixture for it has: tool "{tool}", arguments {{"id": "17"}}, {key}'


def test_a_call_without_a_fixture_says_what_one_would_have(command: Command, first: Path) -> None:
    changed(first, '"id": "17"', '"id": "18"', "script.json")
    stopped = command("scenarios", "replay", str(first))
    explained = command("fixtures", "explain", str(first), "get_order", '{"id": "18"}').out.splitlines()[-1]
    assert stopped.code == 3
    assert explained.startswith('a fixture for it has: tool "get_order", arguments {"id": "18"}, ')
    assert f"A fixture has: {explained.removeprefix('a fixture for it has: ')}\n" in stopped.err


def test_a_folder_without_a_scenario_says_how_to_make_one(command: Command, tmp_path: Path) -> None:
    for name in ("check", "show", "replay"):
        finished = command("scenarios", name, str(tmp_path))
        assert finished.code == 1
        assert finished.err == (
            f"error: {tmp_path}/scenario.toml: this folder has no such file, so it is no scenario\n"
            "Make a scenario: openprogram scenarios new NAME\n"
        )


def test_a_new_scenario_fits_together_and_its_note_names_the_command_that_ends_it(
    command: Command, first: Path
) -> None:
    finished = command.done("scenarios", "check", str(first))
    assert finished.err == "All of it fits together.\n"
    notes = finished.out.splitlines()
    assert len(notes) == 2
    for noted in notes:
        told = noted.partition("pinned yet: openprogram ")[2].removesuffix(" (a note)")
        assert shlex.split(told) == ["scenarios", "check", str(first), "--pin"]
    command.done("scenarios", "check", str(first), "--pin")
    assert command.done("scenarios", "check", str(first)).out == ""


def test_explain_looks_at_a_call_of_a_run_in_the_world_as_it_was(command: Command, first: Path, tmp_path: Path) -> None:
    script = [
        {"tool": "cancel_order", "arguments": {"id": "17"}},
        {"tool": "get_order", "arguments": {"id": "17"}},
        ".",
    ]
    (first / "script.json").write_text(json.dumps(script))
    command("scenarios", "replay", str(first), "--out", str(tmp_path / "run"))
    journal = str(tmp_path / "run/journal.jsonl")
    explained = command("fixtures", "explain", str(first), "--journal", journal, "--call", "1")
    assert explained.code == 1
    assert "resource orders/17 is at revision 2, the fixture wants 1" in explained.out


@pytest.mark.parametrize("arguments", [(), ("get_order",), ("get_order", "[]"), ("get_order", "{")])
def test_explain_says_what_it_wants(command: Command, first: Path, arguments: tuple[str, ...]) -> None:
    assert command("fixtures", "explain", str(first), *arguments).code == 2


@pytest.mark.parametrize(
    ("file", "before", "after", "says"),
    [
        ("fixtures/order-17-open.json", '"reads"', '"occurrence": 0, "reads"', "its contract is not ordered"),
        ("contracts/get_order.toml", 'effect = "read"', 'effect = "read"\nordered = true', "it needs an occurrence"),
    ],
)
def test_check_finds_a_fixture_whose_occurrence_nobody_asks_for_or_that_lacks_one(
    command: Command, first: Path, file: str, before: str, after: str, says: str
) -> None:
    changed(first, before, after, file)
    found = command("scenarios", "check", str(first))
    assert found.code == 1
    assert says in found.out


def test_what_a_conversation_is_bounded_by_is_its_budget_and_nothing_else(command: Command, first: Path) -> None:
    script = [{"tool": "get_order", "arguments": {"id": "17"}}] * 120
    (first / "script.json").write_text(json.dumps([*script, "Done."]))
    changed(first, "model_calls = 5", "model_calls = 200")
    replayed = json.loads(command("scenarios", "replay", str(first), "--json").out)
    assert (replayed["reason"], replayed["model_calls"]) == ("stop", 121)
