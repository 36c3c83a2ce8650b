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
    """Raises the same diagnostic on every call, a new exception each time. `mode`, `cause`: see ActivationBlocked.

    `refused_count`: calls so far.
    """

    def __init__(self, *, mode: str, cause: str) -> None:
        self._mode, self._cause = mode, cause
        self.refused_count = 0
        self._told = 0

    async def stream(
        self, model: Model, context: Context, options: StreamOptions | None = None
    ) -> AsyncIterator[AssistantMessageEvent]:
        """Raises ActivationBlocked."""
        raise self._refusal()
        yield  # an async generator, like every provider's

    async def stream_simple(
        self, model: Model, context: Context, options: SimpleStreamOptions | None = None
    ) -> AsyncIterator[AssistantMessageEvent]:
        """Raises ActivationBlocked."""
        raise self._refusal()
        yield

    def _refusal(self) -> ActivationBlocked:
        self.refused_count += 1
        return ActivationBlocked(mode=self._mode, cause=self._cause)

    @property
    def overlooked(self) -> bool:
        """Whether calls were refused that nobody has been told of: a program may catch what they raise."""
        return self.refused_count > self._told

    def describe(self) -> str:
        """How many calls were refused, why, and what to do. Whoever asks is told."""
        self._told = self.refused_count
        error = ActivationBlocked(mode=self._mode, cause=self._cause)
        calls = "1 call was" if self.refused_count == 1 else f"{self.refused_count} calls were"
        return f"{calls} refused: {error}\n{error.next_step}"
