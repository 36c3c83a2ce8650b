"""What stops a replayed run, and what is wrong with a scenario's folder.

PipelineError
├── ScenarioError         a file of the folder can't be used
└── RunStopped            see openprogram.fixtures.errors, which has more of them
    ├── UnknownTool       tool.unknown: the model asked for a tool that the scenario has no contract for
    ├── NoAnswer          tool.unanswered: what answers for a tool is of another revision
    ├── ModelUnanswered   model.unanswered: the script has no further answer
    ├── OperationFailed   operation.failed: the scenario's own code raised
    └── InjectionFailed   fault.impossible: a fault has no place in the answer it was meant for
"""

from pathlib import Path

from openprogram.contracts.errors import ContractViolation
from openprogram.fixtures.errors import RunStopped
from openprogram.pipeline.errors import PipelineError, ReplayMismatch
from openprogram.world.errors import WorldError

__all__ = [
    "InjectionFailed",
    "ModelUnanswered",
    "NoAnswer",
    "OperationFailed",
    "RunStopped",
    "ScenarioError",
    "UnknownTool",
    "stop_code",
]


class ScenarioError(PipelineError):
    """`path`: the file. `reason`: what is wrong. `field`: where in it, or None."""

    def __init__(self, *, path: Path, reason: str, field: str | None = None) -> None:
        where = str(path) if field is None else f"{path}, field {field}"
        super().__init__(f"{where}: {reason}", path=path, reason=reason, field=field)
        self.path, self.reason, self.field = path, reason, field


class UnknownTool(RunStopped):
    """`tool`: what the model asked for. `known`: tools of the scenario."""

    code = "tool.unknown"

    def __init__(self, *, tool: str, known: tuple[str, ...], call: int | None = None) -> None:
        message = f"the model asked for {tool!r}, which the scenario has no contract for; it has: {', '.join(known)}"
        super().__init__(message, call=call, tool=tool, known=known)
        self.tool, self.known = tool, known
        self.add_note("Declare a contract for the tool, or correct the script.")


class NoAnswer(RunStopped):
    """`tool`, `revision`: the contract. `found`: the revision of what answers for the tool."""

    code = "tool.unanswered"

    def __init__(self, *, tool: str, revision: str, found: str, call: int | None = None) -> None:
        message = f"what answers for {tool!r} was written for revision {found} of its contract, which is at {revision}"
        super().__init__(message, call=call, tool=tool, revision=revision, found=found)
        self.tool, self.revision, self.found = tool, revision, found
        self.add_note("Review the function against the contract, then raise the revision that it names.")


class ModelUnanswered(RunStopped):
    """`given`: answers in the script."""

    code = "model.unanswered"

    def __init__(self, *, given: int, call: int | None = None) -> None:
        super().__init__(
            f"the agent asked the model once more, and the script has {given} answers", given=given, call=call
        )
        self.given = given
        self.add_note("Add the answer to the script, or let a tool end the conversation: ends_after.")


class OperationFailed(RunStopped):
    """`tool`: whose operation or pure function raised. `failure`: type and message of what it raised."""

    code = "operation.failed"

    def __init__(self, *, tool: str, failure: str, call: int | None = None) -> None:
        message = f"the scenario's own code for {tool!r} raised {failure}: that is no answer of the tool"
        super().__init__(message, call=call, tool=tool, failure=failure)
        self.tool, self.failure = tool, failure
        self.add_note("Correct it in operations.py. To let the tool fail, raise ToolError or yield Failed.")


class InjectionFailed(RunStopped):
    """`tool`: whose call it was, "" for the model. `reason`: why the fault can't be put in."""

    code = "fault.impossible"

    def __init__(self, *, tool: str, reason: str, call: int | None = None) -> None:
        where = f"of {tool!r}" if tool else "of the model"
        super().__init__(f"a fault can't be put into a call {where}: {reason}", call=call, tool=tool, reason=reason)
        self.tool, self.reason = tool, reason
        self.add_note("Correct `after` in that [[inject]] of scenario.toml; the journal shows the answer's events.")


def stop_code(stopped: PipelineError) -> str:
    """Why a run stopped, as one word of two parts: in journals, reports and JSON output."""
    match stopped:
        case RunStopped():
            return stopped.code
        case ContractViolation():
            return "contract.violated"
        case WorldError():
            return "world.refused"
        case ReplayMismatch():
            return "provider.mismatch"
    return "provider.unanswered"
