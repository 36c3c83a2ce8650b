import json
import os
from pathlib import Path
from typing import Any

import pytest

from openprogram.pipeline.redaction import REDACTION_VERSION
from openprogram.recordings.compressing import compress
from openprogram.recordings.names import managed_path
from tests.openprogram.cli.command import Command, run_process
from tests.openprogram.recording_files import call_lines, header_line, write_lines, write_recording


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return Command(tmp_path / "state", monkeypatch, capsys)


def asking(call_index: int, arguments: dict[str, Any], usage: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    """A call that is answered with a tool call."""
    lines = call_lines(call_index)
    tool = {"type": "toolCall", "id": "c1", "name": "weather", "arguments": arguments}
    message = {**lines[5]["event"]["message"], "content": [tool], **({} if usage is None else {"usage": usage})}
    done = {**lines[5], "event_index": 0, "event": {"type": "done", "reason": "toolUse", "message": message}}
    return [lines[0], done, {**lines[6], "event_count": 1}]


def test_equal_recordings_exit_with_0_and_say_so(command: Command) -> None:
    path = write_recording(managed_path(command.home, "first"), calls=2)
    other = write_recording(Path.cwd() / "b.jsonl", calls=2)
    done = command.done("recordings", "diff", "first", "b.jsonl")
    assert done.out.splitlines() == [
        f"recorded  {path}: 2 calls",
        f"incoming  {other}: 2 calls",
        "",
        "calls   2 equal",
        "tokens  recorded -> incoming: "
        "input 0 -> 0, output 0 -> 0, cache_read 0 -> 0, cache_write 0 -> 0, total 0 -> 0",
        "cost    $0.000000 -> $0.000000 (+$0.000000)",
    ]
    assert done.err == ""


def test_a_difference_exits_with_1_and_shows_field_values_and_cause(command: Command) -> None:
    write_recording(Path("a.jsonl"), prompt="echo hi")
    write_recording(Path("b.jsonl"), prompt="echo bye")
    finished = command("recordings", "diff", "a.jsonl", "b.jsonl")
    assert finished.code == 1
    assert finished.out.splitlines()[3:8] == [
        "call 0:",
        "  request, field context.messages[0].content:",
        "    recorded 'echo hi'",
        "    incoming 'echo bye'",
        "    cause: user message 0 reads otherwise than when it was recorded",
    ]
    assert "calls   0 equal, 1 changed" in finished.out
    assert finished.err.startswith("not compared: timestamp, ")


def test_tools_text_tokens_and_cost_are_shown(command: Command) -> None:
    usage = {"input": 10, "output": 2, "total_tokens": 12, "cost": {"total": 0.5}}
    write_lines(
        Path("a.jsonl"), [header_line(), *asking(0, {"city": "Lisbon"}), *call_lines(1, answer="one\ntwo\nthree")]
    )
    write_lines(
        Path("b.jsonl"), [header_line(), *asking(0, {"city": "Porto"}, usage), *call_lines(1, answer="one\n2\nthree")]
    )
    shown = command("recordings", "diff", "a.jsonl", "b.jsonl").out
    assert '  - weather {"city": "Lisbon"}\n  + weather {"city": "Porto"}\n' in shown
    assert "     one\n    -two\n    +2\n     three\n" in shown
    assert "input 0 -> 10, output 0 -> 2, cache_read 0 -> 0, cache_write 0 -> 0, total 0 -> 12" in shown
    assert "cost    $0.000000 -> $0.500000 (+$0.500000)" in shown


def test_the_json_has_fixed_fields_and_leaves_out_what_is_absent(command: Command) -> None:
    write_lines(Path("a.jsonl"), [header_line(), *asking(0, {"city": "Lisbon", "n": 1})])
    write_lines(Path("b.jsonl"), [header_line(), *asking(0, {"city": "Lisbon"}), *call_lines(1)])
    finished = command("recordings", "diff", "a.jsonl", "b.jsonl", "--json")
    found = json.loads(finished.out)
    assert finished.code == 1
    assert set(found) == {"recorded", "incoming", "not_compared", "calls", "equal", "same_matching", "counts", "tokens"}
    assert (found["equal"], found["same_matching"]) == (False, True)
    assert found["counts"] == {"equal": 0, "changed": 1, "follows": 0, "recorded_only": 0, "incoming_only": 1}
    assert found["recorded"] == {
        "path": str(Path("a.jsonl").absolute()),
        "call_count": 1,
        "match": "order",
        "volatile": [],
    }
    changed, alone = found["calls"]
    assert changed["answer"] == {"field_path": "message.content[0].arguments.n", "recorded": 1, "cause": None}
    assert changed["tools"] == [
        {"side": "recorded", "name": "weather", "arguments": {"city": "Lisbon", "n": 1}},
        {"side": "incoming", "name": "weather", "arguments": {"city": "Lisbon"}},
    ]
    assert (alone["recorded"], alone["incoming"], alone["result"], alone["text"]) == (
        None,
        1,
        "incoming_only",
        ["+hello"],
    )


def test_the_json_of_recordings_without_calls_is_json(command: Command) -> None:
    write_recording(Path("a.jsonl"), calls=0)
    found = json.loads(command.done("recordings", "diff", "a.jsonl", "a.jsonl", "--json").out)
    assert (found["calls"], found["equal"]) == ([], True)


def test_compressed_recordings_are_compared_as_they_are(command: Command) -> None:
    write_recording(managed_path(command.home, "first"), calls=2)
    write_recording(managed_path(command.home, "second"), calls=2)
    compress(command.home, "second", keep=False)
    assert command.done("recordings", "diff", "first", "second").code == 0


def test_matching_policies_are_said(command: Command) -> None:
    write_lines(Path("a.jsonl"), [header_line(volatile=["uuid"]), *call_lines(0)])
    write_recording(Path("b.jsonl"))
    finished = command("recordings", "diff", "a.jsonl", "b.jsonl")
    assert finished.code == 1
    assert "matching  match order, volatile uuid, as the recorded side declares it\n" in finished.out
    assert "recorded match order, volatile uuid; incoming match order, volatile nothing" in finished.out
    assert "calls   1 equal\n" in finished.out


@pytest.mark.parametrize("text", ["esc\x1b[31mred", "bidi \u202e text", "[bold]x[/bold]", "two\nlines\x07" * 20])
def test_nothing_in_a_file_steers_the_terminal(command: Command, text: str) -> None:
    write_recording(Path("a.jsonl"), answer="plain", prompt="plain")
    write_recording(Path("b.jsonl"), answer=text, prompt=text)
    finished = command("recordings", "diff", "a.jsonl", "b.jsonl")
    for character in ("\x1b", "\u202e", "\x07"):
        assert character not in finished.out + finished.err


def test_a_secret_in_a_file_is_not_shown(command: Command) -> None:
    token = "ghp_" + "Zx4Qm81LwT7vBn2KdP9s"
    write_recording(Path("a.jsonl"), answer="plain", prompt="plain")
    lines = [
        header_line(redaction_version=REDACTION_VERSION),
        *asking(0, {"password": "hunter2hunter2", "note": token}),
    ]
    lines[1]["context"] = {"messages": [{"role": "user", "content": f"with {token}"}]}
    write_lines(Path("b.jsonl"), lines)
    for arguments in ((), ("--json",)):
        finished = command("recordings", "diff", "a.jsonl", "b.jsonl", *arguments)
        assert "hunter2" not in finished.out + finished.err
        assert token[4:] not in finished.out + finished.err
        assert "[secret removed]" in finished.out


def test_a_damaged_recording_is_refused_with_what_to_do(command: Command) -> None:
    write_recording(Path("a.jsonl"))
    write_lines(Path("b.jsonl"), [header_line(), *call_lines(0)[:-1]])
    finished = command("recordings", "diff", "a.jsonl", "b.jsonl")
    assert (finished.code, finished.out) == (1, "")
    assert "recordings repair" in finished.err
    assert command("recordings", "diff", "a.jsonl").code == 2


def test_diff_works_in_a_fresh_process_and_loads_nothing_live(tmp_path: Path) -> None:
    write_recording(tmp_path / "recordings" / "first.jsonl")
    assert run_process(tmp_path, "recordings", "diff", "first", "first").code == 0
    assert os.listdir(tmp_path / "recordings") == ["first.jsonl"]
