"""API keys that `openprogram config set-key` stores: one file, mode 0600, read when a live call needs a key.

    {"anthropic": "…", "groq": "…"}

A file of its own, so that whoever shows or shares the configuration shows no key. Nothing here prints or logs one, no
error holds one, and no replay comes here.
"""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from openprogram.errors import ConfigError, UsageError
from openprogram.home import Home
from openprogram.state_file import exclusive_writer, open_regular_file, replace_content

__all__ = ["MAX_KEY_CHARACTERS", "forget_key", "load_keys", "store_key"]

#: Longer than any key, and shorter than a file that was piped in by mistake.
MAX_KEY_CHARACTERS: Final = 10_000

#: A larger file isn't read.
_MAX_BYTES: Final = 1024 * 1024


def load_keys(home: Home) -> dict[str, str]:
    """Key by provider; none where the file is missing. Raises ConfigError: it can't be read, or is something else."""
    path = home.credentials_file
    try:
        with os.fdopen(open_regular_file(path, os.O_RDONLY), "rb") as stream:
            keys = json.loads(stream.read(_MAX_BYTES))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise _unusable(path, f"can't be read: {error.strerror}") from error
    except (ValueError, RecursionError):
        raise _unusable(path, "not valid JSON") from None  # the error would show what stands there
    if not isinstance(keys, dict) or not all(isinstance(key, str) for key in keys.values()):
        raise _unusable(path, "not an object of providers and keys")
    return keys


def store_key(home: Home, provider: str, key: str) -> None:
    """Keep `key` for `provider`, in place of an earlier one.

    Raises UsageError: `key` is empty, too long, or has characters that no header carries. ConfigError: the file can't
    be read or written.
    """
    if not key:
        raise UsageError("the key is empty")
    if len(key) > MAX_KEY_CHARACTERS:
        raise UsageError(f"this is no key: it is longer than {MAX_KEY_CHARACTERS} characters")
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise UsageError("this is no key: it has a space, or a character that is not printable ASCII")
    _change(home, lambda keys: {**keys, provider: key})


def forget_key(home: Home, provider: str) -> bool:
    """Remove the key for `provider`; whether there was one. Raises ConfigError: as `store_key`."""
    if provider not in load_keys(home):
        return False
    _change(home, lambda keys: {name: key for name, key in keys.items() if name != provider})
    return True


def _change(home: Home, change: Callable[[Mapping[str, str]], dict[str, str]]) -> None:
    path = home.credentials_file
    try:
        with exclusive_writer(path):
            keys = change(load_keys(home))  # a damaged file isn't overwritten
            replace_content(path, json.dumps(keys, indent=2, sort_keys=True).encode() + b"\n")
    except OSError as error:
        raise ConfigError(
            path=path,
            reason=f"can't be written: {error.strerror}",
            next_step="Check the folder's permissions and free space, or choose another with OPENPROGRAM_HOME.",
        ) from error


def _unusable(path: Path, reason: str) -> ConfigError:
    return ConfigError(
        path=path, reason=reason, next_step="Correct the file, or delete it and store the keys again: config set-key."
    )
