"""One tool call, whatever becomes of it, as one output."""

import math
from collections.abc import Mapping

from anyio import current_effective_deadline, get_cancelled_exc_class

from openprogram.agent.failures import single_failure
from openprogram.agent.tools import AgentTool, ToolOutput, failed
from openprogram.pipeline.errors import PipelineError
from openprogram.providers.types import ToolCall

__all__ = ["answer_call", "unread"]


async def answer_call(call: ToolCall, tools: Mapping[str, AgentTool]) -> ToolOutput:
    """Run the tool that `call` asks for. An unknown name or an exception becomes an error result.

    So does a call whose arguments could not all be read: with what is missing, it might do something else.

    The result holds the exception's type and message, not its traceback: that would tell the model about this
    machine, and would differ from run to run.

    Raises PipelineError: a recording or replay failed inside the tool, in a nested run for instance. That is no
    answer to the model, and must stop the run.
    """
    tool = tools.get(call.name)
    if tool is None:
        return failed(f"unknown tool {call.name!r}; known tools: {', '.join(tools) or 'none'}")
    if call.arguments_error is not None:
        return unread(call)
    try:
        return await tool.run(call)
    except get_cancelled_exc_class():
        # -inf: a scope around us is cancelled, so this is the run's end. Otherwise the tool awaited something that
        # was cancelled; passed on, it would silently end all tools beside it.
        if current_effective_deadline() == -math.inf:
            raise
        return failed(f"{get_cancelled_exc_class().__name__}: the tool was cancelled")
    except Exception as raised:  # noqa: BLE001 - whatever a tool raises is for the model to read
        failure = single_failure(raised)
        if isinstance(failure, PipelineError):
            raise failure from failure.__cause__
        return failed(f"{type(failure).__name__}: {failure}")


def unread(call: ToolCall) -> ToolOutput:
    """What becomes of a call with an `arguments_error`."""
    return failed(f"{call.name} did not run, its arguments could not be read: {call.arguments_error}")
