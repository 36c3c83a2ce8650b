"""What a replay does not compare, as `show` and `diff` tell it."""

from typing import Final

__all__ = ["not_compared", "not_compared_line"]

_NAMED: Final = 4


def not_compared() -> dict[str, str]:
    """What makes no difference when a request is compared with the recorded one, all of it → the reason."""
    from openprogram.providers.replay import COMPARISON_RULES

    return COMPARISON_RULES.not_compared()


def not_compared_line() -> str:
    """The first by name, the others by number, and where they are told."""
    names = list(not_compared())
    return f"not compared: {', '.join(names[:_NAMED])}, {len(names) - _NAMED} more (--json has all, with reasons)"
