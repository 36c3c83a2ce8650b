"""What saves work says what the long way says: each shortcut is held against the scan without it."""

import itertools
import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openprogram.pipeline.redaction import lines, prose, search
from openprogram.pipeline.redaction.reader import Reader
from openprogram.pipeline.redaction.scanner import Piece, Scanner
from tests.pipeline.redaction.texts import FRAGMENTS, TEXTS, cut_anywhere

_NEVER = re.compile("(?!)")
#: What stands behind a name: words that lead to a value, a value, and an end of it.
_LEAD = ["", "is ", "IS\n", "of ", "for x ", "given ", "not ", "is \\", "is" + " " * 41, "is" + " " * 50, "is: ", "x "]
_PLACES = [
    ["token ", "--password ", "key ", "pw\n", "密码 "],
    _LEAD,
    _LEAD,
    ["ZxQmLwTvBnKdP", "ZxQmLwTvBnKdPsYhG", "Zx4Qm81LwT7vBn2KdP9s", "b'ZxQmLwTv1'", "b[secret removed]", "f", "bob"],
    ["", " ", " x\n", ": Zx4Qm81Lw ", " Zx4Qm81LwT7vBn2KdP9s "],
]
_LEADS = st.tuples(*map(st.sampled_from, _PLACES)).map("".join)
_LITERALS = [t.literal for t, _ in search._LITERALS]


@contextmanager
def without(*shortcuts: tuple[object, str, object]) -> Iterator[None]:
    """Each of a place, a name in it, and what stands there while the shortcut is not taken."""
    with pytest.MonkeyPatch.context() as patch:
        for place, name, plain in shortcuts:
            patch.setattr(place, name, plain)
        yield


def decided(pieces: list[str]) -> list[list[Piece]]:
    """What a scan decides with each of `pieces`, and at the end."""
    machine = Scanner()
    return [*(machine.feed(piece) for piece in pieces), machine.close()]


def test_words_that_lead_to_a_value_are_followed_at_once_as_they_are_one_by_one() -> None:
    texts = ["".join(pieces) for pieces in itertools.product(*_PLACES)]
    together = [decided([text]) for text in texts]
    with without((prose, "_PLAIN_WORDS", _NEVER)):
        for text, pieces in zip(texts, together, strict=True):
            assert decided([text]) == pieces, text


@settings(max_examples=300, deadline=None)
@given(_LEADS, st.data())
def test_words_that_lead_to_a_value_wait_as_long_as_they_do_one_by_one(text: str, data: st.DataObject) -> None:
    pieces = data.draw(cut_anywhere(text))
    together = decided(pieces)
    with without((prose, "_PLAIN_WORDS", _NEVER)):
        assert decided(pieces) == together


@settings(max_examples=300, deadline=None)
@given(st.one_of(TEXTS, _LEADS), st.data())
def test_a_rule_that_waits_for_a_run_to_end_is_not_asked_before(text: str, data: st.DataObject) -> None:
    """But what is decided, and when, is the same as if it were."""
    pieces = data.draw(cut_anywhere(text))
    together = decided(pieces)
    with without((Reader, "runs_on", lambda _reader: False)):
        assert decided(pieces) == together


@pytest.mark.parametrize(
    "text",
    ["password: " + "abcd" * 16, "password: " + "abcd" * 17, "sqlplus foo密码valid#sk-a1b2c3d4", "Bearer " + "x" * 70],
)
def test_a_run_ends_where_its_rule_or_the_text_does(text: str) -> None:
    together = decided(list(text))
    with without((Reader, "runs_on", lambda _reader: False)):
        assert decided(list(text)) == together


def test_of_a_long_value_only_the_run_is_looked_at_while_it_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    machine, asked = Scanner(), 0
    machine.feed("password: ")

    def counted(search_: search.Search, number: int) -> None:
        nonlocal asked
        asked += number
        machine._search, machine._rows = search_, search_.rows

    monkeypatch.setattr(machine, "_use", lambda search_: counted(search_, 1))
    for _ in range(5):
        machine.feed("abcdefgh")
    assert asked == 1


@pytest.mark.parametrize("literal", sorted(set(_LITERALS)))
def test_how_a_text_ends_that_cuts_a_literal_short_is_seen_at_a_glance(literal: str) -> None:
    for text in (literal, literal.upper(), literal.title()):
        for size in range(len(text)):
            for before in ("", "x", " ", "é"):
                check_end(before + text[:size])


@given(st.one_of(TEXTS, st.lists(st.sampled_from(FRAGMENTS), max_size=4).map("".join)), st.integers(0, 30))
def test_a_glance_at_the_end_says_what_a_search_says(text: str, cut: int) -> None:
    check_end(text[: len(text) - cut])


def check_end(text: str) -> None:
    """Where the text may be cut short, and which of it needs not wait, as a search of it says."""
    reader, start = Reader(text), max(0, len(text) - 30)
    found = search._OPEN.search(text, max(start, len(text) - search.MAX_SUFFIX + 1))
    assert search.open_trigger(reader, start) == (found.start() if found else len(text)), text
    at_a_glance = search.first_start(None, reader, start, start, len(text))
    with without((search._Ends, "may_be_more", lambda _ends, _text: True)):
        assert search.first_start(None, reader, start, start, len(text)) == at_a_glance, text


@given(
    st.lists(
        st.sampled_from(
            [
                "pass",
                "PASS",
                "paſs",
                "Secret",
                "token",
                "api key",
                "apikey",
                "api.key",
                "pw",
                "pwd",
                "npw",
                " ",
                "x",
                "é",
            ]
        ),
        max_size=4,
    ).map("".join)
)
def test_words_that_tell_are_those_of_the_expression(text: str) -> None:
    assert lines.tells(text) == (lines._TELLING.search(text) is not None)
