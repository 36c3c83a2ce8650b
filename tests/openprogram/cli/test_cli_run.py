"""`openprogram run` in fresh processes: the runtime starts once a process."""

import json
import os
import subprocess
import sys
from itertools import combinations
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
from openprogram.providers.types import *
answers = [eval(answer) for answer in json.loads(sys.argv.pop(1))]
register_api_provider("scripted", ScriptedProvider(answers))
main()
"""

TOOL_LOOP = ["[tool_call('calculate', {'expression': '6 * 7'})]", "'It is 42.'"]


def run(
    home: Path, prompt: str, answers: list[str], *options: str, server: str | None = None, patience_s: int = 60
) -> Finished:
    model = ["--api", "scripted", "--model-id", "small-1", *(["--base-url", server] if server else [])]
    finished = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(answers), *options, "run", prompt, *model],
        env={**os.environ, "OPENPROGRAM_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=patience_s,
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
    assert finished.err.startswith("error: replay mismatch at call 0, field context.messages[0].content")
    assert finished.err.count("replay mismatch") == 1  # said here, and not at the process's end again
    assert "openprogram: replay" not in finished.err
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


BUSY = (
    "[EventStart(), EventTextStart(content_index=0), EventTextDelta(content_index=0, delta='Let me'), "
    "EventError(reason='error', error=AssistantMessage(api='scripted', provider='x', model='y', "
    "content=[TextContent(text='Let me')], stop_reason='error', error_reason='overloaded', error_message='busy', "
    "error_retryable=True, error_retry_after_s=0.7))]"
)


def test_a_call_that_failed_is_made_again_and_a_replay_does_not_wait_for_it(tmp_path: Path) -> None:
    run_process(tmp_path, "recordings", "record", "--name", "first")
    recorded = run(tmp_path, "hi", [BUSY, "'hello'"])
    assert (recorded.code, recorded.out) == (0, "Let me\nhello\n")
    assert recorded.err.startswith("attempt 1 failed (overloaded: busy); trying again in ")

    # As if the provider had asked for a minute: the replay must be over before that.
    path = tmp_path / "recordings" / "first.jsonl"
    path.write_text(path.read_text().replace('"error_retry_after_s":0.7', '"error_retry_after_s":59.0'))
    run_process(tmp_path, "recordings", "replay", "first")
    replayed = run(tmp_path, "hi", [], patience_s=50)
    assert (replayed.code, replayed.out) == (0, recorded.out)
    assert "trying again in 59.0 s" in replayed.err
    assert "replayed 2 of 2 recorded calls, offline" in replayed.err


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
        ["--model", "openai:x", "--base-url", "127.0.0.1:8000"],
    ],
)
def test_a_wrong_choice_of_model_exits_with_2(tmp_path: Path, arguments: list[str]) -> None:
    finished = run_process(tmp_path, "run", "hi", *arguments)

    assert (finished.code, finished.out) == (2, "")
    assert "Traceback" not in finished.err


SOME = {"--api": "openai-completions", "--base-url": "http://localhost:1/v1", "--model-id": "local"}


@pytest.mark.parametrize("given", [names for size in range(4) for names in combinations(SOME, size)])
def test_of_another_servers_options_the_missing_ones_are_named(given: tuple[str, ...]) -> None:
    chosen = [SOME[name] if name in given else None for name in SOME]
    needed = {"--api", "--model-id"} - set(given)
    if not needed:
        assert choose_model(None, *chosen).id == "local"
        return

    with pytest.raises(UsageError) as failure:
        choose_model(None, *chosen)

    said = str(failure.value)
    if not given:
        assert said == "no model is chosen"
    else:
        named, missing = said.split(" without ")
        assert (set(named.split(" and ")), set(missing.split(" and "))) == (set(given), needed)
    assert "--model-id" in (failure.value.next_step or "")


@pytest.mark.parametrize("option", ["--api", "--model-id"])
def test_what_excludes_model_is_named(option: str) -> None:
    chosen = [SOME[name] if name == option else None for name in SOME]

    with pytest.raises(UsageError, match=f"--model and {option} exclude each other"):
        choose_model("openai:x", *chosen)


def run_without_keys(home: Path, *options: str) -> Finished:
    environ = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    return run_process(home, "run", "hi", *options, environ=environ)


def test_a_server_of_ones_own_without_a_key_is_told_which_variable_and_that_any_value_will_do(tmp_path: Path) -> None:
    server = ["--api", "anthropic-messages", "--base-url", "http://127.0.0.1:1", "--model-id", "local"]

    finished = run_without_keys(tmp_path, *server)

    assert finished.code == 1
    assert "set ANTHROPIC_API_KEY" in finished.err
    assert "any value of that variable will do" in finished.err


def test_a_vendors_own_server_is_not_said_to_take_any_key(tmp_path: Path) -> None:
    finished = run_without_keys(tmp_path, "--model", "anthropic:claude")

    assert finished.code == 1
    assert "set ANTHROPIC_API_KEY" in finished.err
    assert "any value" not in finished.err


def test_a_key_that_the_server_refuses_is_not_called_missing(tmp_path: Path) -> None:
    message = "api='scripted', stop_reason='error', error_reason='auth', error_message='invalid x-api-key'"

    finished = run(tmp_path, "hi", [f"AssistantMessage({message})"], server="http://127.0.0.1:1")

    assert (finished.code, "any value" in finished.err) == (1, False)


def test_recorded_calls_that_a_run_leaves_over_are_noted_and_do_not_fail_it(tmp_path: Path) -> None:
    run_process(tmp_path, "recordings", "record", "--name", "first")
    for _ in range(2):
        run(tmp_path, "hi", ["'hello'"])
    run_process(tmp_path, "recordings", "replay", "first")

    finished = run(tmp_path, "hi", [])

    assert (finished.code, finished.out) == (0, "hello\n")
    assert finished.err == "replayed 1 of 2 recorded calls, offline\n"


def test_a_replayed_failure_is_told_as_a_recorded_one_and_asks_for_no_key(tmp_path: Path) -> None:
    failed = (
        "AssistantMessage(content=[], api='scripted', provider='openai', model='m', stop_reason='error', "
        "error_reason='auth', error_message='no API key: set OPENAI_API_KEY')"
    )
    run_process(tmp_path, "recordings", "record", "--name", "first")
    recorded = run(tmp_path, "hi", [failed])
    run_process(tmp_path, "recordings", "replay", "first")
    replayed = run(tmp_path, "hi", [])

    told = "error: the run ended early: provider_error: no API key: set OPENAI_API_KEY"
    assert (recorded.code, f"{told}\n" in recorded.err) == (1, True)
    assert (replayed.code, f"{told} (replayed, as it was recorded)\n" in replayed.err) == (1, True)
    assert "A replay asks no provider and needs no key." in replayed.err
    assert "set-key" not in replayed.err
    assert replayed.err.count("was recorded") == 1  # and not once more when the program ends


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


KEY = "sk-proj-abcdEFGH1234567890abcdEFGH1234567890"


@pytest.mark.parametrize("options", [[], ["--debug"], ["--verbose"]], ids=" ".join)
@pytest.mark.parametrize(
    "answers",
    [
        [f"AssistantMessage(api='scripted', stop_reason='error', error_message='Incorrect API key provided: {KEY}')"],
        [f"[tool_call('calculate', {{'expression': 'Bearer {KEY}'}})]", "'done'"],
        [f"[tool_call('calculate', {{'headers': {{'x-api-key': '{KEY}'}}}})]", "'done'"],
        [f"[tool_call('read_file', {{'signature': '{KEY}'}})]", "'done'"],
    ],
    ids=["refused", "text", "header", "name of the protocol"],
)
def test_no_key_in_an_error_or_in_arguments_reaches_the_terminal(
    tmp_path: Path, answers: list[str], options: list[str]
) -> None:
    finished = run(tmp_path, "hi", answers, *options)

    assert KEY not in finished.out + finished.err
    assert "[secret removed" in finished.err


def test_a_recorded_run_is_not_stopped_by_what_stands_where_the_log_should_be(tmp_path: Path) -> None:
    run_process(tmp_path, "recordings", "record", "--name", "first")
    (tmp_path / "logs").mkdir()
    os.mkfifo(tmp_path / "logs" / "openprogram.jsonl")

    finished = run(tmp_path, "hi", ["'hello'"])

    assert (finished.code, finished.out) == (0, "hello\n")


def test_a_configuration_that_cannot_be_found_or_read_fails_the_run_and_calls_nobody(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "config.json")
    for home in (tmp_path, Path("~no-such-user/x")):
        finished = run(home, "hi", ["'hello'"])

        assert (finished.code, finished.out) == (1, "")
        assert finished.err.startswith("error: ")
        assert "Traceback" not in finished.err
