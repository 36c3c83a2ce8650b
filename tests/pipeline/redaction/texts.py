"""Texts for the property tests: pieces of secrets, of what looks like them, and of what cuts them short."""

from hypothesis import strategies as st

from openprogram.pipeline.redaction import SECRET_PLACEHOLDER
from openprogram.pipeline.redaction.scanner import Piece
from openprogram.pipeline.redaction.table import RULES

__all__ = ["FRAGMENTS", "JSON_OBJECTS", "TEXTS", "applied", "cut_anywhere"]

_EXAMPLES = [rule.example for rule in RULES if rule.example]
_NAMES = [
    *("password", "password: ", "passwd=", "token", "secret", "api_key=", "?token=", "&sig=", "key ", "Key: ", "pw='"),
    *("Bearer ", "Basic ", "Authorization: ", "Cookie: ", "Set-Cookie: sid=", "--password ", "-u ann:", "curl "),
    *(
        "пароль: ",
        "clé API : ",
        "API-Schlüssel ",
        "clave secreta: ",
        "heslo: ",
        "รหัสผ่านคือ ",
        "कुंजी api: ",
        "password - ",
        "\\n",
        "\\u0022",
        "mot de passe : ",
        "密码是",
        "IDENTIFIED BY '",
        'auth=("bob", "',
        "btoa('",
        "base64 ",
        "$ cat token\n",
    ),
    *(
        "| user | password |\n|---|---|\n| ",
        "user,password\nann,",
        '"user","password"\n"ann","',
        ' name="password"\r\n\r\n',
        "name: API_KEY\n  value: ",
    ),
    *(
        "values (",
        "the password for bob is ",
        "Incorrect API key provided: ",
        "API key you entered (",
        "access token not valid: ",
        "openssl enc -pass pass:",
        "openssl enc -k ",
        "http -a ann:",
        "sqlplus -S scott/",
        "SET PASSWORD FOR ann = '",
        "password (new): ",
        "Your API key:\n\n  ",
        "kubectl get secret | base64 -d\n",
    ),
    *(
        "**Password:** `",
        "**Token**: ",
        "echo ",
        " | sudo -S true",
        '"db_password": {"value": "',
        'password: Some("',
        "password\n  Too short [type=x, input_value='",
        "password from ",
        "sudo -S true <<< ",
        "passwd ann <<EOF\n",
        "\nEOF\n",
        'expect "Password:"\nsend "',
        "gh secret set NAME --body ",
        " --value ",
        "password <- '",
        '<Password Type="a">',
        "<key>password</key>\n<string>",
        "openssl passwd -6 ",
        "machine h login ann password ",
    ),
]
_OPENINGS = [
    *("sk-", "sk-proj-", "ghp_", "xoxb-", "glpat-", "SG.", "hvs.", "1//0", "AIza", "AKIA", "eyJ", "MT", "8Q~", "Z\t"),
    *("-----BEGIN ", "RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----", "LS0tLS1CRUdJTi", "://", "://ann:", "@"),
]
_VALUES = [
    *("tundraMaple7525", "Falcon_7202*", "abc123def456", "Zx4Qm81LwT7vBn2KdP9s", "0a1b2c3d4e5f6a7b8c9d", "hunter2"),
    *("eyJhbGciOiJIUzI1NiJ9", "cGFzc3dvcmQ9dHVuZHJhTWFwbGU3NTI1", "${TOKEN}", "<token>", "****", "...", "…"),
    *("Q3)f&kV;9z,wLm<4$Tr", "=$c8|RUX]Lm}b2T", "aB3[x&9Q;zK7!m", "/vT0oIaPct68nudxmqvMaCxy"),
]
_PROSE = [
    "the key idea ",
    "it takes a string.",
    "is ",
    "for ",
    "The token economy, ",
    "a",
    "Z",
    "9",
    "s",
    "gh",
    "n",
    "e",
]
_MARKS = [
    *(
        "\n",
        "\n\n",
        "\r\n",
        "\\n",
        '"',
        '\\"',
        "'",
        "`",
        "{",
        "}",
        "[",
        "]",
        "(",
        ")",
        ": ",
        ":",
        "=",
        ", ",
        "; ",
        "&",
        "?",
    ),
    *("%3D", "%22", "%2522", "&quot;", "<", ">", " ", "\t", "|", "_", "-", "/", "+", "~", "\\", "\\\\", ".", "*", "**"),
    *("\ud83d", "\U0001f511", "\x00", "\u2028", "\x1b[33m", "\x1b[0m"),
]
_PLACEHOLDERS = [SECRET_PLACEHOLDER, "[secret", "[sec", " removed]", "removed]", "secret removed]"]

FRAGMENTS = [*_EXAMPLES, *_NAMES, *_OPENINGS, *_VALUES, *_PROSE, *_MARKS, *_PLACEHOLDERS]

#: Fragments run together; now and then any text.
TEXTS = st.one_of(
    st.lists(
        st.one_of(
            *(st.sampled_from(kind) for kind in (_EXAMPLES, _NAMES, _OPENINGS, _VALUES, _PROSE, _MARKS, _PLACEHOLDERS))
        ),
        max_size=8,
    ).map("".join),
    st.lists(st.sampled_from(_NAMES + _MARKS + _VALUES), max_size=8).map("".join),
    st.text(max_size=40),
)

_KEYS = st.one_of(
    st.sampled_from(
        ["token", "password", "name", "value", "key", "db_password", "auth", "headers", "api-key", "session"]
    ),
    TEXTS,
)
_LEAVES = st.one_of(
    TEXTS, st.none(), st.booleans(), st.integers(), st.just(10**40), st.floats(allow_nan=False, allow_infinity=False)
)
_VALUES_OF_JSON = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(
        st.lists(st.one_of(st.sampled_from(["--password", "token"]), inner), max_size=4),
        st.dictionaries(_KEYS, inner, max_size=4),
    ),
    max_leaves=8,
)
JSON_OBJECTS = st.dictionaries(_KEYS, _VALUES_OF_JSON, max_size=4)


@st.composite
def cut_anywhere(draw: st.DrawFn, text: str) -> list[str]:
    """`text` in pieces, some of them empty, or one character at a time."""
    if draw(st.booleans()):
        return list(text)
    places = sorted(draw(st.lists(st.integers(0, len(text)), max_size=6)))
    return [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]


def applied(text: str, pieces: list[Piece]) -> str:
    """What `pieces`, the decisions on all of `text`, make of it."""
    parts, start = [], 0
    for length, new in pieces:
        parts.append(text[start : start + length] if new is None else new)
        start += length
    assert start == len(text)
    return "".join(parts)
