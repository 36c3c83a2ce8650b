"""The journal of a run: one JSON line for everything that happened, in order.

Equal runs have equal journals, byte for byte: a line's own keys are in the order below, and values keep their order,
which is part of what the model sees. No wall time, process id, host name or absolute path gets in
here; `run.json` has those.
"""

import hashlib
import json
from collections.abc import Callable
from typing import Any, Final

from openprogram.world.chance import Draw
from openprogram.world.clock import Clock, as_text
from openprogram.world.events import WorldEvent

__all__ = ["JOURNAL_FORMAT_VERSION", "Journal", "encoded"]

JOURNAL_FORMAT_VERSION: Final = 1


_ENCODER: Final = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def encoded(line: dict[str, Any]) -> bytes:
    """The bytes of a line, its end included. Raises ValueError, TypeError: a field is no JSON."""
    return _ENCODER.encode(line).encode() + b"\n"


class Journal:
    """Appends lines `{"at", "sequence", "type", …}`. `write` takes the bytes of a line, its end included.

    `clock`: scenario time, which every line carries.
    """

    def __init__(self, clock: Clock, write: Callable[[bytes], Any]) -> None:
        self._clock, self._write = clock, write
        self._hash = hashlib.sha256()
        self.position = 0  #: lines so far

    def add(self, type: str, **fields: Any) -> None:  # noqa: A002 - the field's name
        """One line. Raises ValueError, TypeError: a field is no JSON."""
        line = encoded({"type": type, "sequence": self.position, "at": as_text(self._clock.now), **fields})
        self._write(line)
        self._hash.update(line)
        self.position += 1

    def world(self, event: WorldEvent) -> None:
        """A world event, as the world tells of it."""
        self.add("world", event=event.as_json())

    def draw(self, draw: Draw) -> None:
        """A random draw, as chance tells of it."""
        self.add("draw", stream=draw.stream, index=draw.index, value=draw.value)

    @property
    def digest(self) -> str:
        """`sha256:…` over all lines so far."""
        return "sha256:" + self._hash.hexdigest()
