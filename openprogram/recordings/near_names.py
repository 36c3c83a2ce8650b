"""What may have been meant by a name that no recording has."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from openprogram.pipeline.log.source import recording_name

__all__ = ["near_names"]

_SHOWN: Final = 3


def near_names(given: str, names: Iterable[str]) -> list[str]:
    """Those of `names`, ids or paths of files, that are likely to be meant by `given`; the likeliest first, at most 3.

    Folders and endings don't count. First what has the same name, then what begins with it, then what is spelled alike.
    """
    wanted = _bare(given)
    by_name: dict[str, str] = {}
    for name in names:
        by_name.setdefault(_bare(name), name)
    begin = sorted(name for name in by_name if name.startswith(wanted)) if wanted else []
    near = dict.fromkeys([*begin, *_alike(wanted, list(by_name))])
    return [by_name[name] for name in near][:_SHOWN]


def _alike(wanted: str, names: Sequence[str]) -> list[str]:
    return get_close_matches(wanted, names, n=_SHOWN, cutoff=0.7)


def _bare(name: str) -> str:
    return recording_name(Path(name)).lower()
