"""`run()`: the agent loop over the process-wide provider registry. The only module here that reaches for it."""

from collections.abc import Sequence

from openprogram.agent.agent_run import AgentRun
from openprogram.agent.limits import Limits
from openprogram.agent.loop import run_agent, wall_clock_ms
from openprogram.agent.retries import Clock, Retries, StillClock, WaitingClock
from openprogram.agent.tools import AgentTool
from openprogram.providers.types import Context, Model, SimpleStreamOptions, UserMessage

__all__ = ["run"]


def run(
    prompt: str,
    model: Model,
    tools: Sequence[AgentTool] = (),
    *,
    system_prompt: str | None = None,
    options: SimpleStreamOptions | None = None,
    limits: Limits = Limits(),  # noqa: B008 - immutable
    retries: Retries = Retries(),  # noqa: B008 - immutable
) -> AgentRun:
    """A run that answers `prompt` with the provider registered for `model.api`. See `run_agent`.

    Where the process replays, it does not wait between attempts.
    """
    from openprogram.providers.stream import stream_simple  # not at import: it brings the provider runtime

    context = Context(system_prompt=system_prompt, messages=[UserMessage(content=prompt, timestamp=wall_clock_ms())])
    return run_agent(
        stream_simple, model, context, tools, options=options, limits=limits, retries=retries, clock=_RuntimeClock()
    )


class _RuntimeClock:
    """Waits for live providers only. Asked late: the runtime starts with the first call, and not with an import."""

    async def sleep(self, seconds: float) -> None:
        from openprogram.providers.stream import answers_are_recorded

        clock: Clock = StillClock() if answers_are_recorded() else WaitingClock()
        await clock.sleep(seconds)
