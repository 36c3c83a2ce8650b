"""Where a run stopped: enough to see what it knew, and a first, simple form of what a branch will start from."""

from collections.abc import Sequence
from typing import Any, Final

from openprogram.pipeline.canonical import digest
from openprogram.providers.types import Message
from openprogram.world.chance import Chance
from openprogram.world.clock import as_text
from openprogram.world.world import World

__all__ = ["CONTEXT_MESSAGES", "checkpoint"]

#: Messages that a checkpoint holds, the last ones; of those before it has the number and a digest.
CONTEXT_MESSAGES: Final = 40


def checkpoint(*, journal_position: int, messages: Sequence[Message], world: World, chance: Chance) -> dict[str, Any]:
    """The state of a run as JSON.

    `journal_position`: lines of the journal so far. `context`: the last messages. `clock`: scenario time.
    `streams`: draws made, by stream. `pending`: transitions to come.
    """
    dumped = [message.model_dump(mode="json") for message in messages]
    earlier = dumped[:-CONTEXT_MESSAGES]
    return {
        "journal_position": journal_position,
        "context": {
            "messages": dumped[-CONTEXT_MESSAGES:],
            "earlier": {"count": len(earlier), "digest": digest(earlier)},
        },
        "world_revision": world.revision,
        "clock": as_text(world.clock.now),
        "streams": chance.positions,
        "pending": [scheduled.as_json() for scheduled in world.pending],
    }
