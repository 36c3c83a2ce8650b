"""What a failed test says about its recording: both sides, the cause, the place, and how to record it again."""

import itertools
import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType

import pytest

from openprogram.pipeline.errors import PipelineError, RecordingValueError, ReplayMismatch
from openprogram.pipeline.matching.spelling import in_python, in_toml
from openprogram.pytest_plugin.guard import Attempt, LiveAttempt
from openprogram.pytest_plugin.places import is_users, show_places
from openprogram.pytest_plugin.plugin import COMMAND_LINE, command_line
from openprogram.pytest_plugin.replay_item import ReplayItem

__all__ = [
    "describe_attempts",
    "describe_error",
    "describe_failed_calls",
    "describe_no_calls",
    "describe_replay",
    "hide_internals",
]

#: Options of pytest, with a value, without which the same test may not be found or not run alike.
_KEPT_OPTIONS = ("-c", "--config-file", "--rootdir", "-p", "-o", "--override-ini", "--confcutdir", "--import-mode")


def describe_replay(item: pytest.Item, replay: ReplayItem) -> str:
    """The first failure in full, where that call was made, and what came of each call.

    In that order: pytest's summary shows a report's first line.
    """
    from openprogram.pytest_plugin.notes import removed_secrets  # only a failure needs what it imports

    failure = replay.verdict.first_failure
    removed = removed_secrets(replay)
    places = replay.provider.places_of(failure) if failure is not None else ()
    told = [] if failure is None else [str(failure)]
    return "\n".join(
        [
            *told,
            *(["the call was made at:", show_places(places, item.config.rootpath)] if places else []),
            replay.verdict.describe().removesuffix("\n".join(["", *told])),
            *([removed] if removed else []),
            *_volatile(failure),
            f"to see what was recorded: {_show_command(item, replay, failure)}",
            *_again(item, "to record this test again"),
        ]
    )


def _volatile(failure: PipelineError | None) -> list[str]:
    """How a value that is made anew in every run is declared: recorded again without, the test fails again."""
    rules = failure.suggested_volatile if isinstance(failure, ReplayMismatch) else ()
    if not rules:
        return []
    return [
        "a value that is made anew in every run differs from any recording: declare it, then record the test again",
        f"  @pytest.mark.recording({in_python(rules)})",
        f"  or, for the whole project, below [tool.openprogram] in pyproject.toml: {in_toml(rules)}",
    ]


def describe_attempts(item: pytest.Item, attempts: Sequence[Attempt]) -> str:
    """What a replayed test tried to reach, each once."""
    lines = ["the replay was not offline: a replayed test may reach nothing live"]
    for attempt in dict.fromkeys(attempts):
        lines.append(f"it tried to {attempt.what}")
        if attempt.places:
            lines.append(show_places(attempt.places, item.config.rootpath))
    if any(attempt.what.startswith(("connect to", "look up")) for attempt in attempts):
        lines.append(
            "if that is a vendor's SDK: a recording answers calls that are made through openprogram.providers alone"
        )
    return "\n".join(lines)


def describe_error(item: pytest.Item, error: Exception) -> str:
    """Why the recording can't be used."""
    said_wrongly = isinstance(error, pytest.UsageError | RecordingValueError)  # recording it would fail just so
    again = [] if said_wrongly else _again(item, "to record this test")
    return "\n".join([str(error), *getattr(error, "__notes__", []), *again])


def describe_no_calls(item: pytest.Item, path: Path) -> str:
    """Of a new recording in which nothing is: that its replay checks nothing, and what to do."""
    return "\n".join(
        [
            f"warning: {_relative(item, path)}: no call was recorded, so that its replay checks nothing",
            "  calls are recorded that this process makes through openprogram.providers or the fixture `recording`;"
            " those of a vendor's SDK or of another process are not",
            "  a test that makes no calls needs no marker",
        ]
    )


def describe_failed_calls(item: pytest.Item, path: Path) -> str:
    """Of a new recording with calls that failed: how many, why, how to look, and how to record it again."""
    from openprogram.recordings.description import describe  # only a failure needs what these import
    from openprogram.recordings.endings import tell_failed

    file = _relative(item, path)
    told, look = "calls failed", ["openprogram", "recordings", "show", file, "--content"]
    with suppress(PipelineError):
        recorded = describe(path)
        if failed := recorded.failed_calls:
            told = tell_failed(failed, len(recorded.calls))
            look += ["--call", str(failed[0].call_index)]
    return "\n".join(
        [
            f"warning: {file}: {told}",
            "  every replay repeats that: a test that passes with such answers passes from now on",
            f"  to see it: {shlex.join(look)}",
            f"  to record it again, unless it is meant: {_command(item)}",
        ]
    )


def hide_internals(error: pytest.ExceptionInfo[BaseException]) -> None:
    """Of a failure that our section explains, show the user's own lines, and no advice that is none for a test."""
    if not isinstance(error.value, ReplayMismatch | LiveAttempt):
        return
    error.value.__notes__ = []  # what to do next is in the section, for this test
    entries, entry = [], error.value.__traceback__
    while entry is not None:
        entries.append(entry)
        entry = entry.tb_next
    users: TracebackType | None = None
    for entry in reversed(entries):
        if is_users(entry.tb_frame.f_code.co_filename):
            users = TracebackType(users, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    if users is not None:
        # linked anew: pytest cuts a traceback at the test and goes on with whatever that links to
        error.traceback = type(error.traceback)(users)


def _again(item: pytest.Item, *words: str) -> list[str]:
    return [*words[:-1], f"{words[-1]}: {_command(item)}"]


def _show_command(item: pytest.Item, replay: ReplayItem, failure: PipelineError | None) -> str:
    call = getattr(failure, "call_index", None)
    chosen = ["--call", str(call)] if call is not None and call < replay.verdict.call_count else []
    return shlex.join(["openprogram", "recordings", "show", _relative(item, replay.path), *chosen, "--content"])


def _relative(item: pytest.Item, path: Path) -> str:
    file = os.path.relpath(path, item.config.invocation_params.dir)
    return file if os.sep in file else f"./{file}"  # a bare name would be a managed recording's


def _command(item: pytest.Item) -> str:
    """The command that records this test anew, for the folder in which pytest was started."""
    # Under xdist the test runs in a worker, and the user's command line was the controller's.
    given = getattr(item.config, "workerinput", {}).get(COMMAND_LINE) or command_line(item.config)
    program = ["python", "-m", "pytest"] if given["program"].endswith("__main__.py") else ["pytest"]
    _, separator, rest = item.nodeid.partition("::")
    path = os.path.relpath(item.path, given["folder"])
    kept = _kept(iter(given["arguments"]))
    return shlex.join([*program, *kept, path + separator + rest, "--recording-mode=rewrite"])


def _kept(arguments: Iterator[str]) -> Iterator[str]:
    for argument in arguments:
        name, _, value = argument.partition("=")
        short = not argument.startswith("--") and argument[:2] in _KEPT_OPTIONS
        if name in _KEPT_OPTIONS or short:
            yield argument
            if not value and argument in _KEPT_OPTIONS:
                yield from itertools.islice(arguments, 1)
