"""The page that goes from a recorded session to a scenario, followed to the letter."""

import json
import re
import shlex
from pathlib import Path

from tests.docs.test_examples import CHECKOUT, blocks, run

PAGE = CHECKOUT / "docs" / "how-to" / "recording-to-scenario.md"
JSON_FILES = ("shop/resources/orders.json", "shop/fixtures/order-17.json")  # in the page's order


def write_files(folder: Path) -> None:
    """The page's blocks as the files that it says they are."""
    named = [re.match(r"# (\S+)\n", code) for kind in ("python", "toml") for code in blocks(PAGE, kind)]
    files = {match[1]: match.string for match in named if match is not None}
    files |= dict(zip(JSON_FILES, blocks(PAGE, "json"), strict=True))
    assert all(name in PAGE.read_text("utf-8") for name in files)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")


def shown_commands() -> list[tuple[list[str], str]]:
    """Each command that the page shows, as arguments of Python, and what it prints."""
    (console,) = blocks(PAGE, "console")
    programs = {"python": [], "openprogram": ["-m", "openprogram"]}
    steps = [step.partition("\n") for step in re.split(r"^\$ ", console, flags=re.MULTILINE)[1:]]
    return [([*programs[line.split()[0]], *line.split()[1:]], printed) for line, _, printed in steps]


def followed(folder: Path) -> None:
    write_files(folder)
    for command, printed in shown_commands():
        finished = run(folder, *command)
        assert (finished.returncode, finished.stdout) == (0, printed), finished.stderr


def test_the_page_leads_from_nothing_to_a_replayed_scenario(tmp_path: Path) -> None:
    followed(tmp_path)


def test_a_tool_that_answers_otherwise_stops_the_run_as_the_page_shows(tmp_path: Path) -> None:
    followed(tmp_path)
    operations = tmp_path / "shop/operations.py"
    text = operations.read_text("utf-8")
    assert ', "refund": order["price"]' in text
    operations.write_text(text.replace(', "refund": order["price"]', ""), "utf-8")
    finished = run(tmp_path, "-m", "openprogram", "scenarios", "replay", "shop")
    assert finished.returncode == 3
    assert [finished.stdout] == blocks(PAGE, "text")
    assert "field context.messages[4].content[0].text" in finished.stderr
    assert (
        "In the scenario: turns in scenario.toml, or what the tools answer: fixtures and operations." in finished.stderr
    )


def test_tools_in_another_order_than_recorded_are_asked_for_in_so_many_words(tmp_path: Path) -> None:
    followed(tmp_path)
    settings = tmp_path / "shop/scenario.toml"
    order = 'tools = ["cancel_order", "get_order"]\n'
    settings.write_text(settings.read_text("utf-8").replace("turns =", f"{order}turns ="), "utf-8")
    finished = run(tmp_path, "-m", "openprogram", "scenarios", "replay", "shop")
    assert finished.returncode == 3
    assert "In the scenario: the contracts (name, description, arguments), and `tools`" in finished.stderr


def test_the_reference_shows_what_the_commands_print(tmp_path: Path) -> None:
    """`…` on the page stands for anything on that line, and alone on a line for some lines."""
    made, missing, failing = blocks(CHECKOUT / "docs" / "scenarios.md", "console")
    assert printed(tmp_path, made)
    assert printed(tmp_path, missing)
    answers = [
        tool_call("get_order", id="17"),
        tool_call("cancel_order", order="17"),
        "Cancelled. You get a refund of 30.",
    ]
    (tmp_path / "first-scenario/script.json").write_text(json.dumps(answers), "utf-8")
    assert printed(tmp_path, failing)


def printed(folder: Path, console: str) -> bool:
    """Whether the console's commands print what stands there; what goes to stderr comes after what goes to stdout."""
    for step in re.split(r"^\$ ", console, flags=re.MULTILINE)[1:]:
        line, _, shown = step.partition("\n")
        finished = run(folder, "-m", *shlex.split(line))
        pattern = "\n".join(
            "(.*\n)*?.*" if text == "…" else re.escape(text).replace("…", ".*") for text in shown.split("\n")
        )
        if shown and not re.fullmatch(pattern, finished.stdout + finished.stderr):
            raise AssertionError(finished.stdout + finished.stderr)
    return True


def tool_call(tool: str, **arguments: str) -> dict[str, object]:
    return {"tool": tool, "arguments": arguments}


def test_the_sessions_recording_has_no_more_than_a_scenario_can_ask_for(tmp_path: Path) -> None:
    followed(tmp_path)
    lines = [json.loads(line) for line in (tmp_path / "shop/session.jsonl").read_text("utf-8").splitlines()]
    requests = [line for line in lines if line["type"] == "request"]
    assert [request["options"] for request in requests] == [None] * 3
    recorded = [tool["name"] for tool in requests[0]["context"]["tools"]]
    assert recorded != sorted(recorded)  # otherwise the page would prove nothing of the order
