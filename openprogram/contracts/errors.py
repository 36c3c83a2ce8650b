"""The errors of contracts. They stop a run, as all below PipelineError do.

PipelineError
└── ContractError        a contract can't be read or doesn't hold together
    ├── ContractChanged  its text changed and its revision didn't
    └── ContractViolation  a tool did what its contract doesn't allow
"""

from pathlib import Path
from typing import Any

from openprogram.pipeline.errors import PipelineError

__all__ = ["ContractChanged", "ContractError", "ContractViolation"]


class ContractError(PipelineError):
    """`tool`: its name, "" where it isn't known. `reason`: what is wrong. `path`: the file, or None."""

    def __init__(self, *, tool: str, reason: str, path: Path | None = None, **data: Any) -> None:
        where = f"contract of {tool!r}" if path is None else f"{path}: contract of {tool!r}"
        super().__init__(f"{where}: {reason}", tool=tool, reason=reason, path=path, **data)
        self.tool, self.reason, self.path = tool, reason, path


class ContractChanged(ContractError):
    """`revision`: what both claim to be. `pinned`, `found`: their digests."""

    def __init__(self, *, tool: str, revision: str, pinned: str, found: str, path: Path | None = None) -> None:
        reason = f"revision {revision} is pinned as {pinned}, and this text is {found}: give it a new revision"
        where = "" if path is None else f"{path}: "
        PipelineError.__init__(
            self,
            f"{where}contract of {tool!r}: {reason}",
            tool=tool,
            revision=revision,
            pinned=pinned,
            found=found,
            path=path,
        )
        self.tool, self.reason, self.path = tool, reason, path
        self.revision, self.pinned, self.found = revision, pinned, found


class ContractViolation(ContractError):
    """What answered for a tool went beyond the contract: an undeclared write, a result that doesn't fit its schema."""
