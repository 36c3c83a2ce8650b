"""`openprogram recordings compress | expand`."""

from typing import TYPE_CHECKING, Annotated

import typer

from openprogram.cli.render import count, note, print_line, show_size, working
from openprogram.cli.state import current_home

if TYPE_CHECKING:
    from openprogram.recordings.compressing import Conversion

__all__ = ["compress", "expand"]

_GIVEN = typer.Argument(metavar="ID-or-PATH", help="Which recording.")
_KEEP = typer.Option("--keep", "-k", help="Leave the file that was read where it is.")


def compress(given: Annotated[str, _GIVEN], keep: Annotated[bool, _KEEP] = False) -> None:
    """Compress a recording. Every command reads it.

    The new file's name ends in .jsonl.zst. In the state folder it replaces the plain file, once it has been checked.
    Elsewhere both stay.
    """
    from openprogram.recordings.compressing import compress

    with working(f"Compressing {given}"):
        done = compress(current_home(), given, keep=keep)
    _report(done, keep=keep)


def expand(given: Annotated[str, _GIVEN], keep: Annotated[bool, _KEEP] = False) -> None:
    """Expand a compressed recording.

    In the state folder it replaces the compressed file, once it has been checked. Elsewhere both stay.
    """
    from openprogram.recordings.compressing import expand

    with working(f"Expanding {given}"):
        done = expand(current_home(), given, keep=keep)
    _report(done, keep=keep)


def _report(done: "Conversion", *, keep: bool) -> None:
    from openprogram.pipeline.log.source import is_compressed_name

    print_line(
        f"wrote {done.target}: {count(done.call_count, 'call')}, {show_size(done.plain_bytes)} plain, "
        f"{show_size(done.compressed_bytes)} compressed"
    )
    if done.removed:
        print_line(f"removed {done.source}")
    elif keep:
        note(f"The old file stays as it is: {done.source}")
    else:
        note(f"The old file stays as it is, for it is not in the recordings folder: {done.source}")
        if is_compressed_name(done.target):
            note("Delete it when you no longer need it: its name then means the compressed file.")
