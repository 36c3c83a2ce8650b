"""An encrypted private key has headers before its text (RFC 1421): all of it goes, however it is streamed."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openprogram.pipeline.redaction import StreamRedactor, redact

BODY = "MIIEpAIBAAKCAQEAx7Zx4Qm81LwT7vBn2KdP9sR5tYc3Ae6Uf0Hj1G"
HEADERS = [
    "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0F1E2D3C4B5A69788796A5B4C3D2E1F0\n\n",
    "Version: GnuPG v2\nComment: made-for-a test\n\n",
    "X-Key-Owner: somebody\n\n",
]


def key_with(headers: str) -> str:
    return (
        f"before -----BEGIN RSA PRIVATE KEY-----\n{headers}{BODY}\n{BODY}==\n-----END RSA PRIVATE KEY-----\nafter-words"
    )


@pytest.mark.parametrize("headers", HEADERS)
def test_a_private_key_with_headers_is_removed_to_its_end(headers: str) -> None:
    assert redact(key_with(headers)).value == "before [secret removed]\nafter-words"


@given(st.sampled_from(HEADERS), st.sets(st.integers(1, 260), max_size=8))
def test_it_is_removed_wherever_the_stream_is_cut(headers: str, cuts: set[int]) -> None:
    text = key_with(headers)
    places = [0, *sorted(cut for cut in cuts if cut < len(text)), len(text)]
    redactor = StreamRedactor()
    dumps: list[dict[str, Any]] = []
    for start, end in pairwise(places):
        dumps += redactor.feed({"type": "text_delta", "content_index": 0, "delta": text[start:end]})
    dumps += redactor.close()
    assert "".join(str(dump["delta"]) for dump in dumps) == "before [secret removed]\nafter-words"
