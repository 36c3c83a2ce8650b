"""`make wire`: every case of a folder, recorded, replayed and held to what its bytes say. Exits 1 unless all pass.

python -m tests.wire [CASES]     by default those of the shared data; only then the table in docs/vendors.md is renewed
"""

import sys
from collections.abc import Callable
from pathlib import Path

import anyio

from tests.shared_data import shared
from tests.wire.cases import read_cases
from tests.wire.check import CaseResult, check_case

_PAGE = Path(__file__).resolve().parents[2] / "docs" / "vendors.md"
_BEGIN, _END = "<!-- make wire: begin -->", "<!-- make wire: end -->"


def main(arguments: list[str]) -> int:
    """Print the table and each failure; the exit code."""
    default = shared("wire", "cases")
    folder = Path(arguments[0]) if arguments else default
    results = anyio.run(_check_all, folder)
    if not results:
        print(f"no case in {folder}: <api>/<name>.json was looked for", file=sys.stderr)  # noqa: T201
        return 2
    lines = table(results)
    print("\n".join(lines), "", *_told(results), sep="\n")  # noqa: T201
    if folder.resolve() == default.resolve():
        _write_table(lines)
    return 0 if all(result.status in ("passed", "left out") for result in results) else 1


async def _check_all(folder: Path) -> list[CaseResult]:
    show = _progress()
    results = []
    for case in read_cases(folder):
        show(case.name)
        results.append(await check_case(case))
    show("")
    return results


def _progress() -> Callable[[str], None]:
    if not sys.stderr.isatty():
        return lambda _: None
    return lambda text: print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)  # noqa: T201


def table(results: list[CaseResult]) -> list[str]:
    """The results as lines of Markdown, one a folder of cases."""
    lines = ["| cases | api | cases | passed | |", "| --- | --- | ---: | ---: | --- |"]
    for folder in dict.fromkeys(result.folder for result in results):
        of_folder = [result for result in results if result.folder == folder]
        passed = sum(result.status == "passed" for result in of_folder)
        others = [
            f"{count} {status}"
            for status in ("failed", "left out", "not implemented")
            if (count := sum(result.status == status for result in of_folder))
        ]
        lines.append(f"| `{folder}` | `{of_folder[0].api}` | {len(of_folder)} | {passed} | {', '.join(others)} |")
    return lines


def _told(results: list[CaseResult]) -> list[str]:
    lines = [f"{result.name}: {result.status}: {note}" for result in results for note in result.notes]
    return lines + [f"{result.name}: FAILED: {problem}" for result in results for problem in result.problems]


def _write_table(lines: list[str]) -> None:
    page = _PAGE.read_text("utf-8")
    before, rest = page.split(_BEGIN)
    after = rest.split(_END)[1]
    changed = before + "\n".join([_BEGIN, "", *lines, "", _END]) + after
    if changed != page:
        _PAGE.write_text(changed, "utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
