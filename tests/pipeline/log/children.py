# ruff: noqa: T201 - printing is how a child answers
"""What the tests let other processes do, each started fresh: `python -m tests.pipeline.log.children NAME ARGUMENT…`."""

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from openprogram.pipeline.errors import RecordingFileError
from openprogram.pipeline.log.reader import open_recording
from openprogram.pipeline.log.survey import survey_recording
from openprogram.pipeline.log.writer import RecordingSink
from tests.pipeline.log.samples import begin, check_event, delta

__all__ = ["ROOT", "start"]

ROOT = Path(__file__).resolve().parents[3]


def start(job: Callable[..., None], *arguments: object) -> "subprocess.Popen[str]":
    """Run one of the jobs below in a new process, its standard streams connected."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.pipeline.log.children", job.__name__, *map(str, arguments)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def record_calls(path: str, name: str, calls: str, events: str, at_once: str) -> None:
    """Complete calls, so many events an append."""
    with RecordingSink(path) as sink:
        for number in range(int(calls)):
            writer = begin(sink, f"{name} {number}")
            for first in range(0, int(events), int(at_once)):
                writer.write([delta(f"{name} {number} {first + index}") for index in range(int(at_once))])
            writer.end("complete")


def record_calls_in_forks(path: str, names: str, calls: str, events: str, at_once: str) -> None:
    """A process for each name, that records calls."""
    children = []
    for name in names:
        children.append(os.fork())
        if not children[-1]:
            try:
                record_calls(path, name, calls, events, at_once)
                os._exit(0)
            finally:
                os._exit(1)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    sys.exit(max(codes))


def hold_open(path: str) -> None:
    """A sink with an unfinished call, until told to close it."""
    with RecordingSink(path) as sink:
        begin(sink).write([delta("a")])
        print("open", flush=True)
        sys.stdin.readline()
    print("closed", flush=True)
    sys.stdin.readline()


def record_until_killed(path: str, name: str) -> None:
    """Calls without end; each is reported once its end is synced."""
    sink = RecordingSink(path)
    number = 0
    while True:
        writer = begin(sink, f"{name} {number} " + "x" * (number * 37 % 5000))
        for index in range(number % 4):
            writer.write([delta(f"{index} " + "y" * (number * 911 % 20_000))])
        writer.end("complete")
        sink.sync()
        print(number, flush=True)
        number += 1


def peak_while_opening(path: str) -> None:
    """Prints the reason of the refusal, seconds, and by how many bytes the peak of memory has grown."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begun = time.monotonic()
    try:
        open_recording(path, check_event).close()
        reason = "none"
    except RecordingFileError as error:
        reason = f"{error.line_number}: {error.reason}"
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    print(reason, time.monotonic() - begun, grown, sep="\n", flush=True)


def peak_while_surveying(path: str) -> None:
    """As `peak_while_opening`, of the lenient reader."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begun = time.monotonic()
    with survey_recording(path, check_event) as survey:
        damage = survey.damage
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    print(
        "none" if damage is None else f"{damage.line_number}: {damage.reason}",
        time.monotonic() - begun,
        grown,
        sep="\n",
    )


def peak_while_reading(path: str) -> None:
    """Reads every call and prints how many there are, and by how many bytes the peak of memory has grown."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with open_recording(path, check_event) as recording:
        for call_index in range(recording.call_count):
            recording.request_text(call_index, 0)
            for _ in recording.event_batches(call_index):
                pass
        count = recording.call_count
    print(count, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024, sep="\n")


def fork_with_open_sink(path: str) -> None:
    """Parent and forked child both go on with a sink that was opened before the fork."""
    sink = RecordingSink(path)
    begin(sink, "before").end("complete")
    child = os.fork()
    name = "parent" if child else "child"
    for number in range(20):
        writer = begin(sink, f"{name} {number}")
        writer.write([delta(name), delta(str(number))])
        writer.end("complete")
    sink.sync()
    sink.close()
    if not child:
        os._exit(0)
    _, status = os.waitpid(child, 0)
    sys.exit(os.waitstatus_to_exitcode(status))


JOBS = {
    job.__name__: job
    for job in (
        record_calls_in_forks,
        hold_open,
        record_until_killed,
        peak_while_opening,
        peak_while_surveying,
        peak_while_reading,
        fork_with_open_sink,
    )
}

if __name__ == "__main__":
    JOBS[sys.argv[1]](*sys.argv[2:])
