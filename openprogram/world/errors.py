"""The errors of the world. They stop a run, as all below PipelineError do.

PipelineError
└── WorldError           something was asked of the world that it can't do
    └── ResourceMissing  there is no resource of that name
"""

from typing import Self

from openprogram.pipeline.errors import PipelineError

__all__ = ["ResourceMissing", "WorldError"]


class WorldError(PipelineError):
    """`resource`: its id, or None where none is concerned. `reason`: what is wrong.

    `call`, `tool`: of the tool call in which it happened, or None.
    """

    def __init__(
        self, *, reason: str, resource: str | None = None, tool: str | None = None, call: int | None = None
    ) -> None:
        where = "" if tool is None else f"call {call} ({tool}): "
        message = reason if resource is None else f"resource {resource!r}: {reason}"
        super().__init__(where + message, reason=reason, resource=resource, tool=tool, call=call)
        self.reason, self.resource, self.tool, self.call = reason, resource, tool, call

    def inside(self, tool: str, call: int) -> Self:
        """The same error, of a tool call."""
        return type(self)(reason=self.reason, resource=self.resource, tool=tool, call=call)


class ResourceMissing(WorldError):
    """Asked for with `[]`; `get` returns None instead."""
