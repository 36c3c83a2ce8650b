"""The least that recording, opening and replaying could cost: plain loops, without stages, redaction or comparison."""

import os
from pathlib import Path

from pydantic import TypeAdapter
from pydantic_core import from_json, to_json

from openprogram.providers.types import AssistantMessageEvent
from tests.benchmarks.workload import Session

__all__ = ["dump_and_write", "parse_every_line", "validate_every_event"]


def dump_and_write(played: Session, path: Path) -> None:
    """Dump each event and write it as a line of its own."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        for answer in played.answers:
            for event in answer:
                os.write(descriptor, to_json(event) + b"\n")
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def parse_every_line(path: Path) -> int:
    """`from_json` over each line."""
    count = 0
    with path.open("rb") as file:
        for line in file:
            from_json(line)
            count += 1
    return count


def validate_every_event(path: Path) -> int:
    """An event object of each event line."""
    adapter: TypeAdapter[AssistantMessageEvent] = TypeAdapter(AssistantMessageEvent)
    count = 0
    with path.open("rb") as file:
        for line in file:
            if line.startswith(b'{"type":"event"'):
                adapter.validate_json(line[line.index(b'"event":') + 8 : -2])
                count += 1
    return count
