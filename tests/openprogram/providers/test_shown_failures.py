"""What Python prints of a replay that stops, where nothing but Python prints it: a real program's stderr."""

import re
import subprocess
import sys

import pytest

PACKAGE = "openprogram"

PROGRAM = """\
import asyncio
import sys
import traceback

import anyio

from openprogram.agent import run_agent, tool
from openprogram.providers.recording import RecordingProvider
from openprogram.providers.replay import ReplayProvider
from openprogram.providers.scripted import ScriptedProvider, tool_call
from openprogram.providers.types import Context, Model, UserMessage

MODEL = Model(id="any-1", api="any", provider="any")
NOW = "what is recorded"


def context():
    return Context(messages=[UserMessage(content=NOW)])


@tool
def item() -> str:
    "An item."
    return "lamp"


@tool
async def expert() -> str:
    "Asks another model."
    return (await replay.stream_simple(MODEL, context())).text


class Own:
    async def stream(self, model, context, options=None):
        async for event in replay.stream(model, context, options):
            yield event

    stream_simple = stream


async def record():
    model = ScriptedProvider([[tool_call("item", {})], "A lamp."])
    await run_agent(RecordingProvider(model, "calls.jsonl").stream_simple, MODEL, context(), [item])


async def awaited():
    await replay.stream_simple(MODEL, context())


async def iterated():
    async for _ in replay.stream_simple(MODEL, context()):
        pass


async def entered():
    async with replay.stream_simple(MODEL, context()) as stream:
        async for _ in stream:
            pass


async def agent():
    await run_agent(replay.stream_simple, MODEL, context(), [item])


async def agent_followed():
    async with run_agent(replay.stream_simple, MODEL, context(), [item]) as run:
        async for _ in run:
            pass


async def task_group():
    async with asyncio.TaskGroup() as group:
        group.create_task(awaited())


async def anyio_task_group():
    async with anyio.create_task_group() as group:
        group.start_soon(awaited)


async def gathered():
    await asyncio.gather(awaited(), awaited())


async def in_a_tool():
    model = ScriptedProvider([[tool_call("expert", {})], "Done."])
    await run_agent(model.stream_simple, MODEL, context(), [expert])


async def own_provider():
    await run_agent(Own().stream_simple, MODEL, context(), [item])


async def own_provider_recorded():
    await RecordingProvider(Own(), "other.jsonl").stream(MODEL, context())


async def past_the_end():
    global NOW
    NOW = "what is recorded"
    await run_agent(replay.stream_simple, MODEL, context(), [item])
    await awaited()


asyncio.run(record())
run, *ways = sys.argv[1:]
for way in ways:
    NOW = "something else"
    with ReplayProvider("calls.jsonl") as replay:
        print("way", way, file=sys.stderr)
        try:
            asyncio.run(globals()[way]()) if run == "asyncio" else anyio.run(globals()[way])
        except Exception:
            traceback.print_exc()  # as Python does where nobody catches it
"""

#: How a program asks, and the functions of its own that are shown, outermost first.
WAYS = {
    "awaited": ["awaited"],
    "iterated": ["iterated"],
    "entered": ["entered"],
    "agent": ["agent"],
    "agent_followed": ["agent_followed"],
    "task_group": ["task_group", "awaited"],
    "anyio_task_group": ["anyio_task_group", "awaited"],
    "gathered": ["gathered", "awaited"],
    "in_a_tool": ["in_a_tool", "expert"],
    "own_provider": ["own_provider", "stream"],
    "own_provider_recorded": ["own_provider_recorded", "stream"],
    "past_the_end": ["past_the_end", "awaited"],
}


@pytest.fixture(scope="module", params=["asyncio", "anyio"])
def shown(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Of each way, the lines on stderr, without a group's frame around them."""
    folder = tmp_path_factory.mktemp("program")
    (folder / "program.py").write_text(PROGRAM, "utf-8")
    command = [sys.executable, "program.py", request.param, *WAYS]
    finished = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    _, *parts = re.split(r"^way (\w+)$", finished.stderr, flags=re.MULTILINE)
    return {
        way: [stripped for line in text.splitlines() if (stripped := line.lstrip(" |+-"))]
        for way, text in zip(parts[::2], parts[1::2], strict=True)
    }


@pytest.mark.parametrize("way", WAYS)
def test_the_users_lines_then_the_mismatch_and_nothing_of_ours(shown: dict[str, list[str]], way: str) -> None:
    lines = shown[way]
    places = [line for line in lines if line.startswith('File "')]
    users = [place.rpartition(" in ")[2] for place in places if "program.py" in place]
    assert users == ["<module>", *WAYS[way]], lines
    assert not [place for place in places if f"/{PACKAGE}/" in place or "/pipeline/" in place], lines
    assert not [line for line in lines if "another exception" in line or "direct cause" in line]

    (start,) = [at for at, line in enumerate(lines) if "ReplayMismatch: replay mismatch at call" in line]
    said = lines[start:]
    assert [line.split(" ")[0] for line in said[1:3]] == ["recorded", "cause:"]
    assert "openprogram recordings show calls.jsonl" in said[-1]
    assert len(said) == 4, lines
