"""The errors of the world. They stop a run, as all below PipelineError do.

PipelineError
└── WorldError           something was asked of the world that it can't do
    └── ResourceMissing  there is no resource of that name
"""

from openprogram.pipeline.errors import PipelineError

__all__ = ["ResourceMissing", "WorldError"]


class WorldError(PipelineError):
    """`resource`: its id, or None where none is concerned. `reason`: what is wrong."""

    def __init__(self, *, reason: str, resource: str | None = None) -> None:
        message = reason if resource is None else f"resource {resource!r}: {reason}"
        super().__init__(message, reason=reason, resource=resource)
        self.reason, self.resource = reason, resource


class ResourceMissing(WorldError):
    """Asked for with `[]`; `get` returns None instead."""
