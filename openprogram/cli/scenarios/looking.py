"""`openprogram scenarios list | show | check | schema`."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from openprogram.cli.render import count, note, print_json, print_line, print_table
from openprogram.errors import UsageError

if TYPE_CHECKING:
    from openprogram.scenarios.finding import FoundScenario
    from openprogram.scenarios.folder import ScenarioFolder

__all__ = ["check", "list_all", "schema", "show"]

_FOLDER = typer.Argument(metavar="FOLDER", help="A scenario's folder.", exists=True, file_okay=False)
_JSON = typer.Option("--json", help="Machine-readable.")


def list_all(
    root: Annotated[Path, typer.Argument(metavar="FOLDER", exists=True, file_okay=False)] = Path(),
    as_json: Annotated[bool, _JSON] = False,
) -> None:
    """List the scenarios below a folder, those that can't be used with the reason."""
    from openprogram.scenarios.finding import find_scenarios

    found = list(find_scenarios(root))
    if as_json:
        print_json([_listed(one) for one in found])
    elif found:
        rows = [tuple("" if value is None else str(value) for value in _listed(one).values()) for one in found]
        print_table(("id", "version", "tools", "fixtures", "path", "problem"), rows)
    else:
        note(f"No scenario below {root}. `openprogram scenarios new` makes one.")


def _listed(found: "FoundScenario") -> dict[str, Any]:
    folder = found.folder
    return {
        "id": None if folder is None else folder.scenario.id,
        "version": None if folder is None else folder.scenario.version,
        "tools": None if folder is None else len(folder.scenario.contracts),
        "fixtures": None if folder is None else len(folder.fixtures.all()),
        "path": str(found.path),
        "problem": found.problem,
    }


def show(path: Annotated[Path, _FOLDER], as_json: Annotated[bool, _JSON] = False) -> None:
    """Show what a scenario consists of."""
    from openprogram.scenarios.folder import load_scenario

    shown = _shown(load_scenario(path))
    if as_json:
        print_json(shown)
        return
    print_line(f"{shown['id']} version {shown['version']}, {shown['description'] or 'without a description'}")
    print_line(f"begins at {shown['start']}, seed {shown['seed']!r}, namespace {shown['namespace']}")
    print_line(f"{count(len(shown['turns']), 'user turn')}, {count(shown['resources'], 'resource')}")
    rows = [
        (tool["name"], tool["revision"], tool["effect"], tool["answered_by"], tool["digest"]) for tool in shown["tools"]
    ]
    print_table(("tool", "revision", "effect", "answered by", "digest"), rows)


def _shown(folder: "ScenarioFolder") -> dict[str, Any]:
    scenario, settings = folder.scenario, folder.settings
    return {
        **scenario.identity,
        "description": settings.description,
        "namespace": scenario.namespace,
        "turns": list(scenario.turns),
        "resources": sum(len(values) for values in scenario.resources.kinds.values()),
        "tools": [
            {
                "name": name,
                "revision": contract.revision,
                "effect": contract.effect,
                "answered_by": _answered_by(folder, name),
                "digest": contract.digest,
            }
            for name, contract in scenario.contracts.items()
        ],
        "fixtures": folder.fixtures.digests,
        "expectations": [one.name or f"{one.about} {one.path}" for one in settings.expect],
    }


def _answered_by(folder: "ScenarioFolder", name: str) -> str:
    if name in folder.scenario.pure:
        return "pure"
    if name in folder.scenario.operations:
        return "operation"
    return count(len(folder.fixtures.of_tool(folder.scenario.namespace, name)), "fixture")


def check(
    path: Annotated[Path, _FOLDER],
    pin: Annotated[bool, typer.Option("--pin", help="Pin the contracts that have a new revision.")] = False,
    as_json: Annotated[bool, _JSON] = False,
) -> None:
    """Check that a scenario's files can be read and fit together. Exit code 1 where something is wrong."""
    from openprogram.contracts.pins import pinned, read_pins
    from openprogram.scenarios.checking import check_folder
    from openprogram.scenarios.folder import load_scenario

    folder = load_scenario(path)
    if pin:
        file = path / "contracts" / "pins.json"
        pins = pinned(read_pins(file), folder.scenario.contracts.values())
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps(pins, indent=2) + "\n", encoding="utf-8")
    findings = check_folder(folder)
    if as_json:
        print_json([{"where": one.where, "what": one.what, "serious": one.serious} for one in findings])
    else:
        for one in findings:
            print_line(f"{one.where}: {one.what}{'' if one.serious else ' (a note)'}")
        if not any(one.serious for one in findings):
            note("All of it fits together.")
    if any(one.serious for one in findings):
        raise typer.Exit(1)


def schema(name: Annotated[str, typer.Argument(metavar="scenario|contract|fixture")]) -> None:
    """Print the JSON Schema of scenario.toml, of a contract or of a fixture, for an editor."""
    from openprogram.scenarios.schemas import SCHEMAS, schema_of

    if name not in SCHEMAS:
        raise UsageError(f"there is no schema {name!r}", next_step=f"There is: {', '.join(SCHEMAS)}.")
    print_json(schema_of(name))
