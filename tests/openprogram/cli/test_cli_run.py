"""`openprogram run` in fresh processes: the runtime starts once a process."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from openprogram.cli.model_choice import choose_model
from openprogram.errors import UsageError
from tests.openprogram.cli.command import Finished, run_process

#: The command with a provider that answers from a list, which a user's own program could register too.
PROGRAM = """
import json, sys
from openprogram.cli.app import main
from openprogram.providers.api_registry import register_api_provider
from openprogram.providers.scripted import ScriptedProvider, tool_call
from openprogram.providers.types import AssistantMessage
answers = [eval(answer) for answer in json.loads(sys.argv.pop(1))]
register_api_provider("scripted", ScriptedProvider(answers))
main()
"""

TOOL_LOOP = ["[tool_call('calculate', {'expression': '6 * 7'})]", "'It is 42.'"]


def run(home: Path, prompt: str, answers: list[str], *options: str) -> Finished:
    model = ["--api", "scripted", "--model-id", "small-1"]
    finished = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(answers), *options, "run", prompt, *model],
        env={**os.environ, "OPENPROGRAM_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    return Finished(finished.returncode, finished.stdout, finished.stderr)


def test_a_run_shows_text_on_stdout_and_tools_on_stderr(tmp_path: Path) -> None:
    finished = run(tmp_path / "state", "What is 6 * 7?", TOOL_LOOP)

    assert (finished.code, finished.out) == (0, "It is 42.\n")
    assert finished.err == 'calculate {"expression": "6 * 7"}\n'
    assert not (tmp_path / "state").exists()


def test_a_recorded_run_replays_without_the_provider(tmp_path: Path) -> None:
    run_process(tmp_path, "recordings", "record", "--name", "first")
    recorded = run(tmp_path, "What is 6 * 7?", TOOL_LOOP)
    assert f"recorded into {tmp_path}/recordings/first.jsonl" in recorded.err

    run_process(tmp_path, "recordings", "replay", "first")
    replayed = run(tmp_path, "What is 6 * 7?", [])

    assert (replayed.code, replayed.out) == (0, recorded.out)
    assert "replayed 2 of 2 recorded calls, offline" in replayed.err


def test_verbose_shows_log_events_and_no_content(tmp_path: Path) -> None:
    run_process(tmp_path, "recordings", "record", "--name", "first")

    finished = run(tmp_path, "PRIVATE", ["'SECRET'"], "--verbose")

    assert finished.out == "SECRET\n"
    assert "recording.call_end" in finished.err
    logged = run_process(tmp_path, "logs", "--call", "0", "--event", "recording.call_end", "--json").out
    assert json.loads(logged)["call_index"] == 0
    for text in (finished.err, (tmp_path / "logs" / "openprogram.jsonl").read_text()):
        assert "PRIVATE" not in text
        assert "SECRET" not in text


def test_a_replay_that_diverges_fails_and_names_the_field(tmp_path: Path) -> None:
    run_process(tmp_path, "recordings", "record", "--name", "first")
    run(tmp_path, "What is 6 * 7?", TOOL_LOOP)
    run_process(tmp_path, "recordings", "replay", "first")

    finished = run(tmp_path, "What is 6 * 8?", TOOL_LOOP)

    assert (finished.code, finished.out) == (1, "")
    assert "replay mismatch at call 0, field context.messages[0].content" in finished.err
    assert "Traceback" not in finished.err


def test_a_recording_that_is_gone_blocks_the_run_and_says_how_to_go_on(tmp_path: Path) -> None:
    run_process(tmp_path, "recordings", "record", "--name", "first")
    run_process(tmp_path, "recordings", "replay", "first")
    (tmp_path / "recordings" / "first.jsonl").unlink()

    finished = run(tmp_path, "hi", ["'hello'"])

    assert (finished.code, finished.out) == (1, "")
    assert "openprogram recordings off" in finished.err
    assert "Traceback" not in finished.err
    logged = run_process(tmp_path, "logs", "--level", "error", "--json").out
    assert json.loads(logged)["event"] == "runtime.activation_blocked"


def test_a_provider_failure_fails_the_run_with_its_message(tmp_path: Path) -> None:
    message = "api='scripted', provider='x', model='y', stop_reason='error', error_message='overloaded \\x1b'"

    finished = run(tmp_path, "hi", [f"AssistantMessage({message})"])

    assert finished.code == 1
    assert finished.err == "error: the run ended early: provider_error: overloaded \\x1b\n"


def test_escapes_in_an_answer_do_not_reach_the_terminal(tmp_path: Path) -> None:
    finished = run(tmp_path, "hi", [repr("a\x1b[2J\nb")])

    assert (finished.code, finished.out) == (0, "a\\x1b[2J\nb\n")


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--model", "nobody:x"],
        ["--model", "openai"],
        ["--model", "openai:"],
        ["--model", "openai:x", "--api", "openai-completions"],
        ["--api", "openai-completions"],
        ["--model-id", "x"],
        ["--api", "no-such-api", "--model-id", "x"],
    ],
)
def test_a_wrong_choice_of_model_exits_with_2(tmp_path: Path, arguments: list[str]) -> None:
    finished = run_process(tmp_path, "run", "hi", *arguments)

    assert (finished.code, finished.out) == (2, "")
    assert "Traceback" not in finished.err


def test_a_known_provider_brings_its_api_and_url() -> None:
    model = choose_model("openrouter:meta/llama:free", None, None, None)

    assert (model.id, model.api, model.provider) == ("meta/llama:free", "openai-completions", "openrouter")
    assert model.base_url == "https://openrouter.ai/api/v1"
    assert choose_model("openai:x", None, "http://localhost:1/v1", None).base_url == "http://localhost:1/v1"


def test_another_server_is_an_api_a_url_and_an_id() -> None:
    model = choose_model(None, "openai-completions", "http://localhost:8080/v1", "local")

    assert (model.id, model.api, model.base_url) == ("local", "openai-completions", "http://localhost:8080/v1")


def test_both_ways_at_once_are_refused() -> None:
    with pytest.raises(UsageError):
        choose_model("openai:x", None, None, "y")
