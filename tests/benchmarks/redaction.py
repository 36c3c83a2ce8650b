"""How fast redaction is on ordinary input, cold, how many streamed deltas wait, and what made input can cost."""

import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from openprogram.pipeline.redaction import StreamRedactor, redact
from openprogram.providers.codec import ProviderRequestCodec
from tests.benchmarks.workload import MODEL, session

__all__ = ["redaction_rows"]

_PROSE = (
    "The agent reads the file, counts the tokens it may use, and asks the tool for the rest. A key idea is that the "
    "same request gives the same answer; what differs between two runs is told apart by its path. Nobody has to "
    "remember a password for that, since the session is replayed and the service is never asked.\n"
)
_DOCUMENTS = Path(__file__).parents[2] / "docs"

#: Repeated, the slowest of some 38,000 units made of names, separators, words, values and tokens. `{n}` is another
#: number each time.
_MADE_AGAINST = (
    *(
        "?key=",
        "key:\n\n",
        "a,token\n",
        "token of my",
        "pw for\n",
        "\\密码 for ",
        "пароль:",
        "key==",
        "pwd:=",
        "pass://",
    ),
    *("eyJsk-", "base64-str", "?token=a1&", "|token| a1b2c3d4|\n", " -a", "Cookie: a=b;", "-u a:b ", "pw", "Mz"),
    *("sk-", "key-", "xoxp-", "SG.:5432:密码", ".credentialpassphrase:5432:", "password: " + "A" * 48 + "99999Z\n"),
    *(
        "pw{n}a1",
        "secret{n}",
        "cookiea{n}b{n}9Key-",
        "api_key{n}a--password",
        " | a{n}b{n}",
        "?key={n}a1",
        "token={n} ",
    ),
    *("{n}sig=", " psk: A{n}!|", " pw: {n}a1-", "&pw: {n}="),
)
_ARGUMENTS_MADE_AGAINST = (
    "[",
    "1,",
    '"",',
    '"token",',
    '"key 1",',
    '{"a":"b"},',
    '{"token":1},',
    '{"name":"a","value":"b"},',
    "[1],",
    '"pw",',
    '"a\\n",',
    '"\\u0041",',
    '"key {n}",',
    '"token{n}",',
    '"=?token=a1",',
    '"?token={n}",',
)


def redaction_rows() -> list[tuple[str, str, str]]:
    """Name, measured, goal."""
    request: Any = ProviderRequestCodec().dump((MODEL, session(40, 300, 1500).contexts[-1], None))
    text = _PROSE * 1500
    size = len(str(request).encode())
    deltas = [text[at : at + 16] for at in range(0, 64_000, 16)]
    waited, longest = _waiting(deltas)
    per_delta = _seconds(lambda: _feed_each(deltas)) / len(deltas)
    documents = [path.read_text(encoding="utf-8") for path in sorted(_DOCUMENTS.rglob("*.md"))]
    whole = _seconds(lambda: [redact(document) for document in documents])
    return [
        ("redaction, agent-like request", f"{size / _seconds(lambda: redact(request)) / 1e6:.0f} MB/s", "≥ 25 MB/s"),
        ("redaction, prose", f"{len(text) / _seconds(lambda: redact(text)) / 1e6:.0f} MB/s", "≥ 25 MB/s"),
        ("redaction, this project's documents", f"{sum(map(len, documents)) / whole / 1e6:.0f} MB/s", "≥ 25 MB/s"),
        ("1 MB made against redaction: worst", _worst(_MADE_AGAINST, redact), "≤ 1 s"),
        ("the same in deltas of 16 characters: worst", _worst(_MADE_AGAINST, _stream_text), "≤ 1 s"),
        ("1 MB of tool arguments made against it: worst", _worst(_ARGUMENTS_MADE_AGAINST, _stream_arguments), "≤ 1 s"),
        ("the same in deltas of 16 characters: worst", _worst(_ARGUMENTS_MADE_AGAINST, _stream_in_sixteens), "≤ 1 s"),
        ("redaction, a delta alone", f"{per_delta * 1e6:.1f} µs", "≤ 50 µs"),
        ("prose deltas that wait", f"{waited:.1%}, {longest} events at the most", "≤ 15 %, ≤ 4"),
    ]


def _worst(units: tuple[str, ...], run: Callable[[str], object]) -> str:
    """Seconds of the slowest unit, repeated to a megabyte, and which it is."""
    slowest = (0.0, "")
    for unit in units:
        text = _repeated(unit)
        started = time.process_time()
        run(text)
        slowest = max(slowest, (time.process_time() - started, unit))
    return f"{slowest[0]:.2f} s ({json.dumps(slowest[1], ensure_ascii=False)})"


def _repeated(unit: str) -> str:
    """A megabyte of `unit`."""
    if "{n}" not in unit:
        return unit * (1_000_000 // len(unit.encode()))
    count = 1_000_000 // len(unit.format(n="0" * 5).encode())
    return "".join([unit.format(n=f"{number * 7919 % 0x100000:05x}") for number in range(count)])


def _stream_text(text: str) -> None:
    _feed_each([text[at : at + 16] for at in range(0, len(text), 16)])


def _stream_arguments(items: str) -> None:
    redactor = StreamRedactor()
    redactor.feed({"type": "toolcall_delta", "content_index": 0, "delta": f"[{items}"})
    redactor.feed({"type": "toolcall_end", "content_index": 0})


def _stream_in_sixteens(items: str) -> None:
    redactor, text = StreamRedactor(), f"[{items}"
    for at in range(0, len(text), 16):
        redactor.feed({"type": "toolcall_delta", "content_index": 0, "delta": text[at : at + 16]})
    redactor.feed({"type": "toolcall_end", "content_index": 0})


def _seconds(run: Callable[[], object]) -> float:
    times = []
    for _ in range(7):
        started = time.process_time()
        run()
        times.append(time.process_time() - started)
    return statistics.median(times)


def _feed_each(deltas: list[str]) -> None:
    redactor = StreamRedactor()
    for delta in deltas:
        redactor.feed({"type": "text_delta", "content_index": 0, "delta": delta})


def _waiting(deltas: list[str]) -> tuple[float, int]:
    redactor, waited, longest = StreamRedactor(), 0, 0
    for delta in deltas:
        redactor.feed({"type": "text_delta", "content_index": 0, "delta": delta})
        waited += redactor.waiting > 0
        longest = max(longest, redactor.waiting)
    return waited / len(deltas), longest
