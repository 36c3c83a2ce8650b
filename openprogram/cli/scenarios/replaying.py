"""`openprogram scenarios replay`. Exit codes: 1 an expectation failed, or a file can't be used; 3 the run stopped."""

from collections.abc import Callable
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from openprogram.cli.render import count, note, print_json, print_line, working
from openprogram.cli.scenarios.showing import print_replayed, print_stop
from openprogram.errors import OpenProgramError, UsageError

if TYPE_CHECKING:
    from openprogram.evaluation.replaying import Replayed
    from openprogram.scenarios.folder import ScenarioFolder
    from openprogram.scenarios.partial_runs import PartialResult

__all__ = ["replay"]

INCOMPLETE = 3


class ScopeChoice(StrEnum):
    """What `--scope` takes."""

    CONTRACT = "contract"
    SEGMENT = "segment"
    SCENARIO = "scenario"


def replay(
    path: Annotated[Path, typer.Argument(metavar="FOLDER", help="A scenario's folder.", exists=True, file_okay=False)],
    scope: Annotated[ScopeChoice, typer.Option("--scope", help="How much of it.")] = ScopeChoice.SCENARIO,
    journal: Annotated[
        Path | None, typer.Option("--journal", help="Of an earlier run, for less than the whole.", exists=True)
    ] = None,
    call: Annotated[int | None, typer.Option("--call", min=0, help="Scope contract: which tool call.")] = None,
    first_turn: Annotated[int | None, typer.Option("--first-turn", min=0, help="Scope segment: from here.")] = None,
    last_turn: Annotated[int | None, typer.Option("--last-turn", min=0, help="Scope segment: to here.")] = None,
    out: Annotated[Path | None, typer.Option("--out", help="A new folder for journal, verdict and checkpoint.")] = None,
    junit: Annotated[
        Path | None, typer.Option("--junit", help="Write the verdict, or the stop, as JUnit XML too.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable.")] = False,
) -> None:
    """Run an agent again in the scenario's world, and judge what it did.

    Nothing live is reached. What has no answer stops the run: exit code 3, and a checkpoint in --out. Exit code 1: an
    expectation failed, or a file can't be used.
    """
    from openprogram.scenarios.folder import load_scenario

    folder = load_scenario(path)
    if scope is ScopeChoice.SCENARIO:
        if any(given is not None for given in (journal, call, first_turn, last_turn)):
            raise UsageError("--journal, --call and the turns are for --scope contract and segment")
        _whole(folder, out, junit, as_json=as_json)
        return
    if journal is None:
        raise UsageError(
            f"--scope {scope} needs --journal",
            next_step="Make one with: openprogram scenarios replay FOLDER --out RUN",
        )
    if out is not None or junit is not None:
        raise UsageError("--out and --junit are for --scope scenario: less than the whole is compared, not judged")
    _part(folder, journal, _partial(scope, call, first_turn, last_turn), as_json=as_json)


def _whole(folder: "ScenarioFolder", out: Path | None, junit: Path | None, *, as_json: bool) -> None:
    import anyio

    from openprogram.evaluation.replaying import replay_scenario
    from openprogram.evaluation.run_folder import report, write_run

    if out is not None and out.exists():
        raise OpenProgramError(f"{out} is there already", next_step="Runs are never written over: name a new folder.")
    started, before = datetime.now(UTC), perf_counter()
    with working(f"Replaying {folder.scenario.id}"):
        replayed = anyio.run(replay_scenario, folder)
    seconds = perf_counter() - before
    passed = replayed.verdict is not None and replayed.verdict.passed
    # shown first: a full disk must not cost the verdict
    if as_json:
        print_json(report(replayed))
    else:
        print_replayed(replayed, folder.scenario.contracts)
    if out is not None:
        _written(out, lambda: write_run(out, replayed, started=started, seconds=seconds))
        note(f"The run: {out}" if passed else f"The run: {out}; every step of it: {out / 'journal.jsonl'}")
    elif not passed:
        note("Every step is in the run's journal: add --out DIR, and read DIR/journal.jsonl.")
    if junit is not None:
        _written(junit, lambda: junit.write_bytes(_junit(folder.scenario.id, replayed)))
    if replayed.verdict is None:
        raise typer.Exit(INCOMPLETE)
    if not passed:
        raise typer.Exit(1)


def _junit(scenario: str, replayed: "Replayed") -> bytes:
    from openprogram.evaluation.junit import junit_of_stop, junit_xml
    from openprogram.scenarios.scopes import SCENARIO

    if replayed.verdict is not None:
        return junit_xml(scenario, replayed.verdict)
    assert replayed.stop is not None
    return junit_of_stop(scenario, SCENARIO, replayed.stop)


def _written(path: Path, write: Callable[[], object]) -> None:
    """Write a result. Raises OpenProgramError: it can't be written."""
    try:
        write()
    except OSError as error:
        raise OpenProgramError(
            f"{path} can't be written: {error.strerror or error}",
            next_step="Name another place, or make room: the same run comes out again.",
        ) from error


def _partial(
    scope: ScopeChoice, call: int | None, first_turn: int | None, last_turn: int | None
) -> "Callable[[ScenarioFolder, bytes], Any]":
    """The replay that was asked for, as an async function of folder and journal."""
    if scope is ScopeChoice.CONTRACT:
        if call is None or first_turn is not None or last_turn is not None:
            raise UsageError("--scope contract needs --call, and no turns")

        async def one_call(folder: "ScenarioFolder", journal: bytes) -> "PartialResult":
            from openprogram.scenarios.history import History
            from openprogram.scenarios.partial_runs import ContractReplay

            history = History(folder.scenario, journal)
            return await ContractReplay(folder.scenario, folder.fixtures, history).run(call)

        return one_call
    if first_turn is None or call is not None:
        raise UsageError("--scope segment needs --first-turn (and perhaps --last-turn), and no --call")
    last = first_turn if last_turn is None else last_turn
    if last < first_turn:
        raise UsageError(f"--last-turn {last} comes before --first-turn {first_turn}")

    async def some_turns(folder: "ScenarioFolder", journal: bytes) -> "PartialResult":
        from openprogram.scenarios.history import History
        from openprogram.scenarios.partial_runs import SegmentReplay

        history = History(folder.scenario, journal)
        return await SegmentReplay(folder.scenario, folder.fixtures, history).run(first_turn, last)

    return some_turns


def _part(
    folder: "ScenarioFolder", journal: Path, replay: "Callable[[ScenarioFolder, bytes], Any]", *, as_json: bool
) -> None:
    import anyio

    from openprogram.fixtures.errors import RunStopped

    try:
        result: PartialResult = anyio.run(replay, folder, journal.read_bytes())
    except RunStopped as stopped:
        if as_json:
            print_json({"stopped": {"code": stopped.code, "message": str(stopped)}, "equal": False})
        else:
            print_line(f"stopped: {stopped.code}")
            print_stop(stopped)
        raise typer.Exit(INCOMPLETE) from None
    if as_json:
        scope = {"name": result.scope.name, "reconstructs": result.scope.reconstructs}
        supports = sorted(result.scope.supports)
        print_json(
            {
                "stopped": None,
                "equal": result.difference is None,
                "lines": result.lines,
                "difference": result.difference,
                "scope": {**scope, "supports": supports},
            }
        )
    else:
        print_line(f"scope {result.scope.name}: {result.scope.reconstructs}")
        print_line(f"supports conclusions about: {', '.join(sorted(result.scope.supports))}")
        print_line(result.difference or f"{count(result.lines, 'line')} of the journal came out again")
    if result.difference is not None:
        raise typer.Exit(1)
