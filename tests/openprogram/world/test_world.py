"""The world: a fold over its events, with a clock that only it moves."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openprogram.world import InitialResources, ResourceMissing, ScenarioClock, World, WorldError, WorldEvent
from openprogram.world.clock import as_text, parse_time
from openprogram.world.patches import ABSENT, Change, apply_patch

START = datetime(2026, 1, 5, 9, tzinfo=UTC)
INITIAL = InitialResources({"orders": {"17": {"status": "open"}, "18": {"status": "open"}}, "users": {"ada": {"n": 1}}})


class Told:
    """A world that keeps what it tells."""

    def __init__(self, initial: InitialResources = INITIAL) -> None:
        self.events: list[WorldEvent] = []
        self.world = World(initial, ScenarioClock(START), self.events.append)


def test_initial_resources_have_revision_1_and_absent_ones_0() -> None:
    world = Told().world
    assert (world.revision_of("orders/17"), world.revision_of("orders/99"), world.revision) == (1, 0, 0)
    assert world["orders/17"] == {"status": "open"}
    assert world.get("orders/99") is None
    assert "orders/17" in world
    assert "orders/99" not in world


def test_a_missing_resource_is_named() -> None:
    with pytest.raises(ResourceMissing) as missing:
        Told().world["orders/99"]
    assert missing.value.resource == "orders/99"


def test_a_commit_is_one_event_with_time_cause_patch_and_both_revisions() -> None:
    told = Told()
    patch = [{"op": "replace", "path": "/status", "value": "paid"}]
    told.world.change("orders/17", Change(patch=patch), "call:3")
    assert told.events == [WorldEvent(0, START, "call:3", "orders/17", patch, 1, 2)]
    assert told.world["orders/17"] == {"status": "paid"}
    assert told.world.history("orders/17") == tuple(told.events)
    assert told.world.revision_of("orders/18") == 1


def test_a_commit_that_does_not_apply_changes_nothing_and_tells_nothing() -> None:
    told = Told()
    with pytest.raises(WorldError):
        told.world.change("orders/17", Change(patch=[{"op": "remove", "path": "/nothing"}]), "call:0")
    assert (told.events, told.world.revision, told.world["orders/17"]) == ([], 0, {"status": "open"})


def test_putting_the_same_value_is_no_event() -> None:
    told = Told()
    assert told.world.put("orders/17", {"status": "open"}, "call:0") is None
    assert told.events == []


def test_a_resource_that_goes_and_comes_back_keeps_counting() -> None:
    told = Told()
    told.world.put("orders/17", ABSENT, "a")
    assert "orders/17" not in told.world
    told.world.put("orders/17", {"status": "new"}, "b")
    assert [(event.before, event.after) for event in told.events] == [(1, 2), (2, 3)]
    assert told.world["orders/17"] == {"status": "new"}


def test_worlds_of_the_same_beginning_do_not_see_each_other() -> None:
    one, other = Told().world, Told().world
    one.put("orders/17", {"status": "paid"}, "a")
    one.put("orders/19", {"status": "new"}, "a")
    assert other["orders/17"] == {"status": "open"}
    assert list(other.kind("orders")) == ["17", "18"]
    assert list(one.kind("orders")) == ["17", "18", "19"]


def test_what_the_world_hands_out_cannot_change_it() -> None:
    world = Told().world
    with pytest.raises(TypeError):
        world["orders/17"]["status"] = "stolen"
    with pytest.raises(TypeError):
        world.kind("orders")["17"] = {}  # type: ignore[index]  # that is the point
    world.put("orders/18", {"status": "paid"}, "a")
    with pytest.raises(TypeError):
        world.kind("orders")["17"] = {}  # type: ignore[index]
    assert world.kind("nothing") == {}


def test_a_kind_counts_all_changes_of_its_resources() -> None:
    world = Told().world
    assert (world.kind_revision("orders"), world.kind_revision("nothing")) == (1, 0)
    world.put("orders/17", {"status": "paid"}, "a")
    world.put("orders/19", {}, "a")
    assert (world.kind_revision("orders"), world.kind_revision("users")) == (3, 1)


@pytest.mark.parametrize("name", ["orders", "orders/", "/17", "a/b/c", "orders/*", "orders/1 7", ""])
def test_a_name_that_no_resource_can_have_is_refused(name: str) -> None:
    with pytest.raises(WorldError):
        Told().world.put(name, {}, "a")


def test_a_transition_fires_when_the_clock_passes_it_at_its_own_time() -> None:
    told = Told()
    told.world.schedule(timedelta(seconds=5), "ships", "orders/17", Change(value={"status": "shipped"}))
    told.world.advance(timedelta(seconds=4))
    assert told.world["orders/17"]["status"] == "open"
    (pending,) = told.world.pending
    assert (pending.at, pending.transition, pending.resource) == (START + timedelta(seconds=5), "ships", "orders/17")
    told.world.advance(timedelta(seconds=4))
    assert told.world["orders/17"]["status"] == "shipped"
    assert [(event.at, event.cause) for event in told.events] == [(START + timedelta(seconds=5), "transition:ships")]
    assert told.world.clock.now == START + timedelta(seconds=8)
    assert not told.world.pending


def test_transitions_of_one_time_fire_in_the_order_in_which_they_were_scheduled() -> None:
    told = Told()
    for name in "cab":
        told.world.schedule(timedelta(seconds=1), name, "orders/17", Change(value={"last": name}))
    told.world.advance(timedelta(seconds=1))
    assert [event.cause for event in told.events] == ["transition:c", "transition:a", "transition:b"]


def test_a_transition_of_a_resource_that_is_gone_is_passed_over() -> None:
    told = Told()
    told.world.schedule(timedelta(seconds=1), "ships", "orders/17", Change(value={}))
    told.world.put("orders/17", ABSENT, "a")
    told.world.advance(timedelta(seconds=1))
    assert [event.cause for event in told.events] == ["a"]


def test_time_does_not_go_back() -> None:
    world = Told().world
    with pytest.raises(ValueError):
        world.advance(timedelta(seconds=-1))
    with pytest.raises(ValueError):
        world.schedule(timedelta(seconds=-1), "x", "orders/17", Change(value={}))
    assert world.clock.now == START


def test_a_clock_needs_a_zone_and_counts_milliseconds() -> None:
    with pytest.raises(ValueError, match="time zone"):
        ScenarioClock(datetime(2026, 1, 5))  # noqa: DTZ001 - that is the point
    assert ScenarioClock(parse_time("1970-01-01T01:00:01.5+01:00")).now_ms == 1500


@given(st.datetimes(timezones=st.just(UTC)))
def test_times_survive_their_text(time: datetime) -> None:
    assert parse_time(as_text(time)) == time


NAMES = st.sampled_from(["orders/17", "orders/18", "orders/19", "users/ada", "users/bob"])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), NAMES, st.dictionaries(st.sampled_from("ab"), st.integers(0, 3))),
        st.tuples(st.just("remove"), NAMES, st.none()),
        st.tuples(st.just("later"), NAMES, st.integers(0, 5)),
        st.tuples(st.just("advance"), NAMES, st.integers(0, 5)),
    ),
    max_size=20,
)


@given(STEPS)
def test_the_state_is_the_fold_of_its_events(steps: list[tuple[str, str, Any]]) -> None:
    told = Told()
    for kind, name, value in steps:
        if kind == "put":
            told.world.put(name, value, "put")
        elif kind == "remove":
            told.world.put(name, ABSENT, "remove")
        elif kind == "later":
            told.world.schedule(timedelta(seconds=value), "later", name, Change(value={"later": value}))
        else:
            told.world.advance(timedelta(seconds=value))
    state: dict[str, Any] = {
        f"{kind}/{name}": value for kind, some in INITIAL.kinds.items() for name, value in some.items()
    }
    revisions = dict.fromkeys(state, 1)
    for position, event in enumerate(told.events):
        assert event.sequence == position
        assert (event.before, event.after) == (revisions.get(event.resource, 0), revisions.get(event.resource, 0) + 1)
        revisions[event.resource] = event.after
        state[event.resource] = apply_patch(event.resource, state.get(event.resource, ABSENT), event.patch)
    for name, value in state.items():
        assert told.world.get(name) == (None if value is ABSENT else value)
        assert told.world.revision_of(name) == revisions[name]
    assert [event.at for event in told.events] == sorted(event.at for event in told.events)
