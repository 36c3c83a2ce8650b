"""`openprogram recordings repair`."""

from typing import TYPE_CHECKING, Annotated

import typer

from openprogram.cli.render import count, note, print_line, working
from openprogram.cli.state import current_home

if TYPE_CHECKING:
    from pathlib import Path

    from openprogram.pipeline.log.repair import RepairReport

__all__ = ["repair"]


def repair(given: Annotated[str, typer.Argument(metavar="PATH", help="The damaged recording, or its id.")]) -> None:
    """Write a new file from a damaged one. It holds the calls that are whole; what was left out is said.

    Of a file that isn't damaged nothing is written.
    """
    from openprogram.recordings.names import find_recording
    from openprogram.recordings.repairing import AlreadyWhole, repair_beside

    path = find_recording(current_home(), given)
    with working(f"Repairing {path}"):
        report = repair_beside(path)
    if isinstance(report, AlreadyWhole):
        print_line(f"{path} is whole: {count(report.call_count, 'call')}, nothing to repair")
        return
    _print_report(path, report)


def _print_report(path: "Path", report: "RepairReport") -> None:
    print_line(f"wrote {report.target}: {count(len(report.kept), 'call')}")
    for call in report.left_out:
        note(f"left out call {call.call_index}, line {call.line_number}: {call.reason}")
    if report.damage is not None:
        note(f"first damage: {report.damage}")
    note(f"The old file stays as it is: {path}")
