"""Values that a name gives away: `password: …`, `API_KEY=…`, `"token": "…"`, `--secret …`, `?sig=…`.

The trigger is the word in the name. The whole name is classified as a dict key would be; what stands between name
and value says how much the value itself must look like a secret. Names never wait, only the value does.
"""

import re
from functools import lru_cache
from typing import Final

from openprogram.pipeline.redaction.gaps import Gap, read_gap
from openprogram.pipeline.redaction.judge import WINDOW, Proof, is_secret_value
from openprogram.pipeline.redaction.names import KEY_OWNERS, Secrecy, name_secrecy
from openprogram.pipeline.redaction.prompts import typed_value
from openprogram.pipeline.redaction.prose import (
    DULL_PROSE,
    LEADING_WORDS,
    SOON_BLANK,
    value_behind_aside,
    value_in_prose,
    value_on_its_line,
)
from openprogram.pipeline.redaction.reader import Reader
from openprogram.pipeline.redaction.rules import Rule, any_case, trigger
from openprogram.pipeline.redaction.spans import Span
from openprogram.pipeline.redaction.values import (
    BARE,
    PARAMETER,
    SCHEMES,
    Style,
    read_cookies,
    read_generated,
    read_value,
    style_of,
)
from openprogram.pipeline.redaction.words import any_of

__all__ = ["FIELD_RULES"]

_NAME_CHARACTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-."
_NAME_SET: Final = frozenset(_NAME_CHARACTERS)
_TYPE: Final = re.compile(r"[&*\w.?|]*")
_NAME_RIGHT: Final = re.compile(r"[A-Za-z0-9_-]*")
_NAME_ENDS: Final = frozenset(" =:\"'")
_PARAMETER_LEADS: Final = frozenset("?&#")
#: By far the most common gaps. What follows them is read as it is behind any other.
_PLAIN_GAPS: Final = frozenset({"=", ":", ": "})
_BASE64_LEADS: Final = frozenset("/+=")
_ENCODED_LEADS: Final = frozenset("?&#;%")
_HEX: Final = re.compile(r"[0-9a-f]*")
_PERCENT_CODE: Final = re.compile(r"(?:25)*[0-9A-Fa-f]{2}")
_ESCAPE: Final = re.compile(r"[bfnrt]|u00[0-9A-Fa-f]{2}|x[0-9A-Fa-f]{2}")
_LAST_WORD: Final = re.compile(r"([A-Za-z]{2,16})[ ]\Z")
_WORD: Final = re.compile(r"[A-Za-z]*")
_HEADER_CELLS: Final = re.compile(r"[\w .-]*(?:[,;\t][\w .-]*)*")
_SEPARATORS: Final = frozenset(",;\t")
_CELL: Final = re.compile(r"[^,;\t\r\n\[]*")
_OPENING: Final = re.compile(r"""\\{0,8}["'`]?\s{0,4}(?:=|:[ ]?)(\\{0,8})(["']?)""")
_BLANKS: Final = re.compile(r"[\s]*")
_BLOCK: Final = re.compile(r"[^}\[]*")
_BLOCK_VALUE: Final = re.compile(r"""[\s{,"'](?:value|default)\\*["']?\s{0,16}[:=]\s{0,4}(\\*)(["'])""")
#: Words that stand between a name and its value in a pair: `"name": "token", "value": "…"`.
_VALUE_WORDS: Final = frozenset({"value", "val", "content", "secretstring"})
_VALUE_INITIALS: Final = frozenset("vVcCsS") | {""}
#: First words of functions to which something else than the value is given.
_MAKERS: Final = ("create", "get", "make", "parse", "read", "find", "next", "expect", "match", "emit")
#: Last words of functions that take a user and a password.
_TAKES_LOGIN: Final = ("auth", "password", "passwd")
#: Words before `token`, in prose, that make it a place in a list or a text.
_LIST_WORDS: Final = frozenset("page pagination continuation cursor sync stop eos bos pad".split())
_ACCESSORS: Final = "{ get; set; } = "


_NAMES: Final = "token secret pass pw key cookie auth credential jwt psk sig".split()
_REST_OF_NAME: Final = r"(?!(?<=[kK][eE][yY])-)[A-Za-z0-9_-]{0,40}+"  # but a Mailgun key begins with `key-`
#: With which no gap begins, and no quoted value.
_NO_GAP: Final = r"""[^\s"'`\\:=<>,;|(\])：%&*bBrRuUfF@$A-Za-z0-9_-]"""
#: With which a name goes on that is longer than any, and no value that stands in quotes.
_TOO_LONG: Final = r"""[AC-EG-MO-QSTV-Zac-eg-qstv-z0-9_-]|[bBrRuUfFN][^"']"""
#: A word in small letters, or a short one: it passes for a secret nowhere but in a URL or in quotes.
_DULL_WORD: Final = (
    r"(?:(?:[a-z][a-z=:._-]{0,62}+|[A-Za-z0-9]{1,5}+)"
    rf"(?:\n| [^=]|[,;)<>]{SOON_BLANK})|[a-z][a-z=:._-]{{63}})"
)


#: What begins as a tag, a template or a path does.
_NO_START: Final = r"(?:<|\{[\w. -]{0,40}+\}|/[A-Za-z0-9+/]{0,14}+[^A-Za-z0-9+/])"
#: A separator and what is no value: a comparison, or such a beginning.
_NO_VALUE: Final = rf"={{2,3}}[AC-EG-QSTV-Zac-eg-qstv-z0-9]|= ?{_NO_START}"


def _unless(name: str) -> str:
    """Behind `name`: the word goes on, or for too long, or the name ends and nothing that leads to a value follows."""
    no_value = _NO_VALUE if name == "cookie" else rf"{_NO_VALUE}|: ?{_NO_START}"
    return ("" if name[0] in "pacs" else "[A-Za-z]|") + rf"{_REST_OF_NAME}(?:{_NO_GAP}|{_TOO_LONG}|{no_value})"


def _dull() -> str:
    """Behind a name, a word that is none of a secret and leads to none, or words that lead on, but to such a word."""
    words, end = {word for word in LEADING_WORDS if word.isascii()}, r"[ ,;\n)<>]"
    leading, leads = any_of(words), any_of(words | SCHEMES)
    in_prose = (
        rf" (?!{leading}[:=]*+{end}){_DULL_WORD}|(?= (?:{'|'.join(sorted(words))})(?: [^=]|\n)){DULL_PROSE.pattern}"
    )
    return rf"(?:{in_prose}|(?:: ?+|=| \| )(?!{leads}{end}){_DULL_WORD})"


#: Behind a name where it ends, what `_read_named` finds nothing in, as it would find out slowly.
_DULL: Final = re.compile(_dull())
_DULL_BEHIND_COOKIE: Final = re.compile(f" {_DULL_WORD}")  # a `:` may lead to further cookies


def _passed() -> str:
    """A name and what follows it where there is nothing, which is so for most of them.

    A bracket or quote and no value; in a list, with no end of the line near; a line below of short cells; and where
    the name stands alone, so that one look back tells: what is dull, or too short; behind `key=`, what has no digit.
    """
    names, header = "|".join(any_case(name) for name in _NAMES if name != "cookie"), r"[\w ,;\t.-]"
    no_value = rf"""["'`)\](]{_NO_GAP}|["'`)\]] [AD-QSTW-Zad-qstw-z]"""
    no_table = rf"[,;](?:{header}{{0,79}}+[^\w ,;\t.\r\n-]|{header}{{79}}[^\r\n])"
    stops = r"""\s"'`<>&;,|)}{\]\[\\"""
    first, more = rf"[^{stops}(:=%：", rf"[^{stops}"  # of a value in no quotes, behind a gap
    no_scheme = rf"(?!{any_of(SCHEMES)}[ \t])"
    short = rf"[ \t\r\n]{{0,9}}+[:=][ \t\r\n]{{0,9}}+{first}]{more}]{{0,4}}+(?:[\r\n]|[,;)}}<>]{SOON_BLANK})"
    cell = r"[^,;\t\r\n|\[]"
    no_word = r"(?![vVcCsSbBrRuUfFN@$])"
    below = rf"\r?\n[ \t]{{0,8}}+{no_word}{no_scheme}(?={first}]){cell}{{1,5}}+(?:[,;\t]{cell}{{0,4}}+)?[\r\n]"
    no_digit = rf"=(?![bBrRuUfFN@$][\"']){no_scheme}{first}\d]{more}\d]{{0,62}}+[\s\"'`\[]"
    return (
        rf"(?<![A-Za-z0-9_.?&#;%-])(?:(?:{names}){_REST_OF_NAME}(?:{_DULL.pattern}|{short})"
        rf"|{any_case('cookie')}{_REST_OF_NAME}{_DULL_BEHIND_COOKIE.pattern})"
        rf"|(?<![A-Za-z0-9_. -]){any_case('key')}{no_digit}"
        rf"|(?:{names}){_REST_OF_NAME}(?:{no_value}|{no_table}|{below})"
    )


_PASSED: Final = re.compile(_passed())


#: Behind a name, the rest of a text in which no value stands: less than six characters are one only in quotes or a URL.
_TOO_SHORT: Final = re.compile(r"[\w ,;:.-]{0,6}\Z")


def _named_value(reader: Reader, start: int, end: int) -> Span | None:
    if reader.closed and reader.end - end <= 6 and _TOO_SHORT.match(reader.text, end):
        return None
    return None if _PASSED.match(reader.text, start) else _read_named(reader, start, end)


def _read_named(reader: Reader, start: int, end: int) -> Span | None:
    text = reader.text
    after = text[end : end + 1] or reader.char(end)
    if after.isalpha() and text[start] not in "pPaAcCsS":
        return None  # keyboard, tokens: the word goes on
    if after == "-" and text[start:end] == "key":
        hexadecimal = reader.run(_HEX, end + 1, 33)
        if hexadecimal - end == 33:  # a Mailgun key
            return Span(end + 1, hexadecimal)
    name_end = end if after in _NAME_ENDS else reader.run(_NAME_RIGHT, end, 40)
    begin = start
    lead = text[start - 1] if start > 0 and start > reader.floor else ""
    if lead in _NAME_SET:
        before = reader.before(start, 64)
        left = len(before.rstrip(_NAME_CHARACTERS))
        begin, lead = start - len(before) + left, before[left - 1 : left]
    if lead not in _ENCODED_LEADS:
        if text[end - 1] in "eE":
            if _DULL_BEHIND_COOKIE.match(text, name_end):
                return None
        elif (begin < start or start <= reader.floor or after == "-") and _DULL.match(text, name_end):
            return None  # `_PASSED` has seen to where the name stands alone
    name = text[begin:name_end]
    if lead == "%" and (code := _PERCENT_CODE.match(name)):
        name, lead = name[code.end() :], "?"
    name = name.lstrip(".")
    if lead == " " and len(name) in (3, 5) and (word := _LAST_WORD.search(reader.before(begin, 18))):
        owner = word[1].lower()
        if owner in (KEY_OWNERS if len(name) == 3 else _LIST_WORDS):
            name = f"{owner}_{name}"  # `api key`, `page token`, in prose
    secrecy = name_secrecy(name.lstrip("-"))
    if lead == "\\" and (code := _ESCAPE.match(name)) and name_secrecy(name[code.end() :]) > secrecy:
        name = name[code.end() :]  # `"…\\npw=…"`, a line of a text in JSON
        secrecy = name_secrecy(name)
    return after_name(reader, name_end, name, lead, secrecy) if secrecy else None


def after_name(reader: Reader, index: int, name: str, lead: str, secrecy: Secrecy) -> Span | None:
    """The value of a name that ends at `index`. `lead`: the character before the name."""
    gap = read_gap(reader, index)
    if gap is None:
        return (_odd_value(reader, index) or typed_value(reader, index)) if secrecy >= Secrecy.STRING else None
    if not gap.text and secrecy >= Secrecy.STRING and reader.text.startswith("<", index):
        return _in_next_element(reader, index)
    if gap.end > index and reader.text[gap.end : gap.end + 1] == "{" and not gap.quote:
        return _in_block(reader, gap.end) if secrecy >= Secrecy.STRING else None
    if (
        gap.text in _PLAIN_GAPS
        and not (gap.quote or gap.encoded)
        and not (name[-1:] in "eE" and name.lower().endswith("cookie"))
    ):
        proof = _plain_proof(gap.text, name, lead, secrecy)
        span = read_value(reader, gap.end, proof, PARAMETER if lead in _PARAMETER_LEADS else BARE)
        return span or (None if gap.sep == "=" else _annotated(reader, gap.end, proof))
    if not gap.sep and not gap.quote:
        return _without_separator(reader, index, gap, name, lead, secrecy)
    if gap.sep == "(" and not gap.quote:
        return value_behind_aside(reader, gap.end) if gap.text == " (" else None
    if gap.close == gap.quote == '"' and (gap.sep in (",", ";") or (gap.newline and not gap.sep)):
        span = _quoted_column(reader, index) if secrecy >= Secrecy.STRING else None
        if span is not None:
            return span
    if gap.sep in (",", ";") and not (gap.close and gap.quote):
        return _column(reader, index) if secrecy >= Secrecy.STRING else None
    if gap.text == "::" or (gap.sep == "(" and name.lower().startswith(_MAKERS)):
        return None  # ModulePass::doFinish, createToken('GTE0PRE')
    if (gap.newline and (gap.sep in ("=", ":=") or ")" in gap.close)) or (gap.sep.startswith("==") and not gap.quote):
        return None  # an empty assignment, a signature above its docstring, a comparison
    if gap.close and gap.sep == "," and _value_word(reader, gap.end):
        return _behind_value_word(reader, gap.end, secrecy)
    if gap.sep == ":" and name.lower().endswith("cookie") and secrecy is Secrecy.WHOLE:
        return read_cookies(reader, gap.end, only_first=len(name) > len("cookie"))
    proof = _proof(gap, name, lead, secrecy)
    style = style_of(gap.quote, gap.slashes, lead in _PARAMETER_LEADS, gap.encoded)
    if gap.opening.startswith("(") and gap.quote:
        return _login(reader, gap, style)
    if gap.sep == "(" and gap.quote and name.lower().endswith(_TAKES_LOGIN):
        return read_value(reader, gap.end, proof, style) or _login(reader, gap, style)
    span = read_value(reader, gap.end, proof, style)
    if span is None and gap.sep == ":" and not gap.quote and not gap.newline:
        return _annotated(reader, gap.end, proof)
    return span


def _in_next_element(reader: Reader, index: int) -> Span | None:
    """`<key>password</key><string>…</string>` of a property list."""
    if not reader.literal(index, "</key>"):
        return None
    value = reader.run(_BLANKS, index + len("</key>"), 32)
    if not reader.literal(value, "<string>"):
        return None
    return read_value(reader, value + len("<string>"), Proof.NAMED, BARE)


def _odd_value(reader: Reader, index: int) -> Span | None:
    """A password maker's work that begins like a part of the gap: `"password": "=)x…"`. That part stays."""
    opening, gap_end = _OPENING.match(reader.text, index), reader.hold
    if opening is None:
        return None
    span = read_generated(reader, opening.end(), Style(opening[2], len(opening[1])))
    return span and Span(gap_end, max(span.end, gap_end), span.swallow)


def _in_block(reader: Reader, index: int) -> Span | None:
    """`"db_password": {"value": "…"}`, `variable "db_password" { default = "…" }`."""
    reader.hold = index
    stop = reader.run(_BLOCK, index, 192)
    found = _BLOCK_VALUE.search(reader.text, index, stop)
    if found is None:
        return None
    return read_value(reader, found.end(), Proof.NAMED, Style(quote=found[2], slashes=len(found[1])))


def _without_separator(reader: Reader, index: int, gap: Gap, name: str, lead: str, secrecy: Secrecy) -> Span | None:
    if gap.text == " ":
        if reader.text[gap.end : gap.end + 1] == "{" and reader.literal(gap.end, _ACCESSORS):
            gap = read_gap(reader, gap.end + len(_ACCESSORS) - 2) or gap
            return read_value(reader, gap.end, Proof.NAMED, Style(quote=gap.quote)) if gap.quote else None
        if name.startswith("-pass") and reader.literal(gap.end, "pass:"):
            return None  # a source of the password, in the way of openssl
        return _behind_blank(reader, index, gap, name, lead, secrecy)
    if gap.newline and (gap.close or gap.text.strip(" ")) and _value_word(reader, gap.end):
        return _behind_value_word(reader, gap.end, secrecy)
    if gap.close:
        if (
            gap.text.count("\n") >= 2 and gap.close[-1] in "\"'"
        ):  # a part of a multipart body: the value follows an empty line
            return read_value(reader, gap.end, Proof.NAMED, BARE)
        if gap.end > index and gap.text[-1:] == " " and _value_word(reader, gap.end):
            return _behind_value_word(reader, gap.end, secrecy)
        return typed_value(reader, index) if secrecy >= Secrecy.STRING else None
    if not gap.text:
        return None
    if gap.newline and not _SEPARATORS.isdisjoint(_line_before(reader, index)):
        return _column(reader, index)
    if gap.newline:
        base64 = lead in _BASE64_LEADS or len(name) > 32  # the end of a line of it: `…/96aNUcPw`
        return value_on_its_line(reader, gap.end) if secrecy >= Secrecy.STRING and not base64 else None
    if name.startswith("-pass") and reader.literal(gap.end, "pass:"):
        return None  # a source of the password, in the way of openssl
    return value_in_prose(reader, gap.end, name, secrecy)


#: Before a name, what is followed by the name and the value: `login ann password …`, `setenv DB_PASSWORD …`.
_ASSIGNS: Final = re.compile(r"(?:\blogin\s{1,8}\S{1,40}|\bsetenv|\bset -[a-zA-Z]{1,3})\s{1,8}\Z")
#: An R assignment, or attributes of an element and its end.
_ARROW: Final = re.compile(r"[< -]*")
_ELEMENT: Final = re.compile(r"<(?:[\w-]{1,20}:)?\Z")
_ATTRIBUTES: Final = re.compile(r"[^<>\n\[]*")
_TOOL: Final = re.compile(r"\b(?:htpasswd|mosquitto_passwd|openssl passwd)\Z")
#: The options of `htpasswd` and its like, a file, a user; of `openssl passwd`, a salt.
_PASSWD: Final = re.compile(
    r"(?:-\w{1,8}\s{1,4}){1,3}(?:\S{1,64}\s{1,4}){0,2}[\"']?([^\s\"'-][^\s\"']{5,64})[\"']?\s{0,4}\Z"
)
_LINE: Final = re.compile(r"[^\n|;&<>\[]*")


def _behind_blank(reader: Reader, index: int, gap: Gap, name: str, lead: str, secrecy: Secrecy) -> Span | None:
    """The value that a blank divides from its name, in code, a command, an element, or in prose."""
    if reader.literal(gap.end, "<-") or reader.literal(gap.end, "<<-"):
        return _assigned(reader, reader.run(_ARROW, gap.end, 4))
    if secrecy >= Secrecy.STRING:
        if lead in ("<", ":") and _ELEMENT.search(reader.before(index - len(name), 24)):
            return _behind_attributes(reader, gap.end)
        if reader.text.startswith("-", gap.end) and _TOOL.search(reader.before(index, 24)):
            return _behind_options(reader, gap.end)
        if _ASSIGNS.search(reader.before(index - len(name), 56)):
            return read_value(reader, gap.end, Proof.NAMED, BARE)
    return value_in_prose(reader, gap.end, name, secrecy)


def _assigned(reader: Reader, index: int) -> Span | None:
    """`password <- "…"`, as R assigns."""
    reader.hold = index
    quote = reader.char(index)
    return read_value(reader, index + 1, Proof.DATA, Style(quote=quote)) if quote in ("'", '"') else None


def _behind_attributes(reader: Reader, index: int) -> Span | None:
    """`<Password Type="PasswordText">…`."""
    reader.hold = reader.end
    end = reader.run(_ATTRIBUTES, index, 128)
    if reader.char(end) != ">" or "=" not in reader.text[index:end]:
        return None
    return read_value(reader, end + 1, Proof.NAMED, BARE)


def _behind_options(reader: Reader, index: int) -> Span | None:
    """`htpasswd -b file user …`, `openssl passwd -6 …`."""
    reader.hold = index
    end = reader.run(_LINE, index, 128)
    found = _PASSWD.match(reader.text[index:end])
    if found is None or not is_secret_value(found[1][:WINDOW], Proof.NAMED):
        return None
    return Span(index + found.start(1), index + found.end(1))


@lru_cache(maxsize=1024)
def _plain_proof(separator: str, name: str, lead: str, secrecy: Secrecy) -> Proof:
    """The proof behind a plain gap: the same few names come again and again."""
    return _proof(Gap(0, separator, "", separator.strip(), "", "", 0, encoded=False), name, lead, secrecy)


def _proof(gap: Gap, name: str, lead: str, secrecy: Secrecy) -> Proof:
    bare = name.lower().strip("-_.0123456789")
    if bare == "key" or (bare.endswith(("sig", "signature")) and lead not in ("?", "&")):
        return Proof.ALONE  # outside a URL, a signature is a digest as a rule
    if secrecy < Secrecy.STRING:
        assigned = gap.sep in (":", "=", "=>", ":=") and gap.quote
        return Proof.NAMED if assigned or (lead in ("?", "&") and lead) else Proof.NEARBY
    if gap.sep == "=" and lead in ("?", "&", "#", ";") and lead and not gap.quote:
        return Proof.PLACE
    if (
        gap.quote
        and gap.sep in ("=", ":=", "=>", ":")
        and (gap.close or gap.sep != ":")
        and name.lower() != "token"
        and gap.quote != "`"
    ):
        return Proof.DATA
    return Proof.NEARBY if gap.newline else Proof.NAMED


def _value_word(reader: Reader, index: int) -> bool:
    """Whether the word at `index` announces the value of a pair."""
    if reader.text[index : index + 1] not in _VALUE_INITIALS:
        return False
    end = reader.run(_WORD, index, 14)
    return reader.text[index:end].lower() in _VALUE_WORDS


def _behind_value_word(reader: Reader, index: int, secrecy: Secrecy) -> Span | None:
    gap = read_gap(reader, reader.run(_WORD, index, 14))
    if gap is None or gap.sep not in (":", "="):
        return None
    proof = Proof.NAMED if secrecy >= Secrecy.STRING else Proof.NEARBY
    return read_value(reader, gap.end, proof, Style(quote=gap.quote, slashes=gap.slashes))


def _annotated(reader: Reader, index: int, proof: Proof) -> Span | None:
    """`token: str = "…"`: the value stands behind a type; or in one, `token: Some("…")`."""
    end = reader.run(_TYPE, index, WINDOW)
    if reader.text[index:end] == "Some":
        gap = read_gap(reader, end)
        quoted = gap is not None and gap.text in ('("', '(\\"')
        return read_value(reader, gap.end, proof, Style(gap.quote, gap.slashes)) if gap and quoted else None
    if reader.char(end) not in (" ", "="):
        return None
    gap = read_gap(reader, end)
    if gap is None or gap.sep != "=" or not gap.quote or gap.close:
        return None
    return read_value(reader, gap.end, proof, Style(quote=gap.quote, slashes=gap.slashes))


def _login(reader: Reader, gap: Gap, style: Style) -> Span | None:
    """`auth=("bob", "…")`: the second of two strings."""
    following = read_gap(reader, style.end_of_head(reader, gap.end))
    if following is None or following.sep != "," or not following.quote:
        return None
    return read_value(reader, following.end, Proof.NAMED, Style(quote=following.quote, slashes=following.slashes))


def _column(reader: Reader, index: int) -> Span | None:
    """A column of a table with separators: the value stands in the same column of the next line."""
    end = reader.run(_REST_OF_HEADER, index, 80)
    if reader.char(end) not in ("\n", "\r"):
        return None
    head = _line_before(reader, index)
    if _HEADER_CELLS.fullmatch(head) is None:
        return None
    column = head.count(",") + head.count(";") + head.count("\t")
    index = reader.run(_LINE_END, end, 2)
    for _ in range(column):
        index = reader.run(_CELL, index, WINDOW)
        if reader.char(index) not in (",", ";", "\t"):
            return None
        index += 1
    reader.hold = index
    return read_value(reader, index, Proof.NEARBY, Style(cell=True))


_QUOTED_CELLS: Final = re.compile(r'"(?:[\w .-]{0,32}"[,;\t][ ]?"){0,16}[\w .-]{0,32}')
_REST_OF_QUOTED_HEADER: Final = re.compile(r'[\w ,;\t."-]*')
_QUOTED_CELL: Final = re.compile(r'[^"\r\n\[]*')


def _quoted_column(reader: Reader, index: int) -> Span | None:
    """The same where all cells stand in quotes: `"user","password"`, and a line below `"ann","…"`."""
    head = _line_before(reader, index)
    if _QUOTED_CELLS.fullmatch(head) is None:
        return None
    reader.hold = reader.end
    end = reader.run(_REST_OF_QUOTED_HEADER, index, 80)
    if reader.char(end) not in ("\n", "\r"):
        return None
    index = reader.run(_LINE_END, end, 2)
    for _ in range(head.count('"') // 2):
        if reader.char(index) != '"':
            return None
        index = reader.run(_QUOTED_CELL, index + 1, WINDOW)
        if reader.char(index) != '"' or reader.char(index + 1) not in _SEPARATORS:
            return None
        index += 2 + (reader.char(index + 2) == " ")
    if reader.char(index) != '"':
        return None
    return read_value(reader, index + 1, Proof.NEARBY, Style(quote='"'))


def _line_before(reader: Reader, index: int) -> str:
    """The line up to `index`, or its last 96 characters."""
    return reader.context(index, 96).rpartition("\n")[2]


_REST_OF_HEADER: Final = re.compile(r"[\w ,;\t.-]*")
_LINE_END: Final = re.compile(r"[\r\n]*")


FIELD_RULES: Final = (
    Rule(
        "named-value",
        "own",
        "password: Zx4Qm81Lw",
        tuple(trigger(name, folded=True, unless=_unless(name)) for name in _NAMES),
        _named_value,
    ),
)
