"""Two tests that would record into one file: neither does, and both say so. Replaying one file twice is fine."""

from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress

import pytest

from openprogram.pytest_plugin.settings import item_settings

__all__ = ["note_shared_paths", "others_at"]

_SHARED = pytest.StashKey[dict[str, list[str]]]()


def note_shared_paths(config: pytest.Config, items: Sequence[pytest.Item]) -> None:
    """Remember which of the selected tests have one path, on a file system that ignores case. See `item_settings`."""
    found: dict[str, list[str]] = defaultdict(list)
    for item in items:
        with suppress(pytest.UsageError):  # it fails by itself when it starts
            found[str(item_settings(item).path.absolute()).casefold()].append(item.nodeid)
    config.stash[_SHARED] = found


def others_at(item: pytest.Item, path: str) -> list[str]:
    """The ids of the other selected tests with that path."""
    return [other for other in item.config.stash.get(_SHARED, {}).get(path.casefold(), []) if other != item.nodeid]
