"""`openprogram logs`: the structured log, filtered."""

from collections import deque
from collections.abc import Iterator
from typing import Annotated, Any, Final

import typer

from openprogram.cli.render import count, note, print_line
from openprogram.errors import UsageError

__all__ = ["show_logs"]

_NO_LOG: Final = (
    "no log yet: {path} is written by programs that start with record or replay on (openprogram recordings record). "
    "A program that makes its own RecordingProvider or ReplayProvider writes none."
)


def show_logs(
    call: Annotated[int | None, typer.Option("--call", min=0, help="Only events of this call_index.")] = None,
    level: Annotated[
        str | None,
        typer.Option("--level", help="Only events at this level or above: debug, info, warning, error, critical."),
    ] = None,
    event: Annotated[
        str | None, typer.Option("--event", help="Only events of this name, or below it: `replay` means `replay.…`.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The lines as they stand in the file.")] = False,
    tail: Annotated[int | None, typer.Option("--tail", min=1, help="Only the last N that match.")] = None,
) -> None:
    """Show the structured log. Oldest first.

    It is written by programs that record or replay because `openprogram recordings` says so, and where that fails.
    A program that makes its own RecordingProvider or ReplayProvider writes none.
    """
    import json

    from openprogram.cli.state import current_home
    from openprogram.logs import LEVELS, LogReading, read_log

    if level is not None and level not in LEVELS:
        raise UsageError(f"{level!r} is not a level", next_step=f"One of: {', '.join(LEVELS)}.")
    lowest = LEVELS.index(level) if level is not None else 0

    def wanted(line: dict[str, Any]) -> bool:
        return (
            LEVELS.index(line["level"]) >= lowest
            and (call is None or line.get("call_index") == call)
            and (event is None or line["event"] == event or line["event"].startswith(f"{event}."))
        )

    path = current_home().log_file
    reading = LogReading()
    lines: Iterator[dict[str, Any]] = filter(wanted, read_log(path, reading))
    shown = 0
    for line in lines if tail is None else deque(lines, maxlen=tail):
        print_line(json.dumps(line) if as_json else _one_line(line))
        shown += 1
    if reading.damaged:
        note(f"skipped {count(reading.damaged, 'damaged line')} in {path}")
    if not path.exists():
        note(_NO_LOG.format(path=path))
    elif not shown:
        note(f"no event in {path} is one of these")


def _one_line(line: dict[str, Any]) -> str:
    fields = (f"{key}={value!r}" for key, value in line.items() if key not in ("timestamp", "level", "event"))
    return "  ".join([str(line.get("timestamp", "")), f"{line['level']:<8}", line["event"], *fields])
