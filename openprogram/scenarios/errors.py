"""What stops a replayed run. None of these is a result that the agent could work around.

RunStopped              see openprogram.fixtures.errors, which has more of them
    ├── UnknownTool     tool.unknown: the model asked for a tool that the scenario has no contract for
    └── NoAnswer        tool.unanswered: nothing answers for a tool at its contract's revision
"""

from openprogram.fixtures.errors import RunStopped

__all__ = ["NoAnswer", "RunStopped", "UnknownTool"]


class UnknownTool(RunStopped):
    """`tool`: what the model asked for. `known`: tools of the scenario."""

    code = "tool.unknown"

    def __init__(self, *, tool: str, known: tuple[str, ...], call: int | None = None) -> None:
        message = f"the model asked for {tool!r}, which the scenario has no contract for; it has: {', '.join(known)}"
        super().__init__(message, call=call, tool=tool, known=known)
        self.tool, self.known = tool, known


class NoAnswer(RunStopped):
    """`tool`, `revision`: the contract. `found`: revisions for which something answers."""

    code = "tool.unanswered"

    def __init__(self, *, tool: str, revision: str, found: tuple[str, ...], call: int | None = None) -> None:
        has = f"there is one for revision {', '.join(found)}" if found else "there is none"
        message = f"no operation answers for {tool!r} at revision {revision} of its contract: {has}"
        super().__init__(message, call=call, tool=tool, revision=revision, found=found)
        self.tool, self.revision, self.found = tool, revision, found
