"""Adapter events as they happen: clock, world, journal, and what the agent's side sees."""

import json
from datetime import timedelta

import pytest

from openprogram.contracts import Contract, ContractViolation, ErrorCategory, ResultLimits
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
    numbered,
)
from openprogram.scenarios.journal import Journal
from openprogram.scenarios.observation import Observation
from openprogram.scenarios.playing import play
from openprogram.world import ScenarioClock, World
from openprogram.world.clock import parse_time
from tests.openprogram.scenarios.stage import CONTRACTS, ORDERS

START = parse_time("2026-01-05T09:00:00Z")
PAID = {"status": "paid", "amount": 30}


class Played:
    """One answer, played in a world of its own."""

    def __init__(
        self, events: list[AdapterEvent], contract: Contract = CONTRACTS["pay"], *, number: bool = True
    ) -> None:
        self.lines: list[bytes] = []
        clock = ScenarioClock(START)
        self.journal = Journal(clock, self.lines.append)
        self.world = World(ORDERS, clock, self.journal.world)
        self.observation: Observation | None = None
        given = numbered(events) if number else list(events)
        self.observation, self.commits = play(given, contract, {"id": "17"}, 4, self.world, self.journal)

    @property
    def types(self) -> list[str]:
        parsed = [json.loads(line) for line in self.lines]
        return [line["event"]["type"] if line["type"] == "adapter" else line["type"] for line in parsed]

    @property
    def passed(self) -> float:
        return (self.world.clock.now - START) / timedelta(seconds=1)

    @property
    def outcome(self) -> str:
        assert self.observation is not None
        return self.observation.outcome


COMMIT = Commit(resource="orders/17", value=PAID)


def test_an_answer_moves_the_clock_changes_the_world_and_ends_in_its_result() -> None:
    played = Played([Accepted(), Delay(seconds=2), COMMIT, Ack(), Result(value="ok")])
    assert played.observation == Observation("result", value="ok", acknowledged=True)
    assert (played.passed, played.world["orders/17"]) == (2.0, PAID)
    assert played.types == ["accepted", "delay", "commit", "world", "ack", "result"]


def test_a_lost_acknowledgement_leaves_the_effect_and_shows_the_agent_a_failure_that_may_be_retried() -> None:
    played = Played([COMMIT, DropConnection()])
    assert played.world["orders/17"] == PAID
    observation = played.observation
    assert observation is not None
    assert (observation.outcome, observation.retryable, observation.acknowledged) == ("dropped", True, False)


def test_a_declared_failure_keeps_its_category_and_what_had_streamed() -> None:
    played = Played([Chunk(text="half"), PartialUsage(used={"tokens": 3}), Failed(category="busy", message="later")])
    assert played.observation == Observation(
        "error", category="busy", message="later", retryable=True, partial="half", used={"tokens": 3}
    )


def test_a_cancel_says_why() -> None:
    assert (
        "stopped by the bank"
        in (Played([Cancel(reason="stopped by the bank")]).observation or Observation("result")).message
    )


def test_after_the_contracts_time_the_agent_sees_a_timeout_and_the_effect_still_happens_when_it_would_have() -> None:
    played = Played([Delay(seconds=8), Delay(seconds=5), COMMIT, Delay(seconds=3), Result(value="ok")])
    assert (played.outcome, played.passed) == ("timeout", 10.0)
    assert played.world["orders/17"]["status"] == "open"
    played.world.advance(timedelta(seconds=2.9))
    assert played.world["orders/17"]["status"] == "open"
    played.world.advance(timedelta(seconds=0.2))
    assert played.world["orders/17"] == PAID
    (event,) = played.world.history("orders/17")
    assert event.at == START + timedelta(seconds=13)


def test_a_delay_up_to_the_limit_is_in_time() -> None:
    assert Played([Delay(seconds=10), Result()]).outcome == "result"


def test_a_commit_for_later_is_a_transition() -> None:
    later = Commit(resource="orders/17", value=PAID, after_s=60, name="settles")
    played = Played([later, Result(value="pending")])
    assert played.world["orders/17"]["status"] == "open"
    played.world.advance(timedelta(seconds=60))
    assert played.world["orders/17"] == PAID
    assert played.world.history("orders/17")[0].cause == "transition:settles"


def test_a_commit_can_patch_and_remove() -> None:
    patched = Played([Commit(resource="orders/17", patch=[{"op": "replace", "path": "/amount", "value": 1}]), Result()])
    assert patched.world["orders/17"] == {"status": "open", "amount": 1}
    assert "orders/17" not in Played([Commit(resource="orders/17"), Result()]).world


def test_a_duplicate_is_noted_and_has_no_effect() -> None:
    add = Commit(resource="orders/17", patch=[{"op": "replace", "path": "/amount", "value": 1}])
    twice = add.model_copy(update={"sequence": 0})
    played = Played([twice, twice, Result(sequence=1)], number=False)
    assert played.world.revision_of("orders/17") == 2
    assert played.types == ["commit", "world", "adapter.duplicate", "result"]
    assert played.outcome == "result"


def test_after_a_gap_nothing_counts_and_the_answer_is_incomplete() -> None:
    played = Played([Accepted(sequence=0), COMMIT.model_copy(update={"sequence": 2}), Result(sequence=3)], number=False)
    assert played.outcome == "incomplete"
    assert played.types == ["accepted", "adapter.gap"]
    assert played.world["orders/17"]["status"] == "open"


READ_ONLY = Contract(name="peek", effect="read", errors=(ErrorCategory(name="refused"),))
SMALL = Contract(name="peek", effect="read", limits=ResultLimits(result_bytes=11))
TYPED = Contract(name="peek", effect="read", result={"type": "object", "required": ["status"]})


@pytest.mark.parametrize(
    ("events", "contract", "says"),
    [
        ([COMMIT, Result()], READ_ONLY, "it changes orders/17, but the contract declares as written: none"),
        ([Commit(resource="orders/18", value={}), Result()], CONTRACTS["pay"], "it changes orders/18"),
        ([Failed(category="odd", message="")], READ_ONLY, "category 'odd', but the contract declares: refused"),
        ([Result(value={})], TYPED, "'status' is a required property"),
        ([Result(value="é" * 5)], SMALL, "its result has 12 bytes, and the contract allows 11"),
        ([Ack()], READ_ONLY, "its answer has no end"),
        ([], READ_ONLY, "its answer has no end"),
    ],
)
def test_what_goes_beyond_the_contract_stops_the_run(events: list[AdapterEvent], contract: Contract, says: str) -> None:
    with pytest.raises(ContractViolation) as stopped:
        Played(events, contract)
    assert says in str(stopped.value)


def test_a_limit_bounds_time_exactly_once_however_it_is_split() -> None:
    limited = Contract(name="peek", effect="read", limits=ResultLimits(seconds=1))
    halves: list[AdapterEvent] = [Delay(seconds=0.5), Delay(seconds=0.5), Delay(seconds=0.5), Result()]
    played = Played(halves, limited)
    assert (played.outcome, played.passed) == ("timeout", 1.0)


def test_what_comes_twice_after_the_time_is_up_happens_once_and_after_a_gap_nothing_does() -> None:
    once_more = Commit(resource="orders/17", patch=[{"op": "add", "path": "/n", "value": 1}])
    at = [once_more.model_copy(update={"sequence": sequence}) for sequence in (1, 1, 3)]
    played = Played([Delay(sequence=0, seconds=20), *at, Result(sequence=4)], number=False)
    assert played.outcome == "timeout"
    assert played.commits == 1
    assert len(played.world.pending) == 1


def test_what_the_other_side_does_after_the_time_is_up_it_does_at_its_own_pace() -> None:
    played = Played([Delay(seconds=20), Delay(seconds=5), COMMIT, Result()])
    (pending,) = played.world.pending
    assert (pending.at - START).total_seconds() == 25


def test_what_was_acknowledged_stays_so_when_the_connection_drops() -> None:
    answers: list[tuple[list[AdapterEvent], bool]] = [
        ([COMMIT, Ack(), DropConnection()], True),
        ([COMMIT, DropConnection()], False),
    ]
    for events, acknowledged in answers:
        observation = Played(events).observation
        assert observation is not None
        assert (observation.outcome, observation.acknowledged) == ("dropped", acknowledged)
