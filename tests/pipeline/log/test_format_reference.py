"""docs/format/v1.md names everything that lines.py writes and reads."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from openprogram.pipeline.json_value import MAX_DEPTH, MAX_LINE_BYTES
from openprogram.pipeline.log.lines import (
    OUTCOMES,
    RECORDING_FORMAT_VERSION,
    CallEndLine,
    EventLine,
    RequestLine,
    accept_any_event,
    encode_call_end,
    encode_event,
    encode_header,
    encode_request,
    encode_request_body,
    parse_line,
)
from openprogram.pipeline.log.locks import LockRange
from openprogram.pipeline.log.order import NEXT_STATE
from tests.pipeline.log.samples import check_event, delta, read_calls, request

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "format" / f"v{RECORDING_FORMAT_VERSION}.md").read_text("utf-8")

WRITTEN: list[dict[str, Any]] = [
    json.loads(line)
    for line in (
        encode_header({}),
        encode_request(0, encode_request_body(request())),
        encode_event(0, 0, delta("a")),
        encode_call_end(0, 1, "error", {"type": "E", "message": "m"}),
    )
]


def section(kind: str) -> str:
    """The part of the page about one line type."""
    return PAGE.split(f"### 2.{[line['type'] for line in WRITTEN].index(kind) + 1} `{kind}`")[1].split("\n#")[0]


@pytest.mark.parametrize("line", WRITTEN, ids=lambda line: line["type"])
def test_every_field_has_a_row_in_the_section_of_its_line_in_the_order_it_is_written(line: dict[str, Any]) -> None:
    table = section(line["type"]).split("| `outcome` | |")[0]
    rows = [name for name in re.findall(r"^\| `(\w+)`", table, re.MULTILINE) if name in line]
    assert rows == list(line)


@pytest.mark.parametrize("line", WRITTEN, ids=lambda line: line["type"])
def test_a_field_is_called_required_where_the_reader_refuses_a_line_without_it(line: dict[str, Any]) -> None:
    for name in line:
        row = re.search(rf"^\| `{name}` .*$", section(line["type"]), re.MULTILINE)
        assert row is not None
        without = {key: value for key, value in line.items() if key != name}
        try:
            parse_line(json.dumps(without).encode(), accept_any_event)
            needed = False
        except ValueError:
            needed = True
        assert ("required" in row[0], "optional" in row[0]) == (needed, not needed)


def test_every_outcome_is_named() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", section("call_end").split("| `outcome` | |")[1], re.MULTILINE)
    assert rows == list(OUTCOMES)


def test_the_limits_are_the_ones_in_force() -> None:
    assert f"{MAX_LINE_BYTES:,} bytes" in PAGE
    assert f"{MAX_DEPTH} containers" in PAGE


def test_the_order_is_the_table_in_force() -> None:
    words = {RequestLine: "request", EventLine: "event", CallEndLine: "call_end"}
    for state, row in NEXT_STATE.items():
        for kind, then in row.items():
            assert f"| {state.value} | `{words[kind]}` | {then.value} |" in PAGE
        if not row:
            assert f"| {state.value} | nothing | |" in PAGE


def test_the_locked_bytes_are_named() -> None:
    assert (LockRange.IN_USE, LockRange.APPEND) == (2**62, 2**62 + 1)
    assert "2⁶² shared" in PAGE
    assert "2⁶² + 1 exclusively" in PAGE


def test_the_example_is_a_valid_recording(tmp_path: Path) -> None:
    example = PAGE.split("```json\n")[1].split("```")[0]
    path = tmp_path / "example.jsonl"
    path.write_text(example, encoding="utf-8")
    (call,) = read_calls(path)
    assert len(call.events) == 2
    for event in call.events:
        check_event(event)


def test_sections_are_numbered_without_gaps() -> None:
    assert re.findall(r"^## (\d)", PAGE, re.MULTILINE) == [str(number) for number in range(1, 10)]
