"""What came of one tool call, and what the model may see of it."""

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from openprogram.agent.tools import to_content
from openprogram.contracts.contract import Contract, ResultLimits
from openprogram.providers.types import TextContent

__all__ = ["Observation", "ObservationOutcome", "Projection", "project"]

ObservationOutcome: TypeAlias = Literal["result", "error", "dropped", "cancelled", "timeout", "incomplete", "denied"]


@dataclass(frozen=True, slots=True)
class Observation:
    """What an agent's adapter would have seen.

    `value`: the normalised answer where the outcome is `result`. `category`, `message`: of a failure; `retryable`:
    whether trying again can help. `partial`: what had streamed by then. `acknowledged`: whether an ack came, so that
    a caller knows that its effect is there.
    """

    outcome: ObservationOutcome
    value: Any = None
    category: str | None = None
    message: str = ""
    retryable: bool = False
    partial: str = ""
    acknowledged: bool = False
    used: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Projection:
    """What the model reads. `full_bytes`: of the text before it was cut; `truncated`: whether it was."""

    text: str
    full_bytes: int
    truncated: bool
    is_error: bool


def project(observation: Observation, contract: Contract) -> Projection:
    """The model-visible form under the contract's limits. Never the raw payload.

    Raises NotJson: the answer has no JSON form.
    """
    text = _text(observation)
    encoded = text.encode("utf-8", "surrogatepass")
    cut = _cut(text, len(encoded), contract.limits)
    return Projection(cut, len(encoded), cut != text, observation.outcome != "result")


def _text(observation: Observation) -> str:
    if observation.outcome != "result":
        return (
            f"{observation.message}\npartial answer: {observation.partial}"
            if observation.partial
            else observation.message
        )
    blocks = to_content(observation.value)
    return "".join(block.text for block in blocks if isinstance(block, TextContent))


def _cut(text: str, size: int, limits: ResultLimits) -> str:
    """The text within its limit, with a note on what is missing; whole characters only."""
    limit = limits.visible_bytes
    if limit is None or size <= limit:
        return text
    kept = text.encode("utf-8", "surrogatepass")[:limit].decode("utf-8", "ignore")
    return f"{kept}\n[cut: {size - limit} of {size} bytes are not shown]"
