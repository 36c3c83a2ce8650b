"""Values that a name gives away: `password: …`, `API_KEY=…`, `"token": "…"`, `--secret …`, `?sig=…`, "пароль: …".

The trigger is the word in the name. The whole name is classified as a dict key would be; what stands between name
and value says how much the value itself must look like a secret. Names never wait, only the value does.
"""

import re
from typing import Final

from openprogram.pipeline.redaction.judge import WINDOW, Proof, is_secret_value
from openprogram.pipeline.redaction.names import Secrecy, name_secrecy
from openprogram.pipeline.redaction.reader import Reader
from openprogram.pipeline.redaction.rules import Rule, trigger
from openprogram.pipeline.redaction.spans import Span, Swallow, kept, quoted, rest_of

__all__ = ["FIELD_RULES", "value_at"]

_NAME_CHARACTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-."
_NAME_RIGHT: Final = re.compile(r"[A-Za-z0-9_-]*")
_PERCENT_CODE: Final = re.compile(r"(?:25)*[0-9A-Fa-f]{2}")
_GAP: Final = re.compile(
    r"""(?:[\s"'`\\:=>,|(\])：]|%(?:25){0,3}(?:20|22|27|2[Cc]|3[AaDd]|5[Cc])|&(?:quot|apos|\#34|\#39|\#x22|\#x27|gt);)*""",
    re.X,
)
_GAP_CODE: Final = re.compile(r"%(?:25)*([0-9A-Fa-f]{2})|&(quot|apos|gt|#34|#39|#x22|#x27);")
_ENTITIES: Final = {"quot": '"', "#34": '"', "#x22": '"', "apos": "'", "#39": "'", "#x27": "'", "gt": ">"}
_FORM: Final = re.compile(
    r"""(?xs) (?P<close>\\*["'`]?[\])]{0,2}) (?P<lead>\s*) (?P<sep>:=|=>|->|={1,3}|[:：]{1,2}|[>,|(]|)
        (?P<space>\s*) (?P<open>\(?\\*(?:["'`]|"{3}|'{3})?)"""
)
_GAP_LIMIT: Final = 48

_BARE: Final = r"[^\s\"'`<>&;,|)}{\]\[\\….:]"
_UNQUOTED: Final = re.compile(rf"(?:{_BARE}|[.:](?={_BARE}))*")
_UNQUOTED_HEAD: Final = re.compile(r"[^\s\"'`<>&;,|)}{\]\[\\]*")
_PARAMETER: Final = re.compile(r"[^\s\"'`<>&;,|)}{\]\[\\#]*")
_PERCENT: Final = re.compile(r"[^\s\"'`<>&;,|)}{\]\[\\#%]*")
_QUOTED_HEAD: Final = {quote: re.compile(rf"[^{quote}\\\r\n\[]*") for quote in "\"'`"}
_WORD: Final = re.compile(r"[^\W\d_]*")
_SPACES: Final = re.compile(r"[ \t+]*")
_SCHEMES: Final = frozenset("bearer basic token apikey api-key digest negotiate ntlm key hmac oauth".split())
_CONNECTORS: Final = frozenset(
    """is was are ist lautet est es è é jest är er on for of to the my our your user admin account this that now
    currently still set as root""".split()
)
_VERBS: Final = frozenset("is was are ist lautet est es è é jest är er as".split())
_SWALLOW_BARE: Final = rest_of(_UNQUOTED)
_SWALLOW_PARAMETER: Final = rest_of(_PARAMETER)
_SWALLOW_PERCENT: Final = rest_of(_PERCENT)


def _named_value(reader: Reader, start: int, end: int) -> Span | None:
    name_end = reader.run(_NAME_RIGHT, end, 40)
    text = reader.text
    before = reader.before(start, 64)
    left = len(before.rstrip(_NAME_CHARACTERS))
    name = before[left:] + text[start:name_end]
    lead = before[left - 1 : left]
    if lead == "%" and (code := _PERCENT_CODE.match(name)):
        name = name[code.end() :]
        lead = "?"
    secrecy = name_secrecy(name.lstrip("-."))
    if secrecy is Secrecy.NONE:
        return None
    return _after_name(reader, name_end, name, lead, secrecy)


def _after_name(reader: Reader, index: int, name: str, lead: str, secrecy: Secrecy) -> Span | None:
    value, gap = _gap(reader, index)
    if value != index and reader.at_placeholder(value):
        return kept(value)
    form = _FORM.fullmatch(gap)
    if form is None:
        return None
    sep, opening = form["sep"], form["open"]
    if not sep and not opening and not form["close"]:
        if not gap:
            return None
        return _in_prose(reader, value, gap, name, secrecy)
    if "\n" in gap and (sep.startswith("=") or (form["close"] and not sep)):
        return None
    proof = _proof(form, name, lead, secrecy)
    quote = opening.lstrip("(\\")[:1]
    if not quote and reader.char(value) in tuple("bBrRuUfF") and (found := reader.char(value + 1)) in ("'", '"'):
        value, quote = value + 2, found
    if reader.at_placeholder(value):
        return kept(value)
    slashes = opening.count("\\")
    encoded = "%" in text_between(reader, index, value)
    span = value_at(
        reader,
        value,
        proof,
        quote=quote,
        slashes=slashes,
        parameter=lead in ("?", "&", "#") and bool(lead),
        percent=encoded,
    )
    if span is None and sep == ":" and not quote:
        return _annotated(reader, value, proof)
    return span


def text_between(reader: Reader, start: int, end: int) -> str:
    return reader.text[start:end]


def _gap(reader: Reader, index: int) -> tuple[int, str]:
    """Where the value begins behind a name that ends at `index`, and what stands between, decoded."""
    stop = index + _GAP_LIMIT
    match = _GAP.match(reader.text, index, stop)
    end = match.end() if match else index
    reader.hold = end
    if end < stop and not reader.closed and (end >= reader.end or (reader.text[end] in "%&" and reader.end - end < 10)):
        from openprogram.pipeline.redaction.reader import NeedMore

        raise NeedMore
    gap = reader.text[index:end]
    if "%" in gap or "&" in gap:
        gap = _GAP_CODE.sub(lambda code: chr(int(code[1], 16)) if code[1] else _ENTITIES[code[2]], gap)
    return end, gap


def _proof(form: re.Match[str], name: str, lead: str, secrecy: Secrecy) -> Proof:
    sep, certain = form["sep"], secrecy >= Secrecy.STRING
    if name.lower().strip("-.0123456789") == "key":
        return Proof.ALONE
    if not certain:
        return (
            Proof.NAMED
            if sep in (":", "=", "=>", ":=") and form["open"] or lead in ("?", "&") and lead
            else Proof.NEARBY
        )
    if sep == "=" and lead in ("?", "&", "#", ";") and lead and not form["open"]:
        return Proof.PLACE
    if form["open"] and sep in ("=", ":=", "=>", ":") and (form["close"] or sep != ":") and name.lower() != "token":
        return Proof.DATA
    return Proof.NEARBY if "\n" in form["space"] else Proof.NAMED


def value_at(
    reader: Reader,
    start: int,
    proof: Proof,
    *,
    quote: str = "",
    slashes: int = 0,
    parameter: bool = False,
    percent: bool = False,
) -> Span | None:
    """The value that begins at `start`, if it passes for a secret by `proof`."""
    reader.hold = start
    if quote:
        head = reader.run(_QUOTED_HEAD[quote], start, WINDOW, "[")
        swallow: Swallow = quoted(quote, slashes)
    else:
        pattern = _PERCENT if percent else _PARAMETER if parameter else _UNQUOTED_HEAD
        swallow = _SWALLOW_PERCENT if percent else _SWALLOW_PARAMETER if parameter else _SWALLOW_BARE
        head = reader.run(pattern, start, WINDOW)
    value = reader.text[start:head]
    scheme, _, rest = value.partition(" ")
    if quote and rest and scheme.lower() in _SCHEMES:
        start += len(scheme) + 1
        value, proof = rest, max(proof, Proof.NAMED)
    elif not quote and value.lower() in _SCHEMES:
        after = reader.run(_SPACES, head, 8)
        if after == head:
            return None
        if reader.at_placeholder(after):
            return kept(after)
        reader.hold = start = after
        head = reader.run(_UNQUOTED_HEAD, after, WINDOW)
        value, proof = reader.text[after:head], Proof.NAMED
    if not quote:
        value = value.rstrip(".:") if value.strip(".") else value
    return Span(start, start, swallow) if is_secret_value(value, proof) else None


def _annotated(reader: Reader, index: int, proof: Proof) -> Span | None:
    """`token: str = "…"`: the value stands behind a type."""
    index = reader.run(_UNQUOTED_HEAD, index, WINDOW)
    value, gap = _gap(reader, index)
    form = _FORM.fullmatch(gap)
    if form is None or form["sep"] != "=" or not form["open"] or form["close"]:
        return None
    if reader.at_placeholder(value):
        return kept(value)
    return value_at(reader, value, proof, quote=form["open"].lstrip("(\\")[:1], slashes=form["open"].count("\\"))


def _in_prose(reader: Reader, index: int, gap: str, name: str, secrecy: Secrecy) -> Span | None:
    """`name value`, `name is value`, `name of the account: value`; also a line of its own below the name."""
    option = name.startswith("--")
    if "\n" in gap:
        return value_at(reader, index, Proof.NEARBY) if secrecy >= Secrecy.STRING else None
    proof = Proof.NAMED if option else Proof.ALONE if name.lower() == "key" else Proof.NEARBY
    for _ in range(6):
        end = reader.run(_WORD, index, 16)
        word = reader.text[index:end].lower()
        if word not in _CONNECTORS:
            break
        reader.hold = reader.end
        if word in _VERBS and proof is Proof.NEARBY:
            proof = Proof.NAMED
        after, gap = _gap(reader, end)
        if reader.at_placeholder(after):
            return kept(after)
        form = _FORM.fullmatch(gap)
        if after == end or form is None or form["close"]:
            return None
        if form["sep"] or form["open"]:
            quote = form["open"].lstrip("(\\")[:1]
            return value_at(reader, after, Proof.NAMED, quote=quote, slashes=form["open"].count("\\"))
        index = reader.hold = after
    return value_at(reader, index, proof)


_NAMES: Final = "token secret pass pwd key cookie auth credential session jwt psk signature sig requirepass"

FIELD_RULES: Final = (
    Rule(
        "named-value",
        "own",
        "password: Zx4Qm81Lw",
        tuple(
            trigger(n, folded=True)
            for n in "token secret pass pwd key cookie auth credential session jwt psk sig sid".split()
        ),
        _named_value,
    ),
)
