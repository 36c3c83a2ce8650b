"""The resources as operations see them: to be read, not to be changed."""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

__all__ = ["Resources"]


class Resources(Protocol):
    """The state of the world, by resource id (`kind/id`). Values are frozen; what they hold can't be changed."""

    def __getitem__(self, resource: str) -> Any:
        """The resource's value. Raises ResourceMissing."""
        ...

    def __contains__(self, resource: str) -> bool: ...

    def get(self, resource: str) -> Any | None:
        """The resource's value, or None where there is none."""
        ...

    def kind(self, kind: str) -> Mapping[str, Any]:
        """All resources of a kind, by id without the kind, in the order in which they came into the world."""
        ...

    def revision_of(self, resource: str) -> int:
        """How often the resource has changed, its beginning included; 0 where there never was one."""
        ...

    def kinds(self) -> Iterator[str]:
        """The kinds there are, sorted."""
        ...
