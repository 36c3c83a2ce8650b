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
    allowed on every system. Nothing is changed.
    """
    from openprogram.recordings.checking import files_to_check

    paths = files_to_check(given)
    counts = {"findings": 0}
    findings = _counted(_all_findings(paths), counts)
    if as_json:
        fields = (_fields(finding) for finding in findings)
        print_json_with({"checked": len(paths)}, "findings", fields, lambda: {"ok": not counts["findings"]})
    else:
        _print(findings)
        print_line(f"{count(len(paths), 'recording')} checked, {count(counts['findings'], 'finding')}")
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


def _counted(findings: "Iterator[Finding]", counts: dict[str, int]) -> "Iterator[Finding]":
    for finding in findings:
        counts["findings"] += 1
        yield finding


def _print(findings: "Iterable[Finding]") -> None:
    told: set[tuple[Path, str]] = set()
    for finding in findings:
        where = "" if finding.line_number is None else f", line {finding.line_number}"
        where += "" if finding.call_index is None else f", call {finding.call_index}"
        field = f"{finding.field_path}: " if finding.field_path else ""
        print_line(f"{finding.path}{where}: {finding.kind}: {field}{finding.message}")
        if finding.next_step is not None and (finding.path, finding.next_step) not in told:
            told.add((finding.path, finding.next_step))
            note(f"  {finding.next_step}")


def _fields(finding: "Finding") -> dict[str, Any]:
    return {**finding._asdict(), "path": str(finding.path)}
