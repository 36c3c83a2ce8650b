"""The code in README and docs runs as it stands there."""

import ast
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
PAGES = [CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path, language: str) -> list[str]:
    return [code for kind, code in BLOCK.findall(page.read_text("utf-8")) if kind == language]


def write_named_blocks(page: Path, folder: Path) -> None:
    """The blocks whose first line is `# name.py`, as files."""
    for code in blocks(page, "python"):
        named = re.match(r"# (\w+\.py)\n", code)
        if named:
            (folder / named[1]).write_text(code, "utf-8")


def run(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "OPENPROGRAM_HOME": str(folder / "state"), **variables}
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environ, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(CHECKOUT).as_posix())
def test_python_on_a_page_is_python(page: Path) -> None:
    for code in blocks(page, "python"):
        compile(code, str(page), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def test_the_tutorial_records_replays_and_catches_the_change(tmp_path: Path) -> None:
    page = CHECKOUT / "docs" / "tutorial.md"
    write_named_blocks(page, tmp_path)
    for script in ("record.py", "replay.py"):
        finished = run(tmp_path, script)
        assert (finished.stdout, finished.returncode) == ("Yes, three lamps are left.\n", 0), finished.stderr
    agent = tmp_path / "agent.py"
    agent.write_text(agent.read_text("utf-8").replace("{item}: 3 left", "{item}: none left"), "utf-8")
    finished = run(tmp_path, "replay.py")
    assert finished.returncode == 1
    (shown,) = [text for text in blocks(page, "text") if "ReplayMismatch" in text]
    assert shown in finished.stderr


README = CHECKOUT / "README.md"
PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider")


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text("utf-8")
    assert text.count(old) == 1, (file, old)
    file.write_text(text.replace(old, new), "utf-8")


def readmes_change(folder: Path) -> None:
    """What the README says to change, in its words."""
    (new,) = re.findall(r"Let `weather` answer `(f\".+?\")`", README.read_text("utf-8"))
    edit(folder / "coat.py", 'f"{city}: 21 degrees, light wind"', new)


def readmes_commands(heading: str) -> list[list[str]]:
    """The commands of the first console block below a heading, as arguments of Python."""
    below = README.read_text("utf-8").partition(f"{heading}")[2]
    (_, console), *_ = ((kind, code) for kind, code in BLOCK.findall(below) if kind == "console")
    programs = {"python": [], "openprogram": ["-m", "openprogram"]}
    lines = [shlex.split(line.removeprefix("$ "), comments=True) for line in console.splitlines()]
    return [[*programs[program], *arguments] for program, *arguments in lines]


def test_the_readmes_agent_is_recorded_replayed_and_caught_in_its_test(tmp_path: Path) -> None:
    write_named_blocks(README, tmp_path)
    record, replay = readmes_commands("**A test.**")
    assert run(tmp_path, *replay).returncode == 1  # nothing is recorded yet
    for command, told in ((record, "0 replayed, 1 recorded"), (replay, "1 replayed, 0 recorded; calls: 2 exact")):
        finished = run(tmp_path, *command)
        assert finished.returncode == 0, finished.stdout
        assert told in finished.stdout
    assert (tmp_path / "recordings/test_coat/test_the_coat_question.jsonl").exists()

    readmes_change(tmp_path)
    finished = run(tmp_path, *replay)
    assert finished.returncode == 1
    (shown,) = [text for text in blocks(README, "text") if "the call was made at" in text]
    assert shown in finished.stdout, finished.stdout


def test_the_readmes_agent_is_recorded_replayed_and_caught_without_pytest(tmp_path: Path) -> None:
    write_named_blocks(README, tmp_path)
    for script in ("record.py", "replay.py"):
        finished = run(tmp_path, script)
        assert (finished.stdout, finished.returncode) == ("At 21 degrees you need no coat.\n", 0), finished.stderr
    readmes_change(tmp_path)
    finished = run(tmp_path, "replay.py")
    assert finished.returncode == 1
    (shown,) = [text for text in blocks(README, "text") if "the call was made at" in text]
    assert shown.partition("the call was made at")[0] in finished.stderr


def test_the_readmes_agent_is_recorded_replayed_and_caught_from_outside(tmp_path: Path) -> None:
    write_named_blocks(README, tmp_path)
    *commands, off = readmes_commands("### Without changing code")
    for command in commands:
        finished = run(tmp_path, *command)
        assert finished.returncode == 0, finished.stderr
    readmes_change(tmp_path)
    finished = run(tmp_path, *commands[-1])
    assert finished.returncode == 1
    assert "openprogram: replay failed" in finished.stderr
    assert run(tmp_path, *off).returncode == 0
    assert run(tmp_path, *commands[-1]).returncode == 0


def test_the_readmes_agent_with_a_real_model_says_that_it_has_no_key(tmp_path: Path) -> None:
    write_named_blocks(README, tmp_path)
    (real,) = [code for code in blocks(README, "python") if code.startswith("MODEL = ")]
    edit(tmp_path / "coat.py", 'MODEL = Model(id="any-1", api="any", provider="any")\n', real)
    edit(tmp_path / "coat.py", 'register_api_provider("any", ScriptedProvider(SCRIPT))\n', "")
    finished = run(tmp_path, "coat.py", ANTHROPIC_API_KEY="")
    assert finished.returncode == 1
    assert finished.stderr.endswith(
        "RuntimeError: provider_error: no API key for 'anthropic': set ANTHROPIC_API_KEY, or give options.api_key\n"
    )


def test_the_readmes_call_in_place_of_an_sdks_is_recorded_and_replayed(tmp_path: Path) -> None:
    write_named_blocks(README, tmp_path)
    (tmp_path / "test_ask.py").write_text(
        "import pytest\n"
        "from ask import ask\n"
        "from openprogram.providers.api_registry import register_api_provider\n"
        "from openprogram.providers.scripted import ScriptedProvider\n"
        "register_api_provider('anthropic-messages', ScriptedProvider(['Lisbon.']))\n"
        "@pytest.mark.recording\n"
        "def test_ask(): assert ask('A city?') == 'Lisbon.'\n"
    )
    assert run(tmp_path, *PYTEST, "test_ask.py", "--recording-mode=record").returncode == 0
    assert run(tmp_path, *PYTEST, "test_ask.py").returncode == 0
    finished = run(tmp_path, "-c", "from ask import ask; ask('A city?')", ANTHROPIC_API_KEY="")
    assert "RuntimeError: no API key for 'anthropic'" in finished.stderr


def test_the_readmes_files_run_in_an_empty_environment(tmp_path: Path) -> None:
    write_named_blocks(README, tmp_path)
    for script in ("record.py", "replay.py"):  # coat.py by itself would read the settings of whoever runs this
        finished = subprocess.run(
            [sys.executable, script], cwd=tmp_path, env={}, capture_output=True, text=True, check=False
        )
        assert finished.returncode == 0, finished.stderr


def test_a_providers_own_page_makes_a_provider_that_records(tmp_path: Path) -> None:
    own, register, _scripted = blocks(CHECKOUT / "docs" / "how-to" / "own-provider.md", "python")
    program = (
        "import asyncio\n"
        "from openprogram.providers.recording import RecordingProvider\n"
        "from openprogram.providers.types import Context, Model, UserMessage\n"
        "model = Model(id='e', api='echo', provider='echo')\n"
        "context = Context(messages=[UserMessage(content='hi')])\n"
        "async def main():\n"
        "    print((await RecordingProvider(EchoProvider(), 'e.jsonl').stream(model, context)).text)\n"
        "asyncio.run(main())\n"
    )
    (tmp_path / "program.py").write_text(own + register + program, "utf-8")
    finished = run(tmp_path, "program.py")
    assert finished.stdout == "you said 'hi'\n", finished.stderr


def test_the_team_gets_its_answers_whoever_is_ready_first(tmp_path: Path) -> None:
    write_named_blocks(CHECKOUT / "docs" / "how-to" / "concurrent-agents.md", tmp_path)
    recorded = run(tmp_path, "team.py")
    assert recorded.returncode == 0, recorded.stderr
    for _ in range(5):
        assert run(tmp_path, "replay_team.py").stdout == recorded.stdout


def test_the_shop_pays_for_the_order_of_its_own_run(tmp_path: Path) -> None:
    page = CHECKOUT / "docs" / "how-to" / "volatile-ids.md"
    write_named_blocks(page, tmp_path)
    recorded = run(tmp_path, "shop.py")
    assert re.fullmatch(r"Done: [0-9a-f-]{36} is paid\.\n", recorded.stdout), recorded.stderr
    finished = run(tmp_path, "replay_shop.py")
    (shown,) = blocks(page, "text")
    assert re.sub(r"'[0-9a-f-]{36}'", "'…'", finished.stdout) == shown, finished.stderr


@pytest.mark.parametrize("name", ["concurrent-agents", "volatile-ids"])
def test_a_projects_settings_are_what_a_recording_begins_with(tmp_path: Path, name: str) -> None:
    page = CHECKOUT / "docs" / "how-to" / f"{name}.md"
    (settings,) = blocks(page, "toml")
    (tmp_path / "pyproject.toml").write_text(settings, "utf-8")
    finished = run(tmp_path, "-m", "openprogram", "recordings", "record", "--name", "first")
    assert finished.returncode == 0, finished.stderr
    header = json.loads((tmp_path / "state" / "recordings" / "first.jsonl").read_text("utf-8"))
    assert {key: header[key] for key in ("match", "volatile") if key in header} == tomllib.loads(settings)["tool"][
        "openprogram"
    ]
