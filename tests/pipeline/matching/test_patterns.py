"""The pattern language: what it takes, it finds as `re` would; what could be slow, it refuses by name."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openprogram.pipeline.matching.patterns import (
    MAX_MATCH_CHARACTERS,
    MAX_PATTERN_CHARACTERS,
    PatternError,
    compile_pattern,
)

# ---- what it takes

_ATOMS = ["a", "b", "1", "-", "_", " ", r"\d", r"\w", r"\s", r"\D", "[a-c]", "[^a]", r"[\d_]", ".", r"\.", "ü", r"\b"]
_REPETITIONS = ["", "", "", "?", "+", "*", "{2}", "{1,3}", "{2,}"]


@st.composite
def patterns(draw: st.DrawFn) -> str:
    atoms = draw(st.lists(st.sampled_from(_ATOMS), min_size=1, max_size=5))
    parts = [atom + ("" if atom == r"\b" else draw(st.sampled_from(_REPETITIONS))) for atom in atoms]
    if draw(st.booleans()):
        start = draw(st.integers(0, len(parts) - 1))
        end = draw(st.integers(start + 1, len(parts)))
        parts = [*parts[:start], "(", *parts[start:end], ")", *parts[end:]]
    return draw(st.sampled_from(["", "^"])) + "".join(parts) + draw(st.sampled_from(["", "", "$"]))


@given(pattern=patterns(), text=st.text(alphabet="ab1-_ .üc\n", max_size=40))
def test_what_is_taken_finds_what_re_finds(pattern: str, text: str) -> None:
    try:
        compiled = compile_pattern(pattern)
    except PatternError:
        return
    plain = re.compile(pattern.replace("$", r"\Z"), re.ASCII)
    found = [(one.span(), one.span(compiled.groups)) for one in compiled.finditer(text)]
    assert found == [(one.span(), one.span(plain.groups)) for one in plain.finditer(text)]


@pytest.mark.parametrize(
    ("pattern", "text", "value"),
    [
        (r"order-(\d+)", "see order-4711.", "4711"),
        (r"\bORD-[A-Z]{3}-(\d{4,8})\b", "ORD-ABC-12345 ", "12345"),
        ("session=([^&]+)&", "?session=x%20y&z", "x%20y"),
        (r"req_[A-Za-z0-9]+", "(req_a1B)", "req_a1B"),
        (r"\[(\w+)\]", "[job]", "job"),
        (r"^run (\d+)$", "run 7", "7"),
        (r"\{(\d+)\}", "{12}", "12"),
        (r"[\]\-^]+", "-]^", "-]^"),
        (r"größe (\d+)", "größe 3", "3"),
    ],
)
def test_a_pattern_names_its_group_or_else_the_whole(pattern: str, text: str, value: str) -> None:
    compiled = compile_pattern(pattern)
    found = compiled.search(text)
    assert found is not None
    assert found[compiled.groups] == value


# ---- what it refuses


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        (r"(a+)+b", "a group can't be repeated"),
        (r"(a|a)*b", "no alternatives: write two rules"),
        (r"a+a+b", "where 'a' ends is not clear, as 'a' may match the same character"),
        (r".*order-(\d+)", "where '.' ends is not clear"),
        (r"\w+-?\d", r"where '\\w' ends is not clear"),
        (r"[\w-]+\b", r"is not clear before '\\b'"),
        (r"-?\bx", r"is not clear before '\\b'"),
        (r"[^a]+ü", "is not clear"),
        (r"(\d+) (\d+)", "more than one group"),
        (r"(?:a)", "only a plain group"),
        (r"(?=a)", "only a plain group"),
        (r"(a)\1", r"'\\1' can't be used"),
        (r"\x41", r"'\\x' can't be used"),
        (r"a++", "one repetition after another"),
        (r"a+?", "one repetition after another"),
        (r"a{2}{3}", "one repetition after another"),
        (r"a{257}", "no repetition of at most 256"),
        (r"a{3,2}", "no repetition of at most 256"),
        (r"a{0}", "no repetition of at most 256"),
        (r"x(\d*)", "its value may be empty"),
        (r"x?", "its value may be empty"),
        ("", "its value may be empty"),
        (r"\b", "its value may be empty"),
        (r"(a", r"a \( without its \)"),
        (r"a)", r"a \) without its \("),
        (r"[a", "it ends too early"),
        ("a\\", "it ends too early"),
        (r"[]", "an empty class"),
        (r"[z-a]", "is no range"),
        (r"[\d-z]", "is no range"),
        (r"[\b]", "can't stand in a class"),
        (r"a|b", "no alternatives"),
        (r"+a", "for the character '\\+'"),
        (r"a{b", "for the character '{'"),
        (r"a^", "for the character '\\^'"),
        (r"\b+", "can't be repeated"),
        ("[^a]{250}[^b]{250}[^c]{250}[^d]{250}[^e]{250}", f"more than {MAX_MATCH_CHARACTERS} characters"),
        ("a" * (MAX_PATTERN_CHARACTERS + 1), f"more than {MAX_PATTERN_CHARACTERS}"),
    ],
)
def test_a_pattern_outside_the_language_is_refused_with_the_reason(pattern: str, reason: str) -> None:
    with pytest.raises(PatternError, match=reason):
        compile_pattern(pattern)


@given(text=st.text(alphabet=r"ab1()[]{}|\^$.*+?,-:=!<>Pd", max_size=24))
def test_any_text_is_a_pattern_or_a_pattern_error(text: str) -> None:
    try:
        compiled = compile_pattern(text)
    except PatternError:
        return
    assert compiled.search("") is None, "a value is never empty"


def test_every_repetition_is_compiled_so_that_it_gives_nothing_back() -> None:
    assert compile_pattern(r"a-(\d+)x?y*").pattern == r"a\-(\d{1,256}+)x{0,1}+y{0,256}+"
