"""Where in the user's code a call was made. Cheap enough to be asked at every call: names and line numbers only."""

import asyncio
import linecache
import os
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final, NamedTuple

import openprogram
from openprogram.pipeline.tasks import waiting_tasks

__all__ = ["Place", "Places", "show_places"]

_NOT_USERS: Final = tuple(
    folder + os.sep
    for folder in {
        *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib", "scripts")),
        str(Path(openprogram.__file__).parent),
        str(Path(openprogram.__file__).resolve().parents[1] / "pipeline"),  # in a checkout it is a link to there
    }
)
_INNERMOST: Final = 8
#: What stands on the stack below a task's own frames, whatever loop runs it: a handle of asyncio's, or its runner.
_EVENT_LOOP: Final = frozenset({asyncio.events.__file__, asyncio.runners.__file__})


class Place(NamedTuple):
    """A line that was running. `line`: from 1."""

    file: str
    line: int
    function: str


class Places:
    """Finds the lines of a test and the code under it. `test_file`: the test's own."""

    def __init__(self, test_file: Path) -> None:
        self._test_file = str(test_file)

    def here(self) -> tuple[Place, ...]:
        """The user's lines that led to the caller, outermost first, at most the innermost 8.

        The agent loop runs in a task of its own. The lines are then those that its user's tasks wait at, between what
        started the event loop and what the running task has of the user's itself. Of a task that somebody else began
        it isn't known who waits for it: then they are those of the task that holds the test.
        """
        frames = list(_frames(sys._getframe(1)))
        start = next((at for at, (code, _) in enumerate(frames) if code.co_filename in _EVENT_LOOP), len(frames))
        outer, inner = (list(_users(part))[::-1] for part in (frames[start:], frames[:start]))
        waiting = [place for task in waiting_tasks() for place in _users(_awaited(task.get_coro()))]
        found = [*outer, *waiting, *inner]
        return tuple((found if waiting or inner else [*outer, *self._of_the_tests_task()])[-_INNERMOST:])

    def _of_the_tests_task(self) -> list[Place]:
        """The lines at which the task waits that holds the test, or else the only one of the user's."""
        try:
            tasks = asyncio.all_tasks()
        except RuntimeError:  # no loop is running
            return []
        users = [found for task in tasks if (found := list(_users(_awaited(task.get_coro()))))]
        holding = [found for found in users if any(place.file == self._test_file for place in found)]
        return holding[0] if holding else users[0] if len(users) == 1 else []


def is_users(file: str) -> bool:
    """Whether code from that file is neither ours, nor Python's, nor that of an installed package."""
    return not file.startswith((*_NOT_USERS, "<"))


def show_places(places: Sequence[Place], folder: Path) -> str:
    """A line and its source each; files below `folder` are shown relative to it."""
    shown = []
    for place in places:
        path = Path(place.file)
        name = path.relative_to(folder) if path.is_relative_to(folder) else path
        shown.append(f"  {name}:{place.line} in {place.function}")
        if source := linecache.getline(place.file, place.line).strip():
            shown.append(f"    {source}")
    return "\n".join(shown)


def _users(lines: Iterable[tuple[CodeType, int]]) -> Iterator[Place]:
    for code, line in lines:
        if is_users(code.co_filename):
            yield Place(code.co_filename, line, code.co_name)


def _frames(frame: FrameType | None) -> Iterator[tuple[CodeType, int]]:
    while frame is not None:
        yield frame.f_code, frame.f_lineno
        frame = frame.f_back


def _awaited(waiting: Any) -> Iterator[tuple[CodeType, int]]:
    while waiting is not None:
        frame = getattr(waiting, "cr_frame", None)
        if frame is not None:
            yield frame.f_code, frame.f_lineno
        waiting = getattr(waiting, "cr_await", None)
