"""Base64 that holds a secret: a `.env` file, a connection string, `user:password`, JSON with a token in it."""

import binascii
import re
from typing import Final

from openprogram.pipeline.redaction.judge import Proof, is_secret_value
from openprogram.pipeline.redaction.reader import Reader
from openprogram.pipeline.redaction.rules import Rule, trigger
from openprogram.pipeline.redaction.spans import Span, rest_of
from openprogram.pipeline.redaction.words import any_of

__all__ = ["ENCODED_RULES", "MAX_ENCODED", "REST_OF_BASE64", "tells_a_secret"]

#: Characters of base64 that are decoded to judge it.
MAX_ENCODED: Final = 512
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]*")
REST_OF_BASE64: Final = rest_of(re.compile(r"[A-Za-z0-9+/=_-]*"))
_SEPARATOR: Final = re.compile(r"[\s\"'`:=>)(,-]*")
_NAMES: Final = (
    "pass password passwd passphrase secret token apikey api_key api-key api_-key accesskey access_key access-key"
    " access_-key privatekey private_key private-key private_-key pwd auth"
).split()
#: A name, a separator and a value.
_NAMED: Final = re.compile(rf"""{any_of(_NAMES)}["']?\s{{0,4}}[:=]\s{{0,4}}["']?([^\s"',;&}}]{{6,64}})""")
_USERINFO: Final = re.compile(r"://[^\s/:@]{0,64}:[^\s/@]{3,128}@|BEGIN [A-Z ]{0,16}PRIVATE KEY")


def tells_a_secret(text: str) -> bool:
    """Whether `text`, base64 or the first part of it, decodes to text with a secret in it."""
    whole = text.rstrip("=").replace("-", "+").replace("_", "/")
    whole = whole[: len(whole) - len(whole) % 4] if len(whole) % 4 == 1 else whole + "=" * (-len(whole) % 4)
    try:
        data = binascii.a2b_base64(whole)
    except binascii.Error:
        return False
    if not (b"=" in data or b":" in data or b"BEGIN" in data):
        return False  # without which neither expression matches
    decoded = data.decode(errors="replace")
    found = _NAMED.search(decoded)
    return _USERINFO.search(decoded) is not None or (found is not None and is_secret_value(found[1], Proof.NAMED))


def _announced(reader: Reader, _start: int, end: int) -> Span | None:
    """Base64 behind the word itself: `dotenv (base64): …`, `DATABASE_URL_B64=…`."""
    index = reader.run(_SEPARATOR, end, 16)
    if index == end or index - end == 16:
        return None
    reader.hold = index
    stop = reader.run(_BASE64, index, MAX_ENCODED)
    if stop - index < 16 or not tells_a_secret(reader.text[index:stop]):
        return None
    return Span(index, stop, REST_OF_BASE64)


#: No separator behind the word, or too little behind that.
_NOT_ANNOUNCED: Final = r"[^\s\"'`:=>)(,-]|[\s\"'`:=>)(,-]{1,15}+[A-Za-z0-9+/_-]{0,15}+[^A-Za-z0-9+/_-]"

ENCODED_RULES: Final = (
    Rule(
        "announced-base64",
        "own",
        "dotenv (base64): QVBJX0tFWT1aeDRRbTgxTHdUN3ZCbjJL end",
        (trigger("base64", folded=True, unless=_NOT_ANNOUNCED), trigger("b64", folded=True, unless=_NOT_ANNOUNCED)),
        _announced,
    ),
)
