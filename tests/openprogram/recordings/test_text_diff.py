"""Long texts as a diff that a person can read."""

from hypothesis import given
from hypothesis import strategies as st

from openprogram.recordings.text_diff import text_diff


def test_equal_texts_have_no_diff() -> None:
    assert text_diff("a\nb", "a\nb") == []


def test_changed_lines_stand_with_two_lines_around_them() -> None:
    recorded = "\n".join(str(number) for number in range(20))
    assert text_diff(recorded, recorded.replace("9", "nine", 1)) == [" 7", " 8", "-9", "+nine", " 10", " 11"]


def test_two_changes_far_apart_have_an_ellipsis_between_them() -> None:
    recorded = "\n".join(str(number) for number in range(20))
    shown = text_diff(recorded, recorded.replace("3", "three", 1).replace("17", "x"))
    assert shown == [" 1", " 2", "-3", "+three", " 4", " 5", "…", " 15", " 16", "-17", "+x", " 18", " 19"]


def test_a_long_line_is_cut_at_its_sentences() -> None:
    recorded = " ".join(f"Sentence number {number} of a long paragraph." for number in range(20))
    shown = text_diff(recorded, recorded.replace("number 9", "number nine"))
    assert [line for line in shown if line[0] != " "] == [
        "-Sentence number 9 of a long paragraph.",
        "+Sentence number nine of a long paragraph.",
    ]
    assert len(shown) == 6


def test_blanks_between_sentences_of_a_long_line_are_not_shown_as_nothing() -> None:
    recorded = "A sentence here. " * 20
    assert text_diff(recorded, recorded.replace(". A", ".  A", 1)) == ["(the texts differ in blanks alone)"]


def test_texts_too_long_to_diff_say_so() -> None:
    shown = text_diff("\n".join(map(str, range(3000))), "\n".join(map(str, range(5000, 8000))))
    assert shown == ["(3000 recorded and 3000 incoming lines differ: too many to show)"]
    assert len(text_diff("a\n" * 100_000 + "b", "a\n" * 100_000 + "c")) == 4


@given(st.text("ab.\n ", max_size=300), st.text("ab.\n ", max_size=300))
def test_a_difference_always_shows_something(recorded: str, incoming: str) -> None:
    assert bool(text_diff(recorded, incoming)) == (recorded != incoming)
