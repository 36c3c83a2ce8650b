"""How a person at this terminal starts `openprogram`: what a printed command should begin with."""

import shlex
import shutil
import sys
from pathlib import Path

__all__ = ["program_name"]


def program_name() -> str:
    """`openprogram` where that is on the PATH and is this one; else the path it was started by, quoted for a shell.

    A program that imports the app and calls it, or `python -m openprogram`, is named as `python -m openprogram`.
    """
    started = Path(sys.argv[0])
    if started.name != "openprogram":
        started = Path(sys.executable).with_name("openprogram")  # where a command of this interpreter is installed
        if not _is_on_path(started):
            return f"{shlex.quote(sys.executable)} -m openprogram"
    return "openprogram" if _is_on_path(started) else shlex.quote(str(started))


def _is_on_path(program: Path) -> bool:
    found = shutil.which("openprogram")
    return found is not None and program.exists() and program.samefile(found)
