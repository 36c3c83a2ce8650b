"""What a run is judged by: each aspect separately, and only as far as its scope and its claims reach."""

from openprogram.evaluation.claims import ClaimsLedger
from openprogram.evaluation.evidence import Evidence, Spent
from openprogram.evaluation.expectations import Expectation, expectation
from openprogram.evaluation.verdict import Judged, RunVerdict, judge

__all__ = ["ClaimsLedger", "Evidence", "Expectation", "Judged", "RunVerdict", "Spent", "expectation", "judge"]
