"""`openprogram recordings delete | prune`: plan, show or ask, execute, report."""

from typing import TYPE_CHECKING, Annotated

import typer

from openprogram.cli.render import ask, count, note, print_line, show_size, show_time
from openprogram.cli.state import current_home, current_time

if TYPE_CHECKING:
    from openprogram.home import Home
    from openprogram.recordings.removal import RemovalPlan

__all__ = ["delete", "prune"]

_NOTHING = "Nothing was deleted."
_YES = typer.Option("--yes", "-y", help="Delete without asking.")


def delete(
    given: Annotated[str, typer.Argument(metavar="ID", help="Which recording, in the state folder.")],
    yes: Annotated[bool, _YES] = False,
) -> None:
    """Delete one recording. Not one that is active or in use, no symbolic link, nothing outside the folder."""
    from openprogram.recordings.removal import plan_delete

    home = current_home()
    plan = plan_delete(home, given)
    if ask(f"Delete {plan.removals[0].path} ({show_size(plan.size_bytes)})?", yes=yes):
        _execute(plan, home)
    else:
        note(_NOTHING)


def prune(
    older_than_days: Annotated[
        int, typer.Option("--older-than-days", min=0, max=36_500, help="Last written more than this many days ago.")
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be deleted, and delete nothing.")] = False,
    yes: Annotated[bool, _YES] = False,
) -> None:
    """Delete old recordings. Not those that are active or in use."""
    from datetime import timedelta

    from openprogram.recordings.removal import plan_prune

    home = current_home()
    plan = plan_prune(home, timedelta(days=older_than_days), current_time())
    if not plan.removals:
        note(f"Nothing to delete: no recording that may be deleted is older than {count(older_than_days, 'day')}.")
        _report_kept(plan)
        return
    if dry_run or not yes:
        for removal in plan.removals:
            print_line(
                f"would delete {removal.path}  {show_size(removal.size_bytes)}, {show_time(removal.modified_at)}"
            )
    if dry_run:
        _report_kept(plan)
    elif ask(f"Delete {count(len(plan.removals), 'recording')} ({show_size(plan.size_bytes)})?", yes=yes):
        _execute(plan, home)
    else:
        note(_NOTHING)


def _execute(plan: "RemovalPlan", home: "Home") -> None:
    """Exit code 1 where something that was planned could not be deleted."""
    from openprogram.recordings.removal import execute

    done = execute(plan, home)
    for removal in done.removals:
        print_line(f"deleted {removal.path}")
    _report_kept(done)
    if len(done.removals) < len(plan.removals):
        raise typer.Exit(1)


def _report_kept(plan: "RemovalPlan") -> None:
    for kept in plan.kept:
        note(f"kept {kept.path}: {kept.reason}")
