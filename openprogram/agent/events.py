"""What an agent run tells its consumer, in the order in which it happens.

For each turn, counted from 0: TurnStarted, a ModelEvent for each event of the provider call, then ToolStarted and
ToolFinished for each requested tool (tools run side by side, so these interleave), then TurnFinished. AgentFinished
comes last, and is the run's result. A provider call that fails and is tried again ends in AttemptFailed, and the
ModelEvents of the next attempt follow.
"""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from openprogram.providers.types import AssistantMessage, AssistantMessageEvent, Message, ToolCall, ToolResultMessage

__all__ = [
    "AgentEvent",
    "AgentFinished",
    "AttemptFailed",
    "FinishReason",
    "ModelEvent",
    "ToolFinished",
    "ToolStarted",
    "TurnFinished",
    "TurnStarted",
]

#: Why a run ended: the model had nothing more to ask for, its answer was cut off, the provider failed, the answer
#: does not fit the form that was asked for, or a limit was reached.
FinishReason: TypeAlias = Literal[
    "stop", "length", "provider_error", "invalid_answer", "turn_limit", "token_limit", "time_limit"
]


@dataclass(frozen=True)
class TurnStarted:
    """A turn begins: one provider call and the tools it asks for. `turn`: from 0."""

    turn: int


@dataclass(frozen=True)
class ModelEvent:
    """One event of the turn's provider call, as the provider gave it. `attempt`: from 0."""

    turn: int
    event: AssistantMessageEvent
    attempt: int = 0


@dataclass(frozen=True)
class AttemptFailed:
    """A provider call failed and will be made again after `wait_s` seconds. `attempt`: from 0.

    `message`: why it failed, and what had come by then, which is no part of the conversation.
    """

    turn: int
    attempt: int
    message: AssistantMessage
    wait_s: float


@dataclass(frozen=True)
class ToolStarted:
    """A tool is about to run."""

    turn: int
    call: ToolCall


@dataclass(frozen=True)
class ToolFinished:
    """A tool has answered; `result` goes to the model, errors included."""

    turn: int
    call: ToolCall
    result: ToolResultMessage


@dataclass(frozen=True)
class TurnFinished:
    """The turn is over. `results`: of its tools, in the order of the calls in `message`."""

    turn: int
    message: AssistantMessage
    results: tuple[ToolResultMessage, ...]


@dataclass(frozen=True)
class AgentFinished:
    """The run is over. `messages`: what it added to the conversation, in order.

    `failed_attempts`: the provider calls that were made again.
    With reason `provider_error`, the last message says what failed (`error_reason`, `error_message`).
    """

    messages: tuple[Message, ...]
    reason: FinishReason
    failed_attempts: tuple[AttemptFailed, ...] = ()

    @property
    def text(self) -> str:
        """The text of the last answer; "" where there is none."""
        answer = self._answer
        return "" if answer is None else answer.text

    @property
    def parsed(self) -> Any:
        """The value of the last answer, where `options.response_format` asked for one and it fits; None otherwise."""
        answer = self._answer
        return None if answer is None else answer.parsed

    @property
    def _answer(self) -> AssistantMessage | None:
        return next((message for message in reversed(self.messages) if isinstance(message, AssistantMessage)), None)


AgentEvent: TypeAlias = (
    TurnStarted | ModelEvent | AttemptFailed | ToolStarted | ToolFinished | TurnFinished | AgentFinished
)
