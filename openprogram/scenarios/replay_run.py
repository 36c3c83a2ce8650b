"""One run of a scenario in a controlled world. There is no parameter through which anything live could arrive."""

from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from openprogram.agent.events import AgentFinished, FinishReason, TurnFinished
from openprogram.agent.loop import run_agent
from openprogram.fixtures.registry import FixtureRegistry
from openprogram.pipeline.errors import PipelineError
from openprogram.providers.replay import ReplayProvider
from openprogram.providers.scripted import ScriptedProvider
from openprogram.providers.types import (
    AssistantMessageEvent,
    Context,
    EventDone,
    Message,
    Model,
    SimpleStreamOptions,
    UserMessage,
)
from openprogram.scenarios.agent_time import ScenarioRandom, ScenarioSleep
from openprogram.scenarios.checkpoint import checkpoint
from openprogram.scenarios.errors import UnknownTool, stop_code
from openprogram.scenarios.journal import JOURNAL_FORMAT_VERSION
from openprogram.scenarios.model_calls import ModelCalls, ReplayOnlyProvider
from openprogram.scenarios.scenario import Scenario
from openprogram.scenarios.scopes import SCENARIO, SEGMENT
from openprogram.scenarios.state import MODE, RunState, run_identity, stage_for
from openprogram.scenarios.tools import ScenarioTool
from openprogram.world.world import World

__all__ = ["EndReason", "ReplayRun", "RunResult"]

#: Why a run ended: as an agent run does, by a tool that ends the conversation, or at the budget of model calls.
EndReason: TypeAlias = FinishReason | Literal["ended_by_tool", "call_limit"]


@dataclass(frozen=True)
class RunResult:
    """`messages`: the conversation, user turns included. `reason`: why the last turn ended. `world`: as it was left."""

    messages: tuple[Message, ...]
    reason: EndReason
    world: World
    model_calls: int
    tool_calls: int
    journal_digest: str


class ReplayRun:
    """Runs `scenario` once. `fixtures` and the scenario's own operations answer its tools, `provider` for the model.

    `write` takes the journal's lines. `branch`: its name seeds all chance, together with the scenario's seed.
    `begin`: where the run goes on from, and `last_turn`: where it ends, for a replay of some turns only.
    Raises TypeError: `provider` is neither a ReplayProvider nor a ScriptedProvider, which alone hold nothing live.
    """

    def __init__(
        self,
        scenario: Scenario,
        fixtures: FixtureRegistry,
        provider: ReplayOnlyProvider,
        *,
        write: Callable[[bytes], Any] = lambda line: None,
        branch: str = "main",
        begin: RunState | None = None,
        last_turn: int | None = None,
    ) -> None:
        # exact types: a subclass could hold anything
        if type(provider) not in (ReplayProvider, ScriptedProvider):
            kind = type(provider).__name__
            raise TypeError(f"a replayed run takes a ReplayProvider or a ScriptedProvider, not {kind}")
        state = begin or RunState(at=scenario.start)
        self._scenario, self._branch = scenario, branch
        self._scope = SCENARIO if begin is None else SEGMENT
        self._stage = stage_for(scenario, fixtures, state, branch, write)
        self._model_calls = ModelCalls(
            provider,
            [one for one in scenario.injections if one.fault == "delay" or not state.answers_failed_already],
            self._stage.world,
            self._stage.journal,
            state.model_calls,
        )
        self._tools = [ScenarioTool(contract, self._stage) for contract in scenario.contracts.values()]
        self._messages = list(state.messages)
        self.checkpoint: dict[str, Any] | None = None  #: where the run stopped, as JSON
        self._turns = range(state.turn, len(scenario.turns) if last_turn is None else last_turn + 1)

    @property
    def id(self) -> str:
        """The run's identity: the same for every run of this scenario on this branch."""
        return run_identity(self._scenario, self._branch)

    async def run(self) -> RunResult:
        """The whole conversation. Once only: RuntimeError where it is asked for again.

        Raises RunStopped: the scenario has no answer. ReplayMismatch and others below PipelineError: the provider
        has none, or something went beyond a contract. `checkpoint` then says where the run was.
        """
        if self._stage.journal.position:
            raise RuntimeError("a run is made once: make another ReplayRun")
        self._stage.journal.add(
            "run",
            format_version=JOURNAL_FORMAT_VERSION,
            run=self.id,
            mode=MODE,
            scope=self._scope.name,
            branch=self._branch,
            scenario=self._scenario.identity,
            fixtures=self._stage.fixtures.digests,
        )
        try:
            reason = await self._conversation()
        except PipelineError as stopped:
            self.checkpoint = checkpoint(
                journal_position=self._stage.journal.position,
                messages=self._messages,
                world=self._stage.world,
                chance=self._stage.chance,
            )
            self._stage.journal.add("stopped", code=stop_code(stopped), tool_calls=self._stage.calls)
            raise
        self._stage.journal.add("end", reason=reason, world_revision=self._stage.world.revision)
        return RunResult(
            tuple(self._messages),
            reason,
            self._stage.world,
            self._model_calls.count,
            self._stage.calls,
            self._stage.journal.digest,
        )

    async def _conversation(self) -> EndReason:
        reason: EndReason = "stop"
        for turn in self._turns:
            if self._budget_is_used_up:
                return "call_limit"
            text = self._scenario.turns[turn]
            self._stage.journal.add("user", turn=turn, text=text)
            self._messages.append(UserMessage(content=text, timestamp=self._stage.world.clock.now_ms))
            reason = await self._turn()
            if reason != "stop":
                break
        return reason

    @property
    def _budget_is_used_up(self) -> bool:
        bound = self._scenario.budgets.model_calls
        return bound is not None and self._model_calls.count >= bound  # more: attempts within one turn

    async def _turn(self) -> EndReason:
        """The agent's work until it answers the user."""
        scenario, clock = self._scenario, self._stage.world.clock
        context = Context(system_prompt=scenario.system_prompt, messages=list(self._messages))
        agent = run_agent(
            self._stream,
            scenario.model,
            context,
            self._tools,
            limits=scenario.limits,
            clock=ScenarioSleep(self._stage.world),
            chance=ScenarioRandom(self._stage.chance.stream("agent:retries")),
            now_ms=lambda: clock.now_ms,
        )
        async with agent:
            async for event in agent:
                if isinstance(event, AgentFinished):
                    return event.reason
                if isinstance(event, TurnFinished):
                    self._messages += [event.message, *event.results]
                    if any(call.name in scenario.ends_after for call in event.message.tool_calls):
                        return "ended_by_tool"
                    if event.results and self._budget_is_used_up:
                        return "call_limit"
        raise AssertionError("an agent run ends with AgentFinished")

    async def _stream(
        self, model: Model, context: Context, options: SimpleStreamOptions | None
    ) -> AsyncIterator[AssistantMessageEvent]:
        """The provider's answer; stops at a tool that the scenario doesn't have, before the loop makes text of that."""
        async with aclosing(self._model_calls.stream(model, context, options)) as events:
            async for event in events:
                if isinstance(event, EventDone):
                    self._check_tools(event)
                yield event

    def _check_tools(self, event: EventDone) -> None:
        for call in event.message.tool_calls:
            if call.name not in self._scenario.contracts:
                raise UnknownTool(tool=call.name, known=tuple(self._scenario.contracts), call=self._stage.calls)
