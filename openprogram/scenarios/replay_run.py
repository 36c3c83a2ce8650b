"""One run of a scenario in a controlled world. There is no parameter through which anything live could arrive."""

from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from openprogram.agent.events import AgentFinished, FinishReason, TurnFinished
from openprogram.agent.loop import run_agent
from openprogram.fixtures.registry import FixtureRegistry
from openprogram.providers.replay import ReplayProvider
from openprogram.providers.scripted import ScriptedProvider
from openprogram.providers.types import (
    AssistantMessage,
    AssistantMessageEvent,
    Context,
    EventDone,
    Message,
    Model,
    SimpleStreamOptions,
    UserMessage,
)
from openprogram.scenarios.errors import UnknownTool
from openprogram.scenarios.journal import Journal
from openprogram.scenarios.scenario import Scenario
from openprogram.scenarios.tools import ScenarioTool, Stage
from openprogram.world.chance import Chance
from openprogram.world.clock import ScenarioClock
from openprogram.world.world import World

__all__ = ["JOURNAL_FORMAT_VERSION", "MODE", "ReplayRun", "RunResult"]

JOURNAL_FORMAT_VERSION: Final = 1
MODE: Final = "replay"

EndReason: TypeAlias = FinishReason | Literal["ended_by_tool"]


@dataclass(frozen=True)
class RunResult:
    """`messages`: the conversation, user turns included. `reason`: why the last turn ended. `world`: as it was left."""

    messages: tuple[Message, ...]
    reason: EndReason
    world: World
    tool_calls: int
    journal_digest: str


class ReplayRun:
    """Runs `scenario` once. `fixtures` and the scenario's own operations answer its tools, `provider` for the model.

    `write` takes the journal's lines.

    Raises TypeError: `provider` is neither a ReplayProvider nor a ScriptedProvider, which alone hold nothing live.
    """

    def __init__(
        self,
        scenario: Scenario,
        fixtures: FixtureRegistry,
        provider: ReplayProvider | ScriptedProvider,
        write: Callable[[bytes], Any] = lambda line: None,
    ) -> None:
        if type(provider) not in (ReplayProvider, ScriptedProvider):
            kind = type(provider).__name__
            raise TypeError(f"a replayed run takes a ReplayProvider or a ScriptedProvider, not {kind}")
        self._scenario, self._provider = scenario, provider
        clock = ScenarioClock(scenario.start)
        journal = self._journal = Journal(clock, write)
        self._world = World(scenario.resources, clock, journal.world)
        stage = Stage(scenario, fixtures, self._world, Chance(scenario.seed, "main", journal.draw), journal)
        self._stage = stage
        self._tools = [ScenarioTool(contract, stage) for contract in scenario.contracts.values()]

    async def run(self) -> RunResult:
        """The whole conversation.

        Raises RunStopped, ReplayMismatch and others below PipelineError: the scenario has no answer.
        """
        scenario, world = self._scenario, self._world
        self._journal.add("run", format_version=JOURNAL_FORMAT_VERSION, mode=MODE, scenario=scenario.identity)
        messages: list[Message] = []
        reason: EndReason = "stop"
        for turn, text in enumerate(scenario.turns):
            self._journal.add("user", turn=turn, text=text)
            messages.append(UserMessage(content=text, timestamp=world.clock.now_ms))
            reason = await self._turn(messages)
            if reason != "stop":
                break
        self._journal.add("end", reason=reason, world_revision=world.revision)
        return RunResult(tuple(messages), reason, world, self._stage.calls, self._journal.digest)

    async def _turn(self, messages: list[Message]) -> EndReason:
        """The agent's work until it answers the user; adds to `messages`."""
        context = Context(system_prompt=self._scenario.system_prompt, messages=list(messages))
        clock = self._world.clock
        agent = run_agent(
            self._stream,
            self._scenario.model,
            context,
            self._tools,
            limits=self._scenario.limits,
            now_ms=lambda: clock.now_ms,
        )
        async with agent:
            async for event in agent:
                if isinstance(event, AgentFinished):
                    return event.reason
                if isinstance(event, TurnFinished):
                    messages += [event.message, *event.results]
                    if any(call.name in self._scenario.ends_after for call in event.message.tool_calls):
                        return "ended_by_tool"
        raise AssertionError("an agent run ends with AgentFinished")

    async def _stream(
        self, model: Model, context: Context, options: SimpleStreamOptions | None
    ) -> AsyncIterator[AssistantMessageEvent]:
        """The provider's answer; stops at a tool that the scenario doesn't have, before the loop makes text of that."""
        async with aclosing(self._provider.stream_simple(model, context, options)) as events:
            async for event in events:
                if isinstance(event, EventDone):
                    self._note(event.message)
                yield event

    def _note(self, message: AssistantMessage) -> None:
        self._journal.add("answer.model", message=message.model_dump(mode="json", exclude={"timestamp"}))
        for call in message.tool_calls:
            if call.name not in self._scenario.contracts:
                raise UnknownTool(tool=call.name, known=tuple(self._scenario.contracts), call=self._stage.calls)
