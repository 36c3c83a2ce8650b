"""`openprogram recordings list | show`."""

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from openprogram.cli.recordings.not_compared import not_compared, not_compared_line
from openprogram.cli.render import count, note, print_json, print_line, print_table, show_size, show_time, working
from openprogram.cli.state import current_home

if TYPE_CHECKING:
    from pathlib import Path

    from openprogram.recordings.description import CallContent, DescribedCall, Description
    from openprogram.recordings.listing import ListedRecording

__all__ = ["list_all", "show"]


def list_all(as_json: Annotated[bool, typer.Option("--json", help="Machine-readable.")] = False) -> None:
    """List the recordings. Damaged ones with the reason."""
    from openprogram.config import load_config
    from openprogram.recordings.listing import list_recordings

    home = current_home()
    config = load_config(home)
    with working("Reading the recordings"):
        listed = list_recordings(home, config)
    if as_json:
        print_json([_listed_fields(recording) for recording in listed])
    elif listed:
        rows = [
            (
                recording.id,
                "-" if recording.call_count is None else str(recording.call_count),
                "-" if recording.size_bytes is None else show_size(recording.size_bytes),
                "-" if recording.modified_at is None else show_time(recording.modified_at),
                _state(recording),
            )
            for recording in listed
        ]
        print_table(("id", "calls", "size", "modified", "state"), rows)
    else:
        note(f"No recordings in {home.recordings_folder}. `openprogram recordings record` makes one.")


def _state(recording: "ListedRecording") -> str:
    words = ["active"] if recording.active else []
    words += ["compressed"] if recording.compressed else []
    words += ["in use"] if recording.in_use else []
    words += [count(recording.failed_call_count, "failed call")] if recording.failed_call_count else []
    words += [f"invalid: {recording.reason}"] if recording.reason is not None else []
    return ", ".join(words)


def _listed_fields(recording: "ListedRecording") -> dict[str, Any]:
    return {
        "id": recording.id,
        "path": str(recording.path),
        "call_count": recording.call_count,
        "failed_call_count": recording.failed_call_count,
        "size_bytes": recording.size_bytes,
        "compressed": recording.compressed,
        "modified_at": None if recording.modified_at is None else recording.modified_at.isoformat(),
        "valid": recording.reason is None,
        "reason": recording.reason,
        "active": recording.active,
        "in_use": recording.in_use,
    }


def show(
    given: Annotated[str, typer.Argument(metavar="ID-or-PATH", help="Which recording.")],
    call: Annotated[int | None, typer.Option("--call", min=0, help="Only this call_index.")] = None,
    content: Annotated[
        bool, typer.Option("--content", help="Requests and events too; prompts and personal data may be in them.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable.")] = False,
) -> None:
    """Show what a recording holds. Of a damaged one, what is whole and where the damage is (exit code 1)."""
    from openprogram.recordings.description import describe
    from openprogram.recordings.names import find_recording
    from openprogram.recordings.repairing import repair_hint

    path = find_recording(current_home(), given)
    with working(f"Reading {path}"):
        description = describe(path, call)
    if content:
        note("warning: this is recorded content; prompts and personal data may be in it.")
    if as_json:
        print_json(_described_fields(description) | ({"content": _all_content(path, call)} if content else {}))
    else:
        _print_description(description)
        if content:
            _print_content(path, call)
    if description.damage is not None:
        note(f"error: damaged: {description.damage}")
        hopeless = description.damage.next_step or "Nothing in it can be repaired."
        note(repair_hint(path) if description.is_repairable else hopeless)
        raise typer.Exit(1)


def _print_description(description: "Description") -> None:
    from openprogram.recordings.endings import tell_failed

    print_line(f"file    {description.path}")
    content = f" compressed, {show_size(description.content_bytes)} of content" if description.compressed else ""
    print_line(f"size    {show_size(description.size_bytes)}{content}, {count(description.line_count, 'line')}")
    if description.header is not None:
        fields = {key: value for key, value in description.header.items() if key != "type"}
        print_line(f"header  {json.dumps(fields)}")
    if description.policy is not None:
        print_line(f"replay  {description.policy}")
    whole, damaged = len(description.calls), len(description.left_out)
    others = "" if whole + damaged == description.call_count else f", of {description.call_count} in the file"
    print_line(f"calls   {whole} whole, {damaged} not{others}")
    if failed := description.failed_calls:
        print_line(f"note    {tell_failed(failed, len(description.calls))}; every replay repeats that")
    if description.calls:
        print_table(
            ("call", "line", "model", "api", "messages", "events", "ended", "outcome"),
            [
                (
                    str(call.summary.call_index),
                    str(call.summary.line_number),
                    f"{call.provider}:{call.model}",
                    call.api,
                    str(call.message_count),
                    str(call.summary.event_count),
                    _ended(call),
                    _outcome(call),
                )
                for call in description.calls
            ],
        )
    for left_out in description.left_out:
        print_line(f"call {left_out.call_index}, line {left_out.line_number}, is not whole: {left_out.reason}")
    if description.calls and description.damage is None:
        print_line()
        print_line(not_compared_line())


def _ended(call: "DescribedCall") -> str:
    return "-" if call.ended is None else f"{call.ended.type}: {call.ended.reason}"


def _outcome(call: "DescribedCall") -> str:
    error = call.summary.error
    if error is None:
        return call.summary.outcome
    return f"{call.summary.outcome}: {error.get('type')}: {error.get('message')}"


def _print_content(path: "Path", call_index: int | None) -> None:
    from openprogram.recordings.description import read_content

    for content in read_content(path, call_index):
        print_line()
        print_line(f"call {content.call_index}, request:")
        for line in json.dumps(content.request, indent=2, ensure_ascii=False).split("\n"):
            print_line(line)
        print_line(f"call {content.call_index}, events:")
        for event in content.events:
            print_line(json.dumps(event, ensure_ascii=False))


def _described_fields(description: "Description") -> dict[str, Any]:
    damage, policy = description.damage, description.policy
    return {
        "path": str(description.path),
        "size_bytes": description.size_bytes,
        "compressed": description.compressed,
        "content_bytes": description.content_bytes,
        "line_count": description.line_count,
        "header": description.header,
        "match": None if policy is None else policy.match,
        "volatile": None if policy is None else list(policy.volatile),
        "not_compared": not_compared(),
        "failed_call_count": len(description.failed_calls),
        "calls": [_call_fields(call) for call in description.calls],
        "left_out": [
            {"call_index": call.call_index, "line_number": call.line_number, "reason": call.reason}
            for call in description.left_out
        ],
        "damage": None
        if damage is None
        else {
            "line_number": damage.line_number,
            "call_index": damage.call_index,
            "reason": damage.reason,
            "repairable": description.is_repairable,
        },
    }


def _call_fields(call: "DescribedCall") -> dict[str, Any]:
    return {
        "call_index": call.summary.call_index,
        "line_number": call.summary.line_number,
        "provider": call.provider,
        "model": call.model,
        "api": call.api,
        "message_count": call.message_count,
        "event_count": call.summary.event_count,
        "ended": None if call.ended is None else {"type": call.ended.type, "reason": call.ended.reason},
        "outcome": call.summary.outcome,
        "error": call.summary.error,
    }


def _all_content(path: "Path", call_index: int | None) -> list[dict[str, Any]]:
    from openprogram.recordings.description import read_content

    return [_content_fields(content) for content in read_content(path, call_index)]


def _content_fields(content: "CallContent") -> dict[str, Any]:
    return {"call_index": content.call_index, "request": content.request, "events": list(content.events)}
