"""The resources as operations see them: to be read, not to be changed."""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

__all__ = ["ReadOnlyResources", "Resources"]


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


class ReadOnlyResources:
    """Resources and nothing more: what an operation gets of a world, whose other methods would change it."""

    __slots__ = ("_all",)

    def __init__(self, resources: Resources) -> None:
        self._all = resources

    def __getitem__(self, resource: str) -> Any:
        return self._all[resource]

    def __contains__(self, resource: str) -> bool:
        return resource in self._all

    def get(self, resource: str) -> Any | None:
        """See Resources."""
        return self._all.get(resource)

    def kind(self, kind: str) -> Mapping[str, Any]:
        """See Resources."""
        return self._all.kind(kind)

    def revision_of(self, resource: str) -> int:
        """See Resources."""
        return self._all.revision_of(resource)

    def kinds(self) -> Iterator[str]:
        """See Resources."""
        return self._all.kinds()
