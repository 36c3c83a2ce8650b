"""A small test suite of a user, in a folder of its own, run by a real pytest in a new process."""

import os
import re
import shlex
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

__all__ = ["AGENT", "CONFTEST", "Finished", "Suite"]

#: A program that asks the registry for its provider.
AGENT = """
from openprogram.providers.stream import complete
from openprogram.providers.types import Context, Model, UserMessage

MODEL = Model(id="small-1", api="here", provider="example")


async def ask(question, provider=None):
    context = Context(messages=[UserMessage(content=question)])
    message = await (provider.stream(MODEL, context) if provider else complete(MODEL, context))
    return message.text


async def careless(question):
    "Catches everything, tries three times, then apologises."
    for _ in range(3):
        try:
            return await ask(question)
        except Exception:
            pass
    return "sorry"
"""

#: A live provider for the api `here`: it answers with what was asked, and says in a file that it was asked.
CONFTEST = """
import pathlib
from openprogram.providers.api_registry import register_api_provider
from openprogram.providers.scripted import message_events
from openprogram.providers.types import AssistantMessage, TextContent

HERE = pathlib.Path(__file__).parent


class Echo:
    async def stream(self, model, context, options=None):
        with (HERE / "live-calls.txt").open("a") as file:
            file.write(f"{context.messages[-1].content}\\n")
        content = [TextContent(text=f"you said {context.messages[-1].content}")]
        message = AssistantMessage(
            content=content, api=model.api, provider=model.provider, model=model.id, stop_reason="stop"
        )
        for event in message_events(message):
            yield event

    stream_simple = stream


register_api_provider("here", Echo())
"""


@dataclass(frozen=True)
class Finished:
    """How a run of pytest ended. `outcomes`: how many tests passed, failed and so on, by pytest's own words."""

    status: int
    text: str

    @property
    def outcomes(self) -> dict[str, int]:
        last = next((line for line in reversed(self.text.splitlines()) if re.search(r" in [\d.]+s\b", line)), "")
        found = re.findall(r"(\d+) (passed|failed|errors?|skipped|xfailed|xpassed|deselected|warnings?)", last)
        return {word.removesuffix("s") if word.startswith("error") else word: int(count) for count, word in found}

    def __str__(self) -> str:
        return f"exit status {self.status}\n{self.text}"


class Suite:
    """Files below `folder`; each keyword of `write` is a module's name."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "pytest.ini").write_text("[pytest]\n")
        self.write(agent=AGENT, conftest=CONFTEST)

    def write(self, **modules: str) -> None:
        for name, text in modules.items():
            (self.folder / f"{name}.py").write_text(textwrap.dedent(text))

    def run(self, *arguments: str, plugins: tuple[str, ...] = (), cwd: Path | None = None) -> Finished:
        """`plugins`: which of the installed plugins are loaded beside ours, by entry point."""
        chosen = [option for name in ("openprogram", *plugins) for option in ("-p", name)]
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *chosen, *arguments]
        return self._run(command, cwd or self.folder)

    def run_shown_command(self, shown: Finished, cwd: Path | None = None) -> Finished:
        """Run what a failure says to run to record the test, as it stands there."""
        (line,) = {line for line in shown.text.splitlines() if line.startswith("to record this test")}
        program, *arguments = shlex.split(line.partition(": ")[2])
        assert program == "python"
        return self._run([sys.executable, *arguments], cwd or self.folder)

    def run_program(self, *arguments: str) -> Finished:
        """A program of the user's, in place of pytest."""
        return self._run([sys.executable, *arguments], self.folder)

    def _run(self, command: list[str], cwd: Path) -> Finished:
        environ = {
            **os.environ,
            "OPENPROGRAM_HOME": str(self.folder / "state"),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTHONPATH": str(self.folder),
            "COLUMNS": "200",
        }
        for name in ("PYTEST_ADDOPTS", "CI", "BUILD_NUMBER"):  # the last two make pytest's summary longer
            environ.pop(name, None)
        finished = subprocess.run(
            command,
            cwd=cwd,
            env=environ,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return Finished(finished.returncode, finished.stdout + finished.stderr)

    @property
    def live_calls(self) -> list[str]:
        """What the live provider was asked, so far."""
        file = self.folder / "live-calls.txt"
        return file.read_text().splitlines() if file.exists() else []

    def files(self, pattern: str = "*") -> list[str]:
        """The files in folders of recordings, relative to the suite."""
        found = (path for path in self.folder.rglob(pattern) if path.is_file() and "recordings" in path.parts)
        return sorted(path.relative_to(self.folder).as_posix() for path in found)
