"""Reading a value from text: where it ends, and whether it passes for a secret."""

import re
from functools import lru_cache
from typing import Final, NamedTuple

from openprogram.pipeline.redaction.judge import WINDOW, Proof, is_generated, is_secret_value, is_stand_in
from openprogram.pipeline.redaction.reader import Reader, Stop
from openprogram.pipeline.redaction.spans import Span, Swallow, jwt_rest, quoted, rest_of

__all__ = ["BARE", "PARAMETER", "SCHEMES", "Style", "read_cookies", "read_generated", "read_value", "style_of"]

_STOPS: Final = r"\s\"'`<>&;,|)}{\]\[\\"
_BARE: Final = rf"[^{_STOPS}….:]"
_BARE_HEAD: Final = re.compile(rf"[^{_STOPS}]*")
_PARAMETER_HEAD: Final = re.compile(rf"[^{_STOPS}#]*")
_ENCODED_HEAD: Final = re.compile(rf"[^{_STOPS}#%]*")
_CELL_HEAD: Final = re.compile(r"[^,;\t\r\n|\[]*")
_QUOTED_HEAD: Final = {quote: re.compile(rf"[^{quote}\\\r\n\[]*") for quote in "\"'`"}
_REST_OF_BARE: Final = rest_of(re.compile(rf"(?:{_BARE}|[.:](?={_BARE}))*"))
_REST_OF_PARAMETER: Final = rest_of(re.compile(rf"(?:[^{_STOPS}….:#]|[.:](?=[^{_STOPS}….:#]))*"))
_REST_OF_ENCODED: Final = rest_of(_ENCODED_HEAD)
_REST_OF_CELL: Final = rest_of(_CELL_HEAD, "[")
_quoted: Final = lru_cache(maxsize=64)(quoted)
_JOINTS: Final = ".:…#"
_BLANKS: Final = re.compile(r"[ \t+]*")

#: Words that say how the credential behind them is presented (RFC 9110, section 11.1).
SCHEMES: Final = frozenset("bearer basic token apikey api-key digest negotiate ntlm key hmac oauth splunk ssws".split())


class Style(NamedTuple):
    """How a value is written: in a quote behind backslashes, as a URL parameter, percent-encoded, as a table's cell."""

    quote: str = ""
    slashes: int = 0
    parameter: bool = False
    encoded: bool = False
    cell: bool = False

    def end_of_head(self, reader: Reader, start: int) -> int:
        """Index after the characters of the value that decide. Raises NeedMore, Stop."""
        if self.quote:
            return reader.run(_QUOTED_HEAD[self.quote], start, WINDOW, "[")
        if self.cell:
            return reader.run(_CELL_HEAD, start, WINDOW, "[")
        pattern = _ENCODED_HEAD if self.encoded else _PARAMETER_HEAD if self.parameter else _BARE_HEAD
        return reader.run(pattern, start, WINDOW)

    @property
    def swallow(self) -> Swallow:
        """The rest of such a value."""
        if self.quote:
            return _quoted(self.quote, self.slashes)
        if self.cell:
            return _REST_OF_CELL
        return _REST_OF_ENCODED if self.encoded else _REST_OF_PARAMETER if self.parameter else _REST_OF_BARE


#: A value that stands alone, in no quotes.
BARE: Final = Style()
PARAMETER: Final = Style(parameter=True)


@lru_cache(maxsize=64)
def style_of(quote: str, slashes: int, parameter: bool, encoded: bool) -> Style:  # noqa: FBT001  # a cache's key
    """The style of these: the same few come again and again."""
    return Style(quote, slashes, parameter, encoded)


def read_value(reader: Reader, start: int, proof: Proof, style: Style, *, scheme: bool = True) -> Span | None:
    """The value that begins at `start`, if it passes for a secret by `proof`. Raises NeedMore, Stop.

    `scheme`: a word of SCHEMES may stand before it, and stays.
    """
    reader.hold = start
    head = style.end_of_head(reader, start)
    value = reader.text[start:head]
    if scheme and " " in value and (word := value[: value.index(" ")]).lower() in SCHEMES:
        start += len(word) + 1
        value, proof = value[len(word) + 1 :], max(proof, Proof.NAMED)
    elif not style.quote and scheme and value.lower() in SCHEMES:
        reader.hold = reader.end  # the scheme and the blanks behind it stay
        after = reader.run(_BLANKS, head, 8)
        if after == head:
            return None
        reader.hold = start = after
        head = reader.run(_BARE_HEAD, after, WINDOW)
        value, proof = reader.text[after:head], Proof.NAMED
    if style == BARE and reader.text[head : head + 1] in _INNER and (generated := read_generated(reader, start, BARE)):
        return generated
    if not style.quote:
        value = value.rstrip(".: ")
        if value[:1] in _JOINTS and value[1:2] in _JOINTS:
            return None  # such a run of the class is no value, and it would end before it begins
        if value[:1] == "/" and is_stand_in(value):
            return None  # a path, whatever else is in it
    if not is_secret_value(value, proof):
        return None
    return Span(start, start, jwt_rest if value.startswith("eyJ") and not style.quote else style.swallow)


#: What ends a plain value, and may be part of one that a password maker made.
_INNER: Final = frozenset("<>&;,|)}{]\\")
_TO_BLANK: Final = re.compile(r"[^\s\"'`\[]*")
_REST_TO_BLANK: Final = rest_of(_TO_BLANK, "[", joints="")
_NEXT_PAIR: Final = re.compile(r"[;,&|][A-Za-z_][\w ]+=|</[A-Za-z]")
_CLOSINGS: Final = {")": "(", "}": "{", "]": "[", ">": "<"}


def read_generated(reader: Reader, start: int, style: Style) -> Span | None:
    """The work of a password maker at `start`, whatever characters are in it: up to its quote, or to a blank."""
    if style.quote:
        value = reader.text[start : style.end_of_head(reader, start)]
        return Span(start, start, style.swallow) if is_generated(value, digit=False) else None
    if reader.text[start : start + 1] in ("<", "{", "/"):
        return None  # a tag, a template, a path
    try:
        stop = reader.run(_TO_BLANK, start, WINDOW, "[")
    except Stop:
        return None  # a rule that looks less far still applies
    value = reader.text[start:stop]
    if pair := _NEXT_PAIR.search(value):
        value = value[: pair.start()]
    elif stop - start == WINDOW:
        return Span(start, stop, _REST_TO_BLANK) if is_generated(value) else None
    while value and (value[-1] in ".,;:" or (value[-1] in _CLOSINGS and _CLOSINGS[value[-1]] not in value)):
        value = value[:-1]  # punctuation of the text around it
    return Span(start, start + len(value)) if is_generated(value) else None


_COOKIES: Final = re.compile(r"[^\r\n\"'\\\[]*")
_COOKIE: Final = re.compile(r"[^;\r\n\"'\\\[]*")
_REST_OF_COOKIES: Final = rest_of(_COOKIES, "[")
_REST_OF_COOKIE: Final = rest_of(_COOKIE, "[")


def read_cookies(reader: Reader, start: int, *, only_first: bool) -> Span | None:
    """The cookies of a header (RFC 6265, section 4), if the value of one in the first 128 characters passes.

    `only_first`: of `Set-Cookie`, where attributes follow the one cookie.
    """
    reader.hold = start
    head = reader.run(_COOKIE if only_first else _COOKIES, start, 2 * WINDOW, "[")
    if "=" not in reader.text[start:head]:
        return None
    values = (pair.partition("=")[2][:WINDOW] for pair in reader.text[start:head].split(";"))
    if not any(is_secret_value(value, Proof.NAMED) for value in values):
        return None
    return Span(start, start, _REST_OF_COOKIE if only_first else _REST_OF_COOKIES)
