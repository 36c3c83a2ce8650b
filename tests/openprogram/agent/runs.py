"""What the tests of the agent loop share: a model, a prompt and a run over a script."""

from collections.abc import Sequence

from openprogram.agent import AgentEvent, AgentFinished, AgentRun, AgentTool, Limits, run_agent
from openprogram.providers.scripted import Answer, ScriptedProvider
from openprogram.providers.types import Context, Model, ToolResultMessage, UserMessage

__all__ = ["CONTEXT", "MODEL", "collect", "result_texts", "scripted_run"]

MODEL = Model(id="m", api="scripted", provider="test")
CONTEXT = Context(system_prompt="be brief", messages=[UserMessage(content="go")])


def scripted_run(
    answers: Sequence[Answer] | ScriptedProvider, tools: Sequence[AgentTool] = (), limits: Limits | None = None
) -> AgentRun:
    """A run over `answers`, on a clock that always says 7."""
    provider = answers if isinstance(answers, ScriptedProvider) else ScriptedProvider(answers)
    return run_agent(provider.stream_simple, MODEL, CONTEXT, tools, limits=limits or Limits(), now_ms=lambda: 7)


async def collect(run: AgentRun) -> list[AgentEvent]:
    """Every event of the run."""
    return [event async for event in run]


def result_texts(finished: AgentFinished) -> list[tuple[str, str, bool]]:
    """Of each tool result: the call's id, the text, whether it is an error."""
    return [
        (message.tool_call_id, "".join(getattr(block, "text", "") for block in message.content), message.is_error)
        for message in finished.messages
        if isinstance(message, ToolResultMessage)
    ]
