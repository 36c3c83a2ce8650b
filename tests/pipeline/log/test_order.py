"""Which line may follow which: every cell of the table, and that reader and writer both obey it."""

from itertools import product
from pathlib import Path
from typing import Any

import pytest

from openprogram.pipeline.errors import RecordingFileError
from openprogram.pipeline.log.lines import CallEndLine, EventLine, LineDefect, RequestLine
from openprogram.pipeline.log.order import NEXT_STATE, CallOrder, CallState
from openprogram.pipeline.log.reader import open_recording
from openprogram.pipeline.log.writer import RecordingSink
from tests.pipeline.log.samples import (
    HEADER,
    Lines,
    check_event,
    delta,
    end_line,
    event_line,
    refusal,
    request,
    request_line,
    write_file,
)

KINDS: tuple[type[Any], ...] = (RequestLine, EventLine, CallEndLine)
CELLS = list(product(CallState, KINDS))

ALLOWED = {
    (CallState.UNOPENED, RequestLine): CallState.OPEN,
    (CallState.OPEN, EventLine): CallState.OPEN,
    (CallState.OPEN, CallEndLine): CallState.ENDED,
}

#: Lines that bring call 0 into a state.
REACHED: dict[CallState, Lines] = {
    CallState.UNOPENED: [],
    CallState.OPEN: [request_line(0)],
    CallState.ENDED: [request_line(0), end_line(0, 0)],
}
NEXT_LINE: dict[type[Any], dict[str, Any]] = {
    RequestLine: request_line(0),
    EventLine: event_line(0, 0),
    CallEndLine: end_line(0, 0),
}
VALUES: dict[type[Any], RequestLine | EventLine | CallEndLine] = {
    RequestLine: RequestLine(0, request()),
    EventLine: EventLine(0, 0, delta("a")),
    CallEndLine: CallEndLine(0, 0, "complete", None),
}


def order_in(state: CallState) -> CallOrder:
    order = CallOrder()
    if state is not CallState.UNOPENED:
        order.advance(VALUES[RequestLine])
    if state is CallState.ENDED:
        order.advance(VALUES[CallEndLine])
    return order


def test_the_table_has_a_row_for_every_state_and_no_cell_but_the_allowed() -> None:
    assert set(NEXT_STATE) == set(CallState)
    assert {(state, kind): then for state, row in NEXT_STATE.items() for kind, then in row.items()} == ALLOWED


@pytest.mark.parametrize(("state", "kind"), CELLS)
def test_every_cell_leads_to_its_state_or_is_the_defect(state: CallState, kind: type[Any]) -> None:
    order = order_in(state)
    assert order.state(0) is state
    if (state, kind) in ALLOWED:
        order.advance(VALUES[kind])
        assert order.state(0) is ALLOWED[state, kind]
    else:
        with pytest.raises(LineDefect) as failure:
            order.advance(VALUES[kind])
        assert failure.value.call_index == 0
        assert order.state(0) is state


@pytest.mark.parametrize(("state", "kind"), CELLS)
def test_the_reader_obeys_every_cell(tmp_path: Path, state: CallState, kind: type[Any]) -> None:
    lines = [HEADER, *REACHED[state], NEXT_LINE[kind]]
    path = write_file(tmp_path / "run.jsonl", lines)
    if (state, kind) not in ALLOWED:
        error = refusal(path)
        assert (error.line_number, error.call_index) == (len(lines), 0)
    elif ALLOWED[state, kind] is CallState.ENDED:
        open_recording(path, check_event).close()
    else:
        assert "no call_end" in refusal(path).reason


@pytest.mark.parametrize(("state", "kind"), [cell for cell in CELLS if cell[1] is not RequestLine])
def test_the_writer_obeys_every_cell(tmp_path: Path, state: CallState, kind: type[Any]) -> None:
    # A request has no cell of its own here: the sink gives it the next call_index, which is always UNOPENED.
    path = write_file(tmp_path / "run.jsonl", [HEADER, *REACHED[state]])
    before = path.read_bytes()
    with RecordingSink(path) as sink:

        def write() -> None:
            if kind is EventLine:
                sink.append_events(0, 0, [delta("a")])
            else:
                sink.end_call(0, 0, [], "complete", None)

        if (state, kind) in ALLOWED:
            write()
            assert path.read_bytes().startswith(before)
            assert len(path.read_bytes()) > len(before)
        else:
            with pytest.raises(RecordingFileError) as failure:
                write()
            assert failure.value.call_index == 0
            assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (EventLine(0, 0, {}), "event_index is 0, expected 1"),
        (EventLine(0, 2, {}), "event_index is 2, expected 1"),
        (CallEndLine(0, 0, "complete", None), "event_count is 0, but the call has 1 events"),
        (CallEndLine(0, 2, "complete", None), "event_count is 2, but the call has 1 events"),
        (RequestLine(2, {}), "call_index is 2, expected 1"),
    ],
)
def test_a_wrong_count_is_refused_and_changes_nothing(line: RequestLine | EventLine | CallEndLine, reason: str) -> None:
    order = order_in(CallState.OPEN)
    order.advance(EventLine(0, 0, {}))
    for refuse in (order.check, order.advance):
        with pytest.raises(LineDefect) as failure:
            refuse(line)
        assert failure.value.reason == reason
    assert (order.next_call_index, order.open_calls, order.next_event_index(0)) == (1, [0], 1)


def test_calls_interleave_freely() -> None:
    order = CallOrder()
    for line in (
        RequestLine(0, {}),
        RequestLine(1, {}),
        EventLine(1, 0, {}),
        EventLine(0, 0, {}),
        CallEndLine(1, 1, "complete", None),
        EventLine(0, 1, {}),
    ):
        order.advance(line)
    assert order.open_calls == [0]
    assert (order.next_event_index(0), order.next_event_index(1)) == (2, None)
