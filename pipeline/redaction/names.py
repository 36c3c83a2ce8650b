"""Which names hold a secret: dict keys, header names, variables, options, columns.

One classifier serves dict keys and names found in text, so `{"api_key": …}`, `api_key=…` and `--api-key …` agree.
Source: docs/redaction.md; the sixteen names are those of the design, section 5.
"""

import re
import unicodedata
from enum import IntEnum
from functools import lru_cache
from typing import Final

from openprogram.pipeline.redaction.languages import FOREIGN_NAMES

__all__ = ["KEY_OWNERS", "SECRET_FIELD_NAMES", "SECRET_PLACEHOLDER", "Secrecy", "name_secrecy"]

SECRET_PLACEHOLDER: Final = "[secret removed]"

#: Names whose whole value goes, whatever its type. Compared without case, `-` and `_`, so camelCase is the same name.
SECRET_FIELD_NAMES: Final = frozenset(
    {
        "authorization",
        "proxy-authorization",
        "api_key",
        "x-api-key",
        "x-goog-api-key",
        "api-key",
        "token",
        "access_token",
        "refresh_token",
        "id_token",
        "cookie",
        "set-cookie",
        "secret",
        "client_secret",
        "password",
        "session_key",
    }
)


class Secrecy(IntEnum):
    """What a name says about its value, in rising order."""

    NONE = 0
    #: The value is a secret only if it looks like one: `pass`, `auth`, `session`, a bare `key`.
    PERHAPS = 1
    #: A compound name such as `db_password`: strings under it are secrets, containers are looked into.
    STRING = 2
    #: One of SECRET_FIELD_NAMES: the whole value is a secret.
    WHOLE = 3


def _squeeze(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "").replace(" ", "")


def _folded(squeezed: str) -> str:
    """A squeezed name in one spelling: letters with marks as one character, Greek `ς` as `σ`."""
    return squeezed if squeezed.isascii() else unicodedata.normalize("NFC", squeezed.casefold())


_EXACT: Final = frozenset(_squeeze(name) for name in SECRET_FIELD_NAMES)

#: Ends of a name (without case and separators) that make it a secret: `PGPASSWORD`, `hubtoken`, `clientSecret`.
_SECRET_ENDS: Final = tuple("token secret password passwd passphrase passcode apikey accesskey secretstring".split())
#: Last words that do so only as words of their own: `user_pwd`, but not `bypass`.
_SECRET_WORDS: Final = frozenset(
    {
        "pwd",
        "passwort",
        "kennwort",
        "jwt",
        "pat",
        "psk",
        "pw",
        "requirepass",
        "masterpass",
        "storepass",
        "keypass",
        "passord",
        "masterauth",
        "passe",
        "passkey",
        "dbpass",
        "sshpass",
    }
)
#: Names of passwords in other languages as ends of a name, but for words of plain letters, which end in a word.
_FOREIGN_ENDS: Final = tuple(
    sorted(_folded(_squeeze(name)) for name in FOREIGN_NAMES if " " in name or not name.isascii())
)
#: Words that make a following `key` a credential.
KEY_OWNERS: Final = frozenset(
    """access account admin algolia anthropic api app application auth aws azure cipher client cohere consumer
    crypto datadog decryption deepgram deepseek deploy elevenlabs encrypt encryption fernet firebase function
    functions gemini github gitlab google groq hmac host huggingface instance integration jwt kaggle license livekit
    mailgun management maps master mistral openai openrouter pagerduty perplexity pinecone preshared private project
    provider root secret sendgrid serpapi server service shared sign signing ssh storage stripe subscription sudo
    supabase symmetric tavily team tls twilio webhook wep wifi wpa write x""".split()
) - {"host", "project", "x", "client", "instance", "team", "write"}
#: First words that turn the name into a question, a limit or a part of speech: `has_password`, `max_token`.
_NOT_A_VALUE: Final = frozenset(
    """has have is no not use uses using show hide require requires required enable enabled allow allows needs need
    with without missing invalid expired max min num number total count per forgot forgotten confirm can
    should validate check ask prompt""".split()
)
#: Words before `token` that make it a piece of text, or a position in a list that the next call must send back.
_PLAIN_TOKENS: Final = frozenset(
    """eos bos pad unk mask sep cls stop start end special next page prev previous continuation continue sync
    cursor pagination first last word sub image audio think newline current peek fungible erc20""".split()
)
#: Last words that say which value it is and leave it one: `secret_key_base`, `DB_PASSWORD_PROD`, `api_key_2`.
_QUALIFIERS: Final = frozenset(
    "base prod production dev staging test live old new value raw plain plaintext default main b64 base64".split()
)
_PERHAPS_WORDS: Final = frozenset(
    """pass pw auth credential credentials session sid sessionid connectionstring dsn sig signature pin otp bearer
    cookies login sas parola пасс""".split()
)


def _endings() -> tuple[str, ...]:
    """How a name ends that says something, or that goes on behind the word that does: the shortest that tell."""
    last = {*_EXACT, *_SECRET_ENDS, *_SECRET_WORDS, *_PERHAPS_WORDS, *_QUALIFIERS, "pass", "key"}
    last |= {_squeeze(name) for name in FOREIGN_NAMES if name.isascii()}
    return tuple(sorted(word for word in last if not any(word.endswith(end) for end in last - {word})))


_ENDINGS: Final = _endings()
_DIGITS: Final = "0123456789"
_PATH: Final = re.compile(r"[/.:]")
#: So many characters at a name's end tell what it says, but for its first word.
_LONG: Final = 32
_LONGEST_EXACT: Final = max(map(len, _EXACT))
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\dA-Z_]+|\d+")


@lru_cache(maxsize=4096)
def name_secrecy(name: str) -> Secrecy:
    """What `name` says about the value under it.

    `name`: a dict key, or a name as found in text. Of a path (`/prod/db/password`, `spring.datasource.password`)
    the last part counts. A name longer than 128 characters, or one that holds a placeholder, says nothing.
    """
    squeezed = _squeeze(name)
    if squeezed in _EXACT:
        return Secrecy.WHOLE
    if squeezed.isalnum() and squeezed.isascii() and not squeezed.rstrip(_DIGITS).endswith(_ENDINGS):
        return Secrecy.NONE  # most names, told at once
    if len(name) > 128 or SECRET_PLACEHOLDER in name:
        return Secrecy.NONE
    if _folded(squeezed).endswith(_FOREIGN_ENDS):
        return Secrecy.STRING
    first, words = _words(_PATH.split(name.rstrip("/.:"))[-1])
    if not words or (len(words) > 1 and first.lower() in _NOT_A_VALUE):
        return Secrecy.NONE
    joined, last = "".join(words).lower(), words[-1].lower()
    before = words[-2].lower() if len(words) > 1 else ""
    if joined in _EXACT or last in FOREIGN_NAMES:
        return Secrecy.STRING
    if (last == "token" and before in _PLAIN_TOKENS) or last == "tiktoken":
        return Secrecy.NONE
    if joined.endswith(_SECRET_ENDS) or last in _SECRET_WORDS or (last == "pass" and before):
        return Secrecy.STRING
    if last == "key":
        return Secrecy.STRING if before in KEY_OWNERS else Secrecy.PERHAPS if not before else Secrecy.NONE
    if last.endswith("key") and last[:-3] in KEY_OWNERS:
        return Secrecy.STRING
    return Secrecy.PERHAPS if last in _PERHAPS_WORDS else Secrecy.NONE


def _words(name: str) -> tuple[str, list[str]]:
    """The first word of a name, and its words without the qualifiers behind them; of a long name's, what matters."""
    if len(name) > _LONG:
        # The first word of the end may be a part of one; those behind it are the name's own.
        words = _without_qualifiers(_WORD.findall(name, len(name) - _LONG)[1:])
        if len(words) > 1 and sum(map(len, words)) > _LONGEST_EXACT and (first := _WORD.search(name)):
            return first[0], words
    words = _WORD.findall(name)
    return words[0] if words else "", _without_qualifiers(words)


def _without_qualifiers(words: list[str]) -> list[str]:
    while len(words) > 1 and (words[-1].isdigit() or words[-1].lower() in _QUALIFIERS):
        words.pop()
    return words
