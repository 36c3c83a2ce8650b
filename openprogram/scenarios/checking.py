"""What is wrong with a scenario beyond its files being readable: parts that don't fit together."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from openprogram.contracts.contract import Contract
from openprogram.contracts.pins import read_pins
from openprogram.contracts.schema import faults
from openprogram.contracts.sensitive import MASK
from openprogram.pipeline.errors import RecordingFileError
from openprogram.pipeline.json_value import JsonValue, show_value
from openprogram.pipeline.log.source import stored_path
from openprogram.pipeline.redaction import remove_secret_values
from openprogram.providers.replay import ReplayProvider
from openprogram.providers.types import AssistantMessage, ToolCall
from openprogram.scenarios.contradictions import contradictions
from openprogram.scenarios.errors import ScenarioError
from openprogram.scenarios.folder import SCENARIO_FILE, ScenarioFolder
from openprogram.scenarios.script import ScriptAnswer, read_answers
from openprogram.scenarios.secrets import secrets_in

__all__ = ["Finding", "check_folder"]


@dataclass(frozen=True, slots=True)
class Finding:
    """`where`: a file of the folder, relative to it. `what`: a sentence. `serious`: a replay would stop or mislead."""

    where: str
    what: str
    serious: bool = True


def check_folder(folder: ScenarioFolder) -> list[Finding]:
    """Everything that was found, file by file; [] where all fits together."""
    parts = (_answers, _fixtures, _rules, _provider, _pins, _secrets)
    found = chain.from_iterable(part(folder) for part in parts)
    return sorted(found, key=lambda finding: finding.where)


def _answers(folder: ScenarioFolder) -> Iterator[Finding]:
    scenario = folder.scenario
    for name, contract in scenario.contracts.items():
        sources = [source for source, has in _sources(folder, name).items() if has]
        if not sources:
            yield Finding("contracts", f"nothing answers {name}: no operation, no pure tool, no fixture")
        if len(sources) > 1 and sources != ["a pure tool", "fixtures"]:  # fixtures of a pure tool say what it returns
            yield Finding(
                "contracts", f"{name} is answered by {' and '.join(sources)}: only one of them would be asked"
            )
        for answer in (scenario.operations.get(name), scenario.pure.get(name)):
            if answer is not None and answer.revision != contract.revision:
                text = f"{name} is written for revision {answer.revision}, its contract is at {contract.revision}"
                yield Finding("operations.py", text)
        if name in scenario.pure and contract.effect != "pure":
            yield Finding("operations.py", f"{name} is declared pure, its contract says {contract.effect}")
    for name in sorted((scenario.operations.keys() | scenario.pure.keys()) - scenario.contracts.keys()):
        yield Finding("operations.py", f"{name} answers a tool that the scenario has no contract for")


def _sources(folder: ScenarioFolder, name: str) -> dict[str, bool]:
    scenario = folder.scenario
    return {
        "an operation": name in scenario.operations,
        "a pure tool": name in scenario.pure,
        "fixtures": bool(folder.fixtures.of_tool(scenario.namespace, name)),
    }


def _fixtures(folder: ScenarioFolder) -> Iterator[Finding]:
    scenario = folder.scenario
    for fixture in folder.fixtures.all():
        where = f"fixtures/{fixture.id}.json"
        contract = scenario.contracts.get(fixture.tool)
        if fixture.namespace != scenario.namespace:
            yield Finding(where, f"it is of namespace {fixture.namespace}, the scenario of {scenario.namespace}")
        elif contract is None:
            yield Finding(where, f"it answers {fixture.tool}, which the scenario has no contract for")
        elif not fixture.is_for(contract):
            text = f"migration required: it was made for revision {fixture.contract_revision} or another text of it"
            yield Finding(where, text)
        elif contract.ordered != (fixture.occurrence is not None):
            text = (
                "it needs an occurrence, for its contract is ordered"
                if contract.ordered
                else "its contract is not ordered"
            )
            yield Finding(where, text)
        else:
            for field, resource, served, held in contradictions(fixture, contract, scenario.resources):
                said, begins = (_shown(field, value) for value in (served, held))
                text = f"its result says {field} is {said}, but {resource} begins as {begins}"
                yield Finding(where, text, serious=False)


def _rules(folder: ScenarioFolder) -> Iterator[Finding]:
    scenario = folder.scenario
    for injection in scenario.injections:
        if injection.tool is not None and injection.tool not in scenario.contracts:
            yield Finding(
                SCENARIO_FILE, f"a fault is meant for {injection.tool}, which the scenario has no contract for"
            )
    for approval in scenario.approvals:
        contract = scenario.contracts.get(approval.tool)
        if contract is None or contract.approval is None:
            yield Finding(SCENARIO_FILE, f"an approval is configured for {approval.tool}, which needs none")
    for name in sorted(scenario.ends_after - scenario.contracts.keys()):
        yield Finding(SCENARIO_FILE, f"ends_after names {name}, which the scenario has no contract for")


def _provider(folder: ScenarioFolder) -> Iterator[Finding]:
    provider = folder.settings.provider
    if provider is None:
        yield Finding(SCENARIO_FILE, "no [provider] answers for the model: name a recording or a script")
        return
    name = provider.recording or provider.script or ""
    path = folder.path / name
    if not stored_path(path).is_file():
        yield Finding(SCENARIO_FILE, f"the provider's file {name} is not there")
        return
    try:
        if provider.recording is not None:
            ReplayProvider(path).close()  # it has read all of it
        else:
            yield from _scripted_calls(read_answers(path), name, folder.scenario.contracts)
    except ScenarioError as error:
        yield Finding(name, error.reason if error.field is None else f"field {error.field}: {error.reason}")
    except RecordingFileError as error:
        line = "" if error.line_number is None else f"line {error.line_number}: "
        advice = "" if error.next_step is None else f". {error.next_step}"
        yield Finding(name, f"{line}{error.reason}{advice}")


def _scripted_calls(
    answers: Sequence[ScriptAnswer], where: str, contracts: Mapping[str, Contract]
) -> Iterator[Finding]:
    """Tool calls that no tool would answer. Notes: an agent that makes such calls may be what the scenario is about."""
    for number, answer in enumerate(answers):
        for block in answer.content if isinstance(answer, AssistantMessage) else answer:
            if not isinstance(block, ToolCall):
                continue
            contract = contracts.get(block.name)
            if contract is None:
                text = f"[{number}] calls {block.name}, which the scenario has no contract for"
                yield Finding(where, text, serious=False)
            elif block.arguments_error is None and (wrong := faults(block.arguments, contract.arguments)):
                # what is wrong quotes the arguments
                told = MASK if contract.sensitive else remove_secret_values("; ".join(wrong))
                text = f"[{number}] calls {block.name} with arguments that its contract refuses: {told}"
                yield Finding(where, text, serious=False)


def _pins(folder: ScenarioFolder) -> Iterator[Finding]:
    pins = read_pins(folder.path / "contracts" / "pins.json")
    for name, contract in folder.scenario.contracts.items():
        if contract.revision not in pins.get(name, {}):
            command = f"openprogram scenarios check {shlex.quote(str(folder.path))} --pin"
            text = f"revision {contract.revision} of {name} is not pinned yet: {command}"
            yield Finding("contracts/pins.json", text, serious=False)


def _secrets(folder: ScenarioFolder) -> Iterator[Finding]:
    for where, (field, rule, _) in secrets_in(folder.path, folder.scenario.credentials.values()):
        text = f"{field or 'its text'} reads like a secret ({rule}), and a scenario is not redacted; is it made up?"
        yield Finding(where, text, serious=False)


def _shown(field: str, value: JsonValue) -> str:
    """A value of that field for people, without secrets."""
    name = field.rpartition(".")[2]
    clean = remove_secret_values({name: value})
    assert isinstance(clean, dict)
    return show_value(clean.get(name))
