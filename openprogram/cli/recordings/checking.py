"""`openprogram recordings check`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from openprogram.cli.render import count, note, print_json_with, print_line, working

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from openprogram.recordings.checking import Finding

__all__ = ["check"]


def check(
    given: Annotated[list[Path], typer.Argument(metavar="FOLDER…", help="Where recordings are; or files.")],
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable.")] = False,
) -> None:
    """Check every recording below a folder, as a CI job or a hook does. Exit code 1 where anything is wrong.

    Each must be whole and of this format version, hold nothing that redaction would remove, and have a name that is
    allowed on every system. Calls that failed when they were recorded are noted; a failure may be meant, and a note
    changes no exit code. Files below a folder that are no recordings are listed and skipped. Nothing is changed.
    """
    from openprogram.recordings.checking import files_to_check

    paths, skipped = files_to_check(given)
    notes: list[Finding] = []
    counts = {"findings": 0}
    findings = _sort_out(_all_findings(paths), counts, notes)
    if as_json:
        fields = (_fields(finding) for finding in findings)
        head = {"checked": len(paths), "skipped": list(map(str, skipped))}
        print_json_with(head, "findings", fields, lambda: _tail(counts["findings"], notes))
    else:
        _print(findings)
        _print(notes)
        for path in skipped:
            print_line(f"{path}: not a recording, skipped")
        told = [f"{count(len(paths), 'recording')} checked", count(counts["findings"], "finding")]
        told += [count(len(notes), "note")] if notes else []
        told += [f"{count(len(skipped), 'file')} skipped"] if skipped else []
        print_line(", ".join(told))
        note("Which of them no test uses, only the tests can say: python -m pytest --recordings-unused")
    if counts["findings"]:
        raise typer.Exit(1)


def _all_findings(paths: "list[Path]") -> "Iterator[Finding]":
    from openprogram.recordings.checking import check_file, check_names

    yield from check_names(paths)
    for path in paths:
        with working(f"Checking {path}"):
            found = list(check_file(path))
        yield from found


def _sort_out(found: "Iterator[Finding]", counts: dict[str, int], notes: "list[Finding]") -> "Iterator[Finding]":
    """The findings as they come; `counts` gets their number, `notes` the others."""
    for one in found:
        if one.is_note:
            notes.append(one)
        else:
            counts["findings"] += 1
            yield one


def _print(findings: "Iterable[Finding]") -> None:
    told: set[tuple[Path, str]] = set()
    for finding in findings:
        where = "" if finding.line_number is None else f", line {finding.line_number}"
        where += "" if finding.call_index is None else f", call {finding.call_index}"
        field = f"{finding.field_path}: " if finding.field_path else ""
        end = " (a note)" if finding.is_note else ""
        print_line(f"{finding.path}{where}: {finding.kind}: {field}{finding.message}{end}")
        if finding.next_step is not None and (finding.path, finding.next_step) not in told:
            told.add((finding.path, finding.next_step))
            note(f"  {finding.next_step}")


def _tail(finding_count: int, notes: "list[Finding]") -> dict[str, Any]:
    return {"notes": [_fields(one) for one in notes], "ok": not finding_count}


def _fields(finding: "Finding") -> dict[str, Any]:
    return {**finding._asdict(), "path": str(finding.path)}
