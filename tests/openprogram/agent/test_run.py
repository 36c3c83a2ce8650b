"""The wrapper over the process-wide registry, and what importing the agent brings along; each in a new interpreter."""

import os
import subprocess
import sys
from pathlib import Path

import openprogram

RUN = """
import sys
import anyio
from openprogram.agent.run import run
assert "openprogram.providers.stream" not in sys.modules
from openprogram.providers import register_api_provider
from openprogram.providers.scripted import ScriptedProvider
from openprogram.providers.types import Model

async def main():
    provider = ScriptedProvider(["hello"])
    register_api_provider("scripted-here", provider)
    finished = await run("hi", Model(id="m", api="scripted-here", provider="p"), system_prompt="be brief")
    [request] = provider.requests
    print(finished.text, finished.reason, request.context.system_prompt, request.context.messages[0].content)

anyio.run(main)
"""

IMPORT = """
import sys
import openprogram.agent
unwanted = {"openprogram.agent.run", "openprogram.providers.stream", "openprogram.providers.vendors",
            "anthropic", "openai", "httpx", "pydantic_ai"}
print(*sorted(unwanted & set(sys.modules)))
"""


def output_of(code: str, home: Path) -> str:
    finished = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=Path(openprogram.__file__).parents[1],
        env={**os.environ, "OPENPROGRAM_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert finished.stderr == ""
    return finished.stdout.strip()


def test_run_answers_a_prompt_with_the_registered_provider(tmp_path: Path) -> None:
    assert output_of(RUN, tmp_path) == "hello stop be brief hi"


def test_importing_the_agent_brings_no_vendor_and_no_registry_wrapper(tmp_path: Path) -> None:
    assert output_of(IMPORT, tmp_path) == ""
    assert list(tmp_path.iterdir()) == []
