"""`openprogram fixtures explain`."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from openprogram.cli.render import print_json, print_line
from openprogram.errors import OpenProgramError, UsageError

__all__ = ["app"]

app = typer.Typer(help="Look into a scenario's fixtures.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def _group() -> None:
    """Keeps `explain` a command of its own, though it is the only one so far."""


@app.command()
def explain(
    path: Annotated[Path, typer.Argument(metavar="FOLDER", help="A scenario's folder.", exists=True, file_okay=False)],
    tool: Annotated[str | None, typer.Argument(metavar="TOOL", help="With ARGUMENTS: a call to look up.")] = None,
    arguments: Annotated[str | None, typer.Argument(metavar="ARGUMENTS", help="As a JSON object.")] = None,
    journal: Annotated[Path | None, typer.Option("--journal", help="Of a run, with --call.", exists=True)] = None,
    call: Annotated[int | None, typer.Option("--call", min=0, help="Which tool call of that run.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable.")] = False,
) -> None:
    """Say which fixture answers a call, or for each fixture of the tool why it doesn't. Exit code 1: none does.

    The call is given, and looked up in the world as it begins; or it is one of a run's journal, in the world as it was.
    """
    from openprogram.fixtures.explaining import explained
    from openprogram.scenarios.folder import load_scenario
    from openprogram.scenarios.history import History
    from openprogram.scenarios.state import RunState, stage_for
    from openprogram.scenarios.tools import ScenarioTool

    folder = load_scenario(path)
    state, branch = RunState(at=folder.scenario.start), "main"
    if journal is not None and call is not None and tool is None:
        history = History(folder.scenario, journal.read_bytes())
        made = history.call_line(call)
        tool, given, branch = made["tool"], made["arguments"], history.lines[0]["branch"]
        state = history.before_call(call)
    elif tool is not None and arguments is not None and journal is None and call is None:
        given = _object(arguments)
    else:
        raise UsageError("give TOOL and ARGUMENTS, or --journal and --call")
    contract = folder.scenario.contracts.get(tool)
    if contract is None:
        raise OpenProgramError(f"the scenario has no contract for {tool!r}")
    stage = stage_for(folder.scenario, folder.fixtures, state, branch, lambda line: None)
    key, match = ScenarioTool(contract, stage).look_up(given)
    answer = explained(key, contract, match)
    if as_json:
        print_json(answer)
    else:
        others = {"an operation": folder.scenario.operations, "a pure tool": folder.scenario.pure}
        asked = next((f"; {kind} answers it" for kind, tools in others.items() if tool in tools), "")
        _show(answer, none=f"the scenario has no fixture of {tool}{asked}")
    if answer["outcome"] != "found":
        raise typer.Exit(1)


def _show(answer: dict[str, Any], none: str) -> None:
    """The outcome as a sentence, what each fixture has to do with it, and what one for this call has to say.

    `none`: the sentence where the tool has no fixture.
    """
    from openprogram.fixtures.key import in_words

    key = answer["key"]
    call = f"{key['tool']} {json.dumps(key['arguments'], ensure_ascii=False)}"
    match answer["outcome"]:
        case "found":
            print_line(f"found: {answer['fixtures'][0]} answers {call}")
        case "ambiguous":
            print_line(f"ambiguous: {len(answer['fixtures'])} fixtures would answer {call}, so none does")
        case _:
            print_line(f"missing: no fixture answers {call}")
    for sentence in answer["explanations"] or [none]:
        print_line(f"  {sentence}")
    print_line(f"a fixture for it has: {in_words(key)}")


def _object(text: str) -> dict[str, Any]:
    from openprogram.contracts.json_file import NotReadable, parse_json

    try:
        value = parse_json(text)
    except NotReadable as error:
        raise UsageError(f"ARGUMENTS: {error}") from error
    if not isinstance(value, dict):
        raise UsageError("ARGUMENTS is no JSON object")
    return value
