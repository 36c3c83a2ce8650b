"""A scenario's folder.

scenario.toml      see openprogram.scenarios.settings
contracts/         NAME.toml or NAME.json, one contract each; pins.json: their digests
resources/         KIND.json: an object of resources by id
fixtures/          any number of .json files, in folders as one likes
operations.py      simulated operations and pure tools; may declare contracts as well
expectations.py    expectations in Python
"""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import ValidationError

from openprogram.agent.limits import Limits
from openprogram.contracts.contract import Contract
from openprogram.contracts.declare import contract_of
from openprogram.contracts.pins import check_pins
from openprogram.fixtures.fixture import Fixture
from openprogram.fixtures.registry import FixtureRegistry
from openprogram.providers.types import Model
from openprogram.scenarios.builtin_tools import CURRENT_TIME, CURRENT_TIME_OPERATION
from openprogram.scenarios.errors import ScenarioError
from openprogram.scenarios.files import first_fault, read_json_file, read_text_file, read_toml_file, validated
from openprogram.scenarios.operations import Operation, PureTool, declared_in
from openprogram.scenarios.scenario import Scenario
from openprogram.scenarios.settings import ScenarioSettings
from openprogram.world.errors import WorldError
from openprogram.world.world import InitialResources

__all__ = ["SCENARIO_FILE", "ScenarioFolder", "load_scenario"]

SCENARIO_FILE = "scenario.toml"
_CREDENTIALS = "credentials"


@dataclass(frozen=True)
class ScenarioFolder:
    """A scenario as read from `path`, with what belongs to it."""

    path: Path
    settings: ScenarioSettings
    scenario: Scenario
    fixtures: FixtureRegistry
    expectations: ModuleType | None


def load_scenario(path: Path) -> ScenarioFolder:
    """Read a scenario's folder. Its Python files are run: they are code of the project that they stand in.

    Raises ScenarioError: a file is missing or can't be used. ContractChanged: a contract differs from its pin.
    """
    if _is_missing(path / SCENARIO_FILE):
        missing = ScenarioError(path=path / SCENARIO_FILE, reason="this folder has no such file, so it is no scenario")
        missing.add_note("Make a scenario: openprogram scenarios new NAME")
        raise missing
    settings = _settings(path / SCENARIO_FILE)
    operations = _module(path / "operations.py")
    contracts = _contracts(path, settings, operations)
    answers = _answers(path / "operations.py", operations)
    scenario = Scenario(
        id=settings.id,
        version=settings.version,
        seed=settings.seed,
        start=settings.start,
        namespace=settings.namespace,
        model=Model(**settings.model.model_dump()),
        system_prompt=_system_prompt(path, settings),
        turns=settings.turns,
        contracts=contracts,
        resources=_resources(path, settings),
        operations={tool: answer for tool, answer in answers.items() if isinstance(answer, Operation)}
        | ({CURRENT_TIME.name: CURRENT_TIME_OPERATION} if settings.current_time else {}),
        pure={tool: answer for tool, answer in answers.items() if isinstance(answer, PureTool)},
        budgets=settings.budgets,
        ends_after=frozenset(settings.ends_after),
        credentials=settings.credentials,
        injections=settings.inject,
        approvals=settings.approvals,
        limits=Limits(max_turns=None),
    )
    fixtures = FixtureRegistry(_fixtures(path / "fixtures"))
    return ScenarioFolder(path, settings, scenario, fixtures, _module(path / "expectations.py"))


def _is_missing(path: Path) -> bool:
    try:
        path.stat()
    except FileNotFoundError:
        return True
    except OSError:
        pass  # reading it says what is wrong
    return False


def _settings(path: Path) -> ScenarioSettings:
    return validated(ScenarioSettings, read_toml_file(path), path)


def _system_prompt(path: Path, settings: ScenarioSettings) -> str | None:
    if settings.system_prompt_file is None:
        return settings.system_prompt
    return read_text_file(path / settings.system_prompt_file)


def _contracts(path: Path, settings: ScenarioSettings, operations: ModuleType | None) -> dict[str, Contract]:
    """In the order of `tools`, otherwise by name."""
    found = {contract.name: contract for contract in _declared_contracts(operations)}
    folder = path / "contracts"
    for file in sorted(folder.glob("*.toml")) + sorted(folder.glob("*.json")):
        if file.name == "pins.json":
            continue
        contract = validated(Contract, read_toml_file(file) if file.suffix == ".toml" else read_json_file(file), file)
        if contract.name in found:
            raise ScenarioError(path=file, reason=f"a contract of {contract.name!r} stands elsewhere too")
        found[contract.name] = contract
    if settings.current_time:
        found[CURRENT_TIME.name] = CURRENT_TIME
    check_pins(folder / "pins.json", found.values())
    missing = [name for name in settings.tools if name not in found]
    if missing:
        raise ScenarioError(path=path / SCENARIO_FILE, field="tools", reason=f"no contract for {', '.join(missing)}")
    return {name: found[name] for name in settings.tools or sorted(found)}


def _declared_contracts(module: ModuleType | None) -> Iterator[Contract]:
    for value in vars(module).values() if module is not None else ():
        if callable(value):
            try:
                yield contract_of(value)
            except LookupError:
                continue


def _answers(path: Path, module: ModuleType | None) -> dict[str, Operation | PureTool]:
    """By tool."""
    answers: dict[str, Operation | PureTool] = {}
    for answer in declared_in(module) if module is not None else ():
        if answer.tool in answers:
            raise ScenarioError(path=path, reason=f"two functions answer {answer.tool!r}")
        answers[answer.tool] = answer
    return answers


def _resources(path: Path, settings: ScenarioSettings) -> InitialResources:
    kinds: dict[str, dict[str, Any]] = {}
    for file in sorted((path / "resources").glob("*.json")):
        values = read_json_file(file)
        if not isinstance(values, dict):
            raise ScenarioError(path=file, reason="resources stand in an object, by id")
        if file.stem == _CREDENTIALS and settings.credentials:
            raise ScenarioError(path=file, reason=f"[credentials] of {SCENARIO_FILE} are these resources too")
        kinds[file.stem] = _named(file, values)
    if settings.credentials:
        kinds[_CREDENTIALS] = _named(path / SCENARIO_FILE, dict(settings.credentials), _CREDENTIALS)
    return InitialResources(kinds)


def _named(file: Path, values: dict[str, Any], kind: str | None = None) -> dict[str, Any]:
    """Frozen values under names that resources can have."""
    try:
        return dict(InitialResources({kind or file.stem: values}).kinds[kind or file.stem])
    except WorldError as error:
        raise ScenarioError(path=file, reason=str(error)) from error


def _fixtures(folder: Path) -> Iterator[Fixture]:
    for file in sorted(folder.rglob("*.json")):
        name = file.relative_to(folder).with_suffix("").as_posix()
        content = read_json_file(file)
        if isinstance(content, dict):
            content = {**content, "id": name}
        yield validated(Fixture, content, file)


def _module(path: Path) -> ModuleType | None:
    """The file as a module of its own, under a name that hides no other; None where there is no file."""
    if not path.is_file():
        return None
    loader = _Loader(f"openprogram_scenario_{path.stem}", str(path))
    module = ModuleType(loader.name)
    module.__file__ = str(path)
    try:
        loader.exec_module(module)
    except ValidationError as error:  # a contract declared in Python
        field, reason = first_fault(error, Contract)
        raise ScenarioError(path=path, field=field, reason=reason) from error
    except (Exception, SystemExit) as error:
        raise ScenarioError(path=path, reason=f"{type(error).__name__}: {error}") from error
    return module


class _Loader(SourceFileLoader):
    """Runs what stands in the file now, its assertions included, and leaves no compiled file beside it."""

    def path_stats(self, path: Any) -> Any:
        """What compiled code is told from its source by: without it, none is read or written."""
        raise OSError

    def source_to_code(self, data: Any, path: Any, *, _optimize: int = -1) -> Any:  # type: ignore[override]
        """`python -O` would leave the assertions of expectations out, and all would pass."""
        return super().source_to_code(data, path, _optimize=0)
