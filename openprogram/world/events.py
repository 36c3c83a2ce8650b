"""What happens in the world, as values. State is their fold."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from openprogram.world.clock import as_text
from openprogram.world.patches import Patch

__all__ = ["WorldEvent"]


@dataclass(frozen=True, slots=True)
class WorldEvent:
    """One change of one resource.

    `sequence`: from 0 over the run. `at`: scenario time. `cause`: what brought it about, such as `call:3` or
    `transition:order-ships`. `patch`: RFC 6902. `before`, `after`: the resource's revision; 0 where there is none.
    """

    sequence: int
    at: datetime
    cause: str
    resource: str
    patch: Patch
    before: int
    after: int

    def as_json(self) -> dict[str, Any]:
        """The event in files."""
        return {
            "sequence": self.sequence,
            "at": as_text(self.at),
            "cause": self.cause,
            "resource": self.resource,
            "patch": self.patch,
            "before": self.before,
            "after": self.after,
        }
