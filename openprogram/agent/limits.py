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

    `max_corrections`: how often an answer that does not fit `options.response_format` goes back to the model with what
    is wrong with it, each a turn of its own.

    Raises ValueError: a bound that isn't positive.
    """

    max_turns: int | None = 100
    max_total_tokens: int | None = None
    max_seconds: float | None = None
    max_corrections: int = 2

    def __post_init__(self) -> None:
        if self.max_corrections < 0:
            raise ValueError(f"max_corrections is {self.max_corrections}: give 0 or more")
        for name in ("max_turns", "max_total_tokens", "max_seconds"):
            bound = getattr(self, name)
            if bound is not None and not bound > 0:
                raise ValueError(f"{name} is {bound}: a limit is positive, or None for no limit")

    def reached(self, *, turns: int, total_tokens: int) -> FinishReason | None:
        """The limit that forbids another provider call after `turns` of them, or None."""
        if self.max_turns is not None and turns >= self.max_turns:
            return "turn_limit"
        if self.max_total_tokens is not None and total_tokens >= self.max_total_tokens:
            return "token_limit"
        return None
