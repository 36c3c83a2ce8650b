"""What the pipeline is handed: how requests and events become JSON values, and back."""

from typing import Any, Protocol, TypeVar

from openprogram.pipeline.log.event_lines import EventTexts
from openprogram.pipeline.request_parts import PartCodec, RequestParts

__all__ = ["EventCodec", "RequestCodec"]

T = TypeVar("T")


class RequestCodec(PartCodec, Protocol):
    """Requests ⇄ JSON."""

    def parts(self, request: Any) -> RequestParts:
        """The JSON text of `{"model": …, "context": …, "options": …}`: literals, and parts not dumped yet.

        At most one list of parts. Fields that serve the running program only are left out. The first item is a literal
        that begins with `{`.
        """
        ...

    def read(self, recorded: dict[str, Any]) -> dict[str, Any]:
        """A recorded request through today's types: defaults for what it lacks. Raises ValueError."""
        ...

    def compared(self, incoming: dict[str, Any]) -> dict[str, Any]:
        """A request of this run, redacted, as `read` would give it where it was recorded."""
        ...


class EventCodec(Protocol[T]):
    """Events ⇄ JSON."""

    def dump(self, event: T) -> dict[str, Any]:
        """The event as JSON values of its own, unaffected by later changes of the object. Raises NotJson."""
        ...

    def load_all(self, texts: EventTexts) -> list[T]:
        """The events, one of each text. Raises ValueError."""
        ...

    def check(self, event: dict[str, Any]) -> None:
        """Raises ValueError where `load_all` could not make an event of this dump."""
        ...

    def is_terminal(self, event: dict[str, Any]) -> bool:
        """Whether a stream ends with this dump."""
        ...
