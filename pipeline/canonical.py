"""One canonical form of a JSON value, for digests and for files that must come out the same everywhere.

Keys sorted by code point, no white space, UTF-8, numbers as Python writes them. Equal values have equal bytes, and
values that JSON tells apart (1, 1.0, true) have different ones.
"""

import hashlib
import json
from typing import Any, Final

__all__ = ["canonical", "digest"]

_CANONICAL: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))


def canonical(value: Any) -> bytes:
    """The bytes of a JSON value. Lone surrogates are written as escapes, as JSON allows.

    Raises ValueError: NaN or Infinity. TypeError: not a JSON value.
    """
    text = _CANONICAL.encode(value)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return "".join(f"\\u{ord(c):04x}" if "\ud800" <= c <= "\udfff" else c for c in text).encode()


def digest(value: Any) -> str:
    """`sha256:` and the hex digest of the canonical bytes."""
    return "sha256:" + hashlib.sha256(canonical(value)).hexdigest()
