"""How commands speak: results on stdout, notes and questions on stderr, nothing raw from a file.

A recording may hold terminal escapes, bidirectional overrides or rich's markup. Every string that comes from a
file goes through `printable`, and rich gets `Text` values, in which it reads no markup.

An error's text may come from a provider, which likes to quote the key it refused. What goes to stderr is redacted as
a recording is; results aren't, since a path has to be exact. A tool call's arguments have a function of their own.
"""

import json
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import typer

from openprogram.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rich.console import Console

__all__ = [
    "ask",
    "count",
    "note",
    "print_error",
    "print_json",
    "print_json_with",
    "print_line",
    "print_table",
    "printable",
    "show_arguments",
    "show_size",
    "show_time",
    "working",
]

#: Control, surrogate, line and paragraph separator, format: what a terminal may obey or can't show.
_ESCAPED_CATEGORIES: Final = frozenset({"Cc", "Cs", "Zl", "Zp", "Cf"})
#: Zero-width joiner and non-joiner: emoji and several scripts need them, and they move nothing.
_HARMLESS: Final = frozenset("\u200c\u200d")

_UNLIMITED_WIDTH: Final = 100_000


def printable(text: str, *, keep: str = "") -> str:
    """`text` with whatever a terminal might obey written as an escape, `\\x1b`. `keep`: characters left alone."""
    if text.isprintable():
        return text
    return "".join(
        character
        if character in keep or character in _HARMLESS or unicodedata.category(character) not in _ESCAPED_CATEGORIES
        else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def print_line(text: str = "") -> None:
    """One line of result; made printable."""
    typer.echo(printable(text))


def print_json(value: Any) -> None:
    """A JSON value on stdout, ASCII only: no character in it can steer a terminal."""
    typer.echo(json.dumps(value, indent=2))


def print_json_with(
    head: "Mapping[str, Any]", name: str, items: Iterable[Any], tail: "Callable[[], Mapping[str, Any]]"
) -> None:
    """As `print_json`, of `head`, a list of that name whose items come one by one, and what is known behind them."""
    typer.echo("{")
    for key, value in head.items():
        typer.echo(f"  {json.dumps(key)}: {json.dumps(value)},")
    typer.echo(f"  {json.dumps(name)}: [", nl=False)
    separator = "\n    "
    for item in items:
        typer.echo(separator + json.dumps(item), nl=False)
        separator = ",\n    "
    typer.echo("\n  ]", nl=False)
    for key, value in tail().items():
        typer.echo(f",\n  {json.dumps(key)}: {json.dumps(value)}", nl=False)
    typer.echo("\n}")


def note(text: str) -> None:
    """Something beside the result, on stderr; without secrets, and made printable."""
    from openprogram.pipeline.redaction import remove_secret_values

    typer.echo(printable(str(remove_secret_values(text)), keep="\n"), err=True)


def print_error(message: str, notes: Iterable[str]) -> None:
    """What went wrong, then what to do, on stderr. Redacted as one text: a secret may be told by the line before."""
    note("\n".join([f"error: {message}", *notes]))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table fitted to the terminal, or with every cell whole where stdout is a pipe or a file."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")  # a path that is cut short can't be copied
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = _UNLIMITED_WIDTH
    console.print(table)


@contextmanager
def working(message: str) -> Iterator[None]:
    """A spinner on stderr for work that may take a while; nothing where stderr isn't a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.text import Text

    with _error_console().status(Text(printable(message))):
        yield


def _error_console() -> "Console":
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def ask(question: str, *, yes: bool) -> bool:
    """Whether to go on: at once with `--yes`, else as the person at the terminal answers.

    Raises UsageError: there is no `--yes` and no terminal to ask at.
    """
    if yes:
        return True
    if not sys.stdin.isatty():
        raise UsageError(
            "this deletes files, and there is no terminal to ask at", next_step="Add --yes to delete without asking."
        )
    return typer.confirm(printable(question), err=True)


def show_arguments(arguments: "Mapping[str, Any]") -> str:
    """A tool call's arguments as JSON, without the secrets that a recording would not hold either."""
    from openprogram.pipeline.redaction import remove_secret_values

    # Below this key redaction knows every name as the tool's own. As text alone, an escape could hide a secret.
    wrapped = remove_secret_values({"arguments": dict(arguments)})
    assert isinstance(wrapped, dict)
    return json.dumps(wrapped["arguments"])


def count(number: int, thing: str) -> str:
    """`1 call`, `2 calls`."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def show_time(time: datetime) -> str:
    """`2025-01-02 03:04:05Z`."""
    return f"{time:%Y-%m-%d %H:%M:%SZ}"


def show_size(size_bytes: int) -> str:
    """`17 B`, `1.2 KB`, `3.4 MB`: powers of ten, as disks are sold and `ls --si` shows."""
    if size_bytes < 1000:
        return f"{size_bytes} B"
    size = float(size_bytes)
    for unit in ("KB", "MB", "GB", "TB"):
        size /= 1000
        if size < 999.95 or unit == "TB":
            break
    return f"{size:,.1f} {unit}"
