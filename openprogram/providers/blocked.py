"""What stands in for every provider when record or replay could not be activated: it fails closed."""

from collections.abc import AsyncIterator

from openprogram.errors import OpenProgramError
from openprogram.providers.types import AssistantMessageEvent, Context, Model, SimpleStreamOptions, StreamOptions

__all__ = ["ActivationBlocked", "BlockedProvider"]


class ActivationBlocked(OpenProgramError):
    """Record or replay is configured but could not start, so no call is made. `mode`, `cause`: as they were."""

    def __init__(self, *, mode: str, cause: str) -> None:
        super().__init__(
            f"provider calls are blocked: {mode} could not be activated: {cause}",
            next_step="See what is wrong: openprogram recordings status. Make live calls again: "
            "openprogram recordings off.",
        )
        self.mode, self.cause = mode, cause


class BlockedProvider:
    """Raises the same diagnostic on every call, a new exception each time. `mode`, `cause`: see ActivationBlocked."""

    def __init__(self, *, mode: str, cause: str) -> None:
        self._mode, self._cause = mode, cause

    async def stream(
        self, model: Model, context: Context, options: StreamOptions | None = None
    ) -> AsyncIterator[AssistantMessageEvent]:
        """Raises ActivationBlocked."""
        raise ActivationBlocked(mode=self._mode, cause=self._cause)
        yield  # an async generator, like every provider's

    async def stream_simple(
        self, model: Model, context: Context, options: SimpleStreamOptions | None = None
    ) -> AsyncIterator[AssistantMessageEvent]:
        """Raises ActivationBlocked."""
        raise ActivationBlocked(mode=self._mode, cause=self._cause)
        yield
