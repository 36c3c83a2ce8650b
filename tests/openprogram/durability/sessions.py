"""The sessions of the benchmarks, recorded while something goes wrong, and what must hold of the file afterwards."""

import json
import mmap
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import pytest
from anyio.lowlevel import checkpoint

from openprogram.pipeline.errors import RecordingFileError
from openprogram.pipeline.log.reader import Recording
from openprogram.pipeline.log.survey import Survey
from openprogram.providers.recording import RecordingProvider
from openprogram.providers.types import AssistantMessageEvent, Context, Model, SimpleStreamOptions, StreamOptions
from openprogram.recordings.description import describe
from openprogram.recordings.reading import read_strictly, survey
from openprogram.recordings.repairing import AlreadyWhole, repair_beside
from tests.benchmarks.workload import MODEL, Session

__all__ = [
    "Answers",
    "Call",
    "Progress",
    "check_everything",
    "check_next_process",
    "check_readers",
    "check_repair",
    "first_damage",
    "number_of",
    "record",
    "record_anew",
    "strict_calls",
    "whole_calls",
]

#: Turns of the loop after which every stage has done what it can.
_TURNS = 8


def number_of(request: Context | dict[str, Any]) -> int:
    """Which call of its session this is, from 0: three messages are added between two calls."""
    messages = request.messages if isinstance(request, Context) else request["context"]["messages"]
    return (len(messages) - 1) // 3


class Answers:
    """Answers each context of a session with its own answer. `pause_every`: events between two pauses, or None."""

    def __init__(self, played: Session, pause_every: int | None = None) -> None:
        self._played, self._pause_every = played, pause_every

    async def stream(
        self, model: Model, context: Context, options: StreamOptions | None = None
    ) -> AsyncIterator[AssistantMessageEvent]:
        for count, event in enumerate(self._played.answers[number_of(context)], 1):
            yield event
            if self._pause_every is not None and count % self._pause_every == 0:
                for _ in range(_TURNS):
                    await checkpoint()

    async def stream_simple(
        self, model: Model, context: Context, options: SimpleStreamOptions | None = None
    ) -> AsyncIterator[AssistantMessageEvent]:
        async for event in self.stream(model, context):
            yield event


class Progress:
    """What reached the consumer, in memory that outlives the process that fills it, and is shared with its forks.

    `received[n]`: events of call n; `acknowledged`: the calls whose terminal event was among them.
    """

    def __init__(self, calls: int) -> None:
        self._memory = memoryview(mmap.mmap(-1, 8 * calls)).cast("I")
        self._calls = calls

    def receive(self, number: int, event: AssistantMessageEvent) -> None:
        self._memory[2 * number] += 1
        if event.type in ("done", "error"):
            self._memory[2 * number + 1] = 1

    @property
    def received(self) -> list[int]:
        return [self._memory[2 * number] for number in range(self._calls)]

    @property
    def acknowledged(self) -> list[int]:
        return [number for number in range(self._calls) if self._memory[2 * number + 1]]


async def record(played: Session, path: Path, progress: Progress, pause_every: int | None = None) -> None:
    """The calls of the session, one after the other."""
    provider = RecordingProvider(Answers(played, pause_every), path)
    for number, context in enumerate(played.contexts):
        async for event in provider.stream_simple(MODEL, context):
            progress.receive(number, event)
    provider.close()


class Call(NamedTuple):
    """A call as a reader gives it back."""

    request: dict[str, Any]
    events: list[dict[str, Any]]
    outcome: str


def record_anew(played: Session, path: Path) -> dict[int, Call]:
    """The session recorded with nothing going wrong, by the number of the call."""
    anyio.run(record, played, path, Progress(len(played.contexts)))
    with read_strictly(path) as recording:
        assert recording.call_count == len(played.contexts)
    calls = {number_of(call.request): call for call in whole_calls(path)}
    for number, answer in enumerate(played.answers):
        assert [event["type"] for event in calls[number].events] == [event.type for event in answer]
    return calls


def whole_calls(path: Path) -> list[Call]:
    """The complete calls that the lenient reader finds, in file order."""
    with survey(path) as found:
        return _calls(found)


def _calls(found: Survey) -> list[Call]:
    return [Call(found.request(call), list(found.events(call)), call.outcome) for call in found.complete]


def strict_calls(recording: Recording) -> list[Call]:
    """Every call of a recording that was opened strictly."""
    return [
        Call(recording.request(index), list(recording.events(index)), call.outcome)
        for index, call in enumerate(recording.calls)
    ]


# ---- what must hold


def check_everything(
    path: Path, expected: dict[int, Call], received: Iterable[int], acknowledged: Iterable[int], played: Session
) -> None:
    """After a crash: nothing that the consumer saw is missing, readers say what is whole, repair and appending work."""
    if not path.exists():
        assert not list(acknowledged)
        assert not any(received)
        return
    whole = check_readers(path, expected, received, acknowledged)
    check_repair(path, whole)
    check_next_process(path, whole, played)


def check_readers(
    path: Path, expected: dict[int, Call], received: Iterable[int], acknowledged: Iterable[int]
) -> list[Call]:
    """The calls that are whole. All that were acknowledged are, and no reader takes anything else for whole."""
    data = path.read_bytes()
    with survey(path) as found:
        whole = _calls(found)
        damaged_line = None if found.damage is None else found.damage.line_number
    numbers = [number_of(call.request) for call in whole]
    completed = [call for call in whole if call.outcome == "complete"]
    assert completed == [expected[number_of(call.request)] for call in completed]
    assert set(acknowledged) <= {number_of(call.request) for call in completed}
    assert len(set(numbers)) == len(numbers)

    seen = list(received)
    on_file = _events_on_file(data) if seen else {}
    for number, count in enumerate(seen):
        assert on_file.get(number, 0) >= count, f"call {number}: the consumer saw more than is on file"

    damage = first_damage(data)
    assert damaged_line == damage
    try:
        with read_strictly(path) as recording:
            assert recording.call_count == len(whole)
        assert data
        assert damage is None
    except RecordingFileError as error:
        assert error.line_number == damage  # noqa: PT017 - that it is raised is checked by the other branch
        assert damage is not None or not data

    shown = describe(path)
    assert [number + 1 for number in numbers] == [(call.message_count + 2) // 3 for call in shown.calls]
    assert (shown.damage is None) == (damage is None and bool(data))
    return whole


def first_damage(data: bytes) -> int | None:
    """By its number, the line that a reader must name, found out without any of the readers."""
    *lines, torn = data.split(b"\n")
    begun: dict[int, int] = {}
    for number, line in enumerate(lines, 1):
        try:
            parsed = json.loads(line)
        except ValueError:
            return number
        if parsed["type"] == "request":
            begun[parsed["call_index"]] = number
        elif parsed["type"] == "call_end":
            del begun[parsed["call_index"]]
    if torn:
        return len(lines) + 1
    return min(begun.values(), default=None)


def _events_on_file(data: bytes) -> dict[int, int]:
    """How many event lines are whole, by the number of the call."""
    calls: dict[int, int] = {}  # call_index → the number in the session
    counts: dict[int, int] = {}
    for line in data.split(b"\n")[:-1]:
        parsed = json.loads(line)
        if parsed["type"] == "request":
            calls[parsed["call_index"]] = number_of(parsed)
        elif parsed["type"] == "event":
            number = calls[parsed["call_index"]]
            counts[number] = counts.get(number, 0) + 1
    return counts


def check_repair(path: Path, whole: list[Call]) -> None:
    """`recordings repair` keeps every whole call, in a file that the strict reader takes; the damaged one stays."""
    before = path.read_bytes()
    try:
        report = repair_beside(path)
    except RecordingFileError:
        assert not whole
        assert first_damage(before) == 1 or not before  # not even its header is whole
        return
    assert path.read_bytes() == before
    if isinstance(report, AlreadyWhole):
        assert report.call_count == len(whole)
        return
    with read_strictly(report.target) as repaired:
        assert strict_calls(repaired) == whole
    report.target.unlink()


def check_next_process(path: Path, whole: list[Call], played: Session) -> None:
    """Whoever records into the file next changes nothing of what is whole, and glues nothing to a torn line."""
    before = path.read_bytes()
    damage = first_damage(before)
    if damage is not None and (damage == 1 or _is_unreadable(before, damage)):
        # Not what a killed process leaves. A torn header is not either: it could be anybody's text.
        with pytest.raises(RecordingFileError) as failure:
            RecordingProvider(Answers(played), path)
        assert failure.value.line_number == damage
        assert failure.value.next_step
        assert path.read_bytes() == before
        return
    _record_one(path, played)
    after = path.read_bytes()
    kept = before[: before.rfind(b"\n") + 1]
    assert after.startswith(kept)
    for line in after[len(kept) :].split(b"\n")[:-1]:
        json.loads(line)
    assert after.endswith(b"\n")
    again = whole_calls(path)
    assert again[: len(whole)] == whole
    assert [call.outcome for call in again[len(whole) :]] == ["complete"]


def _is_unreadable(data: bytes, line_number: int) -> bool:
    """Whether this line has an end and is none of ours all the same."""
    *lines, _ = data.split(b"\n")
    try:
        return line_number <= len(lines) and not json.loads(lines[line_number - 1])
    except ValueError:
        return True


def _record_one(path: Path, played: Session) -> None:
    async def one() -> None:
        provider = RecordingProvider(Answers(played), path)
        await provider.stream_simple(MODEL, played.contexts[0])
        provider.close()

    anyio.run(one)
