"""`openprogram recordings status | record | replay | off`."""

import re
from typing import TYPE_CHECKING, Annotated, Final

import typer

from openprogram.cli.render import count, note, print_json, print_line, working
from openprogram.cli.state import current_home, current_time, random_suffix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openprogram.pipeline.matching.policy import MatchingPolicy
    from openprogram.recordings.activation import Status
    from openprogram.recordings.endings import FailedCall

__all__ = ["off", "record", "replay", "status"]

#: One of several rules with commas between them: those in braces and brackets are the pattern's own.
_RULE: Final = re.compile(r"(?:\\.|\{[^}]*\}|\[(?:\\.|[^\]])*\]|[^,])+")

_NEXT_START = "It applies when a program starts next."
_NO_CALLS = "warning: it holds no calls, so any call that a program makes will be a mismatch."


def status(as_json: Annotated[bool, typer.Option("--json", help="Machine-readable.")] = False) -> None:
    """Show the mode and the file, and whether it can work."""
    from openprogram.recordings.activation import read_status

    home = current_home()
    with working("Reading the recording"):
        found = read_status(home)
    config = found.config
    if as_json:
        print_json(
            {
                "mode": found.mode,
                "mode_source": config.source("record_replay.mode"),
                "file": None if config.file is None else str(config.file),
                "file_source": config.source("record_replay.file"),
                "file_exists": found.file_exists,
                "usable": found.usable,
                "call_count": found.call_count,
                "failed_call_count": None if found.failed_calls is None else len(found.failed_calls),
                "reason": found.reason,
                "next_step": found.next_step,
                "config_path": str(config.path),
                "unknown_keys": config.unknown_keys,
                "home": str(home.folder),
                "home_source": home.source,
            }
        )
        return
    print_line(f"mode    {found.mode}  ({config.source('record_replay.mode')})")
    print_line(f"file    {config.file or '-'}  ({config.source('record_replay.file')}){_absence(found)}")
    print_line(f"config  {config.path}  ({home.source})")
    if found.usable:
        print_line(f"usable  yes, {count(found.call_count or 0, 'call')} recorded")
        if found.mode == "replay":
            _warn(found.call_count or 0, found.failed_calls)
    elif found.usable is not None:
        print_line(f"usable  no: {found.reason}")
        note(found.next_step or "")
    if config.unknown_keys:
        note(f"{config.path} has keys without effect in this release: {', '.join(config.unknown_keys)}")


def _absence(found: "Status") -> str:
    """What is to be said of a file that isn't there."""
    if found.file_exists is not False:
        return ""
    return ": not there yet, the first call creates it" if found.mode == "record" and found.usable else ": no such file"


def _warn(call_count: int, failed: "Sequence[FailedCall] | None") -> None:
    """What is odd about a recording that is to be replayed."""
    from openprogram.recordings.endings import tell_failed

    if not call_count:
        note(_NO_CALLS)
    if failed:
        note(f"warning: {tell_failed(failed, call_count)}; the replay repeats that, though it needs no key itself.")


def record(
    name: Annotated[
        str | None, typer.Option("--name", help="The recording's id; by default from the date and time.")
    ] = None,
    match: Annotated[
        str | None,
        typer.Option("--match", metavar="order|content", help="How replay is to choose the call that answers."),
    ] = None,
    volatile: Annotated[
        list[str] | None,
        typer.Option(
            "--volatile",
            metavar="RULE[,RULE]",
            help="Kinds of value that differ in every run: uuid, uuid-hex, iso-time, unix-time, "
            "tmp-path, 'regex:PATTERN', field:PATH.",
        ),
    ] = None,
) -> None:
    """Create a recording and record into it. From the next start on.

    Without --match or --volatile, [tool.openprogram] of the nearest pyproject.toml decides.
    """
    from openprogram.recordings.activation import start_recording
    from openprogram.recordings.names import check_name, new_name

    now = current_time()
    name = new_name(now, random_suffix()) if name is None else check_name(name)
    policy = _chosen_policy(match, volatile)
    path = start_recording(current_home(), name, now, policy)
    print_line(f"recording into {path}")
    if not policy.is_exact:
        note(f"It is to be replayed with: {policy}.")
    note(_NEXT_START)


def _chosen_policy(match: str | None, volatile: list[str] | None) -> "MatchingPolicy":
    from pathlib import Path

    from openprogram.errors import UsageError
    from openprogram.pipeline.matching.policy import EXACT, PolicyError, choose_policy
    from openprogram.project import project_policy

    rules = None if volatile is None else [rule for given in volatile for rule in _RULE.findall(given)]
    otherwise = EXACT if match is not None and rules is not None else project_policy(Path.cwd())
    try:
        return choose_policy(match, rules, otherwise)
    except PolicyError as error:
        raise UsageError(str(error)) from error


def replay(given: Annotated[str, typer.Argument(metavar="ID-or-PATH", help="Which recording.")]) -> None:
    """Check a recording and replay it. From the next start on."""
    from openprogram.recordings.activation import start_replaying
    from openprogram.recordings.names import find_recording

    home = current_home()
    path = find_recording(home, given)
    with working(f"Checking {path}"):
        calls = start_replaying(home, path)
    print_line(f"replaying {path}: {count(calls.call_count, 'call')}")
    _warn(calls.call_count, calls.failed)
    note(_NEXT_START)


def off() -> None:
    """Neither record nor replay. From the next start on; the file's name stays configured, the file as it is."""
    from openprogram.recordings.activation import turn_off

    config = turn_off(current_home())
    print_line("recording and replay are off")
    if config.file is not None:
        note(f"The setting keeps the file's name, for the next time: {config.file}")
    note(_NEXT_START)
