"""One machine for whole and streamed text: the cuts don't matter, once is enough, and work is linear."""

import importlib
import re
import re._parser as sre  # type: ignore[import-not-found]  # the only one who knows how far an expression reaches
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openprogram.pipeline.redaction import SECRET_PLACEHOLDER
from openprogram.pipeline.redaction.encoded import MAX_ENCODED
from openprogram.pipeline.redaction.scanner import Scanner, first_in, scan_text
from openprogram.pipeline.redaction.search import begins_nothing
from tests.pipeline.redaction.texts import FRAGMENTS, TEXTS, applied, cut_anywhere

#: Texts in which a cut anywhere is a trap: names, values and ends that change their meaning with one more character.
_NASTY = [
    "Use sk-proj-Zx4Qm81LwT7vBn2KdP9s, or sk-SK and task-notification.",
    "password: it takes a string. password: tundraMaple7525\nuser: qa",
    'log {"api_key": "Zx4Qm81LwT7v", "note": "[secret removed]"} end',
    "Cookie: https://user:Zx4Qm81Lw@host.example/v sid=Zx4Qm81LwT7v; a=b\nHost: x",
    "?api_key=[secret removed] removed] removed]&page=2",
    "key:\n-----BEGIN RSA PRIVATE KEY-----\nZx4Qm81LwT7v\n-----END RSA PRIVATE KEY-----\nDone.",
    "key: |\n    -----BEGIN PGP PRIVATE KEY BLOCK-----\n    Version: GnuPG v2 (x, y)\n\n"
    "    Zx4Qm81LwT7v\n    vBn2KdP9s=\n"
    "    -----END PGP PRIVATE KEY BLOCK-----\nDone.",
    "> -----BEGIN EC PRIVATE KEY-----\n> Zx4Qm81LwT7v\n> | vBn2%0AKdP9s\r\n  # Zx4Qm8\nDone: yes, (that was it).",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.Zx4Qm81LwT7vBn2K. And Bearer Zx4Qm81LwT7v. End",
    "| user | password |\n|---|---|\n| bob | Falcon-Saddle-9372^ |\n| eve | Pepper-Walrus-6941? |",
    "password (old: ghp_Zx4Qm81LwT7vBn2KdP9s): Falcon_7202*",
    "\x1b[33mghp_Zx4Qm81LwT7vBn2KdP9s\x1b[0m %253Ftoken%253DZx4Qm81LwT7v%2526x",
    "INSERT INTO u (name, password) VALUES ('ann', 'Zx4Qm81Lw'); SELECT token",
    "the password for bob is Falcon_7202*, пароль: Walrus-5808? 密码是Zx4Qm81Lw",
    "$ echo $TOKEN\nZx4Qm81LwT7vBn2KdP9s\n$ ls",
    "401: Incorrect API key provided: 3f9a1c77d2e84b06. You can find it. The API key (3f9a1c77d2e84b06) is not valid.",
    "openssl enc -pass pass:horse -k Zx4Qm81Lw; http -a ann:Zx4Qm81Lw u; sqlplus -S scott/tiger@db",
    "SET PASSWORD FOR 'ann'@'%' = 'Zx4Qm81Lw'; sha256=qaN-ghp_Zx4Qm81LwT7vBn2KdP9s ghp_Zx4Qm81LwT7vBn2KdP9s",
    "$ cat AGE-SECRET-KEY-1ZX4QM81LWT7VBN2KDP9S and more",
    "xoxb-12345-Zx4Qm81LwT7vBn2KdP9sZx4Qm81LwT7vBn2KdP9s.more.text. password: " + "tundraMaple7525" * 5 + ".a:b. End",
]


def streamed(pieces: list[str]) -> str:
    machine = Scanner()
    decided = [piece for text in pieces for piece in machine.feed(text)] + machine.close()
    return applied("".join(pieces), decided)


@pytest.mark.parametrize("text", _NASTY)
def test_a_text_cut_in_two_or_into_characters_gives_what_the_whole_text_gives(text: str) -> None:
    whole = scan_text(text)[0]
    assert whole != text or "[secret removed]" in text
    assert streamed(list(text)) == whole
    for cut in range(len(text) + 1):
        assert streamed([text[:cut], text[cut:]]) == whole, cut


@settings(max_examples=400, deadline=None)
@given(data=st.data())
def test_a_text_cut_anywhere_gives_what_the_whole_text_gives(data: st.DataObject) -> None:
    text = data.draw(TEXTS)
    assert streamed(data.draw(cut_anywhere(text))) == scan_text(text)[0]


@settings(max_examples=400, deadline=None)
@given(TEXTS)
def test_scanning_again_changes_nothing(text: str) -> None:
    once = scan_text(text)[0]
    assert scan_text(once) == (once, 0)


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_text_without_a_secret_comes_out_in_the_same_pieces(data: st.DataObject) -> None:
    text = data.draw(TEXTS)
    pieces = data.draw(cut_anywhere(text))
    machine = Scanner()
    decided = [piece for piece_text in pieces for piece in machine.feed(piece_text)] + machine.close()
    if machine.count == 0:
        assert all(new is None for _, new in decided)
    else:
        assert SECRET_PLACEHOLDER in applied(text, decided)


def test_of_two_secrets_the_one_before_the_other_is_not_passed_over() -> None:
    clean, _ = scan_text("password (old: ghp_Zx4Qm81LwT7vBn2KdP9s): Falcon_7202*")
    assert "ghp_" not in clean


def test_a_value_that_runs_into_a_placeholder_was_redacted_before() -> None:
    for text in (
        "password: tundraMaple7525[secret removed]",
        "Bearer Zx4Qm81LwT7v[secret removed]",
        "ghp_Zx4Qm81[secret removed]",
    ):
        assert scan_text(text) == (text, 0)


def test_a_value_of_punctuation_leaves_no_placeholder_to_another() -> None:
    for text in ("?token=.://ann:value r8_", "openssl enc -pass pass:::supplied [sec", "?token=..a1b2c3d4 x"):
        assert scan_text(text) == (text, 0)


def test_a_placeholder_in_any_position_stays() -> None:
    for fragment in FRAGMENTS:
        for text in (
            SECRET_PLACEHOLDER + fragment,
            fragment + SECRET_PLACEHOLDER,
            f"{fragment}{SECRET_PLACEHOLDER}{fragment}",
        ):
            once = scan_text(text)[0]
            assert scan_text(once)[0] == once, text


@pytest.mark.parametrize("name", ["password: ", "it says Bearer ", "https://h.example/?api_key=", "the token "])
def test_a_name_never_waits(name: str) -> None:
    machine = Scanner()
    assert sum(length for length, _ in machine.feed(f"Send {name}")) == len(f"Send {name}")


def test_what_may_be_a_secret_waits_and_nothing_before_it_does() -> None:
    machine = Scanner()
    assert machine.feed("it is gh") == [(6, None)]
    assert machine.feed("astly, ") == [(9, None)]


def test_once_a_secret_is_certain_the_rest_of_it_is_left_out_at_once() -> None:
    machine = Scanner()
    assert machine.feed("ghp_" + "a1B2" * 11) == [(4, SECRET_PLACEHOLDER), (44, "")]
    assert machine.feed("c3D4" * 100) == [(400, "")]
    assert machine.feed("! Next") == [(6, None)]


_REPEATED = [
    *(
        "sk-",
        "password:",
        "password: a1b2c3 ",
        "eyJ.",
        "://",
        "://a:b@",
        "-----BEGIN ",
        "key ",
        '"token":"',
        "| a",
        "\\",
    ),
    *(
        "[secret removed]",
        "password is ",
        "base64 QUJDREVGR0hJSktM ",
        "\n\na",
        " -p a1",
        'auth=("a","',
        '"password":"\\',
    ),
    *("values (", "$ cat token\n", "token%22%3A", "8Q~", "(password) values ("),
    *("key provided: ", "token not valid ", "SET PASSWORD FOR a ", "openssl -pass pass:", "sqlplus -a ", "http -a b:"),
    *("пароль ", "?key=", "a,token\n", "key:\n\n", "Cookie: ", "token | a ", "sig de la", "token of my"),
]


def _steps(text: str) -> int:
    """How many calls into Python and C the scan of `text` makes, a measure of work that no clock disturbs."""
    count = 0

    def tick(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(tick)
    try:
        scan_text(text)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("unit", _REPEATED)
def test_work_grows_no_faster_than_the_text(unit: str) -> None:
    short, long = (_steps(unit * (size // len(unit))) for size in (2_000, 16_000))
    assert long <= 9 * short + 200
    assert long <= 130 * 16_000 / len(unit) + 200


#: Expressions without a longest match, for a text that is short already; `Reader.run` gives the others a limit.
_FOR_SHORT_TEXTS = {
    *("commands._LOGIN", "commands._PRINTS", "contexts._HEADING"),
    *(
        "fields._BLOCK_VALUE",
        "fields._HEADER_CELLS",
        "fields._PERCENT_CODE",
        "fields._QUOTED_CELLS",
        "gaps._CODE",
        "gaps._FORM",
        "gaps._GAP",
    ),
    *("shell._HERE_WORD", "shell._MARK", "shell._READS_HERE", "shell._READS_PASSWORD", "shell._WORD"),
    *("shapes._ATTRIBUTE", "shapes._VERSION", "values._NEXT_PAIR"),
}
#: For the rest of a secret, no part of which is looked at twice.
_FOR_A_REST = {"shapes._PEM_BODY"}
_MODULES = "commands contexts encoded fields gaps lines prompts prose reader search shapes shell values".split()


def test_no_rule_looks_at_the_text_to_its_end() -> None:
    """Calls can be counted, but not the characters that one call reads: `token of my` without end was 1 of them."""
    unbounded = set()
    for module in _MODULES:
        for name, value in vars(importlib.import_module(f"openprogram.pipeline.redaction.{module}")).items():
            if isinstance(value, re.Pattern) and not _ONE_RUN.fullmatch(value.pattern):
                longest = sre.parse(value.pattern, value.flags).getwidth()[1]
                unbounded |= {f"{module}.{name}"} if longest > MAX_ENCODED else set()
    assert unbounded == _FOR_SHORT_TEXTS | _FOR_A_REST


#: What `Reader.run` takes: one class of characters, or some, repeated.
_CLASS = r"\[(?:\\.|[^\]\\])*\]"
_ONE_RUN = re.compile(rf"(?:{_CLASS}|\(\?:{_CLASS}(?:\|{_CLASS})+\)|\(\?:\[ \\t\]\|%20\))\*")


@pytest.mark.parametrize("unit", _REPEATED)
def test_what_a_scanner_remembers_is_bounded(unit: str) -> None:
    machine = Scanner()
    text = unit * (20_000 // len(unit))
    longest = 0
    for start in range(0, len(text), 16):
        machine.feed(text[start : start + 16])
        longest = max(longest, machine.buffered)
    assert longest < 2_000


@pytest.mark.parametrize(
    ("opening", "unit"), [('"password": "x1y2z3', "\\"), ("password: x1y2z3", "["), ("Cookie: a=b1c2d3", ";")]
)
def test_the_rest_of_a_secret_is_not_remembered(opening: str, unit: str) -> None:
    machine = Scanner()
    machine.feed(opening + unit * 64)
    for _ in range(500):
        machine.feed(unit * 16)
    assert machine.buffered < 1_000


@settings(max_examples=500, deadline=None)
@given(st.one_of(TEXTS, st.lists(st.sampled_from(FRAGMENTS), max_size=3).map("".join)), st.integers(0, 12))
def test_of_a_text_that_begins_nothing_no_character_waits(text: str, length: int) -> None:
    for begun in (text, text[:length]):
        if begun and begins_nothing(begun):
            assert Scanner().feed(begun) == [(len(begun), None)]


@settings(max_examples=300, deadline=None)
@given(TEXTS, st.integers(0, 60))
def test_a_text_is_finished_with_its_last_piece_or_after_it(text: str, cut: int) -> None:
    machine = Scanner()
    assert applied(text, machine.feed(text[:cut]) + machine.finish(text[cut:])) == streamed([text])


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_a_text_that_holds_nothing_stays(text: str) -> None:
    if first_in(text) is None:
        assert scan_text(text) == (text, 0)
    elif SECRET_PLACEHOLDER not in text:
        assert scan_text(text)[1] > 0


def test_an_empty_text_is_no_trouble() -> None:
    assert scan_text("") == ("", 0)
    assert Scanner().close() == []
