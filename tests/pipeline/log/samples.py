"""Small recordings as lines that a test can bend before they are written, and what the readers make of them."""

import json
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pytest

from openprogram.pipeline.errors import RecordingFileError
from openprogram.pipeline.json_value import JsonValue
from openprogram.pipeline.log.lines import CleanEvent, CleanRequest, Outcome
from openprogram.pipeline.log.reader import open_recording
from openprogram.pipeline.log.survey import survey_recording
from openprogram.pipeline.log.writer import CallWriter, RecordingSink

__all__ = [
    "EVENT_TYPES",
    "HEADER",
    "Call",
    "Lines",
    "begin",
    "call",
    "call_lines",
    "calls_or_refusal",
    "check_event",
    "delta",
    "end_line",
    "event_line",
    "exact",
    "read_calls",
    "refusal",
    "request",
    "request_line",
    "surveyed_calls",
    "without_waiting",
    "write_file",
]

Lines: TypeAlias = list[dict[str, Any]]

EVENT_TYPES = {"start", "text_delta", "done"}
HEADER: dict[str, Any] = {"type": "header", "format_version": 1}


class Call(NamedTuple):
    """One call as a reader gives it back."""

    request: dict[str, JsonValue]
    events: list[dict[str, JsonValue]]
    outcome: Outcome
    error: dict[str, Any] | None


def check_event(event: dict[str, Any]) -> None:
    """The vocabulary of these tests."""
    if event.get("type") not in EVENT_TYPES:
        raise ValueError(f"unknown event type {event.get('type')!r}")


def request(text: str = "hi") -> CleanRequest:
    return CleanRequest({"model": {"id": "m"}, "context": {"messages": [text]}, "options": None})


def delta(text: str) -> CleanEvent:
    return CleanEvent({"type": "text_delta", "delta": text})


def request_line(call_index: int, text: str = "hi") -> dict[str, Any]:
    return {"type": "request", "call_index": call_index, **request(text)}


def event_line(call_index: int, event_index: int, **event: Any) -> dict[str, Any]:
    event = event or delta(f"{call_index}.{event_index}")
    return {"type": "event", "call_index": call_index, "event_index": event_index, "event": event}


def end_line(call_index: int, event_count: int, **fields: Any) -> dict[str, Any]:
    return {"type": "call_end", "call_index": call_index, "event_count": event_count, **fields}


def call_lines(call_index: int, events: int = 2) -> Lines:
    """A complete call."""
    return [
        request_line(call_index, f"call {call_index}"),
        *(event_line(call_index, index) for index in range(events)),
        end_line(call_index, events, outcome="complete"),
    ]


def write_file(path: Path, lines: Iterable[dict[str, Any] | bytes | str]) -> Path:
    """The lines as a file; bytes and text are taken as they are, without a line end added."""
    with path.open("wb") as file:
        for line in lines:
            if isinstance(line, bytes):
                file.write(line)
            elif isinstance(line, str):
                file.write(line.encode())
            else:
                file.write(json.dumps(line, separators=(",", ":")).encode() + b"\n")
    return path


def read_calls(path: Path) -> list[Call]:
    """Everything that the strict reader gives. Raises RecordingFileError."""
    with open_recording(path, check_event) as recording:
        return [
            Call(recording.request(index), list(recording.events(index)), summary.outcome, summary.error)
            for index, summary in enumerate(recording.calls)
        ]


def calls_or_refusal(path: Path) -> list[Call] | RecordingFileError:
    """What the strict reader gives, or why it refuses the file. Anything else that it raises fails the test."""
    try:
        return read_calls(path)
    except RecordingFileError as error:
        return error


def surveyed_calls(path: Path) -> list[Call]:
    """Every complete call that the lenient reader finds."""
    with survey_recording(path, check_event) as survey:
        return [
            Call(survey.request(found), list(survey.events(found)), found.outcome, found.error)
            for found in survey.complete
        ]


def refusal(path: Path) -> RecordingFileError:
    """Why the strict reader refuses the file."""
    with pytest.raises(RecordingFileError) as failure:
        open_recording(path, check_event)
    assert failure.value.path == path
    return failure.value


def without_waiting(do: Callable[[], object]) -> None:
    """Do it in a thread, so that a call which blocks for good fails the test in place of stopping all of them."""
    failures: list[BaseException] = []

    def work() -> None:
        try:
            do()
        except BaseException as failure:  # noqa: BLE001 - raised again below
            failures.append(failure)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(10)
    assert not thread.is_alive(), "it blocks"
    for failure in failures:
        raise failure


def begin(sink: RecordingSink, text: str = "hi") -> CallWriter:
    return sink.begin_call(request(text))


def call(sink: RecordingSink, text: str = "hi", events: Sequence[str] = ("a", "b")) -> CallWriter:
    """A complete call through the sink."""
    writer = begin(sink, text)
    writer.write([delta(event) for event in events])
    writer.end("complete")
    return writer


def exact(value: Any) -> str:
    """A spelling in which values are equal only as JSON is: 1, 1.0 and true differ, -0.0 and 0.0 too."""
    return json.dumps(value)
