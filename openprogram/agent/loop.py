"""The agent loop: call the model, run the tools it asks for, tell it the results, until it stops.

The loop is given the function that calls the model. It knows nothing of providers, registry, recording or replay,
which is what makes a recorded run and a replayed run the same program.
"""

import random
import time
from collections.abc import AsyncIterator, Callable, Sequence
from itertools import count
from typing import NamedTuple, TypeAlias

from anyio import move_on_after

from openprogram.agent.agent_run import AgentRun, Emit
from openprogram.agent.corrections import correction
from openprogram.agent.events import (
    AgentFinished,
    AttemptFailed,
    FinishReason,
    ModelEvent,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from openprogram.agent.limits import Limits
from openprogram.agent.retries import Clock, Retries, WaitingClock
from openprogram.agent.tool_calls import answer_call
from openprogram.agent.tools import AgentTool, ToolOutput, failed
from openprogram.pipeline.tasks import run_side_by_side
from openprogram.providers.event_stream import as_event_stream
from openprogram.providers.types import (
    AssistantMessage,
    AssistantMessageEvent,
    Context,
    Message,
    Model,
    SimpleStreamOptions,
    ToolCall,
    ToolResultMessage,
)

__all__ = ["StreamFunction", "run_agent", "wall_clock_ms"]

#: Makes one provider call: `provider.stream_simple`, for instance.
StreamFunction: TypeAlias = Callable[[Model, Context, SimpleStreamOptions | None], AsyncIterator[AssistantMessageEvent]]


def wall_clock_ms() -> int:
    """Now, in Unix milliseconds."""
    return time.time_ns() // 1_000_000


def run_agent(
    stream_function: StreamFunction,
    model: Model,
    context: Context,
    tools: Sequence[AgentTool] = (),
    *,
    options: SimpleStreamOptions | None = None,
    limits: Limits = Limits(),  # noqa: B008 - immutable
    retries: Retries = Retries(),  # noqa: B008 - immutable
    clock: Clock | None = None,
    chance: random.Random | None = None,
    now_ms: Callable[[], int] = wall_clock_ms,
) -> AgentRun:
    """A run that continues `context` with `model` and `tools`. It begins when it is iterated, awaited or entered.

    It is no coroutine: await it inside one, as `asyncio.run` refuses it.

    `context` stays as it is; the messages that the run adds are in its result. `options` go with every call.
    `now_ms`: Unix milliseconds, the timestamp of each tool result. `clock`, `chance`: how the run waits before it makes
    a failed call again, and what spreads the waits; by default the event loop's time and the system's randomness.
    A run over a ReplayProvider is handed a StillClock. The run takes no other value from outside.

    The run raises what `stream_function` raises, as itself, and PipelineError from inside a tool; all else that a
    tool raises is a result for the model. A call that fails as an `error` event is made again as `retries` say, each
    attempt a call of its own with the same request; if that doesn't help, the run ends with a reason.

    Raises ValueError: two tools have the same name, or `context` brings definitions of its own.
    """
    by_name = {tool.definition.name: tool for tool in tools}
    if len(by_name) < len(tools):
        raise ValueError(f"two tools have the same name: {', '.join(tool.definition.name for tool in tools)}")
    if context.tools:
        raise ValueError("context.tools is set: give run_agent the tools themselves, it tells the model of them")
    attempts = _Attempts(retries, clock or WaitingClock(), chance or random.Random())
    loop = _Loop(stream_function, model, context, by_name, options, limits, attempts, now_ms)
    return AgentRun(loop.run)


class _Attempts(NamedTuple):
    """How the run tries again."""

    retries: Retries
    clock: Clock
    chance: random.Random


class _Loop:
    """One run. `_messages`: what it has added so far; whole at any moment at which it can be stopped."""

    def __init__(
        self,
        stream_function: StreamFunction,
        model: Model,
        context: Context,
        tools: dict[str, AgentTool],
        options: SimpleStreamOptions | None,
        limits: Limits,
        attempts: _Attempts,
        now_ms: Callable[[], int],
    ) -> None:
        self._stream_function, self._model, self._options = stream_function, model, options
        self._context, self._tools = context, tools
        self._limits, self._attempts, self._now_ms = limits, attempts, now_ms
        self._messages: list[Message] = []
        self._failed_attempts: list[AttemptFailed] = []
        self._total_tokens = 0
        self._corrections_left = limits.max_corrections

    async def run(self, emit: Emit) -> AgentFinished:
        """All turns, within the time limit."""
        reason: FinishReason = "time_limit"
        with move_on_after(self._limits.max_seconds):
            reason = await self._turns(emit)
        return AgentFinished(tuple(self._messages), reason, tuple(self._failed_attempts))

    async def _turns(self, emit: Emit) -> FinishReason:
        for turn in count():
            limit = self._limits.reached(turns=turn, total_tokens=self._total_tokens)
            if limit is not None:
                return limit
            await emit(TurnStarted(turn))
            message = await self._call_model(turn, emit)
            # a cut-off or failed answer may hold half a tool call: none of them runs
            calls = message.tool_calls if message.stop_reason in ("stop", "toolUse") else []
            results = await self._run_tools(turn, calls, emit)
            await emit(TurnFinished(turn, message, tuple(results)))
            if message.stop_reason in ("error", "aborted"):
                return "provider_error"
            if message.stop_reason == "length":
                return "length"
            if calls or message.paused:  # a paused answer goes on when it is sent back
                continue
            if message.parse_error is None:
                return "stop"
            if self._corrections_left == 0:
                return "invalid_answer"
            self._corrections_left -= 1
            self._messages.append(correction(message, self._now_ms()))
        raise AssertionError("count() does not end")

    async def _call_model(self, turn: int, emit: Emit) -> AssistantMessage:
        """The answer of this turn, or the failure of its last attempt; what failed before is no part of `_messages`."""
        for attempt in count():
            message = await self._attempt(turn, attempt, emit)
            wait_s = self._wait_s(turn, attempt, message)
            if wait_s is None:
                self._messages.append(message)
                return message
            failed_attempt = AttemptFailed(turn, attempt, message, wait_s)
            self._failed_attempts.append(failed_attempt)
            await emit(failed_attempt)
            await self._attempts.clock.sleep(wait_s)
        raise AssertionError("count() does not end")

    def _wait_s(self, turn: int, attempt: int, message: AssistantMessage) -> float | None:
        """Seconds until the next attempt; None where there is none, for another reason or because of a limit."""
        if self._limits.reached(turns=turn, total_tokens=self._total_tokens) is not None:
            return None
        options = self._options or SimpleStreamOptions()
        retries, _, chance = self._attempts
        return retries.wait_s(message, attempt + 1, options.max_retry_delay_ms, chance)

    async def _attempt(self, turn: int, attempt: int, emit: Emit) -> AssistantMessage:
        context = self._context.model_copy(
            update={
                "messages": [*self._context.messages, *self._messages],
                "tools": [tool.definition for tool in self._tools.values()] or None,
            }
        )
        async with as_event_stream(self._stream_function(self._model, context, self._options), self._model) as stream:
            async for event in stream:
                await emit(ModelEvent(turn, event, attempt))
            message = await stream
        self._total_tokens += message.usage.total_tokens
        return message

    async def _run_tools(self, turn: int, calls: list[ToolCall], emit: Emit) -> list[ToolResultMessage]:
        """Run all of `calls` side by side. The results stand in call order, whichever finishes first."""
        finished: dict[int, ToolResultMessage] = {}

        async def run_one(position: int, call: ToolCall) -> None:
            await emit(ToolStarted(turn, call))
            finished[position] = self._result(call, await answer_call(call, self._tools))
            await emit(ToolFinished(turn, call, finished[position]))

        try:
            await run_side_by_side([run_one(position, call) for position, call in enumerate(calls)])
        finally:
            # also when time is up: a conversation with an unanswered tool call could not be continued
            results = [
                finished.get(position) or self._result(call, failed("not finished: the run was stopped"))
                for position, call in enumerate(calls)
            ]
            self._messages.extend(results)
        return results

    def _result(self, call: ToolCall, output: ToolOutput) -> ToolResultMessage:
        return ToolResultMessage(
            tool_call_id=call.id,
            tool_name=call.name,
            content=output.content,
            details=output.details,
            is_error=output.is_error,
            timestamp=self._now_ms(),
        )
