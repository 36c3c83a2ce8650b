"""`openprogram recordings scan | redact`. What a file holds that it should not is never printed, only where."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from openprogram.cli.render import count, note, print_json, print_line, working
from openprogram.cli.state import current_home

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from openprogram.pipeline.errors import RecordingFileError
    from openprogram.pipeline.log.secrets import FoundSecret

__all__ = ["redact", "scan"]

#: Lines that are named of those in which the same is found at the same path.
_SHOWN_LINES = 5

#: Of a file below a folder that has the name of a recording and is none.
_SKIPPED = "not a recording, skipped"


def scan(
    given: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ID, PATH or FOLDER",
            help="Which recordings; by default all in the state folder.",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable.")] = False,
) -> None:
    """Find what today's redaction would remove from recordings. Exit code 1 where there is something.

    Says the line, the path and the rule, and never the value. Damaged files are looked through as well.
    """
    from openprogram.recordings.finding import find_all

    paths, skipped = find_all(current_home(), given or [])
    results = [(path, *_scanned(path)) for path in paths]
    if as_json:
        print_json([_fields(*result) for result in results] + [_skipped_fields(path) for path in skipped])
    else:
        for result in results:
            _print(*result)
        for path in skipped:
            print_line(f"{path}: {_SKIPPED}")
        for advice in dict.fromkeys(error.next_step for *_, error in results if error is not None):
            if advice is not None:
                note(advice)
        places = sum(secret.places for _, found, _ in results for secret in found)
        unread = sum(error is not None for *_, error in results)
        done = f"{count(len(paths), 'recording')} scanned, {count(places, 'place')} found"
        done += f", {unread} not read" if unread else ""
        print_line(done + (f", {count(len(skipped), 'file')} skipped" if skipped else ""))
        if places:
            note("Write a cleaned file with: openprogram recordings redact ID-or-PATH. Revoke what was found.")
    if any(found or error is not None for _, found, error in results):
        raise typer.Exit(1)


def _scanned(path: "Path") -> "tuple[list[FoundSecret], RecordingFileError | None]":
    """What is found, and why no more could be read, or None."""
    from openprogram.pipeline.errors import RecordingFileError
    from openprogram.recordings.secrets import find_secrets

    found: list[FoundSecret] = []
    try:
        with working(f"Scanning {path}"):
            found.extend(find_secrets(path))
    except RecordingFileError as error:
        return found, error
    return found, None


def _print(path: "Path", found: "Iterable[FoundSecret]", error: "RecordingFileError | None") -> None:
    if error is not None:
        print_line(f"{path}: not scanned: {error.reason}")
    # What a conversation holds stands in every later request too: one line for all of them.
    grouped: dict[tuple[str, str], list[FoundSecret]] = {}
    for secret in found:
        grouped.setdefault((secret.field_path, secret.rule), []).append(secret)
    for (field_path, rule), same in grouped.items():
        lines = list(dict.fromkeys(secret.line_number for secret in same))
        shown = ", ".join(map(str, lines[:_SHOWN_LINES])) + (", …" if len(lines) > _SHOWN_LINES else "")
        places = count(sum(secret.places for secret in same), "place")
        where = field_path or "(the line is not JSON)"
        print_line(f"{path}: line{'s' if len(lines) > 1 else ''} {shown}: {where}: {rule}, {places}")


def _fields(path: "Path", found: "Iterable[FoundSecret]", error: "RecordingFileError | None") -> dict[str, Any]:
    return {
        "path": str(path),
        "clean": not found and error is None,
        "not_scanned": None if error is None else error.reason,
        "findings": [secret._asdict() for secret in found],
    }


def _skipped_fields(path: "Path") -> dict[str, Any]:
    return {"path": str(path), "clean": None, "not_scanned": _SKIPPED, "findings": []}


def redact(given: Annotated[str, typer.Argument(metavar="ID-or-PATH", help="Which recording.")]) -> None:
    """Write a recording anew under today's redaction, to a new file beside it. The old file stays.

    Of a file in which today's rules find nothing, nothing is written.
    """
    from openprogram.recordings.names import find_recording
    from openprogram.recordings.secrets import AlreadyClean, redact_beside

    path = find_recording(current_home(), given)
    with working(f"Redacting {path}"):
        done = redact_beside(path)
    if isinstance(done, AlreadyClean):
        print_line(f"{path} is clean: nothing to redact")
        return
    print_line(
        f"wrote {done.target}: {count(done.cleaned.call_count, 'call')}, {count(done.cleaned.places, 'place')} redacted"
    )
    note(f"The old file stays as it is, with what was found in it: {path}")
    note("Delete it when you no longer need it, and revoke what it holds: a secret on disk has been read.")
