"""How far a run may go."""

from dataclasses import dataclass

from openprogram.agent.events import FinishReason

__all__ = ["Limits"]


@dataclass(frozen=True)
class Limits:
    """Bounds of one run; None: no bound.

    `max_turns`, `max_total_tokens` (input and output of all calls, as the providers count them) are looked at
    before each provider call. Tools that the last answer asked for have run by then, so every tool call in the
    messages has its result. `max_seconds`, on the event loop's clock and including the consumer's own time, stops
    what is running; an unfinished tool call gets a result that says so.

    Raises ValueError: a bound that isn't positive.
    """

    max_turns: int | None = 100
    max_total_tokens: int | None = None
    max_seconds: float | None = None

    def __post_init__(self) -> None:
        for name, bound in vars(self).items():
            if bound is not None and not bound > 0:
                raise ValueError(f"{name} is {bound}: a limit is positive, or None for no limit")

    def reached(self, *, turns: int, total_tokens: int) -> FinishReason | None:
        """The limit that forbids another provider call after `turns` of them, or None."""
        if self.max_turns is not None and turns >= self.max_turns:
            return "turn_limit"
        if self.max_total_tokens is not None and total_tokens >= self.max_total_tokens:
            return "token_limit"
        return None
