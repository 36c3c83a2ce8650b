"""Base64 that holds a secret: what a plain expression finds in it, decoded."""

import base64
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from openprogram.pipeline.redaction.encoded import tells_a_secret
from openprogram.pipeline.redaction.judge import Proof, is_secret_value

_PLAIN = re.compile(
    r"""(?i)(?:pass(?:word|wd|phrase)?|secret|token|api_?-?key|access_?-?key|private_?-?key|pwd|auth)["']?\s{0,4}[:=]\s{0,4}["']?([^\s"',;&}]{6,64})"""
)
_PLAIN_USERINFO = re.compile(r"://[^\s/:@]{0,64}:[^\s/@]{3,128}@|BEGIN [A-Z ]{0,16}PRIVATE KEY")
_PIECES = [
    *(
        "pass",
        "Password",
        "passwd",
        "passphrase",
        "passw",
        "SECRET",
        "ſecret",
        "token",
        "to\u212aen",
        "api",
        "API_KEY",
        "api-key",
    ),
    *("api_-key", "api-_key", "access_key", "AccessKey", "prıvate-key", "PRİVATE_KEY", "pwd", "auth", "author", "key"),
    *(
        "'",
        '"',
        ":",
        "=",
        ": ",
        "  = ",
        "     :",
        "a1b2c3d4e5",
        "tundraMaple7525",
        "abc",
        "\n",
        ",",
        "}",
        "é",
        "\udcff",
        "://",
    ),
    *("ann:Zx4Qm81Lw@", "BEGIN ", "RSA PRIVATE KEY", " "),
]


def plainly_tells(text: str) -> bool:
    found = _PLAIN.search(text)
    return _PLAIN_USERINFO.search(text) is not None or (found is not None and is_secret_value(found[1], Proof.NAMED))


_NAMED = st.tuples(
    st.sampled_from(["", "my", "\udcff"]),
    st.sampled_from(
        [
            *("password", "PASSWD", "passphrase", "pass", "secret", "ſecret", "token", "apikey", "Api_Key", "api-key"),
            *(
                "api_-key",
                "access_key",
                "ACCESS-KEY",
                "access_-key",
                "private_key",
                "prıvateKey",
                "private_-key",
                "pwd",
                "auth",
            ),
        ]
    ),
    st.sampled_from(["", "'", '"', "s"]),
    st.sampled_from(["", "    ", "     "]),
    st.sampled_from([":", "=", "-"]),
    st.sampled_from(["", " ", "    ", '     "', "'"]),
    st.sampled_from(["a1b2c3d4e5", "tundraMaple7525", "a1b2c", "<token>"]),
).map("".join)


@settings(max_examples=2000, deadline=None)
@given(st.one_of(_NAMED, st.lists(st.sampled_from(_PIECES), max_size=8).map("".join)))
def test_base64_tells_a_secret_where_the_plain_expressions_find_one(text: str) -> None:
    data = text.encode(errors="surrogateescape")
    encoded = base64.b64encode(data).decode()
    assert tells_a_secret(encoded) == plainly_tells(data.decode(errors="replace"))
    assert tells_a_secret(encoded.replace("+", "-").replace("/", "_").rstrip("=")) == tells_a_secret(encoded)
