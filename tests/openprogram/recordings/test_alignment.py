"""Which call of one recording is which of another."""

from hypothesis import given
from hypothesis import strategies as st

from openprogram.recordings.alignment import CallKeys, Pair, align


def calls(text: str, *, conversation: str = "") -> list[CallKeys]:
    """A call a letter: what is new in it. Each request holds all before it, beginning with `conversation`."""
    keys = []
    for letter in text:
        conversation += letter
        keys.append(CallKeys(conversation.encode(), letter.encode(), (b"model", b"tools")))
    return keys


def pairs(recorded: str, incoming: str, *, in_order: bool = True) -> list[Pair]:
    return align(calls(recorded), calls(incoming), in_order=in_order)


def test_the_same_calls_are_paired_one_by_one() -> None:
    assert pairs("abc", "abc") == [(0, 0), (1, 1), (2, 2)]
    assert pairs("", "") == []


def test_an_inserted_call_moves_no_other_though_every_later_request_differs() -> None:
    assert pairs("abcde", "abXcde") == [(0, 0), (1, 1), (None, 2), (2, 3), (3, 4), (4, 5)]
    assert pairs("abXcde", "abcde") == [(0, 0), (1, 1), (2, None), (3, 2), (4, 3), (5, 4)]
    assert pairs("bcde", "Xbcde") == [(None, 0), (0, 1), (1, 2), (2, 3), (3, 4)]


def test_a_changed_call_is_paired_with_its_counterpart() -> None:
    assert pairs("abc", "aXc") == [(0, 0), (1, 1), (2, 2)]
    assert pairs("a", "X") == [(0, 0)]


def test_calls_more_on_one_side_are_alone() -> None:
    assert pairs("ab", "abcd") == [(0, 0), (1, 1), (None, 2), (None, 3)]
    assert pairs("ab", "") == [(0, None), (1, None)]


def test_of_changed_calls_those_are_paired_that_have_most_in_common() -> None:
    ours = [CallKeys(b"1", b"1", (b"model", b"tools"))]
    theirs = [CallKeys(b"2", b"2", (b"other", b"none")), CallKeys(b"3", b"3", (b"model", b"none"))]
    assert align(ours, theirs, in_order=True) == [(None, 0), (0, 1)]
    assert align(theirs, ours, in_order=True) == [(0, None), (1, 0)]
    assert align(ours, theirs[::-1], in_order=True) == [(0, 0), (None, 1)]


def test_equal_calls_in_another_order_are_the_same_call_only_where_order_does_not_count() -> None:
    ours = [CallKeys(letter.encode(), letter.encode(), ()) for letter in "abc"]
    theirs = [ours[2], ours[0], ours[1]]
    assert align(ours, theirs, in_order=False) == [(0, 1), (1, 2), (2, 0)]
    assert align(ours, theirs, in_order=True) == [(None, 0), (0, 1), (1, 2), (2, None)]


LETTERS = st.text("abcd", max_size=12)


@given(LETTERS, LETTERS, st.booleans())
def test_every_call_of_both_sides_is_there_once(recorded: str, incoming: str, in_order: bool) -> None:
    found = pairs(recorded, incoming, in_order=in_order)
    ours = [left for left, _ in found if left is not None]
    theirs = [right for _, right in found if right is not None]
    assert ours == list(range(len(recorded)))
    assert sorted(theirs) == list(range(len(incoming)))
    if in_order:
        assert theirs == sorted(theirs)
    assert (None, None) not in found


@given(LETTERS, st.integers(0, 12))
def test_one_call_more_leaves_one_call_alone(recorded: str, at: int) -> None:
    at = min(at, len(recorded))
    found = pairs(recorded, f"{recorded[:at]}X{recorded[at:]}")
    assert [pair for pair in found if None in pair] == [(None, at)]
