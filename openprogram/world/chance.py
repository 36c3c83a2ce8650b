"""Chance that comes out the same: named streams of draws, seeded by scenario and branch.

Draw n of a stream is SHA-256 over seed, branch, the stream's name and n. So there is no generator state to save, no
dependence on Python's own generator, and a further draw in one stream leaves all others as they were.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar
from uuid import UUID

__all__ = ["Chance", "Draw", "RandomStream"]

T = TypeVar("T")

_BITS: Final = 256
_FRACTION_BITS: Final = 53  # what a float holds exactly


@dataclass(frozen=True, slots=True)
class Draw:
    """One draw, for the journal. `index`: from 0 within its stream. `value`: as JSON."""

    stream: str
    index: int
    value: int | float | str


class RandomStream:
    """One named stream. Every method is one draw."""

    def __init__(self, name: str, key: bytes, index: int, on_draw: Callable[[Draw], None]) -> None:
        self.name = name
        self._key, self._index, self._on_draw = key, index, on_draw

    def integer(self, low: int, high: int) -> int:
        """Uniform from `low` to `high`, both included. Raises ValueError: nothing lies between them."""
        if low > high:
            raise ValueError(f"no integer from {low} to {high}")
        # 256 bits are so many more than any range used that the bias is below 2**-190
        return self._drawn(low + self._bits() % (high - low + 1))

    def fraction(self) -> float:
        """Uniform in [0, 1)."""
        return self._drawn((self._bits() >> (_BITS - _FRACTION_BITS)) / (1 << _FRACTION_BITS))

    def choice(self, options: Sequence[T]) -> T:
        """One of `options`. Raises ValueError: there is none."""
        if not options:
            raise ValueError("nothing to choose from")
        return options[self.integer(0, len(options) - 1)]

    def uuid(self) -> str:
        """A UUID of version 4."""
        return self._drawn(str(UUID(int=self._bits() >> 128, version=4)))

    def text(self, length: int, alphabet: str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") -> str:
        """`length` characters (up to 40) of `alphabet`. Raises ValueError: too long, or no alphabet."""
        if not 0 < length <= 40 or not alphabet:
            raise ValueError("a drawn text has 1 to 40 characters of an alphabet")
        rest, characters = self._bits(), []
        for _ in range(length):
            rest, position = divmod(rest, len(alphabet))
            characters.append(alphabet[position])
        return self._drawn("".join(characters))

    def _bits(self) -> int:
        return int.from_bytes(hashlib.sha256(self._key + str(self._index).encode()).digest())

    def _drawn(self, value: T) -> T:
        assert isinstance(value, int | float | str)
        self._on_draw(Draw(self.name, self._index, value))
        self._index += 1
        return value


class Chance:
    """The streams of one branch of one run. `on_draw` is told of each draw, in order.

    `positions`: draws already made by stream, where a run goes on from a checkpoint.
    """

    def __init__(
        self, seed: str, branch: str, on_draw: Callable[[Draw], None], positions: dict[str, int] | None = None
    ) -> None:
        self._seed, self._branch, self._on_draw = seed, branch, on_draw
        self._positions = dict(positions or {})
        self._streams: dict[str, RandomStream] = {}

    def stream(self, name: str) -> RandomStream:
        """The stream of that name, the same object each time."""
        if name not in self._streams:
            # lengths first: no two seeds, branches and names give the same key
            parts = [part.encode() for part in (self._seed, self._branch, name)]
            key = b"".join(b"%d:%s" % (len(part), part) for part in parts)
            self._streams[name] = RandomStream(name, key, self._positions.get(name, 0), self._note)
        return self._streams[name]

    @property
    def positions(self) -> dict[str, int]:
        """Draws made so far, by stream, sorted by name. For a checkpoint."""
        return dict(sorted(self._positions.items()))

    def _note(self, draw: Draw) -> None:
        self._positions[draw.stream] = draw.index + 1
        self._on_draw(draw)
