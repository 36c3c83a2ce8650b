"""Scenarios as hypothesis makes them: small, and with everything in them that a run's state consists of."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from openprogram.contracts import ApprovalRule, Contract, ErrorCategory, Idempotency, ResultLimits
from openprogram.fixtures.events import (
    Accepted,
    Ack,
    AdapterEvent,
    Cancel,
    Chunk,
    Commit,
    Delay,
    DropConnection,
    Failed,
    PartialUsage,
    Result,
)
from openprogram.fixtures.fixture import Fixture
from openprogram.fixtures.registry import FixtureRegistry
from openprogram.providers.types import AssistantContent, AssistantMessage, TextContent, ToolCall
from openprogram.scenarios.operations import Operation, PureTool, ToolError
from openprogram.scenarios.scenario import Scenario
from openprogram.scenarios.settings import ApprovalSettings, Budgets, InjectSettings
from openprogram.world import InitialResources, thaw
from tests.openprogram.scenarios.stage import MODEL, scenario

__all__ = ["Made", "scenarios"]

#: Of things/NAME; the third is not there at first.
NAMES: Final = ("a", "b", "c")


def act(resources: Any, arguments: Mapping[str, Any], clock: Any, random: Any) -> Iterable[AdapterEvent]:
    """Does what its argument `steps` says, one event a step, and tells how the world looked."""
    seen = {name: thaw(resources.get(f"things/{name}")) for name in NAMES}
    for step in arguments["steps"]:
        yield from _event(step, seen, random)
    yield Result(value={"seen": seen, "at": clock.now_ms})


def _event(step: Sequence[Any], seen: dict[str, Any], random: Any) -> Iterable[AdapterEvent]:
    kind, name, number = step
    resource = f"things/{name}"
    value = {"n": number, "list": [name]}
    match kind:
        case "wait":
            yield Delay(seconds=number)
        case "write":
            seen[name] = value
            yield Commit(resource=resource, value=value)
        case "remove":
            yield Commit(resource=resource)
        case "patch":
            if seen[name] is not None:
                more = [{"op": "add", "path": "/more", "value": []}, {"op": "add", "path": "/more/-", "value": number}]
                yield Commit(resource=resource, patch=more)
        case "later":
            yield Commit(resource=resource, value=value, after_s=number, name=f"later-{number}")
        case "remove later":
            yield Commit(resource=resource, after_s=number)
        case "draw":
            value["drawn"] = random.integer(0, 9)
            yield Chunk(text=random.text(3))
        case "usage":
            yield PartialUsage(used={"tokens": number})
        case "fail":
            yield Failed(category="busy", message=f"busy {number}")
        case "raise":
            raise ToolError("busy", "raised")
        case "drop":
            yield DropConnection()
        case "cancel":
            yield Cancel(reason="no")
        case "accepted":
            yield Accepted()
        case _:
            yield Ack(receipt=str(number))


STEPS = (
    "wait", "wait", "write", "write", "remove", "patch", "later", "later", "remove later", "draw", "usage", "ack",
    "accepted", "fail", "raise", "drop", "cancel",
)  # fmt: skip

CONTRACTS: Final = {
    "act": Contract(
        name="act",
        effect="write",
        writes=("things/*",),
        errors=(ErrorCategory(name="busy", retryable=True),),
        limits=ResultLimits(seconds=8, visible_bytes=120),
    ),
    "once": Contract(
        name="once",
        effect="write",
        writes=("things/*",),
        errors=(ErrorCategory(name="busy"),),
        idempotency=Idempotency(key="{key}"),
    ),
    "asked": Contract(
        name="asked",
        effect="external",
        writes=("things/*",),
        errors=(ErrorCategory(name="busy"),),
        approval=ApprovalRule(expires_after_s=5),
    ),
    "look": Contract(name="look", effect="external", writes=("things/a",), ordered=True, idempotency=None),
    "sum": Contract(
        name="sum",
        effect="pure",
        arguments={"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]},
    ),
}

#: Answers with duplicates and gaps, as they are numbered here.
LOOKS: Final = (
    [Delay(seconds=1), Result(value="first")],
    [Accepted(sequence=0), Commit(sequence=1, resource="things/a", value={"n": 1}), Result(sequence=2, value="second")],
    [Delay(sequence=0, seconds=1), Delay(sequence=0, seconds=1), Chunk(sequence=1, text="x"), Result(sequence=3)],
)
FIXTURES: Final = FixtureRegistry(
    Fixture(
        id=f"look-{occurrence}",
        scenario_version="1",
        tool="look",
        contract_revision="1",
        arguments={"x": 0},
        occurrence=occurrence,
        events=tuple(LOOKS[occurrence % len(LOOKS)]),
    )
    for occurrence in range(6)
)
APPROVED: Final = {"steps": [["write", "b", 1]]}
DENIED: Final = {"steps": [["remove", "b", 1]]}
LATE: Final = {"steps": [["write", "b", 2]]}
APPROVALS: Final = (
    ApprovalSettings(tool="asked", arguments=APPROVED, decision="approved", after_s=2),
    ApprovalSettings(tool="asked", arguments=DENIED, decision="denied", reason="no"),
    ApprovalSettings(tool="asked", arguments=LATE, decision="approved", after_s=6),
)


@dataclass(frozen=True)
class Made:
    """A scenario and the model's answers in it."""

    scenario: Scenario
    script: list[AssistantMessage]
    fixtures: FixtureRegistry = FIXTURES


def scenarios() -> SearchStrategy[Made]:
    """Some turns, each with some rounds of some calls, under some faults and perhaps a budget."""
    turns = st.lists(st.lists(st.lists(_calls, min_size=1, max_size=3), min_size=1, max_size=3), min_size=2, max_size=3)
    return st.builds(_made, turns, st.lists(_faults, max_size=3), st.none() | st.integers(2, 9))


def _made(turns: list[list[list[dict[str, Any]]]], faults: list[InjectSettings], model_calls: int | None) -> Made:
    script: list[AssistantMessage] = []
    for turn in turns:
        script += [_answer(_calls_of(calls, len(script))) for calls in turn]
        script.append(_answer([TextContent(text=f"Turn of {len(turn)} rounds is over.")]))
    shop = scenario(
        [f"Go on, {number}." for number in range(len(turns))],
        contracts=CONTRACTS,
        resources=InitialResources({"things": {"a": {"n": 0}, "b": {"n": 0, "list": []}}}),
        operations={name: Operation(name, "1", act) for name in ("act", "once", "asked")},
        pure={"sum": PureTool("sum", "1", "1", lambda arguments: arguments["x"] + 1)},
        injections=tuple(faults),
        approvals=APPROVALS,
        budgets=Budgets(model_calls=model_calls),
    )
    return Made(shop, script)


def _calls_of(calls: list[dict[str, Any]], position: int) -> list[AssistantContent]:
    # some ids come again, as those of some providers do
    return [ToolCall(id=f"call-{position % 2}-{number}", **call) for number, call in enumerate(calls)]


def _answer(content: list[AssistantContent]) -> AssistantMessage:
    asks = any(isinstance(block, ToolCall) for block in content)
    return AssistantMessage(
        content=content,
        api=MODEL.api,
        provider=MODEL.provider,
        model=MODEL.id,
        stop_reason="toolUse" if asks else "stop",
    )


_steps = st.lists(
    st.tuples(st.sampled_from(STEPS), st.sampled_from(NAMES), st.integers(0, 12)).map(list), min_size=1, max_size=5
)
_calls = st.one_of(
    st.builds(lambda steps: {"name": "act", "arguments": {"steps": steps}}, _steps),
    st.builds(
        lambda key, steps: {"name": "once", "arguments": {"key": key, "steps": steps}},
        st.sampled_from(["k", "l"]),
        st.sampled_from([[["write", "a", 3], ["wait", "a", 1], ["ack", "a", 1]], [["later", "c", 3]]]) | _steps,
    ),
    st.sampled_from([APPROVED, DENIED, LATE]).map(lambda arguments: {"name": "asked", "arguments": arguments}),
    st.just({"name": "look", "arguments": {"x": 0}}),
    st.sampled_from([0, 1, 1.0, "no number"]).map(lambda x: {"name": "sum", "arguments": {"x": x}}),
    st.just({"name": "act", "arguments": {}, "arguments_error": "not JSON"}),
)
_faults = st.one_of(
    st.builds(
        InjectSettings,
        tool=st.sampled_from(["act", "once", "look"]),
        call=st.integers(0, 2),
        fault=st.sampled_from(["cut", "lost_ack", "delay", "duplicate", "gap", "cancel"]),
        after=st.none() | st.just(0),
        seconds=st.sampled_from([0, 1, 20]),
    ),
    st.builds(
        InjectSettings,
        provider=st.just(True),
        call=st.integers(0, 4),
        fault=st.sampled_from(["cut", "delay"]),
        after=st.sampled_from([None, 0, 1]),
        seconds=st.sampled_from([0, 3]),
    ),
)
