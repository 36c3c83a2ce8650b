import io
import json
import sys
from datetime import UTC, datetime

import pytest

from openprogram.cli.render import (
    ask,
    note,
    print_error,
    print_json,
    print_line,
    print_table,
    printable,
    show_arguments,
    show_size,
    show_time,
)
from openprogram.errors import UsageError

HOSTILE = "\x1b[2J\x07\x9b31m\u202eevil\u2028\ud800\r\x00"


@pytest.mark.parametrize("text", ["plain", "ünïcödé 漢字", "👨‍👩‍👧 family", "non\u00a0breaking", ""])
def test_ordinary_text_is_unchanged(text: str) -> None:
    assert printable(text) == text


def test_what_a_terminal_may_obey_becomes_an_escape() -> None:
    assert printable(HOSTILE) == r"\x1b[2J\x07\x9b31m\u202eevil\u2028\ud800\r\x00"
    assert printable("a\nb") == r"a\nb"
    assert printable("a\nb\x1b", keep="\n") == "a\nb\\x1b"


def test_every_way_to_print_is_safe(capsys: pytest.CaptureFixture[str]) -> None:
    print_line(HOSTILE)
    note(HOSTILE)
    print_table(("name",), [(HOSTILE,)])
    print_json({HOSTILE: HOSTILE})

    shown = capsys.readouterr()
    assert set(shown.out + shown.err) & set(HOSTILE) <= set("[2J31mevil")


def test_markup_in_data_is_text(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("name",), [("[bold red]x[/] :smile: [link=http://x]y",)])

    assert "[bold red]x[/] :smile: [link=http://x]y" in capsys.readouterr().out


def test_a_table_in_a_pipe_keeps_long_cells_whole(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("a", "b"), [("x" * 500, "y" * 500)])

    assert f"{'x' * 500}  {'y' * 500}" in capsys.readouterr().out


def test_a_table_at_a_narrow_terminal_loses_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "20")
    print_table(("path",), [("/a/long/path/that/does/not/fit/x.jsonl",)])

    assert "".join(capsys.readouterr().out.split("\n")[1:]).replace(" ", "") == "/a/long/path/that/does/not/fit/x.jsonl"


def test_json_is_read_back_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"text": HOSTILE})

    assert json.loads(capsys.readouterr().out) == {"text": HOSTILE}


def test_yes_asks_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)

    assert ask("Delete?", yes=True)


def test_away_from_a_terminal_yes_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))

    with pytest.raises(UsageError) as failure:
        ask("Delete?", yes=False)

    assert "--yes" in (failure.value.next_step or "")


@pytest.mark.parametrize(
    ("size", "shown"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 KB"), (999_960, "1.0 MB"), (3_400_000, "3.4 MB"), (10**16, "10,000.0 TB")],
)
def test_sizes_have_a_readable_unit(size: int, shown: str) -> None:
    assert show_size(size) == shown


def test_times_are_utc() -> None:
    assert show_time(datetime(2025, 1, 2, 3, 4, 5, tzinfo=UTC)) == "2025-01-02 03:04:05Z"


KEY = "sk-proj-abcdEFGH1234567890abcdEFGH1234567890"


def test_every_way_to_speak_beside_the_result_is_without_secrets(capsys: pytest.CaptureFixture[str]) -> None:
    note(f"refused: {KEY}")
    print_error(f"refused: {KEY}", [f"Is {KEY} yours?"])

    shown = capsys.readouterr().err
    assert KEY not in shown
    assert shown.count("[secret removed]") == 3


def test_an_error_without_a_secret_is_shown_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    path = "/home/someone/.local/state/openprogram/recordings/20250102-030405-ab12cd.jsonl"
    print_error(f"{path}: no such recording", [f"Write it again: {path}"])

    assert capsys.readouterr().err == f"error: {path}: no such recording\nWrite it again: {path}\n"


@pytest.mark.parametrize(
    "arguments",
    [
        {"command": f"curl -H 'x-api-key: {KEY}' https://host"},
        {"headers": {"Authorization": f"Bearer {KEY}"}},
        {"password": "tr0ub4dor&3-" + KEY},
        {"signature": KEY, "call_id": KEY},
        {"text": "".join(f"{character}" for character in KEY) + "\u00e9\n"},
        {KEY: ["nested", {"deep": KEY}]},
    ],
    ids=lambda arguments: next(iter(arguments))[:9],
)
def test_arguments_are_shown_without_secrets_wherever_they_stand(arguments: dict[str, object]) -> None:
    shown = show_arguments(arguments)

    assert KEY not in shown
    assert "[secret removed" in shown
    json.loads(shown)


def test_arguments_without_secrets_are_shown_as_they_are() -> None:
    arguments = {"expression": "6 * 7", "signature": "def f(x)", "rows": [1, None, {"id": "a"}]}

    assert json.loads(show_arguments(arguments)) == arguments
