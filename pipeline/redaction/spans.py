"""What a rule answers: where the secret begins, where its known part ends, and how the rest of it is recognised."""

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from openprogram.pipeline.redaction.names import SECRET_PLACEHOLDER
from openprogram.pipeline.redaction.reader import NeedMore, Reader

__all__ = ["Match", "Span", "Swallow", "jwt_rest", "kept", "quoted", "rest_of"]

#: From an index on: where the secret's text ends as far as it is known, and whether it has ended.
Swallow = Callable[[Reader, int], tuple[int, bool]]


class Span(NamedTuple):
    """Text from `start` to `end` is a secret. `swallow` finds the rest, which may not have come yet."""

    start: int
    end: int
    swallow: Swallow | None = None


#: From a reader and the bounds of the trigger's literal to the secret, or None. May raise NeedMore and Stop.
Match = Callable[[Reader, int, int], Span | None]


def kept(start: int) -> Span:
    """The placeholder that stands at `start`: the rule has done its work before."""
    return Span(start, start + len(SECRET_PLACEHOLDER))


def rest_of(pattern: re.Pattern[str], brackets: str = "", joints: str = ".:") -> Swallow:
    """The run of a character class goes on, through a `[` too where `brackets` says so.

    `joints`: characters that `pattern` takes only with more of the class behind them, as a full stop in a token.
    """

    def swallow(reader: Reader, index: int) -> tuple[int, bool]:
        text = reader.text
        while True:
            match = pattern.match(text, index)
            index = match.end() if match else index
            if index >= reader.end:
                return index, reader.closed
            if text[index] in joints and index + 1 == reader.end and not reader.closed:
                return index, False
            if text[index] != "[" or not brackets:
                return index, True
            try:
                if reader.at_placeholder(index):
                    return index, True
            except NeedMore:
                return index, False
            index += 1

    return swallow


_QUOTED_PARTS: Final = {quote: re.compile(rf"[^{quote}\\\r\n\[]*") for quote in "\"'`"}


def quoted(quote: str, backslashes: int) -> Swallow:
    r"""Up to the closing quote, which has as many backslashes before it as the opening one, or the end of the line.

    In a plain string (`backslashes` 0) a quote behind a backslash is part of the value.
    """
    part = _QUOTED_PARTS[quote]

    def swallow(reader: Reader, index: int) -> tuple[int, bool]:
        text = reader.text
        while True:
            match = part.match(text, index)
            index = match.end() if match else index
            if index >= reader.end:
                return index, reader.closed
            if text[index] == "\\":
                after = index
                while after < reader.end and text[after] == "\\":
                    after += 1
                if after >= reader.end and not reader.closed:
                    # of a long run, as many wait as tell whether a quote behind it closes, and its parity
                    return index + max(0, (after - index - backslashes - 1) & ~1), False
                if text[after : after + 1] == quote:
                    count = after - index
                    if count <= backslashes or (backslashes == 0 and count % 2 == 0):
                        return (index if backslashes else after), True
                    after += 1
                index = after
                continue
            if text[index] != "[":
                return index, True
            try:
                if reader.at_placeholder(index):
                    return index, True
            except NeedMore:
                return index, False
            index += 1

    return swallow


_JWT_PART: Final = re.compile(r"[A-Za-z0-9_-]*")
_JWT_REST: Final = re.compile(r"(?:[A-Za-z0-9_-]|\.(?=[A-Za-z0-9_.-])|\n(?=[A-Za-z0-9_-]{24}))*")


def jwt_rest(reader: Reader, index: int) -> tuple[int, bool]:
    """The rest of a JWT, lines into which a terminal broke it included."""
    match = _JWT_REST.match(reader.text, index)
    index = match.end() if match else index
    rest = reader.text[index : index + 25]
    if reader.closed or not (
        rest in ("", ".") or (rest[0] == "\n" and len(rest) < 25 and _JWT_PART.fullmatch(rest, 1))
    ):
        return index, index < reader.end or reader.closed
    return index, False
