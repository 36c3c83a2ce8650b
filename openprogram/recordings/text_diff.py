"""Two texts as the lines that a person reads: a unified diff, in pieces that a terminal has room for."""

import re
from collections.abc import Iterator
from difflib import unified_diff
from typing import Final

__all__ = ["text_diff"]

#: Characters of a line above which it is cut at the ends of its sentences, so that one word more isn't all of a page.
_LONG_LINE: Final = 200
#: Pieces of a text above which no diff is made: finding it would take minutes, and nobody would read it.
_MAX_PIECES: Final = 2_000
_SENTENCE: Final = re.compile(r"(?<=[.!?;:])\s+")


def text_diff(recorded: str, incoming: str) -> list[str]:
    """The lines of a unified diff, two lines of context, without the names of files; [] where the texts are equal.

    What both texts begin and end with is left out first, so that a change in a very long text is found at once.
    """
    if recorded == incoming:
        return []
    left, right = list(_pieces(recorded)), list(_pieces(incoming))
    if left == right:  # they differ in blanks between sentences of a long line
        return ["(the texts differ in blanks alone)"]
    head, tail = _ends(left, right)
    middle = left[head : len(left) - tail], right[head : len(right) - tail]
    if max(map(len, middle)) > _MAX_PIECES:
        return [f"({len(middle[0])} recorded and {len(middle[1])} incoming lines differ: too many to show)"]
    start, end = max(head - 2, 0), max(tail - 2, 0)
    shown = unified_diff(left[start : len(left) - end], right[start : len(right) - end], n=2, lineterm="")
    # Its numbers count from where it began to look, and say nothing in a text that is cut into sentences.
    return ["…" if line.startswith("@@") else line for line in list(shown)[2:]][1:]


def _pieces(text: str) -> Iterator[str]:
    for line in text.split("\n") if text else ():
        if len(line) <= _LONG_LINE:
            yield line
            continue
        for sentence in _SENTENCE.split(line):
            for start in range(0, max(len(sentence), 1), _LONG_LINE):
                yield sentence[start : start + _LONG_LINE]


def _ends(left: list[str], right: list[str]) -> tuple[int, int]:
    shorter = min(len(left), len(right))
    head = next((index for index in range(shorter) if left[index] != right[index]), shorter)
    most = shorter - head
    return head, next((index for index in range(most) if left[-1 - index] != right[-1 - index]), most)
