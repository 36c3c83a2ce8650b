"""Expectations: what must hold after a run. Declared in scenario.toml, or as Python in expectations.py.

@expectation(about="resources")
def the_order_is_paid(evidence):
    assert evidence.resources["orders"]["17"]["status"] == "paid"
"""

import inspect
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Protocol, TypeVar, get_args

from openprogram.contracts.contract import Contract
from openprogram.contracts.schema import faults
from openprogram.contracts.sensitive import masked
from openprogram.evaluation.claims import Property
from openprogram.evaluation.evidence import Evidence
from openprogram.pipeline.canonical import canonical, digest
from openprogram.pipeline.json_value import show_value
from openprogram.scenarios.scenario import Scenario
from openprogram.scenarios.scopes import Aspect
from openprogram.scenarios.settings import ApprovalSettings, Budgets, ExpectSettings, InjectSettings

__all__ = [
    "Check",
    "Expectation",
    "approval_expectations",
    "budget_expectations",
    "declared_expectations",
    "expectation",
    "fault_expectations",
    "python_expectations",
]

_ATTRIBUTE = "__openprogram_expectation__"

F = TypeVar("F", bound=Callable[..., Any])


class Check(Protocol):
    """Looks at the evidence: None where all is well, otherwise what is wrong, in a sentence."""

    def __call__(self, evidence: Evidence) -> str | None: ...


@dataclass(frozen=True, slots=True)
class Expectation:
    """`about`: what it looks at, which the run's scope must support. `needs`: what the ledger must not lack."""

    name: str
    about: Aspect
    check: Check
    needs: tuple[Property, ...] = ()


def expectation(about: Aspect, needs: Sequence[Property] = ()) -> Callable[[F], F]:
    """The function below is an expectation: it gets the Evidence, and raises AssertionError where it doesn't hold.

    Raises ValueError: there is no such aspect or property. TypeError: the function would not run when it is called.
    """
    if about not in get_args(Aspect):
        raise ValueError(f"about={about!r} is none of {', '.join(get_args(Aspect))}")
    for wanted in needs:
        if wanted not in get_args(Property):
            raise ValueError(f"needs {wanted!r} is none of {', '.join(get_args(Property))}")

    def declare(function: F) -> F:
        if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
            raise TypeError(f"{function.__name__} would not run when it is called: make it a plain function")
        name = function.__name__.replace("_", " ")
        setattr(function, _ATTRIBUTE, Expectation(name, about, _asserting(function), tuple(needs)))
        return function

    return declare


def python_expectations(module: ModuleType | None) -> list[Expectation]:
    """The expectations that a module declares, in the order of its names."""
    functions = inspect.getmembers(module, inspect.isfunction) if module is not None else []
    found = (getattr(function, _ATTRIBUTE, None) for _, function in functions)
    return [declared for declared in found if isinstance(declared, Expectation)]


def declared_expectations(settings: Sequence[ExpectSettings]) -> list[Expectation]:
    """The expectations of scenario.toml."""
    return [
        Expectation(
            one.name or _name(one), one.about, _Claim(one) if one.claim is not None else _AtPath(one), one.needs
        )
        for one in settings
    ]


def budget_expectations(budgets: Budgets) -> list[Expectation]:
    """One expectation for each bound."""
    bounds = {name: bound for name, bound in budgets.model_dump().items() if bound is not None}
    return [Expectation(f"{name} within {bound:g}", "budgets", _Within(name, bound)) for name, bound in bounds.items()]


def fault_expectations(injections: Sequence[InjectSettings]) -> list[Expectation]:
    """That each fault has struck: where its call is never made, a run says nothing about it."""
    return [Expectation(_fault_name(one), "trace", _Struck(one)) for one in injections]


def approval_expectations(scenario: Scenario) -> list[Expectation]:
    """That each decision was asked for: a run without the call that needs it is not the one that was described."""
    return [
        Expectation(
            _approval_name(one, scenario.contracts.get(one.tool)), "trace", _Asked(one.tool, digest(one.arguments))
        )
        for one in scenario.approvals
    ]


def _approval_name(approval: ApprovalSettings, contract: Contract | None) -> str:
    arguments = masked(approval.arguments, () if contract is None else contract.sensitive)
    return f"approval of {approval.tool} {json.dumps(arguments, ensure_ascii=False)} is asked for"


@dataclass(frozen=True, slots=True)
class _Asked:
    tool: str
    arguments_digest: str

    def __call__(self, evidence: Evidence) -> str | None:
        asked = [line for line in evidence.trace if line["type"] == "approval.request" and line["tool"] == self.tool]
        if any(line["arguments_digest"] == self.arguments_digest for line in asked):
            return None
        return f"no call with these arguments was made; other calls of {self.tool} that asked: {len(asked)}"


def _fault_name(injection: InjectSettings) -> str:
    whose = "the model" if injection.tool is None else injection.tool
    return f"{injection.fault} strikes call {injection.call} of {whose}"


@dataclass(frozen=True, slots=True)
class _Struck:
    injection: InjectSettings

    def __call__(self, evidence: Evidence) -> str | None:
        wanted = self.injection
        if wanted.tool is None:
            made = sum(line["type"] == "model" for line in evidence.trace)
        else:
            tools = {line["call"]: line["tool"] for line in evidence.trace if line["type"] == "call"}
            made = sum(line["type"] == "answered" and tools[line["call"]] == wanted.tool for line in evidence.trace)
        return None if wanted.call < made else f"that call was never made, or never answered: there were {made}"


@dataclass(frozen=True, slots=True)
class _Within:
    name: str
    bound: float

    def __call__(self, evidence: Evidence) -> str | None:
        spent = getattr(evidence.budgets, self.name)
        if self.name == "model_calls" and evidence.ended == "call_limit":
            return f"the run was stopped after {spent:g} of at most {self.bound:g}, and the agent was not done"
        return None if spent <= self.bound else f"{self.name}: {spent:g} of at most {self.bound:g}"


@dataclass(frozen=True, slots=True)
class _AtPath:
    settings: ExpectSettings

    def __call__(self, evidence: Evidence) -> str | None:
        wanted, found = self.settings, found_at(self.settings.path, evidence.about(self.settings.about))
        if wanted.exists is not None:
            return None if bool(found) == wanted.exists else f"{wanted.path} finds {len(found)} values"
        if wanted.count is not None:
            return None if len(found) == wanted.count else f"{wanted.path} finds {len(found)}, not {wanted.count}"
        if not found:
            return f"{wanted.path} finds nothing"
        if wanted.schema_ is not None:
            wrong = [fault for value in found for fault in faults(value, wanted.schema_)]
            return f"{wanted.path}: {'; '.join(wrong[:3])}" if wrong else None
        differing = [value for value in found if not _equal(value, wanted.equals)]
        return f"{wanted.path} is {show_value(differing[0])}, not {show_value(wanted.equals)}" if differing else None


@dataclass(frozen=True, slots=True)
class _Claim:
    """What the agent says it did, held against the world: its words, and the resource that they are about."""

    settings: ExpectSettings

    def __call__(self, evidence: Evidence) -> str | None:
        wanted = self.settings
        assert wanted.claim is not None
        claims = [
            match.group(1) if match.re.groups else match.group()
            for match in re.finditer(wanted.claim, evidence.account)
        ]
        if not claims:
            return "the last message does not say so" if wanted.exists else None
        values = found_at(wanted.path, evidence.about("resources"))
        found = [value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for value in values]
        wrong = next((claim for claim in claims if claim not in found), None)
        if wrong is None:
            return None
        return f"the last message says {wrong!r}, but {wanted.path} is {', '.join(found) or 'nothing'}"


def found_at(path: str, value: Any) -> list[Any]:
    """What a JSONPath (RFC 9535) finds."""
    import jsonpath

    return list(jsonpath.findall(path, value))


def _asserting(function: Callable[[Evidence], Any]) -> Check:
    def check(evidence: Evidence) -> str | None:
        try:
            returned = function(evidence)
        except AssertionError as failed:
            return str(failed) or "it does not hold"
        if returned is None or returned is True:
            return None
        return "it does not hold" if returned is False else f"it returned {show_value(returned)}: assert what must hold"

    return check


def _equal(one: Any, other: Any) -> bool:
    # JSON tells 1, 1.0 and true apart, at any depth; TOML writes integers and floats as they are meant
    return canonical(one) == canonical(other)


def _name(settings: ExpectSettings) -> str:
    return f"{settings.about} {settings.path}"
