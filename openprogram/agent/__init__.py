"""The agent loop: takes the stream function as a parameter, knows nothing of recording or the registry.

`openprogram.agent.run` is the wrapper that reaches for the registry, and so is not imported from here.
"""

from openprogram.agent.agent_run import AgentRun, AgentRunClosed
from openprogram.agent.events import (
    AgentEvent,
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
from openprogram.agent.loop import StreamFunction, run_agent
from openprogram.agent.retries import Clock, Retries, StillClock, WaitingClock
from openprogram.agent.tools import AgentTool, FunctionTool, ToolOutput, tool

__all__ = [
    "AgentEvent",
    "AgentFinished",
    "AgentRun",
    "AgentRunClosed",
    "AgentTool",
    "AttemptFailed",
    "Clock",
    "FinishReason",
    "FunctionTool",
    "Limits",
    "ModelEvent",
    "Retries",
    "StillClock",
    "StreamFunction",
    "ToolFinished",
    "ToolOutput",
    "ToolStarted",
    "TurnFinished",
    "TurnStarted",
    "WaitingClock",
    "run_agent",
    "tool",
]
