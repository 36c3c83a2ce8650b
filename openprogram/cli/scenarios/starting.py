"""`openprogram scenarios new`."""

import re
from pathlib import Path
from typing import Annotated

import typer

from openprogram.cli.render import note, print_line
from openprogram.errors import OpenProgramError, UsageError

__all__ = ["new"]


def new(path: Annotated[Path, typer.Argument(metavar="FOLDER", help="The new folder; its name is the id.")]) -> None:
    """Make a small scenario that works, to start from."""
    from openprogram.scenarios.starting import new_scenario

    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,63}", path.name):
        raise UsageError(
            f"{path.name!r} can't be the id of a scenario",
            next_step="Use lower-case letters, digits, dots, dashes and underscores, 64 at the most.",
        )
    try:
        written = new_scenario(path, path.name)
    except FileExistsError as error:
        raise OpenProgramError(f"{path} is there already", next_step="Name another folder.") from error
    for file in written:
        print_line(str(file))
    note(f"Replay it: openprogram scenarios replay {path}")
