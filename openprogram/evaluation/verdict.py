"""The verdict on a run: every expectation by itself, beside the scope and the claims it rests on."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from openprogram.evaluation.claims import ClaimsLedger
from openprogram.evaluation.evidence import Evidence
from openprogram.evaluation.expectations import Expectation
from openprogram.scenarios.scopes import Aspect, Scope

__all__ = ["Judged", "RunVerdict", "Status", "judge"]

#: `refused`: the scope supports no conclusion about that. `off`: the ledger lacks what the evaluator needs.
Status: TypeAlias = Literal["passed", "failed", "refused", "off"]


@dataclass(frozen=True, slots=True)
class Judged:
    """What came of one expectation. `why`: "" where it passed."""

    name: str
    about: Aspect
    status: Status
    why: str = ""


@dataclass(frozen=True, slots=True)
class RunVerdict:
    """`judged`: in the order of the expectations."""

    scope: Scope
    judged: tuple[Judged, ...]
    claims: ClaimsLedger

    @property
    def passed(self) -> bool:
        """Whether no expectation failed. One that was refused or off did not pass either: see `judged`."""
        return all(one.status != "failed" for one in self.judged)

    def as_json(self) -> dict[str, Any]:
        """The verdict in reports; the fields are stable."""
        return {
            "passed": self.passed,
            "scope": {
                "name": self.scope.name,
                "reconstructs": self.scope.reconstructs,
                "supports": sorted(self.scope.supports),
            },
            "expectations": [
                {"name": one.name, "about": one.about, "status": one.status, "why": one.why} for one in self.judged
            ],
            "claims": self.claims.as_json(),
        }


def judge(evidence: Evidence, expectations: Sequence[Expectation], scope: Scope, claims: ClaimsLedger) -> RunVerdict:
    """Hold a run against what is expected of it. An expectation that can't be judged is named, and not passed over."""
    return RunVerdict(scope, tuple(_judged(one, evidence, scope, claims) for one in expectations), claims)


def _judged(expectation: Expectation, evidence: Evidence, scope: Scope, claims: ClaimsLedger) -> Judged:
    name, about = expectation.name, expectation.about
    if about not in scope.supports:
        return Judged(name, about, "refused", f"a replay of scope {scope.name} supports no conclusion about {about}")
    for wanted in expectation.needs:
        lacking = claims.lacks(wanted)
        if lacking is not None:
            return Judged(name, about, "off", f"it needs {wanted}, but {lacking}")
    try:
        why = expectation.check(evidence)
    except Exception as error:  # noqa: BLE001 - an evaluator that breaks is a failed one, beside the others
        why = f"{type(error).__name__}: {error}"
    return Judged(name, about, "passed") if why is None else Judged(name, about, "failed", why)
