"""Which call of one recording is which of another: by what they ask, so that a call more or less moves no others.

Equal requests first. An inserted call lengthens the conversation of every later one, so that no later request is equal
to its counterpart; those are found by what is new in them: the messages after the model's last answer.
"""

from collections.abc import Callable, Hashable, Sequence
from difflib import SequenceMatcher
from typing import Final, NamedTuple, TypeAlias

__all__ = ["CallKeys", "Pair", "align"]

#: Cells of a table that pairs what nothing identifies; a larger one isn't filled, and calls are paired in order.
_MAX_CELLS: Final = 250_000

#: Which call is which: call indexes, one of them None where the other side has no such call.
Pair: TypeAlias = tuple[int | None, int | None]


class CallKeys(NamedTuple):
    """Digests of a call's request. `whole`: of all that is compared; `new`: of the messages after the last answer.

    `parts`: of other parts of it, the same number in each call.
    """

    whole: bytes
    new: bytes
    parts: tuple[bytes, ...]


_Key: TypeAlias = Callable[[CallKeys], Hashable]
_BY_WHOLE: Final[_Key] = lambda keys: keys.whole  # noqa: E731 - three keys of one type, side by side
_BY_NEW_AND_PARTS: Final[_Key] = lambda keys: (keys.new, keys.parts)  # noqa: E731
_BY_NEW: Final[_Key] = lambda keys: keys.new  # noqa: E731


def align(recorded: Sequence[CallKeys], incoming: Sequence[CallKeys], *, in_order: bool) -> list[Pair]:
    """Every call of both sides once, in order; those of the recorded side first where neither comes before the other.

    `in_order`: equal requests that stand in another order are not the same call.
    """
    rest: tuple[list[int], list[int]] = list(range(len(recorded))), list(range(len(incoming)))
    pairs: list[tuple[int, int]] = []
    if not in_order:
        pairs = _anywhere(recorded, incoming)
        rest = _left(rest, pairs)
    pairs += _aligned(recorded, incoming, *rest, (_BY_WHOLE, _BY_NEW_AND_PARTS, _BY_NEW))
    return _merged(pairs, len(recorded), len(incoming))


def _anywhere(recorded: Sequence[CallKeys], incoming: Sequence[CallKeys]) -> list[tuple[int, int]]:
    """Equal requests wherever they stand, the first with the first."""
    places: dict[bytes, list[int]] = {}
    for index in range(len(incoming) - 1, -1, -1):
        places.setdefault(incoming[index].whole, []).append(index)
    return [(index, places[keys.whole].pop()) for index, keys in enumerate(recorded) if places.get(keys.whole)]


def _left(rest: tuple[list[int], list[int]], pairs: Sequence[tuple[int, int]]) -> tuple[list[int], list[int]]:
    ours, theirs = {pair[0] for pair in pairs}, {pair[1] for pair in pairs}
    return [index for index in rest[0] if index not in ours], [index for index in rest[1] if index not in theirs]


def _aligned(
    recorded: Sequence[CallKeys],
    incoming: Sequence[CallKeys],
    ours: list[int],
    theirs: list[int],
    keys: tuple[_Key, ...],
) -> list[tuple[int, int]]:
    """Pairs by the first key; what lies between them by the next ones."""
    if not ours or not theirs:
        return []
    if not keys:
        return _nearest(recorded, incoming, ours, theirs)
    left = [keys[0](recorded[index]) for index in ours]
    right = [keys[0](incoming[index]) for index in theirs]
    pairs: list[tuple[int, int]] = []
    start_left = start_right = 0
    for block in _equal_blocks(left, right):
        gap = ours[start_left : block[0]], theirs[start_right : block[1]]
        pairs += _aligned(recorded, incoming, *gap, keys[1:])
        pairs += zip(ours[block[0] : block[0] + block[2]], theirs[block[1] : block[1] + block[2]], strict=True)
        start_left, start_right = block[0] + block[2], block[1] + block[2]
    return pairs


def _equal_blocks(left: Sequence[Hashable], right: Sequence[Hashable]) -> list[tuple[int, int, int]]:
    """Start, start and length of what is equal, in order; the last has no length. Equal ends are found at once."""
    head = 0
    while head < min(len(left), len(right)) and left[head] == right[head]:
        head += 1
    tail = 0
    while tail < min(len(left), len(right)) - head and left[-1 - tail] == right[-1 - tail]:
        tail += 1
    middle = SequenceMatcher(None, left[head : len(left) - tail], right[head : len(right) - tail], autojunk=False)
    blocks = [(head + block.a, head + block.b, block.size) for block in middle.get_matching_blocks()[:-1]]
    return [(0, 0, head), *blocks, (len(left) - tail, len(right) - tail, tail), (len(left), len(right), 0)]


def _nearest(
    recorded: Sequence[CallKeys], incoming: Sequence[CallKeys], ours: list[int], theirs: list[int]
) -> list[tuple[int, int]]:
    """As many pairs in order as there can be; where one side has more, those with most parts in common."""
    if len(ours) == len(theirs) or len(ours) * len(theirs) > _MAX_CELLS:
        return list(zip(ours, theirs, strict=False))
    if len(ours) > len(theirs):
        return [(left, right) for right, left in _nearest(incoming, recorded, theirs, ours)]
    # best[i][j]: most parts in common where the first i of ours are paired within the first j of theirs.
    best = [[0] * (len(theirs) + 1)]
    for i, left in enumerate(ours, 1):
        row = [-1] * (len(theirs) + 1)
        for j in range(i, len(theirs) + 1):
            paired = best[-1][j - 1] + _in_common(recorded[left], incoming[theirs[j - 1]])
            row[j] = max(row[j - 1], paired)
        best.append(row)
    pairs = []
    j = len(theirs)
    for i in range(len(ours), 0, -1):
        while j > i and best[i][j - 1] == best[i][j]:
            j -= 1
        pairs.append((ours[i - 1], theirs[j - 1]))
        j -= 1
    return pairs[::-1]


def _in_common(left: CallKeys, right: CallKeys) -> int:
    return sum(one == other for one, other in zip(left.parts, right.parts, strict=True))


def _merged(pairs: list[tuple[int, int]], recorded: int, incoming: int) -> list[Pair]:
    ours = dict(pairs)
    alone = iter(sorted(set(range(incoming)) - set(ours.values())))
    merged: list[Pair] = []
    waiting = next(alone, None)
    for index in range(recorded):
        other = ours.get(index)
        while waiting is not None and other is not None and waiting < other:
            merged.append((None, waiting))
            waiting = next(alone, None)
        merged.append((index, other))
    while waiting is not None:
        merged.append((None, waiting))
        waiting = next(alone, None)
    return merged
