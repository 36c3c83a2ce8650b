"""Scanning a file for what today's redaction would remove: every line, damaged ones too, and across deltas."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from openprogram.pipeline.log.secrets import FoundSecret, scan_source
from openprogram.pipeline.log.source import open_source
from openprogram.pipeline.redaction.table import RULES
from tests.pipeline.log.frames import write_compressed
from tests.pipeline.log.samples import HEADER, call_lines, end_line, event_line, request_line, write_file

TOKEN = "ghp_" + "Zx4Qm81LwT7vBn2KdP9s"


def scan(path: Path) -> list[FoundSecret]:
    with closing(open_source(path)) as source:
        return list(scan_source(source))


def stream(*pieces: str, kind: str = "text") -> list[Any]:
    """A call whose one block comes in these pieces; its `done` event says nothing of it."""
    events: list[dict[str, Any]] = [
        {"type": "start"},
        *({"type": f"{kind}_delta", "content_index": 0, "delta": piece} for piece in pieces),
    ]
    lines = [request_line(0), *(event_line(0, index, **event) for index, event in enumerate(events))]
    return [HEADER, *lines, end_line(0, len(events))]


def test_a_clean_file_has_nothing(tmp_path: Path) -> None:
    assert scan(write_file(tmp_path / "a.jsonl", [HEADER, *call_lines(0), *call_lines(1)])) == []


def test_each_place_is_named_by_line_call_path_and_rule(tmp_path: Path) -> None:
    lines = [
        {**HEADER, "note": f"by {TOKEN}"},
        request_line(0) | {"options": {"headers": {"Cookie": "a=b"}}, "x_extra": f"{TOKEN} {TOKEN}"},
        event_line(0, 0, type="error", error={"error_message": f"with {TOKEN}"}),
        end_line(0, 1) | {"error": {"type": "Auth", "message": f"with {TOKEN}"}},
    ]
    assert scan(write_file(tmp_path / "a.jsonl", lines)) == [
        (1, None, "note", "github-token", 1),
        (2, 0, "options.headers.Cookie", "field Cookie", 1),
        (2, 0, "x_extra", "github-token", 2),
        (3, 0, "event.error.error_message", "github-token", 1),
        (4, 0, "error.message", "github-token", 1),
    ]


@pytest.mark.parametrize("kind", ["text", "thinking"])
def test_a_secret_cut_over_deltas_is_found_where_it_begins(tmp_path: Path, kind: str) -> None:
    pieces = ["it is g", *TOKEN[1:12], TOKEN[12:] + " indeed, and ", f"also {TOKEN}"]
    found = scan(write_file(tmp_path / "a.jsonl", stream(*pieces, kind=kind)))
    assert found == [
        (4, 0, "event.delta", "github-token", 1),
        (len(pieces) + 3, 0, "event.delta", "github-token", 1),
    ]


def test_a_secret_in_streamed_arguments_is_found_by_its_name(tmp_path: Path) -> None:
    text = json.dumps({"city": "Lisbon", "token": 12345})
    found = scan(write_file(tmp_path / "a.jsonl", stream(text[:25], text[25:30], text[30:], kind="toolcall")))
    assert [(secret.field_path, secret.rule, secret.places) for secret in found] == [("event.delta", "field token", 1)]


@settings(max_examples=60, deadline=None)
@given(
    rule=st.sampled_from([rule for rule in RULES if rule.name != "placeholder"]),
    cuts=st.lists(st.integers(0, 200), max_size=6),
)
def test_however_a_text_is_cut_the_same_rules_are_found_in_it(
    tmp_path_factory: pytest.TempPathFactory, rule: Any, cuts: list[int]
) -> None:
    text = rule.example
    places = sorted({min(cut, len(text)) for cut in cuts})
    pieces = [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]
    path = tmp_path_factory.mktemp("cut") / "a.jsonl"
    whole = [found.rule for found in scan(write_file(path, stream(text)))]
    cut = [found.rule for found in scan(write_file(path, stream(*pieces))) for _ in range(found.places)]
    assert cut == whole
    assert whole != []


def test_the_messages_so_far_in_older_files_are_looked_at(tmp_path: Path) -> None:
    partial = {"content": [{"type": "text", "text": f"it is {TOKEN}"}]}
    lines = [HEADER, request_line(0), event_line(0, 0, type="start", partial=partial), end_line(0, 1)]
    (found,) = scan(write_file(tmp_path / "a.jsonl", lines))
    assert found == (3, 0, "event.partial.content[0].text", "github-token", 1)


def test_a_value_that_a_second_key_hides_is_found(tmp_path: Path) -> None:
    path = write_file(tmp_path / "a.jsonl", [HEADER])
    with path.open("a") as file:
        file.write(
            f'{{"type":"request","call_index":0,"model":{{"a":"{TOKEN}","a":1}},"context":{{}},"options":null}}\n'
        )
    (found,) = scan(path)
    assert (found.line_number, found.rule) == (2, "github-token")
    assert found.field_path == "model.hidden by a second key[0].a"


@pytest.mark.parametrize(
    "line",
    [
        f"<<<<<<< {TOKEN}",
        f'{{"type":"event","call_index":0,"event":"{TOKEN}',  # torn
        f'["{TOKEN}"]',
        f'{{"a":NaN,"b":"{TOKEN}"}}',
        "[" * 5000 + TOKEN,
        '{"a":' * 400 + f'"{TOKEN}"' + "}" * 400,
        f"\ufeff not utf-8 {TOKEN}",
    ],
)
def test_a_line_that_is_no_line_of_a_recording_is_looked_through_too(tmp_path: Path, line: str) -> None:
    path = write_file(tmp_path / "a.jsonl", [HEADER, *call_lines(0)])
    count = path.read_bytes().count(b"\n")
    path.write_bytes(path.read_bytes() + line.encode() + b"\xff\n")
    (found,) = scan(path)
    assert (found.line_number, found.rule) == (count + 1, "github-token")


def test_a_conversation_that_grows_is_scanned_as_if_each_request_stood_alone(tmp_path: Path) -> None:
    messages: list[Any] = []
    lines: list[Any] = [HEADER]
    expected = []
    for index, text in enumerate(["hi", "you", f"a {TOKEN}", "and", f"b {TOKEN}", "end"]):
        messages.append({"role": "user", "content": text})
        request = {"model": {}, "context": {"messages": list(messages), "tools": None}, "options": None}
        lines.append({"type": "request", "call_index": index, **request})
        for at, message in enumerate(messages):
            if TOKEN in message["content"]:
                expected.append((index + 2, index, f"context.messages[{at}].content", "github-token", 1))
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    assert scan(path) == expected
    # Behind a known beginning, what isn't a message is looked at in every request.
    changed = [line | {"options": {"password": "x"}} if line.get("call_index") == 1 else line for line in lines[:4]]
    path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in changed))
    assert scan(path)[0] == (3, 1, "options.password", "field password", 1)


def test_a_compressed_file_is_scanned_like_a_plain_one(tmp_path: Path) -> None:
    plain = write_file(tmp_path / "a.jsonl", stream("it is ", TOKEN, " indeed"))
    packed = write_compressed(tmp_path / "a.jsonl.zst", plain.read_bytes())
    assert scan(packed) == scan(plain) != []


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.binary(max_size=60),
            st.sampled_from(
                [
                    b'{"type":"event","call_index":0,"event":{"type":"text_delta","content_index":[],"delta":"x"}}',
                    b'{"type":"event","call_index":0,"event":{"type":"text_end","content_index":0}}',
                    b'{"type":"event","call_index":-1,"event":{"type":7}}',
                    b'{"type":"event","event":{"type":"text_delta","delta":5}}',
                    b'{"type":"request","call_index":0,"context":7}',
                    b'{"type":"request","call_index":0,"context":{"messages":7},"tools":[]}',
                    b'{"type":"call_end","call_index":0,"event_count":null}',
                ]
            ),
        ),
        max_size=8,
    )
)
def test_no_file_is_too_odd_to_be_scanned(tmp_path_factory: pytest.TempPathFactory, lines: list[bytes]) -> None:
    path = tmp_path_factory.mktemp("odd") / "a.jsonl"
    secret = json.dumps({"type": "request", "call_index": 0, "options": {"password": "x"}}).encode()
    content = b"".join(line.replace(b"\n", b"") + b"\n" for line in [*lines, secret])
    # compressed content under a plain name is refused by name, and no recording to scan
    assume(not content.startswith(b"\x28\xb5\x2f\xfd"))
    path.write_bytes(content)
    assert scan(path)[-1] == (len(lines) + 1, 0, "options.password", "field password", 1)
