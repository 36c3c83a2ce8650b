"""Does a value look like a secret: the same answer as the plain rules give, and soon, whatever the value."""

import re
import resource
import subprocess
import sys

from hypothesis import given, settings
from hypothesis import strategies as st

from openprogram.pipeline.redaction import judge

#: The expressions of `judge`, as one would write them without a thought for values that are made against them.
_PLAIN_WORD_LIKE = re.compile(
    r"[A-Za-z]?[a-z]*\d{0,4}|[A-Z]+\d{0,4}|\d+"
    r"|(?:re|do|to|is|k|m|e)?(?:[A-Z]{1,6}[a-z]{2,}\d{0,3}|[a-z]{3,}\d{0,3}|Ed\d{3,5}"
    r"|(?:As|At|By|Id|In|Is|No|Of|On|Or|To|Up)(?![a-z])|[A-Z]{1,3}\d{1,4}(?=[A-Z]{1,6}[a-z]{2}|\Z)|V\d(?:alpha|beta)\d)+[A-Z]{0,4}"
)
_PLAIN_NAME = re.compile(
    r"[A-Z_]+[A-Z0-9_]*_[A-Z0-9_]+$"
    r"|[A-Z][A-Za-z]*\d*(?:[A-Z][a-z]*)*(?:Key|Token|Array|String|Secret|Password|Bytes|Type|Config)(?:V?\d)?[?;]?$"
)
_PLAIN_NUMBER = re.compile(r"(?i)[-+]?[\d.,_:/-]+(?:e[-+]?\d+)?\s?(?:[kmgt]?i?b|ms|s|m|h|d|px|%|x|min)?")
_PIECES = (
    *(
        "a",
        "A",
        "ab",
        "Abc",
        "ABCDEFG",
        "1",
        "123",
        "12345",
        "re",
        "do",
        "k",
        "Ed",
        "As",
        "To",
        "V1alpha1",
        "V",
        "beta",
    ),
    *("_", "Key", "Token", "Type", "V2", "?", ";", "-", ".", ",", "+", ":", "e", "ms", "%", " "),
)
_VALUES = st.lists(st.sampled_from(_PIECES), min_size=1, max_size=7).map("".join).filter(lambda value: len(value) < 24)


@settings(max_examples=500, deadline=None)
@given(_VALUES)
def test_a_word_is_what_the_plain_expression_says(value: str) -> None:
    parts = re.findall("[A-Za-z0-9]{8,}", value)
    expected = any(_PLAIN_WORD_LIKE.fullmatch(part) is None for part in parts)
    assert judge.is_random(value, least=0) == expected


@settings(max_examples=500, deadline=None)
@given(_VALUES)
def test_code_is_what_the_plain_expressions_say(value: str) -> None:
    if _PLAIN_NAME.match(value):
        assert judge._CODE.match(value)
    if _PLAIN_NUMBER.fullmatch(value):
        assert judge._NUMBERISH.fullmatch(value)


@settings(max_examples=500, deadline=None)
@given(
    st.lists(st.sampled_from(["A", "Ab", "a", "1", "_", "Key", "Type", "V2", "V", "?", ";"]), max_size=7).map("".join)
)
def test_a_name_in_camel_case_is_what_the_plain_expression_says(value: str) -> None:
    others = re.compile(r"[A-Z]{2,6}-\d{1,3}$|[a-z]+(?:_[a-z]+)+_?v?\d{0,2}$")
    if not others.match(value) and not _PLAIN_NAME.match(value):
        assert judge._CODE.match(value) is None


#: Values of a window's length from two pieces in turn, and an end that fits nothing: what backtracking dreads.
_DREADED = """
import itertools
from openprogram.pipeline.redaction.judge import WINDOW, Proof, is_secret_value
for pair in itertools.product(["a", "A", "aA", "Ab1", "1", "_", "-", ".", "a_", "a.", "Key", "é", " "], repeat=2):
    for end in ["99999Z", "_", "!", "=", ""]:
        value = ("".join(pair) * WINDOW)[: WINDOW - len(end)] + end
        for proof in Proof:
            is_secret_value(value, proof)
"""
#: A hundred times what it takes, and next to nothing beside the hours of an expression that backtracks.
_CPU_SECONDS = 20


def test_no_value_of_a_windows_length_is_judged_forever() -> None:
    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS, _CPU_SECONDS))

    done = subprocess.run([sys.executable, "-c", _DREADED], preexec_fn=limited, check=False)
    assert done.returncode == 0
