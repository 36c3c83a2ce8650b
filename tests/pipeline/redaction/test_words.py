"""An expression for words in any case matches what the flag for any case does."""

import re
import string
import sys

from hypothesis import given
from hypothesis import strategies as st

from openprogram.pipeline.redaction.words import any_of

_WORDS = ["is", "i", "api-key", "apikey", "key", "https", "http", "s"]


def test_a_letter_is_all_that_the_flag_takes_it_for() -> None:
    characters = "".join(map(chr, range(sys.maxunicode + 1)))
    for letter in string.ascii_lowercase:
        for word in (letter, f"0{letter}"):
            text = characters if word == letter else "".join(f"0{character}" for character in characters)
            assert re.findall(any_of([word]), text) == re.findall(f"(?i:{word})", text)


@given(st.lists(st.sampled_from([*_WORDS, *map(str.upper, _WORDS), "\u212aey", "-", "x"]), max_size=4).map("".join))
def test_of_words_that_begin_alike_the_one_that_fits_is_found(text: str) -> None:
    plain = re.compile(f"(?i:{'|'.join(_WORDS)})")
    assert bool(re.fullmatch(any_of(_WORDS), text)) == bool(plain.fullmatch(text))
    assert bool(re.match(any_of(_WORDS) + "_", f"{text}_")) == bool(re.match(f"{plain.pattern}_", f"{text}_"))
