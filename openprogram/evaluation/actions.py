"""What the agent did in a run: its tool calls, each with what came of it. Read from the journal's lines."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from openprogram.contracts.contract import Contract
from openprogram.contracts.sensitive import MASK, masked
from openprogram.scenarios.observation import ObservationOutcome

__all__ = ["Action", "ActionOutcome", "actions_of"]

#: An observation's outcome; or `refused`: the arguments don't fit the contract's schema, or could not be read;
#: `stopped`: the run stopped in this call.
ActionOutcome: TypeAlias = ObservationOutcome | Literal["refused", "stopped"]


@dataclass(frozen=True, slots=True)
class Action:
    """One tool call that the model made.

    `call`: its number in the run, from 0; None where its arguments could not be read, so that it reached no tool.
    `arguments`: without sensitive values; None where they could not be read. `category`: of what is no result.
    `message`: what the model was told where it is no result, "" otherwise.
    """

    call: int | None
    tool: str
    arguments: Mapping[str, Any] | None
    outcome: ActionOutcome
    category: str | None = None
    message: str = ""

    @property
    def ok(self) -> bool:
        """Whether the tool answered with a result."""
        return self.outcome == "result"

    def as_json(self) -> dict[str, Any]:
        """The action in reports; the fields are stable."""
        return {
            "call": self.call,
            "tool": self.tool,
            "arguments": self.arguments,
            "outcome": self.outcome,
            "category": self.category,
            "message": self.message,
        }


def actions_of(trace: Iterable[Mapping[str, Any]], contracts: Mapping[str, Contract]) -> Sequence[Action]:
    """The tool calls in the lines of a journal, in their order."""
    actions: list[Action] = []
    begun: dict[int, int] = {}  # where a call stands in `actions`
    for line in trace:
        if line["type"] == "model":
            actions += _unread(line["message"])
        elif line["type"] == "call":
            begun[line["call"]] = len(actions)
            arguments = masked(line["arguments"], contracts[line["tool"]].sensitive)
            actions.append(Action(line["call"], line["tool"], arguments, "stopped"))
        elif line["type"] == "observation":
            position = begun[line["call"]]
            actions[position] = _observed(actions[position], line, contracts)
    return tuple(actions)


def _unread(message: Mapping[str, Any]) -> Iterable[Action]:
    if message["stop_reason"] not in ("stop", "toolUse"):  # none of its calls was made
        return
    for block in message["content"]:
        if block["type"] == "toolCall" and block.get("arguments_error") is not None:
            yield Action(None, block["name"], None, "refused", "unreadable_arguments", block["arguments_error"])


def _observed(action: Action, line: Mapping[str, Any], contracts: Mapping[str, Contract]) -> Action:
    if line["outcome"] == "result":
        return Action(action.call, action.tool, action.arguments, "result")
    message: str = line["text"]
    if line["category"] != "invalid_arguments":
        return Action(action.call, action.tool, action.arguments, line["outcome"], line["category"], message)
    if contracts[action.tool].sensitive:
        message = MASK  # it quotes the arguments
    return Action(action.call, action.tool, action.arguments, "refused", line["category"], message)
