"""What commands take from the world around them: the environment, the clock, chance."""

import os
import secrets
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openprogram.home import Home

__all__ = ["current_home", "current_time", "random_suffix"]


def current_home() -> "Home":
    """The state folder that the process's environment chooses."""
    from openprogram.home import find_home

    return find_home(os.environ)


def current_time() -> datetime:
    """Now, in UTC."""
    return datetime.now(UTC)


def random_suffix() -> str:
    """Six characters that keep names made in the same second apart."""
    return secrets.token_hex(3)
