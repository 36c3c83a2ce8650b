"""The search for triggers: it finds what a plain one finds, but for those whose rule has nothing to say."""

import itertools
import re
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from openprogram.pipeline.redaction import fields
from openprogram.pipeline.redaction.reader import Reader, Stop
from openprogram.pipeline.redaction.rules import Rule, trigger
from openprogram.pipeline.redaction.search import Search, find_trigger, search_of
from openprogram.pipeline.redaction.table import RULES
from tests.pipeline.redaction.texts import TEXTS

_PLAIN = Search([(t._replace(unless=""), rule) for rule in RULES for t in rule.triggers])
_LITERALS = [t.literal for rule in RULES for t in rule.triggers]
_NAMES = [
    *(
        "token",
        "Token",
        "tokens",
        "secret",
        "pass",
        "passes",
        "PASSWORD",
        "pw",
        "pwd",
        "key",
        "api_key",
        "key-",
        "monkey",
    ),
    *("pskey", "psk", "Mjwt", "cookie", "Set-Cookie", "auth", "author", "credential", "sig", "design", "jwt", "senha"),
]
_WORDS = [
    *(
        "is",
        "for",
        "of",
        "the",
        "not",
        "value",
        "IS",
        "For",
        "of:",
        "is=",
        "basic",
        "Basic",
        "api-key",
        "foo",
        "Foo",
        "BAR",
    ),
    *(
        "a",
        "x1",
        "A1b2c",
        "foo.bar",
        "foo_bar",
        "z" * 63,
        "q" * 64,
        "W" * 16,
        "None",
        "str",
        "[secret removed]",
        "[sec",
    ),
    *("Zx4Qm81LwT7vBn2KdP9s", "tundraMaple7525", "abc123def456", "hunter2", "a1-b2", "0a1b2c3d" * 5, "é", "Über"),
]
_MARKS = [
    *(
        " ",
        " ",
        " ",
        ": ",
        ":",
        "=",
        " = ",
        " | ",
        "| ",
        ", ",
        ",",
        "; ",
        "\n",
        "\n\n ",
        "\n\n\t",
        "\n\n" + " " * 16,
        " " * 15,
    ),
    *(
        ")",
        "(",
        " (",
        "[",
        "]",
        "<",
        ">",
        '"',
        "'",
        "`",
        '", ',
        "?",
        "&",
        "#",
        "%",
        "{",
        "}",
        ".",
        "-",
        "_",
        "/",
        "\\",
        "\t",
    ),
    *("://", "@", "$ ", "|", "...", "\u2003", "\x0b"),
]
_S = "Zx4Qm81LwT7vBn2KdP9s"
_BLANKS = ["", " ", " " * 7, " " * 8, " " * 15, " " * 16, " " * 17]
#: Pieces whose every combination is a text: where a rule finds something, and just beside it.
_PLACES = {
    "a name in prose or in code": [
        ["", "?", "db_", "ps"],
        ["token", "Key", "key", "cookie", "pass"],
        ["", "-", "-0a1b2c3d4e5f60718293a4b5c6d7e8f9"],
        [" ", ": ", "=", " | ", '", ', ") ", ", ", "."],
        ["", "is ", "of=", "IS ", "value: ", "basic ", "str, ", "a; ", "for a, ", "for a, basic ", "x" * 78 + "\n"],
        ["", "= '", " '", " "],
        [_S, f"sid={_S}", "Falcon_7202*"],
        ["\n"],
    ],
    "words that lead on": [
        ["", "see "],
        ["token", "pass"],
        [" for", " is"],
        [" ", "\n", "\n\n", " \n"],
        ["", "bob ", "bob\n", "not\n", "bob \n "],
        ["", "is ", "is\n", "=", ", "],
        [_S, "horse "],
        ["\n"],
    ],
    "a short value": [
        ["", "?", "a "],
        ["key", "pass", "cookie", "api key"],
        ["", "-b"],
        [": ", ":\n\n", "\n=", " " * 9 + "=", ":" + " " * 10],
        ["a1B2", "a1B2c3", "str|x", "f", "basic", "token", "a=1", "b'"],
        ["\n", " ", " = '", "|None = '"],
        [_S, ""],
        ["\n"],
    ],
    "a line or column below": [
        ["", "user,", "a;b;", "?"],
        ["token", "db_password", "pass"],
        ["\n", "\r\n", "\n\n", "\n\t", "\n" + " " * 8],
        ["", "ann,", "a,b,", "a;b;", "value: ", "basic ", "c," * 11, "'"],
        [_S, "Zx-Qua_72!", "a1B2c3!"],
        ["", "x"],
        ["\n", ",\n", ""],
    ],
    "a key without a digit": [
        ["", "?", "api ", "x_"],
        ["key=", "Key="],
        ["", "b'", "basic ", "basic", "%27", "(", "a" * 62, "a" * 63, "a" * 64],
        ["", "aZ!", "[secret removed]"],
        ["Zx4Qm81LwT7vBn2K!", "1", "#1"],
        ["\n", " "],
    ],
    "a long name": [
        ["", "x_"],
        ["pw", "api_key", "token_", "key-"],
        ["x" * 39, "x" * 40, "0a" * 16, "_1" * 20],
        ["", "z", "b", "f", "U"],
        ["", "'", '"', ": ", "="],
        [_S],
        ["", "'", '"'],
        [" "],
    ],
    "a cell": [
        ["token |\n", "| token ||"],
        ["| ", "|"],
        _BLANKS,
        ["", "a "],
        ["a1B2c3D4e5", "Zx-Quartz-4821!"],
        ["", " ", " x"],
        ["|\n"],
    ],
    "a line": [
        ["Your token:"],
        ["\n\n ", "\n\n\t"],
        _BLANKS,
        ["", "- ", "a "],
        [_S, "a" * 63 + "1"],
        ["\n", " x", "x\n"],
    ],
    "a column": [
        ["(name, token)", "(token)"],
        ["", " ", " \n "],
        ["values", "VALUES"],
        [" ('ann', '", "('"],
        [_S],
        ["')"],
    ],
    "a scheme": [["Bearer", "basic"], _BLANKS, ["", "%20", "a ", "."], [_S, "tundraMaple7525"], [" ", "\n", ""]],
    "base64": [
        ["base64", "B64"],
        ["", ": ", "x", " " * 15, " " * 16],
        ["dG9rZW49YTFCMmMz", "dG9rZW49YTFCMmM", "cGFzc3dvcmQ9dHVuZHJhTWFwbGU3NTI1"],
        [" "],
    ],
    "an address": [["://"], ["", "ann", "u" * 79, "u" * 80, _S], [":", "@", "/", ""], [_S], ["@", " "], ["h "]],
    "a command": [["", "\n", "a"], ["$ "], ["cat token.txt\n", "echo 1\n"], [_S], ["\n"]],
    "a token": [
        _LITERALS,
        ["", "-", "a1B2c3D4" * 2, "0a1b2c3d" * 3, "a1B2c3D4" * 5, "k4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.Zx4Q"],
        ["", "."],
        [" x"],
    ],
}


_NEAR_NAMES = st.one_of(
    TEXTS,
    st.lists(
        st.one_of(*(st.sampled_from(kind) for kind in (_NAMES, _WORDS, _MARKS, _MARKS, _LITERALS))), max_size=9
    ).map("".join),
)


def triggers(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """As the scanner takes them: the next one behind the anchor of the last."""
    position = 0
    while (match := pattern.search(text, position)) is not None:
        yield match
        position = match.start() + 1


def says_nothing(rule: Rule, text: str, start: int, end: int) -> bool:
    try:
        return rule.match(Reader(text, closed=True), start, end) is None
    except Stop:
        return True


#: How the text may go on: what was passed by in a stream is not looked at again.
_MORE = ["", "secret removed]", "a1B2c3D4e5F6g7H8i9J0", ": Zx4Qm81Lw", " Falcon_7202* ", "\n", ".", "=", "://a:b@c"]


def check(text: str, more: list[str]) -> None:
    """Of the triggers that a plain search finds in `text`, the search finds all but those whose rules say nothing."""
    search, found = search_of(text), []
    for match in triggers(search.pattern, text):
        trigger, rule = search.groups[(match.lastindex or 0) - 1]
        found.append((match.start() - trigger.anchor, rule))
    for match in triggers(_PLAIN.pattern, text):
        trigger, rule = _PLAIN.groups[(match.lastindex or 0) - 1]
        start = match.start() - trigger.anchor
        if found and found[0] == (start, rule):
            found.pop(0)
            if rule.name != "named-value" or not fields._PASSED.match(text, start):
                continue
            rule = rule._replace(match=fields._read_named)
        for end in more:
            assert says_nothing(rule, text + end, start, match.end()), (rule.name, text[start:], end)
    assert found == [], "what stands in the place of a trigger that was passed by"


@pytest.fixture(autouse=True)
def _nothing_is_dull(monkeypatch: pytest.MonkeyPatch) -> None:
    """`_read_named` reads all values here, so that what passes them by is held against that."""
    monkeypatch.setattr(fields, "_DULL", re.compile("(?!)"))


@settings(max_examples=1500, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_NEAR_NAMES)
@example('password{"sensitive": true,\n"type": "string",\n"value": "Zx4Qm81Lw"}')
@example("TOKEN:/?")
def test_what_is_passed_by_is_what_its_rule_refuses(text: str) -> None:
    check(text, _MORE)


@pytest.mark.parametrize("place", _PLACES)
def test_a_secret_in_its_place_is_not_passed_by(place: str) -> None:
    for pieces in itertools.product(*_PLACES[place]):
        text = "".join(pieces)
        if ": of=" not in text:  # a word with `=` is no type, even where a string follows
            check(text, [""])


@pytest.mark.parametrize("name", [*_NAMES, "api_key", "session_token"])
def test_so_little_behind_a_name_is_no_value(name: str) -> None:
    gaps = ["", " ", ":", ": ", "=", ' "', "='", ", ", "\n", " is ", "%3D", "&gt;"]
    values = ["", "a", "a1", "A1-_.", "aA1bB", "Zx4Qm8", "Zx4Qm81Lw"]
    for pieces in itertools.product(["", "?", "&", '"', "my ", "--", "$ cat "], [name], gaps, values):
        text = "".join(pieces)
        for match in triggers(_PLAIN.pattern, text):
            trigger, rule = _PLAIN.groups[(match.lastindex or 0) - 1]
            if rule.name == "named-value" and fields._TOO_SHORT.match(text, match.end()):
                rule = rule._replace(match=fields._read_named)
                assert says_nothing(rule, text, match.start() - trigger.anchor, match.end()), text


@pytest.mark.parametrize("text", ["tell me the senha: Zx4Qm81Lw", "SENHA=Zx4Qm81Lw", "Señor, senha: Zx4Qm81Lw"])
def test_a_literal_that_only_a_frequent_letter_tells_is_found_where_it_stands(text: str) -> None:
    assert [match.end() for match in triggers(search_of(text).pattern, text)] == [text.lower().index("senha") + 5]


def test_a_prefix_of_one_case_is_found_before_a_name_in_any_case_at_its_anchor() -> None:
    """`[eE]` behind an anchor must not hide `e`, whichever literal was the first to bring it."""
    rule = RULES[0]
    triggers = [trigger("some-kelp", folded=True), trigger("xkeysib-"), trigger("key", folded=True)]
    found = find_trigger(Search((t, rule) for t in triggers), "xkeysib-1")
    assert found is not None
    assert (found.start, found.end) == (0, 8)
