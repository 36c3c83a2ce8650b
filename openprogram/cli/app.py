"""The command `openprogram`: one file per group of commands, errors turned into messages here and only here.

Exit codes: 0 done; 1 a failure, with a message and the next step, or the traceback of a defect of ours; 2 a wrong
argument; 3 a replayed scenario stopped; 130 interrupted. A stdout or stderr that is closed from the start is /dev/null,
and changes no exit code.
Only typer is imported at start; a command imports what it needs when it runs.
"""

import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, NoReturn

import typer

from openprogram import __version__
from openprogram.cli import config, demo, fixtures, logs, models, recordings, run, scenarios
from openprogram.cli.render import note, print_error
from openprogram.errors import OpenProgramError, UsageError

__all__ = ["app", "main"]

app = typer.Typer(
    name="openprogram",
    help="Record an agent's provider calls once, replay them offline, see the exact field where a later run diverges.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # `main` says what went wrong; `--debug` shows Python's own traceback
    context_settings={"help_option_names": ["-h", "--help"]},  # for every command below it as well
    rich_markup_mode=None,  # plain help: rich would double the time that `--help` takes
)
app.add_typer(recordings.app, name="recordings")
app.add_typer(scenarios.app, name="scenarios")
app.add_typer(fixtures.app, name="fixtures")
app.add_typer(config.app, name="config")
app.command("run")(run.run)
app.command("models")(models.list_models)
app.command("logs")(logs.show_logs)
app.command("demo")(demo.demo)


@dataclass
class _Global:
    """What the options before the command say. A value, since an error is handled after their context is gone."""

    debug: bool = False


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"openprogram {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show log events on stderr.")] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    context.ensure_object(_Global).debug = debug
    if verbose:
        from openprogram.logs import configure_terminal_log

        configure_terminal_log(verbose=True)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run one command, by default that of `sys.argv`, and exit the process."""
    _open_missing_streams()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal that can't show a character gets its escape
    chosen = _Global()
    code: str | int | None = None
    try:
        app(args=arguments, prog_name="openprogram", obj=chosen)
    except SystemExit as finished:
        code = finished.code
    except Exception as error:  # noqa: BLE001 - a defect of ours is shown too
        with suppress(OSError):  # stderr can't be written: nowhere left to say so
            _report(error, debug=chosen.debug)
        code = 2 if isinstance(error, UsageError) else 1
    sys.exit(_flush(code))


def _open_missing_streams() -> None:
    """Put /dev/null in place of the standard streams that were closed when the process started.

    Python has None there, and their numbers would go to the next files opened: prints would end up in a recording.
    """
    if None not in (sys.stdin, sys.stdout, sys.stderr):
        return
    while (null := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(null, True)
    # closefd: like the streams they stand for, these stay open to the end.
    sys.stdin = sys.stdin or open(null, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = sys.stdout or open(null, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(null, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


def _report(error: Exception, *, debug: bool) -> None:
    """Print an expected error, or the traceback with `--debug` and of anything else, which is a defect of ours."""
    from openprogram.pipeline.errors import PipelineError

    if debug or not isinstance(error, (OSError, OpenProgramError, PipelineError)):
        # Not raised: Python would print it with whatever secret a provider's text in it holds.
        note("".join(traceback.format_exception(error)).rstrip("\n"))
    elif isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename is not None else ""
        print_error(f"{where}{error.strerror or error}", [])
    else:
        print_error(str(error), getattr(error, "__notes__", ()))


def _flush(code: str | int | None) -> str | int | None:
    """Write what the streams still hold; a reader that has left (`| head`) is no error to speak of."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            # What is buffered would fail again when the interpreter ends, loudly.
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, stream.fileno())
            os.close(null)
            code = code or 1
    return code
