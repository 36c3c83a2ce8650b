"""Small recordings for tests of the commands, as lines that a test can bend before they are written."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

__all__ = [
    "call_lines",
    "failed_call_lines",
    "header_line",
    "raised_call_lines",
    "write_lines",
    "write_recording",
]

_MODEL = {"id": "small-1", "api": "scripted", "provider": "example"}


def header_line(**fields: Any) -> dict[str, Any]:
    """A header of the current version."""
    return {"type": "header", "format_version": 1, **fields}


def call_lines(call_index: int, *, prompt: str = "hi", answer: str = "hello") -> list[dict[str, Any]]:
    """A complete call: request, start, text, done, call_end."""
    message = {
        "role": "assistant",
        "content": [{"type": "text", "text": answer}],
        "api": "scripted",
        "provider": "example",
        "model": "small-1",
        "stop_reason": "stop",
    }
    events: list[dict[str, Any]] = [
        {"type": "start"},
        {"type": "text_start", "content_index": 0},
        {"type": "text_delta", "content_index": 0, "delta": answer},
        {"type": "text_end", "content_index": 0, "content": answer},
        {"type": "done", "reason": "stop", "message": message},
    ]
    context = {"messages": [{"role": "user", "content": prompt}]}
    return [
        {"type": "request", "call_index": call_index, "model": _MODEL, "context": context, "options": {}},
        *(
            {"type": "event", "call_index": call_index, "event_index": index, "event": event}
            for index, event in enumerate(events)
        ),
        {"type": "call_end", "call_index": call_index, "event_count": len(events), "outcome": "complete"},
    ]


def failed_call_lines(call_index: int, reason: str = "auth") -> list[dict[str, Any]]:
    """A call that the provider answered with an error."""
    request, *_, end = call_lines(call_index)
    message = {
        "role": "assistant",
        "content": [],
        "api": "scripted",
        "provider": "example",
        "model": "small-1",
        "stop_reason": "error",
        "error_reason": reason,
        "error_message": "no API key",
    }
    event = {"type": "error", "reason": "error", "error": message}
    answer = {"type": "event", "call_index": call_index, "event_index": 0, "event": event}
    return [request, answer, {**end, "event_count": 1}]


def raised_call_lines(call_index: int, kind: str = "MissingExtra") -> list[dict[str, Any]]:
    """A call in which the provider raised an exception."""
    request, *_, end = call_lines(call_index)
    return [request, {**end, "event_count": 0, "outcome": "error", "error": {"type": kind, "message": "is missing"}}]


def write_lines(path: Path, lines: Iterable[dict[str, Any]]) -> Path:
    """The lines as a file, whatever they say; its folder is created."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def write_recording(path: Path, *, calls: int = 1, prompt: str = "hi", answer: str = "hello") -> Path:
    """A valid recording with that many calls."""
    lines = [header_line()]
    for call_index in range(calls):
        lines += call_lines(call_index, prompt=prompt, answer=answer)
    return write_lines(path, lines)
