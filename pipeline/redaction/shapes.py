"""Secrets with a structure of their own: header schemes, JWTs, private keys, URLs with a password in them."""

import re
from typing import Final

from openprogram.pipeline.redaction.encoded import MAX_ENCODED, REST_OF_BASE64, tells_a_secret
from openprogram.pipeline.redaction.judge import WINDOW, Proof, is_secret_value, is_stand_in
from openprogram.pipeline.redaction.names import SECRET_PLACEHOLDER
from openprogram.pipeline.redaction.reader import LEFT_CONTEXT, Reader
from openprogram.pipeline.redaction.rules import Rule, trigger
from openprogram.pipeline.redaction.spans import Span, jwt_rest, kept, rest_of

__all__ = ["SHAPE_RULES"]


def _placeholder(_reader: Reader, start: int, _end: int) -> Span | None:
    return kept(start)


_CREDENTIAL: Final = re.compile(r"[A-Za-z0-9_.~+/=-]*")
_CREDENTIAL_REST: Final = rest_of(re.compile(r"(?:[A-Za-z0-9_~+/=-]|\.(?=[A-Za-z0-9_~+/=-]))*"))
_ATTRIBUTE: Final = re.compile(r"[a-z_-]+=(?!=)")
_BLANKS: Final = re.compile(r"(?:[ \t]|%20)*")


def _scheme(reader: Reader, start: int, end: int) -> Span | None:
    """`Bearer` and `Basic`: letters and digits, or a random run, but no word of a sentence."""
    if not reader.at_word_start(start):
        return None
    value = reader.run(_BLANKS, end, 8)
    if value == end:
        return None
    reader.hold = value
    head = reader.run(_CREDENTIAL, value, WINDOW)
    found = reader.text[value:head].rstrip(".")
    if _ATTRIBUTE.match(found):
        return None  # Bearer realm="…", basic method=…
    return Span(value, value, _CREDENTIAL_REST) if is_secret_value(found, Proof.NAMED) else None


_JWT_HEAD: Final = re.compile(r"[A-Za-z0-9_-]*")
_PADDED: Final = re.compile(r"[A-Za-z0-9_+/-]*")


def _jwt(reader: Reader, start: int, end: int) -> Span | None:
    """A header that is JSON in base64url, then a full stop and more (RFC 7519, section 3.1); or JSON with a secret."""
    if not reader.at_word_start(start):
        return None
    reader.hold = start
    stop = reader.run(_PADDED, end, MAX_ENCODED)
    if stop - start < 17:
        return None
    if stop - end < MAX_ENCODED and reader.char(stop) == ".":
        tail = reader.run(_JWT_HEAD, stop + 1, 9)
        return (
            Span(start, stop, jwt_rest) if tail - stop > 8 or (tail - stop > 3 and reader.char(tail) == ".") else None
        )
    return Span(start, stop, REST_OF_BASE64) if tells_a_secret(reader.text[start:stop]) else None


_PEM_LABEL: Final = re.compile(r"[A-Z0-9 ]*")
_PEM_BODY: Final = re.compile(
    r"(?:[A-Za-z0-9+/=\\]|-(?=[A-Za-z])|[\r\n]+[ \t]*(?:[-+>|#*]{1,2}[ \t])?|: [^\r\n\\\[]*|%[0-9A-F]{2})*"
)
_NO_BODY: Final = ("", ".", '"', "'", "`", ")", ",", ";", "<")
_PEM_END: Final = re.compile(r"-----END [A-Z0-9 ]{0,40}-----")


def _pem(reader: Reader, start: int, end: int) -> Span | None:
    """A private key in textual encoding (RFC 7468), to the end line or to text that can't be part of one."""
    reader.hold = start
    stop = reader.run(_PEM_LABEL, end, 48)
    label = reader.text[end:stop]
    if not label.endswith(("PRIVATE KEY", "PRIVATE KEY BLOCK")) or not reader.literal(stop, "-----"):
        return None
    if reader.char(stop + 5) in _NO_BODY:
        return None  # the line alone, in code that looks for it
    return Span(start, stop + 5, _pem_body)


def _pem_body(reader: Reader, index: int) -> tuple[int, bool]:
    index = max(_end_of_body(reader.text, index), _end_of_body(reader.text, _line_start(reader.text, index)))
    if index >= reader.end:
        return index, reader.closed
    rest = reader.text[index : index + 60]
    if rest.startswith("-----END ") or (not reader.closed and "-----END ".startswith(rest)):
        if found := _PEM_END.match(reader.text, index):
            return found.end(), True
        return index, reader.closed or len(rest) == 60
    if reader.end - index < 3 and not reader.closed:
        return index, False
    return index, True


def _end_of_body(text: str, index: int) -> int:
    match = _PEM_BODY.match(text, index)
    return match.end() if match else index


def _line_start(text: str, index: int) -> int:
    """The end of the line before `index`, where that is near: what an indentation, a quote's mark or a header begins
    is known from there alone, and a cut may stand in its middle."""
    before = max(
        text.rfind("\n", max(index - LEFT_CONTEXT, 0), index), text.rfind("\r", max(index - LEFT_CONTEXT, 0), index)
    )
    return before if before >= 0 else index


_AUTHORITY: Final = re.compile(r"[^\s/\"'`<>\\?#,;(){}|\[]*")


def _userinfo(reader: Reader, start: int, end: int) -> Span | None:
    """`scheme://user:password@host` (RFC 3986, section 3.2.1)."""
    reader.hold = end
    user = reader.run(_USER, end, 80)
    if reader.char(user) == "@" and _TOKEN_USER.search(reader.text, end, user):
        return Span(end, user)
    if reader.char(user) != ":":
        return None
    password = user + 1
    reader.hold = password
    stop = reader.run(_AUTHORITY, password, 256)
    at = reader.text.rfind("@", password, stop)
    if at <= password:
        return None
    found = reader.text[password:at]
    if found == "x-oauth-basic":
        return Span(end, user)  # GitHub's way to say that the user is a token
    if is_stand_in(found) or reader.text.startswith("sha256:", at + 1) or _VERSION.fullmatch(found):
        return None
    return Span(password, at)


#: A user name that is a token: twenty letters of both cases and digits, or forty hexadecimal digits.
_TOKEN_USER: Final = re.compile(r"(?=[a-z0-9]*[A-Z])(?=[A-Z0-9]*[a-z])(?=[A-Za-z]*\d)[A-Za-z0-9]{20}|\b[0-9a-f]{40}\b")
_VERSION: Final = re.compile(r"\d+(?:\.\d+)+[\w.-]{0,12}")
_USER: Final = re.compile(r"[^\s/\"'`<>\\?#,;(){}|@:\[]*")


def _encoded_pem(reader: Reader, start: int, end: int) -> Span | None:
    """A private key in base64 once more, as in a kubeconfig."""
    if not reader.at_word_start(start):
        return None
    reader.hold = start
    stop = reader.run(_PADDED, end, 64)
    return Span(start, stop, REST_OF_BASE64) if tells_a_secret(reader.text[start:stop]) else None


def _encoded_url(reader: Reader, start: int, end: int) -> Span | None:
    """A URL in base64, with a password in it. Its beginning stays, so that no word waits for it."""
    if not reader.at_word_start(start):
        return None
    reader.hold = end
    stop = reader.run(_PADDED, end, 256)
    return Span(end, stop, REST_OF_BASE64) if tells_a_secret(reader.text[start:stop]) else None


#: In base64, the beginnings of URLs of postgres, mysql, mongodb, redis, rediss, amqp, amqps, http and https.
_ENCODED_URLS: Final = "cG9zdGdyZ bXlzcWw6L bW9uZ29kY cmVkaXM6L cmVkaXNzO YW1xcDovL YW1xcHM6L aHR0cDovL aHR0cHM6L"
#: Behind a scheme, a word of prose or nothing.
_NO_CREDENTIAL: Final = r"[^ \t%]|[ \t]{1,8}+[A-Z]?[a-z]{0,62}+\.?[^A-Za-z0-9_.~+/=%-]"
#: Behind `://`, an authority without user information.
_NO_USER: Final = (
    r"[^\s/\"'`<>\\?#,;(){}|@:\[]{0,79}+(?:[\s/\"'`<>\\?#,;(){}|\[]"
    r"|:[^\s/\"'`<>\\?#,;(){}|@\[]{0,254}+[\s/\"'`<>\\?#,;(){}|])"
)

SHAPE_RULES: Final = (
    Rule("placeholder", "own", "", (trigger(SECRET_PLACEHOLDER, anchor=0),), _placeholder),
    Rule(
        "bearer-credential",
        "https://www.rfc-editor.org/rfc/rfc6750#section-2.1",
        "send Bearer Zx4Qm81LwT7v now",
        (trigger("bearer", folded=True, unless=_NO_CREDENTIAL), trigger("basic", folded=True, unless=_NO_CREDENTIAL)),
        _scheme,
    ),
    Rule(
        "jwt",
        "https://www.rfc-editor.org/rfc/rfc7519",
        "got eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.Zx4Qm81LwT7vBn2K here",
        (trigger("eyJ", direct=True, unless="[A-Za-z0-9_+/-]{0,13}+[^A-Za-z0-9_+/-]"),),
        _jwt,
    ),
    Rule(
        "private-key",
        "https://www.rfc-editor.org/rfc/rfc7468",
        "-----BEGIN " + "PRIVATE KEY-----\nZx4Qm81LwT7v\n-----END PRIVATE KEY-----",
        (trigger("-----BEGIN ", direct=True),),
        _pem,
    ),
    Rule(
        "encoded-private-key",
        "https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/",
        "client-key-data: LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQo= end",
        (trigger("LS0tLS1CRUdJTi", direct=True),),
        _encoded_pem,
    ),
    Rule(
        "encoded-url",
        "https://kubernetes.io/docs/concepts/configuration/secret/",
        "dsn: bXlzcWw6Ly9hbm46Wng0UW04MUx3QGguZXhhbXBsZS9i end",
        tuple(trigger(begin) for begin in _ENCODED_URLS.split()),
        _encoded_url,
    ),
    Rule(
        "url-password",
        "https://www.rfc-editor.org/rfc/rfc3986#section-3.2.1",
        "https://user:Zx4Qm81Lw@host.example/",
        (trigger("://", unless=_NO_USER),),
        _userinfo,
    ),
)
