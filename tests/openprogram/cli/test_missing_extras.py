"""Where an extra isn't installed, a command that needs it says which in one line, and every other one works."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from openprogram.cli.app import app
from tests.openprogram.cli.command import run_process
from tests.openprogram.recording_files import write_recording

#: What each extra brings, by the names that are imported. `vendors`: what all of theirs have in common.
EXTRAS = {
    "anthropic": ["anthropic"],
    "openai": ["openai"],
    "google": ["google.genai"],
    "bedrock": ["boto3", "botocore"],
    "mistral": ["mistralai"],
    "vendors": ["pydantic_ai", "genai_prices"],
    "scenarios": ["jsonpatch", "jsonpath"],
    "zstd": ["backports.zstd", "compression.zstd"],
    "pytest": ["pytest", "_pytest"],
}
EXTRAS["all"] = [module for modules in EXTRAS.values() for module in modules]

#: Every command with arguments that lead it as far as it goes offline, in this order, one after the other.
COMMANDS = {
    "demo": "",
    "run": "hi --model {provider}:some-model",
    "models": "",
    "logs": "",
    "scenarios new": "fresh",
    "scenarios list": ".",
    "scenarios check": "scenario",
    "scenarios show": "scenario",
    "scenarios replay": "scenario",
    "scenarios schema": "scenario",
    "fixtures explain": 'scenario get_order {{"id":"17"}}',
    "recordings list": "",
    "recordings show": "plain",
    "recordings diff": "plain packed",
    "recordings check": "{home}/recordings",
    "recordings scan": "packed",
    "recordings redact": "plain",
    "recordings repair": "packed",
    "recordings compress": "plain",
    "recordings expand": "packed",
    "recordings record": "--name other",
    "recordings off": "",
    "recordings replay": "packed",
    "recordings status": "",
    "recordings delete": "other --yes",
    "recordings prune": "--older-than-days 30 --yes",
    "config path": "",
    "config set": "record_replay.mode off",
    "config get": "record_replay.mode",
    "config show": "",
    "config set-key": "anthropic",
    "config remove-key": "anthropic",
}

#: Hides modules, runs each command as a process would, and prints what came of each as JSON.
PROGRAM = """
import contextlib, io, json, sys
hidden, commands = json.loads(sys.argv[1])
sys.modules.update(dict.fromkeys(hidden))  # None is what an import finds where nothing is installed
from openprogram.cli.app import main

finished = {}
for name, arguments in commands.items():
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main([*name.split(), *arguments.split()])
        except SystemExit as end:
            finished[name] = [end.code or 0, out.getvalue(), err.getvalue()]
print(json.dumps(finished))
"""


def every_command(command: Any, names: tuple[str, ...] = ()) -> Iterator[str]:
    if not hasattr(command, "commands"):
        yield " ".join(names)
        return
    for name, below in command.commands.items():
        yield from every_command(below, (*names, name))


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a scenario, and a state folder with a plain and a compressed recording."""
    folder = tmp_path_factory.mktemp("prepared")
    for name in ("plain", "packed"):
        write_recording(folder / "state" / "recordings" / f"{name}.jsonl")
    assert run_process(folder / "state", "recordings", "compress", "packed").code == 0
    assert run_process(folder / "state", "scenarios", "new", str(folder / "scenario")).code == 0
    return folder


@pytest.fixture
def home(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The state folder of a copy, in which the test runs."""
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "state"


def run_without(home: Path, hidden: list[str], provider: str) -> dict[str, tuple[int, str, str]]:
    live = ["run", "demo"]  # they import an SDK, which takes a second, and need nothing else
    if hidden == EXTRAS[provider]:
        chosen = live
    elif set(hidden) & set(EXTRAS["vendors"]):
        chosen = list(COMMANDS)
    else:
        chosen = [name for name in COMMANDS if name not in live]
    commands = {name: COMMANDS[name].format(home=home, provider=provider) for name in chosen}
    environ = {name: value for name, value in os.environ.items() if not name.endswith(("_KEY", "_PROFILE"))}
    finished = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps([hidden, commands])],
        env={**environ, "OPENPROGRAM_HOME": str(home), "OPENAI_API_KEY": ""},
        input="some-key\n",
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert finished.returncode == 0, finished.stderr
    found: dict[str, tuple[int, str, str]] = json.loads(finished.stdout)
    return found


def test_every_command_is_looked_at() -> None:
    assert sorted(COMMANDS) == sorted(every_command(typer.main.get_command(app)))


#: The commands that need an extra, and what they say without it.
NEEDS = {
    "anthropic": {"demo", "run"},
    "openai": {"run"},
    "google": {"run"},
    "bedrock": {"run"},
    "mistral": {"run"},
    "vendors": {"demo", "run", "models"},
    "scenarios": {"scenarios check", "scenarios show", "scenarios replay", "fixtures explain"},
    "zstd": {
        "recordings diff",
        "recordings check",
        "recordings scan",
        "recordings repair",
        "recordings compress",
        "recordings expand",
        "recordings replay",
    },
    "pytest": set(),
}
NEEDS["all"] = set().union(*NEEDS.values())


#: What they find wrong is their result.
TELL_ON_STDOUT = ("recordings check", "recordings scan")


@pytest.mark.parametrize("extra", EXTRAS)
def test_what_needs_an_extra_says_so_in_one_line_and_the_rest_works(home: Path, extra: str) -> None:
    provider = extra if extra in ("openai", "google", "bedrock", "mistral") else "anthropic"
    finished = run_without(home, EXTRAS[extra], provider)

    hinted = {name for name, (code, out, err) in finished.items() if code == 1 and "pip install" in out + err}
    assert hinted == NEEDS[extra], {name: finished[name] for name in hinted ^ NEEDS[extra]}
    for name, (code, out, err) in finished.items():
        assert "Traceback" not in out + err, (name, err)
        assert code == 0 or "error: " in err or name in TELL_ON_STDOUT, (name, code, out, err)
        if name in hinted:
            assert 'pip install "openprogram[' in out + err, (name, out, err)
            assert len(err.strip().splitlines()) <= 3, (name, err)
    if extra in ("anthropic", "all"):
        assert not list((home / "recordings").glob("demo-*")), "nothing is written where it can't go on"


def test_the_traceback_is_there_for_who_asks(home: Path) -> None:
    program = PROGRAM.replace("main([*", 'main(["--debug", *')
    given = json.dumps([EXTRAS["scenarios"], {"scenarios replay": "scenario"}])
    environ = {**os.environ, "OPENPROGRAM_HOME": str(home)}
    finished = subprocess.run([sys.executable, "-c", program, given], env=environ, capture_output=True, text=True)
    code, _, err = json.loads(finished.stdout)["scenarios replay"]
    assert (code, "Traceback" in err) == (1, True)
