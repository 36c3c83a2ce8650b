"""A replay's verdict is that of both requests, redacted as wholes, whatever somebody has put into the file by hand."""

import json
import tempfile
from pathlib import Path

import anyio
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from openprogram.pipeline.json_value import show_value
from openprogram.pipeline.log.header import create_recording
from openprogram.pipeline.log.writer import RecordingSink
from openprogram.pipeline.redaction import REDACTION_VERSION, remove_secret_values
from openprogram.pipeline.request_parts import PartMemo
from openprogram.providers.replay import COMPARISON_RULES, ReplayMismatch, ReplayProvider, find_first_difference
from openprogram.providers.types import Context, Message, TextContent, ToolResultMessage, UserMessage
from tests.pipeline.log.values import any_machine
from tests.pipeline.requests import CODEC, MODEL, clean

PLACEHOLDER = "[secret removed]"
SECRET = "sk-ant-api03-" + "aB3" * 20
OTHER_SECRET = "sk-ant-api03-" + "x9Y" * 20

#: Text, and what it may be after a change.
texts = st.sampled_from(["", "a", "b", SECRET, OTHER_SECRET, PLACEHOLDER, f"see {SECRET}", f"see {PLACEHOLDER}"])
details = st.none() | st.fixed_dictionaries({}, optional={"token": texts, "more": texts})
messages: st.SearchStrategy[Message] = st.builds(UserMessage, content=texts, timestamp=st.integers(0, 9)) | st.builds(
    ToolResultMessage,
    tool_call_id=st.just("1"),
    tool_name=st.just("t"),
    content=st.lists(st.builds(TextContent, text=texts), max_size=2),
    details=details,
    timestamp=st.integers(0, 9),
)
#: How many messages each call has more than the one before, and all of them.
sessions = st.tuples(st.lists(st.integers(0, 2), min_size=1, max_size=4), st.lists(messages, min_size=8, max_size=8))


def contexts(growth: list[int], conversation: list[Message]) -> list[Context]:
    return [
        Context(system_prompt="be brief", messages=conversation[: sum(growth[: call + 1])])
        for call in range(len(growth))
    ]


def edited(content: bytes, hands: dict[int, str], is_older: bool) -> bytes:
    """With secrets, or what looks like none, in the place of the placeholder on some lines."""
    written = content.split(b"\n")
    for at, text in hands.items():
        if at < len(written):
            written[at] = written[at].replace(PLACEHOLDER.encode(), text.encode())
    if is_older:
        header = json.loads(written[0])
        written[0] = json.dumps({**header, "redaction_version": 0}).encode()
    return b"\n".join(written)


def plain_verdict(line: bytes, context: Context) -> tuple[str, str, str] | None:
    """Where the two differ and both values there, by values alone."""
    recorded = json.loads(line)
    del recorded["type"], recorded["call_index"]
    incoming = CODEC.compared(remove_secret_values(CODEC.dump((MODEL, context, None))))  # type: ignore[arg-type]
    redacted = remove_secret_values(CODEC.read(recorded))
    found = find_first_difference(redacted, incoming, COMPARISON_RULES)
    return None if found is None else (found.field_path, show_value(found.recorded), show_value(found.incoming))


async def replayed(path: Path, asked: list[Context]) -> list[tuple[str, str, str] | None]:
    """Each call's verdict, as far as the first that differs."""
    verdicts: list[tuple[str, str, str] | None] = []
    with ReplayProvider(path) as provider:
        for context in asked:
            try:
                assert [event async for event in provider.stream_simple(MODEL, context)] == []
            except ReplayMismatch as mismatch:
                return [
                    *verdicts,
                    (mismatch.field_path, show_value(mismatch.recorded), show_value(mismatch.incoming)),
                ]
            verdicts.append(None)
    return verdicts


@any_machine
@given(
    sessions,
    st.dictionaries(st.integers(0, 7), messages, max_size=2),
    st.dictionaries(st.integers(1, 8), st.sampled_from([SECRET, OTHER_SECRET, "a"]), max_size=3),
    st.booleans(),
)
@example(([1], [UserMessage(content=SECRET)] * 8), {}, {1: SECRET}, False)
@example(([1, 1], [UserMessage(content=SECRET)] * 8), {1: UserMessage(content="b")}, {1: SECRET, 3: SECRET}, False)
@example(([2], [UserMessage(content=SECRET)] * 8), {1: UserMessage(content="b")}, {1: OTHER_SECRET}, True)
def test_the_verdict_is_that_of_both_sides_redacted(
    session: tuple[list[int], list[Message]], changed: dict[int, Message], hands: dict[int, str], is_older: bool
) -> None:
    growth, conversation = session
    asked = contexts(growth, [changed.get(at, message) for at, message in enumerate(conversation)])
    with tempfile.TemporaryDirectory() as folder:
        path, memo = Path(folder) / "run.jsonl", PartMemo()
        with RecordingSink(path) as sink:
            for context in contexts(growth, conversation):
                sink.begin_call(clean(context, None, memo).body()).end("complete")
        content = edited(path.read_bytes(), hands, is_older)
        path.write_bytes(content)
        verdicts = anyio.run(replayed, path, asked)
    plain = [plain_verdict(line, context) for line, context in zip(content.split(b"\n")[1::2], asked, strict=False)]
    assert verdicts == plain[: len(verdicts)]
    assert len(verdicts) == len(plain) or verdicts[-1] is not None


SENT: list[Message] = [UserMessage(content="a"), UserMessage(content=SECRET)]


@pytest.mark.parametrize(("recorded", "asked"), [(SENT, SENT[:1]), (SENT[:1], SENT)])
def test_a_secret_that_stands_in_both_is_not_shown_where_one_side_lacks_the_message(
    tmp_path: Path, recorded: list[Message], asked: list[Message]
) -> None:
    path, memo = tmp_path / "run.jsonl", PartMemo()
    with RecordingSink(path) as sink:
        for sent in (SENT, recorded):
            sink.begin_call(clean(Context(messages=sent), None, memo).body()).end("complete")
    path.write_bytes(path.read_bytes().replace(PLACEHOLDER.encode(), SECRET.encode()))
    verdicts = anyio.run(replayed, path, [Context(messages=SENT), Context(messages=asked)])
    assert verdicts[0] is None
    assert verdicts[1] is not None
    assert verdicts[1][0] == "context.messages[1]"
    assert SECRET not in str(verdicts[1])


def test_where_a_policy_matches_no_secret_of_this_run_is_looked_for_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    create_recording(path, {"match": "content", "redaction_version": REDACTION_VERSION})
    with RecordingSink(path) as sink:
        sink.begin_call(clean(Context(messages=SENT), None, PartMemo()).body()).end("complete")
    path.write_bytes(path.read_bytes().replace(PLACEHOLDER.encode(), SECRET.encode()))
    (verdict,) = anyio.run(replayed, path, [Context(messages=SENT)])
    assert verdict is not None
    assert PLACEHOLDER in verdict[2]
