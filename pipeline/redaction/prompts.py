"""What a script types where it is asked for a password: `expect "Password:"`, `send "…"`; `.fill("#password", …)`."""

import re
from typing import Final

from openprogram.pipeline.redaction.judge import Proof
from openprogram.pipeline.redaction.reader import Reader
from openprogram.pipeline.redaction.rules import Rule, trigger
from openprogram.pipeline.redaction.spans import Span
from openprogram.pipeline.redaction.values import Style, read_value

__all__ = ["PROMPT_RULES", "typed_value"]

#: What closes the prompt, or the name of the field.
_CLOSING: Final = re.compile(r"[\s:;?*\"'`\\\])}{(,]*")
_SLASHES: Final = re.compile(r"[\\]*")
_CALL: Final = re.compile(r"[\w. -]*")
#: A function that types, of an object of any name.
_TYPES: Final = re.compile(
    r"(?:\w{0,24}\.)?(?:send|exp_send|send_?line|send_keys|sendKeys|fill|type|write|press_sequentially|pressSequentially"
    r"|setValue|set_value)(?: --)? ?"
)


def typed_value(reader: Reader, index: int) -> Span | None:
    """The string that is typed behind a name that ends at `index`."""
    reader.hold = reader.end
    begin = reader.run(_CLOSING, index, 16)
    stop = reader.run(_CALL, begin, 32)
    if _TYPES.fullmatch(reader.text, begin, stop) is None:
        return None
    stop += reader.char(stop) == "("
    stop += reader.char(stop) == "b"
    slashes = reader.run(_SLASHES, stop, 8) - stop
    quote = reader.char(stop + slashes)
    if quote not in ("'", '"'):
        return None
    return read_value(reader, stop + slashes + 1, Proof.DATA, Style(quote=quote, slashes=slashes))


def _prompt(reader: Reader, start: int, end: int) -> Span | None:
    """`expect "*?assword:*"`, as it is written to fit both `Password:` and `password:`."""
    before = reader.before(start, 1)
    return None if before.isascii() and before.isalpha() else typed_value(reader, end)


PROMPT_RULES: Final = (
    Rule(
        "typed-password",
        "https://core.tcl-lang.org/expect/index",
        'expect "?assword:"\nsend "Zx4Qm81Lw"',
        (trigger("assword:", anchor=7, unless="(?<=[A-Za-z]assword:)"),),
        _prompt,
    ),
)
