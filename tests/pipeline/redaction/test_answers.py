"""A rule is asked once about the same characters, and what is remembered is what it would say."""

import copy
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openprogram.pipeline.redaction import scanner
from openprogram.pipeline.redaction.answers import Answers
from openprogram.pipeline.redaction.reader import Reader
from openprogram.pipeline.redaction.scanner import Piece, Scanner, scan_text
from openprogram.pipeline.redaction.search import Search, search_of
from openprogram.pipeline.redaction.spans import Match, Span
from tests.pipeline.redaction.texts import FRAGMENTS, cut_anywhere

#: Texts that repeat themselves, some with a difference now and then, for longer than a rule looks to the left.
_UNITS = st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=4).map("".join).filter(bool)
_TEXTS = st.tuples(_UNITS, st.one_of(st.just(""), _UNITS), st.integers(1, 9)).map(
    lambda parts: ((parts[0] * parts[2] + parts[1]) * (900 // len(parts[0] * parts[2] + parts[1]) + 1))[:1200]
)


def ask_always(_answers: Answers, reader: Reader, match: Match, start: int, end: int) -> Span | None:
    return match(reader, start, end)


def decided(pieces: list[str]) -> tuple[list[list[Piece]], tuple[str, int]]:
    """What a scan decides with each of `pieces`, and at the end, and what one of all the text makes of it."""
    machine = Scanner()
    return [*(machine.feed(piece) for piece in pieces), machine.close()], scan_text("".join(pieces))


@settings(max_examples=500, deadline=None)
@given(_TEXTS, st.data())
def test_what_is_remembered_is_what_the_rule_would_say(text: str, data: st.DataObject) -> None:
    pieces = data.draw(st.one_of(cut_anywhere(text), st.just([text[at : at + 16] for at in range(0, len(text), 16)])))
    remembered = decided(pieces)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Answers, "ask", ask_always)
        assert decided(pieces) == remembered


@pytest.mark.parametrize(
    "text",
    [
        "пароль: Zx4Qm81Lw, " * 30,  # two names begin there, and only one of them has the value
        "x" * 500 + "password: a1b2 пароль: " * 30,
        "?token=a1&" * 60 + "a1&?token=$a1&" * 60,
        "eyJsk-" * 300,
        "key- 密码 " * 100 + "key- 密码 Zx4Qm81Lw",
        "password: " + "ab" * 31 + " " + ("password: " + "ab" * 31 + " ") * 20,
        "| user | token |\n" + "| ann | Zx-Quartz-4821! |\n" * 40,
        "[secret removed] token: x1y2z3 " * 40,
    ],
)
@pytest.mark.parametrize("size", [1, 7, 16, 10_000])
def test_a_text_that_repeats_itself_comes_out_as_if_nothing_were_remembered(
    text: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    remembered = decided(pieces)
    monkeypatch.setattr(Answers, "ask", ask_always)
    assert decided(pieces) == remembered


def count_of_questions(text: str, size: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """How often rules are asked while `text` streams in pieces of `size`, whole where that is 0."""
    asked = 0

    def counted(match: Match) -> Match:
        def count(reader: Reader, start: int, end: int) -> Span | None:
            nonlocal asked
            asked += 1
            return match(reader, start, end)

        return count

    def with_count(make: Callable[[str], Search]) -> Callable[[str], Search]:
        search = make(text)
        rows = [(offset, counted(match)) for offset, match in search.rows]
        counting = copy.copy(search)
        vars(counting)["rows"] = rows
        return lambda _text: counting

    monkeypatch.setattr(scanner, "search_of", with_count(search_of))
    if not size:
        scan_text(text)
        return asked
    machine = Scanner()
    for at in range(0, len(text), size):
        machine.feed(text[at : at + size])
    machine.close()
    return asked


@pytest.mark.parametrize(
    "unit", ["pw for\n", "?token=a1&", "|token| a1b2c3d4|\n", "eyJsk-", "sig：9", "Cookie: a=b;", " -a"]
)
@pytest.mark.parametrize("size", [0, 16])
def test_of_a_text_that_repeats_itself_few_triggers_are_asked_about(
    unit: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    short, long = (count_of_questions(unit * count, size, monkeypatch) for count in (4000, 8000))
    assert long - short < 400


def test_where_nothing_repeats_itself_hardly_a_trigger_is_asked_about_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "".join(f"token: {number:x} " + "x" * (number % 7) for number in range(4000))
    assert count_of_questions(text, 0, monkeypatch) < 4000 * 1.3


def test_what_is_remembered_is_bounded() -> None:
    answers, reader = Answers(), Reader("".join(f"{number:06}" for number in range(20_000)))
    for start in range(400, len(reader.text) - 700):
        answers.ask(reader, lambda _reader, _start, _end: None, start, start + 1)
        answers._patience = 64
    assert len(answers._known) <= 1024
