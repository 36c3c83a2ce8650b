"""A value that has a line for itself, and the words above it that tell what it is."""

import re
from typing import Final

from openprogram.pipeline.redaction.judge import WINDOW, Proof, is_secret_value
from openprogram.pipeline.redaction.reader import Reader
from openprogram.pipeline.redaction.spans import Span, rest_of

__all__ = ["lone_line", "tells"]

_TELLING: Final = re.compile(r"(?i)pass|secret|token|credential|api.?key|\bpwd?\b")
_LINE: Final = re.compile(r"[^\s\[]*")
_REST_OF_LINE: Final = rest_of(_LINE)


def tells(text: str) -> bool:
    """Whether a word that announces a secret stands in `text`."""
    if text.isascii():  # to look for words is much faster than an expression in any case
        text = text.lower()
        if "pass" in text or "secret" in text or "token" in text or "credential" in text:
            return True
        if "api" not in text and "pw" not in text:
            return False
    return _TELLING.search(text) is not None


def lone_line(reader: Reader, index: int, proof: Proof) -> Span | None:
    """The secret at `index`, if it passes for one and its line ends behind it. Raises NeedMore, Stop."""
    reader.hold = index
    stop = reader.run(_LINE, index, WINDOW)
    if not is_secret_value(reader.text[index:stop], proof):
        return None
    if stop - index < WINDOW and reader.char(stop) not in ("\n", "\r", ""):
        return None
    return Span(index, index, _REST_OF_LINE)
