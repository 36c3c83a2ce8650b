"""The world of one run: resources that only events change, and a clock that only the world moves."""

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final

from openprogram.pipeline.canonical import digest
from openprogram.world.clock import Clock, ScenarioClock, as_text
from openprogram.world.errors import ResourceMissing, WorldError
from openprogram.world.events import WorldEvent
from openprogram.world.patches import ABSENT, Change, Patch, apply_patch
from openprogram.world.values import freeze

__all__ = ["InitialResources", "Scheduled", "World"]

_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


class InitialResources:
    """The world at a scenario's start; frozen once, shared by any number of runs.

    `kinds`: kind → id → JSON value. Raises WorldError: a name that no resource can have.
    """

    def __init__(self, kinds: Mapping[str, Mapping[str, Any]]) -> None:
        for kind, values in kinds.items():
            for name in values:
                split_id(f"{kind}/{name}")
        self.kinds: Mapping[str, Mapping[str, Any]] = MappingProxyType(
            {
                kind: MappingProxyType({name: freeze(value) for name, value in values.items()})
                for kind, values in kinds.items()
            }
        )

    @cached_property
    def digest(self) -> str:
        """`sha256:…` over all of it."""
        return digest({kind: dict(values) for kind, values in self.kinds.items()})


@dataclass(frozen=True, slots=True, order=True)
class Scheduled:
    """A transition to come. Ordered by time, and within one time by `number`, as they were scheduled.

    `revision`: of the resource when it was scheduled.
    """

    at: datetime
    number: int
    transition: str = field(compare=False)
    resource: str = field(compare=False)
    change: Change = field(compare=False)
    revision: int = field(compare=False)

    def as_json(self) -> dict[str, Any]:
        """The transition in files."""
        return {
            "due": as_text(self.at),
            "transition": self.transition,
            "resource": self.resource,
            "change": self.change.as_json(),
            "revision": self.revision,
        }


class World:
    """Resources, their history, and scheduled transitions. Implements Resources.

    `on_event` is told of each world event, in order, after it has taken effect.
    """

    def __init__(
        self,
        initial: InitialResources,
        clock: ScenarioClock,
        on_event: Callable[[WorldEvent], None] = lambda event: None,
    ) -> None:
        self._initial, self._clock, self.on_event = initial, clock, on_event
        # A kind is copied at its first change; until then all runs share it.
        self._kinds: dict[str, Mapping[str, Any]] = dict(initial.kinds)
        self._own: dict[str, dict[str, Any]] = {}
        self._revisions: dict[str, int] = {}
        self._kind_revisions: dict[str, int] = {}
        self._history: dict[str, list[WorldEvent]] = {}
        self._due: list[Scheduled] = []
        self._scheduled = 0
        self.revision = 0  #: world events so far

    # ---- reading

    @property
    def clock(self) -> Clock:
        """Scenario time."""
        return self._clock

    def __getitem__(self, resource: str) -> Any:
        value = self._value(resource)
        if value is ABSENT:
            raise ResourceMissing(resource=resource, reason="there is none of that name in the world")
        return value

    def __contains__(self, resource: object) -> bool:
        return isinstance(resource, str) and self._value(resource) is not ABSENT

    def get(self, resource: str) -> Any | None:
        """The resource's value, or None."""
        value = self._value(resource)
        return None if value is ABSENT else value

    def kind(self, kind: str) -> Mapping[str, Any]:
        """All resources of a kind, by id; a view that can't be changed."""
        own = self._own.get(kind)
        return MappingProxyType(own) if own is not None else self._initial.kinds.get(kind, _NOTHING)

    def kinds(self) -> Iterator[str]:
        """The kinds there are, sorted."""
        return iter(sorted(kind for kind, values in self._kinds.items() if values))

    def revision_of(self, resource: str) -> int:
        """See Resources."""
        return self._revisions.get(resource, 0 if self._initial_value(resource) is ABSENT else 1)

    def kind_revision(self, kind: str) -> int:
        """How often a resource of the kind has changed, its beginning included; 0 where there never was one."""
        return self._kind_revisions.get(kind, 1 if self._initial.kinds.get(kind) else 0)

    def history(self, resource: str) -> Sequence[WorldEvent]:
        """The events of one resource, oldest first."""
        return tuple(self._history.get(resource, ()))

    # ---- changing

    def change(self, resource: str, change: Change, cause: str) -> WorldEvent | None:
        """Change one resource now. None: it was like that already, and nothing happened.

        Raises WorldError: the patch does not apply; then nothing has changed.
        """
        before = self._value(resource)
        patch = change.patch_for(before)
        if not patch:
            return None
        # through the patch also where a whole value is given: the state is the fold, down to the order of keys
        return self._take(resource, apply_patch(resource, before, patch), patch, cause)

    def put(self, resource: str, value: Any, cause: str) -> WorldEvent | None:
        """Give a resource a value, ABSENT to remove it. None: it had that value already."""
        return self.change(resource, Change(value=value), cause)

    def schedule(
        self, after: timedelta, transition: str, resource: str, change: Change, revision: int | None = None
    ) -> Scheduled:
        """Change a resource once `after` has passed. `transition`: its name, which becomes the cause.

        It is passed over where the resource has been removed by then. Transitions due at one time fire in the order
        in which they were scheduled. `revision`: of the resource when this was scheduled; None: now.
        Raises ValueError: `after` is negative. WorldError: no resource can have that name, or it is beyond time.
        """
        if after < timedelta(0):
            raise ValueError(f"a transition can't be scheduled {-after} ago")
        split_id(resource)
        known = self.revision_of(resource) if revision is None else revision
        scheduled = Scheduled(self._later(after), self._scheduled, transition, resource, change, known)
        self._scheduled += 1
        heapq.heappush(self._due, scheduled)
        return scheduled

    def advance(self, by: timedelta) -> None:
        """Let scenario time pass, and fire what is due on the way, each at its own time.

        Raises ValueError: `by` is negative. WorldError: a transition can't take effect, or time ends before.
        """
        if by < timedelta(0):
            raise ValueError(f"scenario time can't go back by {-by}")
        until = self._later(by)
        while self._due and self._due[0].at <= until:
            due = heapq.heappop(self._due)
            self._clock.move_to(due.at)
            if due.resource in self or self.revision_of(due.resource) == due.revision:
                self.change(due.resource, due.change, f"transition:{due.transition}")
        self._clock.move_to(until)

    @property
    def pending(self) -> tuple[Scheduled, ...]:
        """Transitions to come, in the order in which they will fire."""
        return tuple(sorted(self._due))

    def _later(self, by: timedelta) -> datetime:
        try:
            return self._clock.now + by
        except OverflowError:
            raise WorldError(reason=f"scenario time ends with the year 9999, before {by} have passed") from None

    def _take(self, resource: str, value: Any, patch: Patch, cause: str) -> WorldEvent:
        kind, name = split_id(resource)
        if kind not in self._own:
            self._own[kind] = dict(self._initial.kinds.get(kind, _NOTHING))
            self._kinds[kind] = self._own[kind]
        before = self.revision_of(resource)
        if value is ABSENT:
            del self._own[kind][name]
        else:
            self._own[kind][name] = value
        self._revisions[resource] = before + 1
        self._kind_revisions[kind] = self.kind_revision(kind) + 1
        event = WorldEvent(self.revision, self._clock.now, cause, resource, patch, before, before + 1)
        self.revision += 1
        self._history.setdefault(resource, []).append(event)
        self.on_event(event)
        return event

    def _value(self, resource: str) -> Any:
        kind, _, name = resource.partition("/")
        return self._kinds.get(kind, _NOTHING).get(name, ABSENT)

    def _initial_value(self, resource: str) -> Any:
        kind, _, name = resource.partition("/")
        return self._initial.kinds.get(kind, _NOTHING).get(name, ABSENT)


def split_id(resource: str) -> tuple[str, str]:
    """`kind/id` as its two parts. Raises WorldError: it isn't of that form."""
    kind, slash, name = resource.partition("/")
    if not slash or not kind or not name or "/" in name or "*" in resource or any(c.isspace() for c in resource):
        raise WorldError(resource=resource, reason="a resource is named kind/id, without spaces, * or another slash")
    return kind, name
