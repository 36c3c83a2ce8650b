"""The code in README and docs runs as it stands there."""

import ast
import json
import os
import re
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


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "OPENPROGRAM_HOME": str(folder / "state")}
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


def test_the_readmes_agent_replays_in_the_readmes_test(tmp_path: Path) -> None:
    write_named_blocks(CHECKOUT / "README.md", tmp_path)
    (tmp_path / "record_scripted.py").write_text(
        "import asyncio\n"
        "from coat import answer\n"
        "from openprogram.providers.recording import RecordingProvider\n"
        "from openprogram.providers.scripted import ScriptedProvider, tool_call\n"
        "model = ScriptedProvider([[tool_call('weather', {'city': 'Lisbon'})], 'You need no coat.'])\n"
        "print(asyncio.run(answer(RecordingProvider(model, 'coat.jsonl'))))\n"
    )
    assert run(tmp_path, "record_scripted.py").stdout == "You need no coat.\n"
    finished = run(tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_coat.py")
    assert "1 passed" in finished.stdout, finished.stdout


def test_the_readmes_agent_says_why_it_has_no_answer(tmp_path: Path) -> None:
    write_named_blocks(CHECKOUT / "README.md", tmp_path)
    environ = {name: value for name, value in os.environ.items() if name != "ANTHROPIC_API_KEY"}
    finished = subprocess.run(
        [sys.executable, "coat.py"], cwd=tmp_path, env=environ, capture_output=True, text=True, check=False
    )
    assert finished.returncode == 1
    assert "ANTHROPIC_API_KEY" in finished.stderr


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
