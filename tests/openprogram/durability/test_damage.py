"""Whatever happens to the bytes of a recording, its readers refuse it by name, or say exactly what it says."""

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openprogram.pipeline.errors import PipelineError, RecordingFileError
from openprogram.providers.replay import ReplayProvider
from openprogram.recordings.description import describe
from openprogram.recordings.reading import read_strictly
from openprogram.recordings.repairing import AlreadyWhole, repair_beside
from tests.benchmarks.workload import MODEL, session
from tests.openprogram.durability.sessions import Call, record_anew, strict_calls, whole_calls
from tests.pipeline.log.values import any_machine

_numbers = itertools.count()

Damage = Callable[[bytes], bytes]


PLAYED = session(3, 20, 100)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("damaged")


@pytest.fixture(scope="module")
def whole(folder: Path) -> Path:
    path = folder / "whole.jsonl"
    record_anew(PLAYED, path)
    return path


@st.composite
def damages(draw: st.DrawFn) -> list[tuple[str, float, float, bytes]]:
    """What happens, where it begins and how far it reaches, as parts of the whole, and bytes for it."""
    what = st.sampled_from(["cut", "leave out", "double", "zero", "overwrite", "insert", "move", "leave a line out"])
    place = st.floats(0, 1, exclude_max=True)
    fill = st.sampled_from(
        [b"\n", b"\r", b"{", b"}", b'"', b"\\", b"\xff", b"0", b"1e999", b"\0", b"null", b'{"type":']
    ) | (st.binary(min_size=1, max_size=8))
    reach = place.map(lambda part: part**6)  # mostly a few bytes
    return draw(st.lists(st.tuples(what, place, reach, fill), min_size=1, max_size=3))


def damaged(data: bytes, what: str, place: float, reach: float, fill: bytes) -> bytes:
    start = int(place * len(data))
    end = min(len(data), start + 1 + int(reach * len(data)))
    match what:
        case "cut":
            return data[:start]
        case "leave out":
            return data[:start] + data[end:]
        case "double":
            return data[:end] + data[start:]
        case "zero":
            return data[:start] + bytes(end - start) + data[end:]
        case "overwrite":
            return data[:start] + fill + data[start + len(fill) :]
        case "insert":
            return data[:start] + fill + data[start:]
        case "move":
            return data[:start] + data[end:] + data[start:end]
        case _:
            begin, stop = data.rfind(b"\n", 0, start) + 1, data.find(b"\n", start) + 1 or len(data)
            return data[:begin] + data[stop:]


def as_written(data: bytes) -> list[Call]:
    """What a file says that is in order, read as plainly as can be."""
    calls: dict[int, Call] = {}
    for line in data.split(b"\n"):
        found: Any = json.loads(line) if line.strip() else {}
        match found.get("type"):
            case "request":
                request = {key: value for key, value in found.items() if key not in ("type", "call_index")}
                calls[found["call_index"]] = Call(request, [], "")
            case "event":
                calls[found["call_index"]].events.append(found["event"])
            case "call_end":
                index = found["call_index"]
                calls[index] = calls[index]._replace(outcome=found.get("outcome", "complete"))
    return [calls[index] for index in sorted(calls)]


@any_machine
@given(happened=damages())
def test_a_damaged_recording_is_refused_by_name_or_read_as_it_is_written(
    folder: Path, whole: Path, happened: list[tuple[str, float, float, bytes]]
) -> None:
    data = whole.read_bytes()
    for damage in happened:
        data = damaged(data, *damage)
    path = folder / f"{next(_numbers)}.jsonl"
    path.write_bytes(data)
    found = calls_or_refusal(path)
    if isinstance(found, RecordingFileError):
        assert found.path == path
        assert found.reason
        assert describe(path).damage is not None
        check_repair(path)
    else:
        assert json.dumps(found) == json.dumps(as_written(data))
        assert describe(path).damage is None
        anyio.run(replay, path)
    assert path.read_bytes() == data
    path.unlink()


def calls_or_refusal(path: Path) -> list[Call] | RecordingFileError:
    try:
        with read_strictly(path) as recording:
            return strict_calls(recording)
    except RecordingFileError as error:
        return error


def check_repair(path: Path) -> None:
    """What is whole is kept, in a file that the strict reader takes; or nothing says that this was a recording."""
    whole = whole_calls(path)
    try:
        report = repair_beside(path)
    except RecordingFileError:
        assert whole == []
        return
    assert not isinstance(report, AlreadyWhole)
    with read_strictly(report.target) as repaired:
        assert json.dumps(strict_calls(repaired)) == json.dumps(whole)
    report.target.unlink()


async def replay(path: Path) -> None:
    """To the first call that differs. What is raised is one of ours."""
    with ReplayProvider(path) as provider:
        try:
            for context in PLAYED.contexts:
                async for _ in provider.stream_simple(MODEL, context):
                    pass
        except RecordingFileError as error:
            if not error.reason.startswith("the request does not fit today's types"):
                raise AssertionError("the file was taken when it was opened") from error
        except PipelineError:
            assert provider.verdict.failed or provider.verdict.consumed
