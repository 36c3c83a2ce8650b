"""The controlled world: clock, chance, and resources as the fold of their events."""

from openprogram.world.chance import Chance, Draw, RandomStream
from openprogram.world.clock import ScenarioClock
from openprogram.world.errors import ResourceMissing, WorldError
from openprogram.world.events import WorldEvent
from openprogram.world.resources import Resources
from openprogram.world.values import freeze, thaw
from openprogram.world.world import InitialResources, World

__all__ = [
    "Chance",
    "Draw",
    "InitialResources",
    "RandomStream",
    "ResourceMissing",
    "Resources",
    "ScenarioClock",
    "World",
    "WorldError",
    "WorldEvent",
    "freeze",
    "thaw",
]
