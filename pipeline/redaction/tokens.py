"""Tokens that their own shape gives away: a prefix that the issuer chose, then a body."""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from openprogram.pipeline.redaction.judge import is_random
from openprogram.pipeline.redaction.reader import Reader
from openprogram.pipeline.redaction.rules import Rule, trigger
from openprogram.pipeline.redaction.spans import Match, Span, rest_of

__all__ = ["ALNUM", "BASE64", "HEX", "WORD", "discord_bot", "kebab", "mixed", "token_rule"]

ALNUM: Final = "A-Za-z0-9"
WORD: Final = "A-Za-z0-9_-"
HEX: Final = "0-9a-fA-F"
BASE64: Final = "A-Za-z0-9+/=_-"
#: Characters of a body that decide whether it is one.
_HEAD: Final = 40


@lru_cache(maxsize=64)
def _runs(body: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """The head of a body, and the rest of one, which no full stop ends: two tokens may stand together, `ghp_…ghp_…`."""
    plain = body.replace(".", "") + ("" if "_" in body else "_")
    if "." not in body:
        return re.compile(f"[{body}]*"), re.compile(f"[{plain}]*")
    return re.compile(f"[{body}]*"), re.compile(rf"(?:[{plain}]|\.(?=[{plain}]))*")


def mixed(body: str) -> bool:
    """A random run, for prefixes that words and names in code share."""
    return is_random(body, least=12)


def _any(body: str) -> bool:
    """A digit, or letters of both cases."""
    return (not body.islower() and not body.isupper()) or any(c.isdigit() for c in body)


#: A digest, in whose base64 any prefix may stand by chance: `sha256=qaN-fw_…`.
_DIGEST: Final = re.compile(r"sha\d{3}[=:-][A-Za-z0-9_+/-]{0,72}\Z")


def _token(body: str, least: int, accept: Callable[[str], bool], *, head: int, word_start: bool, stays: bool) -> Match:
    run, rest = _runs(body)
    swallow = rest_of(rest)

    def match(reader: Reader, start: int, end: int) -> Span | None:
        if word_start and not reader.at_word_start(start):
            return None
        reader.hold = begin = end if stays else start
        stop = reader.run(run, end, head)
        found = reader.text[end:stop].rstrip(".")
        if len(found) < least or not accept(found) or _DIGEST.search(reader.before(start, 80)):
            return None
        return Span(begin, end, swallow)

    return match


def token_rule(
    name: str,
    source: str,
    prefixes: str,
    body: str,
    least: int,
    example_body: str,
    accept: Callable[[str], bool] = _any,
    *,
    head: int = _HEAD,
    word_start: bool = True,
    stays: bool = False,
) -> Rule:
    """The rule for `prefixes` (blanks between) and a body of at least `least` characters of the class `body`.

    `head`: characters of the body that `accept` judges. `word_start`: the prefix begins a word. `stays`: only the
    body goes; so nothing waits for a prefix that begins like many a word, or that doesn't begin the token.
    """
    assert word_start or stays
    first = prefixes.split()[0]
    short = f"[{body}]{{0,{least - 1}}}+[^{body}]"
    triggers = tuple(trigger(prefix, direct=not stays, unless=short) for prefix in prefixes.split())
    match = _token(body, least, accept, head=max(head, least), word_start=word_start, stays=stays)
    return Rule(name, source, f"value {first}{example_body} end", triggers, match)


_KEBAB: Final = re.compile(r"[A-Za-z]+(?:[_-]{1,2}[A-Za-z]+)*[_-]?\d{0,2}")

_SMALL: Final = re.compile(r"[a-z_-]*")
#: What follows `sk-` in the names of SSH key types, and stand-ins.
_NOT_YET: Final = ("ecdsa-sha2-", "ssh-ed25519", "your", "xxx", "...")


def kebab(body: str) -> bool:
    """`sk-` begins keys of many services and class names of style sheets, which are words and small numbers."""
    if (
        len(body) < 6
        or _SMALL.fullmatch(body)
        or (("-" in body or len(body) < 20) and _KEBAB.fullmatch(body))
        or body.lower().startswith(_NOT_YET)
    ):
        return False
    return (any(c.isdigit() for c in body) and any(c.isalpha() for c in body)) or is_random(body)


_DISCORD: Final = re.compile(r"[A-Za-z0-9_-]{15,26}\.[A-Za-z0-9_-]{5,7}\.[A-Za-z0-9_-]+")


def discord_bot(body: str) -> bool:
    """An id in base64, a time and a code, with full stops between."""
    return _DISCORD.fullmatch(body) is not None
