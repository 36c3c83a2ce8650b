"""What the agent loop waits on and draws from, inside a run: the scenario's clock and chance."""

import random
from datetime import timedelta

from anyio.lowlevel import checkpoint

from openprogram.world.chance import RandomStream
from openprogram.world.world import World

__all__ = ["ScenarioRandom", "ScenarioSleep"]


class ScenarioSleep:
    """The agent loop's clock: sleeping is letting scenario time pass."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def sleep(self, seconds: float) -> None:
        """Advance the world by `seconds`, at once."""
        await checkpoint()
        self._world.advance(timedelta(seconds=seconds))


class ScenarioRandom(random.Random):
    """A generator whose draws come from a named stream, and so stand in the journal."""

    def __init__(self, stream: RandomStream) -> None:
        self._stream = stream
        super().__init__()

    def random(self) -> float:
        """Uniform in [0, 1): what `uniform`, for one, is made of."""
        return self._stream.fraction()
