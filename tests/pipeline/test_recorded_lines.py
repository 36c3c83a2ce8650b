"""A request is compared with its recorded line as text, from where it and the line begin as the ones before."""

import functools
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openprogram.pipeline.log.lines import accept_any_event
from openprogram.pipeline.log.reader import Recording, open_recording
from openprogram.pipeline.log.writer import RecordingSink
from openprogram.pipeline.recorded_lines import ExpectedLine, RecordedLines
from openprogram.pipeline.redaction import remove_secret_values
from openprogram.pipeline.request_parts import PartMemo
from openprogram.providers.types import Context, Message, SimpleStreamOptions, StreamOptions, UserMessage
from tests.pipeline.log.values import any_machine
from tests.pipeline.requests import CODEC, MODEL, clean, contexts, messages, options


@contextmanager
def recorded(
    requests: Sequence[tuple[Context, StreamOptions | None]], edit: Callable[[bytes], bytes] = lambda content: content
) -> Iterator[Recording]:
    """A recording of these requests, opened. `edit`: what somebody makes of the file before."""
    with tempfile.TemporaryDirectory() as folder:
        path, memo = Path(folder) / "run.jsonl", PartMemo()
        with RecordingSink(path) as sink:
            for context, chosen in requests:
                sink.begin_call(clean(context, chosen, memo).body()).end("complete")
        path.write_bytes(edit(path.read_bytes()))
        with open_recording(path, accept_any_event) as recording:
            yield recording


def are_lines(recording: Recording, requests: Sequence[tuple[Context, StreamOptions | None]]) -> list[bool]:
    """Each as a replay asks for it."""
    lines, memo = RecordedLines(recording), PartMemo()
    return [
        lines.is_line(clean(context, chosen, memo, ExpectedLine(lines, call_index).has), call_index)
        for call_index, (context, chosen) in enumerate(requests)
    ]


def later(*requests: tuple[Context, StreamOptions | None]) -> list[tuple[Context, StreamOptions | None]]:
    """The same requests of another run, which shares its messages between them as the first one did."""
    made: dict[int, Message] = {}
    for context, _ in requests:
        for message in context.messages:
            made.setdefault(id(message), message.model_copy(update={"timestamp": message.timestamp + 100}))
    return [
        (context.model_copy(update={"messages": [made[id(message)] for message in context.messages]}), chosen)
        for context, chosen in requests
    ]


def compared(context: Context, chosen: StreamOptions | None) -> str:
    value: Any = remove_secret_values(CODEC.dump((MODEL, context, chosen)))
    for message in value["context"]["messages"]:
        message["timestamp"] = 0
    return repr(value)


@any_machine
@given(contexts, options)
def test_a_request_is_the_line_that_was_written_of_it(context: Context, chosen: StreamOptions | None) -> None:
    with recorded([(context, chosen)]) as recording:
        assert are_lines(recording, [(context, chosen)]) == [True]
        assert are_lines(recording, later((context, chosen))) == [True], "timestamps of ours are not compared"


@any_machine
@given(contexts, contexts)
def test_another_request_is_another_line(one: Context, other: Context) -> None:
    with recorded([(one, None)]) as recording:
        assert are_lines(recording, [(other, None)]) == [compared(one, None) == compared(other, None)]


#: Conversations that grow, now and then cut, or go on under other words; both sides take their calls from these.
growths = st.lists(
    st.tuples(st.sampled_from(["grow", "grow", "grow", "same", "cut", "other prompt"]), st.lists(messages, max_size=2)),
    min_size=1,
    max_size=6,
)


def session(growth: list[tuple[str, list[Message]]]) -> list[tuple[Context, StreamOptions | None]]:
    conversation: list[Message] = [UserMessage(content="begin", timestamp=1)]
    prompt = "be brief"
    requests: list[tuple[Context, StreamOptions | None]] = []
    for step, more in growth:
        match step:
            case "grow":
                conversation = [*conversation, *more]
            case "cut":
                conversation = conversation[:-1]
            case "other prompt":
                prompt += "!"
        requests.append((Context(system_prompt=prompt, messages=conversation), SimpleStreamOptions(max_tokens=5)))
    return requests


@any_machine
@given(growths)
def test_a_session_that_is_run_again_is_the_lines_of_its_recording(growth: list[tuple[str, list[Message]]]) -> None:
    requests = session(growth)
    with recorded(requests) as recording:
        assert all(are_lines(recording, requests))
        assert all(are_lines(recording, later(*requests)))


@any_machine
@given(growths, growths, st.data())
def test_of_two_sessions_just_those_requests_are_lines_that_are_equal(
    one: list[tuple[str, list[Message]]], other: list[tuple[str, list[Message]]], data: st.DataObject
) -> None:
    """The other is mostly the first one with something changed on the way."""
    changed = [*one[: data.draw(st.integers(0, len(one)))], *other]
    recorded_requests, requests = session(one), session(changed)[: len(one)]
    with recorded(recorded_requests) as recording:
        expected = [
            compared(*left) == compared(*right) for left, right in zip(recorded_requests, requests, strict=False)
        ]
        assert are_lines(recording, requests) == expected


@functools.cache
def user(text: str) -> UserMessage:
    return UserMessage(content=text, timestamp=1)


def conversation(*texts: str) -> tuple[Context, None]:
    return Context(system_prompt="p", messages=[user(text) for text in texts]), None


def test_an_earlier_message_that_was_changed_in_between_is_compared() -> None:
    sent: list[Message] = [UserMessage(content="a", timestamp=1), UserMessage(content="b", timestamp=1)]
    with recorded([conversation("a", "b"), conversation("a", "b", "c")]) as recording:
        lines, memo = RecordedLines(recording), PartMemo()
        assert lines.is_line(clean(Context(system_prompt="p", messages=sent), None, memo), 0)
        sent[0].content = "A"
        sent.append(UserMessage(content="c", timestamp=1))
        assert not lines.is_line(clean(Context.model_construct(system_prompt="p", messages=sent), None, memo), 1)
        sent[0].content = "a"
        assert lines.is_line(clean(Context.model_construct(system_prompt="p", messages=sent), None, memo), 1)


def test_a_line_of_a_file_that_was_written_to_is_compared_whole() -> None:
    """Whoever appends changes nothing; a file that was written over and has become longer looks just like that."""
    with recorded([conversation("a"), conversation("a", "b"), conversation("a", "b", "c")]) as recording:
        lines, memo = RecordedLines(recording), PartMemo()
        assert lines.is_line(clean(*conversation("a"), memo), 0)
        with recording.path.open("ab") as file:
            file.write(b"\n")
        assert lines.is_line(clean(*conversation("a", "b"), memo), 1)
        content = recording.path.read_bytes()
        at = content.rindex(b'"a"')
        with recording.path.open("r+b") as file:
            file.write(content[:at] + b'"A"' + content[at + 3 :] + b"\n")
        assert not lines.is_line(clean(*conversation("a", "b", "c"), memo), 2)
        assert lines.is_line(clean(*conversation("A", "b", "c"), memo), 2)


def test_an_earlier_message_that_the_recording_has_otherwise_is_compared() -> None:
    with recorded([conversation("a", "b"), conversation("A", "b", "c")]) as recording:
        assert are_lines(recording, [conversation("a", "b"), conversation("a", "b", "c")]) == [True, False]


def test_after_a_request_that_was_none_of_its_line_the_next_one_is_compared_from_its_start() -> None:
    with recorded([conversation("a"), conversation("A"), conversation("A", "b")]) as recording:
        asked = [conversation("a"), conversation("a"), conversation("a", "b")]
        assert are_lines(recording, asked) == [True, False, False]


def test_a_line_that_begins_otherwise_after_one_that_came_twice_is_compared_from_its_start() -> None:
    with recorded([conversation("a"), conversation("a"), conversation("A", "b")]) as recording:
        assert [call.shared_bytes > 0 for call in recording.calls] == [False, True, False]
        asked = [conversation("a"), conversation("a"), conversation("a", "b")]
        assert are_lines(recording, asked) == [True, True, False]


@pytest.mark.parametrize("end", ["],", "]", "\\", '],"tools":null},"options":null}', " "])
def test_what_goes_on_otherwise_behind_the_shared_beginning_is_another_request(end: str) -> None:
    """The line and the request begin as the ones before did; what follows the last message differs."""
    with recorded([conversation("a"), conversation("a", "b")]) as recording:
        assert are_lines(recording, [conversation("a"), conversation("a", f"b{end}")]) == [True, False]
        assert are_lines(recording, [conversation("a"), conversation("a")]) == [True, False]
    with recorded([conversation("a"), conversation("a")]) as recording:
        assert are_lines(recording, [conversation("a"), conversation("a", "b")]) == [True, False]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"hi"', b'"ho"'),
        (b'"call_index":0,', b'"call_index": 0,'),
        (b'"options":null}', b'"options":null,"later":1}'),
        (b'"options":null}', b'"options":null }'),
        (b'{"type":"request"', b'{ "type":"request"'),
        (b'"timestamp":1', b'"timestamp":1.0'),
        (b'"timestamp":1', b'"timestamp":""'),
    ],
)
def test_a_line_that_is_spelled_otherwise_is_left_to_those_who_look_at_values(old: bytes, new: bytes) -> None:
    def edit(content: bytes) -> bytes:
        assert content.count(old) == 1 or old == b'"call_index":0,'
        return content.replace(old, new, 1)

    with recorded([conversation("hi")], edit) as recording:
        assert are_lines(recording, [conversation("hi")]) == [False]


#: What somebody makes of a request line by hand. It says the same, but for the last.
HANDS: list[tuple[bytes, bytes]] = [
    (b"\n", b" \r\n"),
    (b'"timestamp":', b'"timestamp": '),
    (b'"timestamp":', b'"timestamp":1.'),
    (b'"timestamp":', b'"timestamp":123'),
    (b'],"tools"', b'] ,"tools"'),
    (b'"messages":[', b'"messages":[ '),
    (b'"call_index"', b'"call_index" '),
    (b'"content":"', b'"content":"\\u0061'),
]


@any_machine
@given(
    st.lists(st.tuples(st.sampled_from(["grow", "grow", "same", "cut"]), st.lists(messages, max_size=1)), max_size=13),
    st.data(),
)
def test_what_was_compared_before_changes_nothing(growth: list[tuple[str, list[Message]]], data: st.DataObject) -> None:
    """Of a file whose lines somebody edited; requests come in any order, and again, with messages that change."""
    requests = session([("same", []), *growth])

    def edit(content: bytes) -> bytes:
        lines = content.splitlines(keepends=True)
        edited = st.dictionaries(st.integers(1, len(lines) - 1), st.sampled_from(HANDS), max_size=3)
        for at, (old, new) in data.draw(edited).items():
            lines[at] = lines[at].replace(old, new)
        return b"".join(lines)

    with recorded(requests, edit) as recording:
        known, memo = RecordedLines(recording), PartMemo()
        for call_index in range(len(requests)):
            for asked in [*data.draw(st.lists(st.sampled_from(requests), max_size=2)), requests[call_index]]:
                for message in asked[0].messages[: data.draw(st.sampled_from([0, 0, 0, 0, 1]))]:
                    message.content = data.draw(st.sampled_from(["begin", "changed"]))
                anew = RecordedLines(recording).is_line(clean(*asked, PartMemo()), call_index)
                expected = ExpectedLine(known, call_index + data.draw(st.sampled_from([0, 0, 0, 1])))
                assert known.is_line(clean(*asked, memo, expected.has), call_index) == anew
