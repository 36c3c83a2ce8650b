"""How many tokens of thinking a level means, for models that take a budget: Claude, at Anthropic and at AWS.

Source: https://platform.claude.com/docs/en/build-with-claude/extended-thinking
"""

from openprogram.providers.types import SimpleStreamOptions, StreamOptions

__all__ = ["thinking_budget"]

#: Tokens of thinking for a level, where the call gives none of its own.
_BUDGETS = {"minimal": 1024, "low": 2048, "medium": 8192, "high": 16384}

#: The smallest budget that the API takes.
_SMALLEST = 1024

#: Room that a lowered budget leaves for the answer, in tokens.
_ANSWER_ROOM = 1024


def thinking_budget(level: str, options: StreamOptions, max_tokens: int) -> int:
    """Tokens for thinking. They count towards `max_tokens` (0: not given), so the budget gives way if both don't fit.

    Raises ValueError: `level` is unknown and the call gives no budget for it.
    """
    own = options.thinking_budgets or {} if isinstance(options, SimpleStreamOptions) else {}
    budget = own.get(level, _BUDGETS.get(level))
    if budget is None:
        raise ValueError(f"reasoning {level!r} is not known: give one of {', '.join(_BUDGETS)}")
    if max_tokens and budget >= max_tokens:
        return max(_SMALLEST, max_tokens - _ANSWER_ROOM)
    return budget
