"""What the demo does, step by step. Each step returns what it saw; nothing is printed here."""

import json
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from openprogram.agent import AgentTool, ModelEvent, run_agent, tool
from openprogram.demo.server import Exchange, serve
from openprogram.errors import OpenProgramError
from openprogram.providers.api_registry import ApiProvider
from openprogram.providers.recording import RecordingProvider
from openprogram.providers.replay import ReplayMismatch, ReplayProvider
from openprogram.providers.types import (
    AssistantMessage,
    AssistantMessageEvent,
    Context,
    Model,
    SimpleStreamOptions,
    UserMessage,
)

__all__ = ["API_KEY", "ChangeMissed", "DemoRun", "record", "replay", "replay_with_a_change"]

#: Not a key of anybody's; it must not be in the file.
API_KEY = "sk-ant-demo-0123456789abcdef0123456789abcdef"


class ChangeMissed(OpenProgramError):
    """The replay took a changed tool result for the recorded one: a defect."""

    def __init__(self) -> None:
        super().__init__("the replay did not notice that a tool result had changed; this is a defect, please report it")


@dataclass(frozen=True)
class DemoRun:
    """One run of the agent. `events`: of every call, in order; `base_url`: where the model was asked."""

    events: list[AssistantMessageEvent]
    answers: list[AssistantMessage]
    base_url: str


@tool
def order_status(order_id: str) -> str:
    """Where an order is."""
    return f"{order_id}: packed, leaves the warehouse tomorrow"


def _changed_tool() -> AgentTool:
    @tool
    def order_status(order_id: str) -> str:
        """Where an order is."""
        return f"{order_id}: on hold, the card was declined"

    return order_status


async def record(provider: ApiProvider, path: Path) -> DemoRun:
    """Run the agent against the loopback server, through the vendor's real SDK, and record it into `path`."""
    async with serve(_conversation()) as base_url:
        recording = RecordingProvider(provider, path)
        try:
            return await _run(recording, base_url, order_status)
        finally:
            recording.close()


async def replay(path: Path, base_url: str) -> DemoRun:
    """The same run, answered from the file. Raises ReplayMismatch: it was another one."""
    with ReplayProvider(path) as provider:
        run = await _run(provider, base_url, order_status)
        provider.assert_consumed()
        return run


async def replay_with_a_change(path: Path, base_url: str) -> ReplayMismatch:
    """The run with a tool that answers otherwise: the mismatch that this comes to. Raises ChangeMissed."""
    with ReplayProvider(path) as provider:
        try:
            await _run(provider, base_url, _changed_tool())
        except ReplayMismatch as mismatch:
            return mismatch
    raise ChangeMissed


async def _run(provider: ApiProvider, base_url: str, status_tool: AgentTool) -> DemoRun:
    model = Model(id="claude-demo-1", api="anthropic-messages", provider="anthropic", base_url=base_url, max_tokens=512)
    context = Context(
        system_prompt="You answer questions about orders.",
        messages=[UserMessage(content="Has order A-17 been shipped?")],
    )
    options = SimpleStreamOptions(api_key=API_KEY)
    async with run_agent(provider.stream_simple, model, context, [status_tool], options=options) as run:
        events = [event.event async for event in run if isinstance(event, ModelEvent)]
        finished = await run
    answers = [message for message in finished.messages if isinstance(message, AssistantMessage)]
    return DemoRun(events, answers, base_url)


def _conversation() -> list[Exchange]:
    text = files("openprogram.demo").joinpath("conversation.json").read_text("utf-8")
    conversation: list[Exchange] = json.loads(text)
    return conversation
