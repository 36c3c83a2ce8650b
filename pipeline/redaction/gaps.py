"""What stands between a name and its value: quotes, blanks and a separator, plain, encoded for a URL or HTML, or with
a name in bold letters before it, as in Markdown."""

import re
from functools import lru_cache
from typing import Final, NamedTuple

from openprogram.pipeline.redaction.reader import NeedMore, Reader

__all__ = ["Gap", "read_gap"]

_GAP: Final = re.compile(
    r"""(?:[\s"'`\\:=>,;|(\])：]|\*{1,2}(?=[:：])|(?<=[:：])\*{1,2}(?=\s)|%(?:25){0,3}(?:20|22|27|2[Cc]|3[AaDd]|5[Cc])|&(?:quot|apos|\#34|\#39|\#x22|\#x27|gt);)*""",
    re.X,
)
_CODE: Final = re.compile(r"%(?:25)*([0-9A-Fa-f]{2})|&(quot|apos|gt|#34|#39|#x22|#x27);")
_ENTITIES: Final = {"quot": '"', "#34": '"', "#x22": '"', "apos": "'", "#39": "'", "#x27": "'", "gt": ">"}
_FORM: Final = re.compile(
    r"""(?xs) (?P<close>\\*["'`]?[\])]{0,2}) (?:\*{1,2}(?=[:：]))? \s* (?P<sep>:=|=>|->|={1,3}|[:：]{1,2}|[>,;|(]|)
        (?:(?<=[:：])\*{1,2})? \s* (?P<open>\(?\\*(?:"{3}|'{3}|["'`])?)"""
)
_LIMIT: Final = 48
#: By its first character, how long a part of a gap may be that isn't known from that alone: an encoded character, with
#: three rounds of percent encoding, or the end of bold letters and a character behind it.
_WIDTHS: Final = {"%": 10, "&": 10, "*": 3}
_PREFIXES: Final = frozenset("bBrRuUfFN@$")
#: By far the most common gaps, and then what begins a value.
_PLAIN: Final = re.compile(r"""([ =]|: ?)(?=[^\W_bBrRuUfFN]|[?/+_.~#!{<-]|[bBrRuUfFN@$][^"'])""")


class Gap(NamedTuple):
    """`end`: where the value begins. `close`: what closes the name; `sep`: the separator; `opening`: before the value.

    `text`: all of it, decoded. `quote`: the quote that opens the value, or ""; `slashes`: the backslashes before it.
    `encoded`: percent codes were in it, so the value is encoded too.
    """

    end: int
    text: str
    close: str
    sep: str
    opening: str
    quote: str
    slashes: int
    encoded: bool

    @property
    def newline(self) -> bool:
        """The value stands on a later line."""
        return "\n" in self.text


def read_gap(reader: Reader, index: int) -> Gap | None:
    """The gap behind a name that ends at `index`, or None where it has no known form. Raises NeedMore, Stop.

    Sets `hold` to its end: only what follows may be a secret.
    """
    if plain := _PLAIN.match(reader.text, index):  # the general way gives the same
        reader.hold = plain.end()
        return Gap(plain.end(), plain[1], "", plain[1].strip(), "", "", 0, encoded=False)
    stop = index + _LIMIT
    match = _GAP.match(reader.text, index, stop)
    end = match.end() if match else index
    reader.hold = max(end, index)
    more = end >= reader.end or (reader.end - end < _WIDTHS.get(reader.text[end], 0))
    if more and end < stop and not reader.closed:
        raise NeedMore
    form = _read_form(reader.text[index:end])
    if form is None:
        return None
    text, close, sep, opening, quote, slashes, encoded = form
    if not quote and end < reader.end and reader.text[end] in _PREFIXES and reader.char(end + 1) in ("'", '"'):
        quote, end = reader.text[end + 1], end + 2
        reader.hold = end
    return Gap(end, text, close, sep, opening, quote, slashes, encoded)


@lru_cache(maxsize=1024)
def _read_form(raw: str) -> tuple[str, str, str, str, str, int, bool] | None:
    """The gap `raw` decoded, what closes the name, the separator, what opens the value, its quote, the backslashes
    before that, and whether percent codes were in it."""
    encoded, text = "%" in raw, raw
    if encoded or "&" in raw:
        text = _CODE.sub(lambda code: chr(int(code[1], 16)) if code[1] else _ENTITIES[code[2]], raw)
    form = _FORM.fullmatch(text)
    if form is None:
        return None
    opening = form["open"]
    return text, form["close"], form["sep"], opening, opening.lstrip("(\\")[:1], opening.count("\\"), encoded
