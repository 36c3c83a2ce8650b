"""The tools of a replayed run: each call is answered from the scenario, or stops the run."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any, Final, assert_never

from openprogram.agent.tools import ToolOutput
from openprogram.contracts.contract import Contract
from openprogram.contracts.schema import faults
from openprogram.contracts.sensitive import masked
from openprogram.contracts.templates import fill
from openprogram.fixtures.errors import FixtureAmbiguous, FixtureMissing
from openprogram.fixtures.events import AdapterEvent, Failed, Result, numbered
from openprogram.fixtures.faults import with_fault
from openprogram.fixtures.fixture import Fixture
from openprogram.fixtures.key import FixtureKey, normalised, read_revisions
from openprogram.fixtures.matcher import Ambiguous, Found, Match, Missing
from openprogram.fixtures.registry import FixtureRegistry
from openprogram.pipeline.canonical import digest
from openprogram.pipeline.errors import PipelineError
from openprogram.providers.types import TextContent, Tool, ToolCall
from openprogram.scenarios.approvals import Approvals
from openprogram.scenarios.errors import InjectionFailed, NoAnswer, OperationFailed
from openprogram.scenarios.idempotency import Kept, Ledger
from openprogram.scenarios.journal import Journal
from openprogram.scenarios.observation import Observation, project
from openprogram.scenarios.operations import ToolError
from openprogram.scenarios.playing import play
from openprogram.scenarios.pure_tools import PureOutputs
from openprogram.scenarios.scenario import Scenario
from openprogram.world.chance import Chance
from openprogram.world.clock import ReadOnlyClock
from openprogram.world.errors import ResourceMissing, WorldError
from openprogram.world.resources import ReadOnlyResources
from openprogram.world.values import freeze
from openprogram.world.world import World

__all__ = ["ScenarioTool", "Stage"]


#: Of one answer: an operation that never ends would fill the memory.
MAX_EVENTS: Final = 10_000


@dataclass
class Stage:
    """What the tools of one run share.

    `calls`: tool calls so far; `by_tool`: of each tool; `occurrences`: of each tool with equal arguments.
    """

    scenario: Scenario
    fixtures: FixtureRegistry
    world: World
    chance: Chance
    journal: Journal
    approvals: Approvals
    pure_outputs: PureOutputs = field(default_factory=PureOutputs)
    ledger: Ledger = field(default_factory=Ledger)
    calls: int = 0
    by_tool: Counter[str] = field(default_factory=Counter)
    occurrences: Counter[tuple[str, str]] = field(default_factory=Counter)


class ScenarioTool:
    """One tool of the scenario; an AgentTool. Nothing in it waits, so the calls of a turn happen in their order."""

    def __init__(self, contract: Contract, stage: Stage) -> None:
        self._contract, self._stage = contract, stage

    @property
    def definition(self) -> Tool:
        """The tool as the model sees it."""
        return self._contract.definition

    async def run(self, call: ToolCall) -> ToolOutput:
        """The answer to `call`, under the contract's limits.

        Raises NoAnswer, FixtureMissing and others below PipelineError: the scenario has no answer to this call.
        """
        stage, contract = self._stage, self._contract
        number = stage.calls
        stage.calls += 1
        stage.journal.add(
            "call", call=number, tool=contract.name, revision=contract.revision, id=call.id, arguments=call.arguments
        )
        try:
            # Frozen: they are part of the conversation, and of what the journal says of it.
            return self._answered(freeze(call.arguments), number)
        except WorldError as error:
            raise self._refused_by_the_world(error, number) from error
        except PipelineError:
            raise  # the run stops as it should
        except (Exception, SystemExit) as error:
            # A value that is no JSON, for one. Passed on, the agent loop would make a tool's failure of it, and an
            # exit would end the process, perhaps with code 0.
            raise self._failed(error, number) from error

    def _answered(self, arguments: dict[str, Any], number: int) -> ToolOutput:
        stage, contract = self._stage, self._contract
        observation = self._observe(arguments, number)
        projection = project(observation, contract)
        stage.journal.add(
            "observation",
            call=number,
            outcome=observation.outcome,
            category=observation.category,
            acknowledged=observation.acknowledged,
            text=projection.text,
            visible_bytes=projection.full_bytes,
            truncated=projection.truncated,
        )
        return ToolOutput([TextContent(text=projection.text)], is_error=projection.is_error)

    def _observe(self, arguments: dict[str, Any], number: int) -> Observation:
        wrong = faults(arguments, self._contract.arguments)
        if wrong:
            message = f"Error: invalid arguments: {'; '.join(wrong)}"
            return Observation("error", category="invalid_arguments", message=message)
        denied = self._denied(arguments, number)
        if denied is not None:
            return denied
        key = self._idempotency_key(arguments)
        earlier = self._stage.ledger.find(key)
        if earlier is not None:
            return self._again(earlier, arguments, number)
        answer, source = self._answer(arguments, number)
        self._stage.journal.add("answer", call=number, source=source)
        return self._play(answer, arguments, number, key)

    def _play(
        self, answer: Sequence[AdapterEvent], arguments: dict[str, Any], number: int, key: str | None
    ) -> Observation:
        stage = self._stage
        events = self._with_faults(answer, number)
        observation, commits = play(events, self._contract, arguments, number, stage.world, stage.journal)
        kept = stage.ledger.keep(key, arguments, answer, commits, observation)
        if kept is not None:
            rest = [event.model_dump(mode="json") for event in kept.rest]
            stage.journal.add("kept", call=number, key=kept.key, arguments=kept.arguments, rest=rest)
        return observation

    def _idempotency_key(self, arguments: dict[str, Any]) -> str | None:
        idempotency = self._contract.idempotency
        filled = None if idempotency is None else fill(idempotency.key, arguments)
        return None if filled is None else f"{self._contract.name}:{filled}"

    def _again(self, earlier: Kept, arguments: dict[str, Any], number: int) -> Observation:
        """A request that was made before under the same key: what is left of the first answer, or a failure."""
        idempotency, journal = self._contract.idempotency, self._stage.journal
        assert idempotency is not None
        same = self._request(earlier.arguments) == self._request(arguments)
        converges = same and idempotency.on_repeat == "converge"
        journal.add("repeated", call=number, key=earlier.key, same_arguments=same, converges=converges)
        if converges:
            return self._play(earlier.rest, arguments, number, earlier.key)
        what = "was made before" if same else "was made before, with other arguments"
        return Observation("error", category="idempotency", message=f"Error: a request with this key {what}")

    def _denied(self, arguments: dict[str, Any], number: int) -> Observation | None:
        """What the model is told where a call needs an approval and has none; None where it may act."""
        rule, approvals = self._contract.approval, self._stage.approvals
        if rule is None:
            return None
        approval = approvals.decide(self._contract, rule, arguments, number)
        if approval.receipt is None:
            why = f": {approval.reason}" if approval.reason else ""
            word = "expired before a decision came" if approval.decision == "expired" else "was denied"
            message = f"Error: the approval of this call {word}{why}"
            return Observation("denied", category=f"approval_{approval.decision}", message=message)
        approvals.redeem(approval.receipt, self._contract, arguments)
        return None

    def _with_faults(self, events: Sequence[AdapterEvent], number: int) -> Sequence[AdapterEvent]:
        """The events with what the scenario injects into this call of the tool."""
        stage, name = self._stage, self._contract.name
        stage.journal.add("answered", call=number)
        position = stage.by_tool[name]
        stage.by_tool[name] += 1
        for injection in stage.scenario.injections:
            if injection.tool == name and injection.call == position:
                stage.journal.add("fault", call=number, fault=injection.fault, after=injection.after)
                try:
                    events = with_fault(events, injection.fault, injection.after, injection.seconds)
                except ValueError as error:
                    raise InjectionFailed(tool=name, reason=str(error), call=number) from error
        return events

    def _answer(self, arguments: dict[str, Any], number: int) -> tuple[Sequence[AdapterEvent], str]:
        scenario, name, revision = self._stage.scenario, self._contract.name, self._contract.revision
        if name in scenario.pure:
            tool = scenario.pure[name]
            self._check_revision(tool.revision, number)
            source = f"pure:{name}@{revision}#{tool.implementation}"
            expected = self._expected_output(arguments)
            outputs = self._stage.pure_outputs
            run = partial(outputs.run, tool, arguments, expected, number)
            return self._events(lambda: [Result(value=run())], number), source
        if name in scenario.operations:
            operation = scenario.operations[name]
            self._check_revision(operation.revision, number)
            resources, clock = ReadOnlyResources(self._stage.world), ReadOnlyClock(self._stage.world.clock)
            random = self._stage.chance.stream(f"tool:{name}")
            events = self._events(lambda: operation.function(resources, arguments, clock, random), number)
            return events, f"operation:{name}@{revision}"
        fixture = self._fixture(arguments, number)
        return fixture.answer, f"fixture:{fixture.id}"

    def _events(self, answer: Callable[[], Iterable[AdapterEvent]], number: int) -> Sequence[AdapterEvent]:
        """All events of an answer before any of them takes effect, so that an operation sees one state of the world."""
        events: list[AdapterEvent] = []
        try:
            events.extend(islice(answer(), MAX_EVENTS + 1))
        except ToolError as error:
            events.append(Failed(category=error.category, message=error.message))
        if len(events) > MAX_EVENTS:
            raise self._failed(ValueError(f"more than {MAX_EVENTS} events in one answer"), number)
        return numbered(events)

    def _failed(self, error: Exception | SystemExit, number: int) -> OperationFailed:
        failure = f"{type(error).__name__}: {error}"
        return OperationFailed(tool=self._contract.name, failure=failure, call=number)

    def _refused_by_the_world(self, error: WorldError, number: int) -> WorldError:
        refused = error.inside(self._contract.name, number)
        if isinstance(error, ResourceMissing) and error.resource is not None:
            kind = error.resource.partition("/")[0]
            refused.add_note(
                f"Add it to resources/{kind}.json, or let the tool fail where there is none: "
                "`if … not in resources: raise ToolError(category, message)` in operations.py."
            )
        return refused

    def _expected_output(self, arguments: dict[str, Any]) -> str | None:
        """The digest of what a fixture of this pure tool says it returns; None where none has this call."""
        _, match = self.look_up(arguments)
        end = match.fixture.events[-1] if isinstance(match, Found) else None
        return digest(end.value) if isinstance(end, Result) else None

    def look_up(self, arguments: dict[str, Any]) -> tuple[FixtureKey, Match]:
        """The key of a call made now, and the fixture that answers it, or why none does. Counts as no call."""
        key = self._key(arguments)
        return key, self._stage.fixtures.find(key, self._contract)

    def _fixture(self, arguments: dict[str, Any], number: int) -> Fixture:
        stage, contract = self._stage, self._contract
        key, match = self.look_up(arguments)
        stage.occurrences[contract.name, key.request_digest] += 1
        match match:
            case Found(fixture=fixture):
                return fixture
            case Ambiguous(fixtures=fixtures):
                raise FixtureAmbiguous(tool=contract.name, fixtures=tuple(f.id for f in fixtures), call=number)
            case Missing(candidates=candidates):
                raise FixtureMissing(
                    namespace=key.namespace,
                    tool=contract.name,
                    revision=contract.revision,
                    request=masked(key.arguments, contract.sensitive),
                    key=key.shown(contract),
                    explanation=tuple(found.explain() for found in candidates),
                    call=number,
                )
            case never:
                assert_never(never)

    def _request(self, arguments: dict[str, Any]) -> str:
        """What equal requests have in common; 1, 1.0 and true are not equal unless the schema says integer."""
        return digest(normalised(arguments, self._contract))

    def _key(self, arguments: dict[str, Any]) -> FixtureKey:
        stage, contract = self._stage, self._contract
        request = normalised(arguments, contract)
        same = (contract.name, digest(request))
        occurrence = stage.occurrences[same] if contract.ordered else None
        return FixtureKey(
            scenario_version=stage.scenario.version,
            namespace=stage.scenario.namespace,
            tool=contract.name,
            contract_revision=contract.revision,
            arguments=request,
            reads=read_revisions(contract, request, stage.world),
            occurrence=occurrence,
        )

    def _check_revision(self, found: str, number: int) -> None:
        if found != self._contract.revision:
            raise NoAnswer(tool=self._contract.name, revision=self._contract.revision, found=found, call=number)
